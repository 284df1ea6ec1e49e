"""Single rules: what they make of a sentence, and which sentences they leave alone."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from k3data.synth.rewrite import clauses, nominal
from k3data.synth.rewrite.clauses import joined
from k3data.synth.rewrite.equalities import chain, operation
from k3data.synth.rewrite.parts import clause, fronted, passive, trailing
from k3data.synth.rewrite.phrases import exchanged, opened


class _First(random.Random):
    """Draws the first of everything, and always below any share."""

    def random(self) -> float:
        return 0.0

    def choice(self, seq):
        return seq[0]


FIRST = _First()


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (clauses.front, "The file is created if the path is missing", ["If the path is missing, the file is created"]),
        (clauses.back, "When the table is small, the index is ignored",
        ["The index is ignored when the table is small"]),
        (clauses.reason_front, "The search is slow because the table has no index",
         ["Because the table has no index, the search is slow"]),
        (clauses.purpose_back, "To load a model, call the loader", ["Call the loader to load a model"]),
        (clauses.purpose_front, "Use integer weights to avoid rounding errors",
        ["To avoid rounding errors, use integer weights"]),
        (clauses.impersonal, "You can use this option to limit the output",
        ["This option can be used to limit the output"]),
        (clauses.to_passive, "The decoder returns the length of the frame",
        ["The length of the frame is returned by the decoder"]),
        (clauses.to_active, "The order is determined by the planner", ["The planner determines the order"]),
        (clauses.default_moved, "By default, the output is sorted", ["The output is sorted by default"]),
        (clauses.opener_inside, "However, the result is exact", ["The result, however, is exact"]),
        (clauses.order_to_passive, "Return the sum of the weights", ["The sum of the weights is returned"]),
        (clauses.order_to_passive, "Computes the indices of the array", ["The indices of the array are computed"]),
        (clauses.adjunct_back, "In this mode, the server rejects writes", ["The server rejects writes in this mode"]),
        (clauses.present, "The warning will be raised", ["The warning is raised"]),
        (clauses.split_so, "The index is missing, so the search is slow",
        ["The index is missing", "For this reason, the search is slow"]),
        (clauses.halves, "The file is open; the lock is held", ["The file is open", "The lock is held"]),
    ],
)  # fmt: skip
def test_a_rule_moves_clauses(rule: Callable, before: str, after: list[str]) -> None:
    assert rule(before, FIRST) == after


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (clauses.front, "The function checks if the path is missing"),  # no condition, but what is checked
        (clauses.front, "The time when the file is opened"),
        (clauses.front, "It is created and the log is written only if the path is missing"),
        (clauses.front, "The cache is kept if it is `True` to prevent calling the function twice"),
        (clauses.front, "The mean is only defined if the values are positive"),
        (clauses.order_to_passive, "Invoke the handler of the session"),
        (clauses.impersonal, "You can add tags such as the name of the owner"),
        (clauses.back, "If the path is missing, it is created"),  # the pronoun would lose its noun
        (clauses.to_passive, "The storage contains the rows of the table and returns them"),
        (clauses.order_to_passive, "Use this option to limit the output"),  # advice
        (clauses.order_to_passive, "Return the rows, sorted by name"),
        (clauses.impersonal, "You can give your file to a friend"),
        (clauses.split_and, "The rows, the columns, and the index is kept"),
        (clauses.split_but, "This compares the values, but only compares the first"),
    ],
)
def test_a_rule_leaves_alone_what_it_is_not_sure_of(rule: Callable, sentence: str) -> None:
    assert rule(sentence, FIRST) is None


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (nominal.relative, "a function that returns the sum", "a function returning the sum"),
        (nominal.relative, "the model that is used to rank rows", "the model used to rank rows"),
        (nominal.relative, "a class holding the rows", "a class that holds the rows"),
        (nominal.relative, "a check that takes a pair and returns a number",
        "a check that takes a pair and returns a number"),
        (nominal.genitive, "the size of the array is kept", "the array's size is kept"),
        (nominal.genitive, "the number of the rows is kept", "the number of the rows is kept"),
        (nominal.adverbs, "the lock is automatically released", "the lock is released automatically"),
        (nominal.numerals, "it takes 3 arguments and 86400 seconds", "it takes three arguments and 86,400 seconds"),
        (nominal.numerals, "see version 3 of the year 1999", "see version 3 of the year 1999"),
        (nominal.forms, "if there is no index", "if no index exists"),
    ],
)  # fmt: skip
def test_forms(rule: Callable, before: str, after: str) -> None:
    assert rule(before, FIRST) == after


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("The data is sorted", "However, the order is not kept", "Although the data is sorted, the order is not kept"),
        ("The index is missing", "Therefore, the search is slow", "Because the index is missing, the search is slow"),
        ("The server reads the log", "It writes the state", "The server reads the log, and it writes the state"),
        ("The server reads the log", "They are written", None),
    ],
)
def test_sentences_are_joined(first: str, second: str, both: str | None) -> None:
    assert joined(first, second, FIRST) == both


def test_phrases_keep_articles_and_capitals() -> None:
    assert exchanged("In order to sort, an appropriate key is needed", FIRST) == "To sort, a suitable key is necessary"
    assert exchanged("plan A results in B", FIRST) == "plan A leads to B"
    assert exchanged("kept, in which case it is read", FIRST) == "kept, in which case it is read"
    assert exchanged("`use-in order to`", FIRST) == "`use-in order to`"
    assert opened("It isn't kept, e.g. on disk; they're lost") == "It is not kept, for example on disk; they are lost"


def test_a_word_is_not_exchanged_where_it_would_clash() -> None:
    assert "made tree" not in exchanged("the created tree is small", FIRST)
    assert exchanged("removed rows are not deleted", FIRST) == "removed rows are not deleted"


def test_parts_of_sentences() -> None:
    found = clause("The size of the array is kept")
    assert found is not None and (found.subject, found.verb, found.rest) == ("The size of the array", "is", "kept")
    assert clause("Return the size that is kept") is None
    assert clause("Only compares the values of a row") is None
    assert fronted("If the path, when given, is missing, it is made") is None
    assert trailing("Nobody knows if the path is missing") is None
    assert passive("Return the rows and the columns") is None


@pytest.mark.parametrize(
    ("formula", "pieces"),
    [
        ("$a = b = c$", ["a = b", "b = c"]),
        ("$$S = \\frac{a = b}{2} = 3,$$", ["S = \\frac{a = b}{2}", "\\frac{a = b}{2} = 3"]),
        ("$a \\le b = c$", []),
        ("$f(x) = y$", ["f(x) = y"]),
        ("$$\\begin{aligned} a = b = c \\end{aligned}$$", []),
    ],
)
def test_chains_are_cut_into_pieces_of_themselves(formula: str, pieces: list[str]) -> None:
    assert [link.written for link in chain(formula)] == pieces
    assert all(piece in formula for piece in pieces)


def test_operations_are_named_only_where_the_signs_tell() -> None:
    assert operation("3 \\cdot 2", "6") == "by arithmetic"
    assert operation("(a + b)^2", "a^2 + 2ab + b^2") == "multiplied out"
    assert operation("\\sum_i x_i", "n m") == "carrying out the sum"
    assert operation("f(x)", "g(x)") == ""


def test_two_blanks_in_a_row_are_no_word() -> None:
    assert clause("The  map is one of them") is not None
    assert clause("Of  , it is") is None
