"""The words that styles put around what the source says, each in several wordings, of which the seed draws one.

None of them holds a number, a name, or a word that the logic of a sentence turns on.
"""

from __future__ import annotations

from collections.abc import Sequence

GOING_ON = ("In addition", "Moreover", "Further", "Furthermore", "Besides", "Likewise")
TOPICS = (
    "Topics: {}.", "Subject of this section: {}.", "This section treats of {}.", "What follows concerns {}.", "On {}.",
    "About {}.", "The subject here: {}.", "This part deals with {}.", "Under discussion: {}.",
    "The matter at hand: {}.",
)  # fmt: skip
_NAMES = ("definition", "condition", "rule", "example", "reason", "option", "note", "statement")
KINDS: tuple[dict[str, str], ...] = tuple(
    dict(zip(_NAMES, row.split("|"), strict=True))
    for row in (
        "Definition|Condition|Rule|Example|Reason|Option|Note|",
        "Meaning|Case|Requirement|Illustration|Ground|Possibility|Remark|",
        "Concept|Circumstance|Rule|Example|Explanation|Choice|Remark|",
        "Definition|Case|Constraint|Example|Why|Option|Observation|",
    )
)
IN_SHORT = ("In short", "In brief", "Briefly", "In outline", "In essence", "In a nutshell")


def series(names: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


QUESTION_MARKS = (
    ("**", "**", ""), ("Q: ", "", "A: "), ("### ", "", ""), ("Question: ", "", "Answer: "), ("**Q.** ", "", "**A.** "),
)  # fmt: skip
SPEAKERS = (
    ("**Student.**", "**Teacher.**"), ("**Learner.**", "**Tutor.**"), ("**Pupil.**", "**Teacher.**"),
    ("**Student.**", "**Tutor.**"),
)  # fmt: skip
ON = ("And further?", "What further?", "And then?", "And what more?", "What besides?", "What then?", "What more?")
HEADS = (
    str.split("subject|term|item|concept|about|matter|topic|of what|in question|regarding|concerning", "|"),
    str.split("statement|what is said|fact|description|detail|assertion|said of it|what holds|remark|gist", "|"),
    str.split("condition|case|circumstance|under which condition|in which case|provided|holds in case", "|"),
)
"""Heads of a table's columns: of its subjects, of what is said of them, and of conditions."""
NOTE = (
    ("Given", "Meaning", "What follows", "Why", "To note", "Formula"),
    ("Assumed", "Definition", "Conclusion", "Reason", "Stated", "Equation"),
    ("Setting", "Notation", "Consequence", "Explanation", "Fact", "Relation"),
    ("Premise", "Terms", "It follows", "Why", "Remark", "Formula"),
)
"""Of a learning note: what is given, defined, follows, why, what is said besides, and what is said by a formula."""
OUTLINE = (
    ("Claim", "Reason", "Consequence", "Assumption", "Definition"),
    ("Statement", "Why", "Hence", "Setting", "Notation"),
    ("Assertion", "Ground", "Conclusion", "Given", "Terms"),
)
"""Of an outline: claim, reason, what follows, what is assumed, what is defined."""
STEPS = (("equality", "operation"), ("one at a time", "by"), ("chain", "how"), ("in steps", "what is done"))
"""Heads of the table of a chain's equalities."""
