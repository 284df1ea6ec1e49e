"""Re-derives every proof of a token sample, and names what does not hold.

For each item: the question, its answer and every statement are decoded from token ids and read; pictures are compared
byte for byte with a new rendering of their program, whose layout says what they show; every mention of an item's names
outside the stated spans is a leak. From the facts so found follow the answer, what each ablation and counterfactual
gives, whether three quarters of the window suffice, and what lexical retrieval finds. All of it must be what the
proof says.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...pipelines.tokens import TokenSample
from ...tokenizer import Tokenizer
from ...tokenizer.words import Words
from .grammar import FAMILIES, Fact, Unreadable, names_in, read_facts, read_question
from .solvers import solve

ReadPicture = Callable[[str, str], tuple[dict[str, int], str]]
"""(kind, program) → what its rendering shows, label → value, and the SHA-256 of the picture's bytes."""

REACH = 0.75
CHUNKS = 8
_VERSION = 1


class Wrong(Exception):
    """One thing about a proof that does not hold; `code` is stable, the detail is for a person."""

    def __init__(self, code: str, detail: str):
        super().__init__(f"{code}: {detail}")
        self.code = code


@dataclass
class ProofReport:
    """What the re-derivation of many proofs found.

    Attributes:
        items, checked: proofs seen, and those that hold.
        clues, pictured: clues seen, and items with evidence in pictures.
        wrong: number of failures by code.
        families: items by family; `lexical`: those of them that lexical retrieval solves.
        problems: one line each.
    """

    items: int = 0
    checked: int = 0
    clues: int = 0
    pictured: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    lexical: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "items": self.items,
            "checked": self.checked,
            "clues": self.clues,
            "image_borne": self.pictured,
            "wrong": dict(sorted(self.wrong.items())),
            "families": dict(sorted(self.families.items())),
            "lexical_solved": {name: self.lexical[name] for name in sorted(self.families)},
        }


def check_sample(
    sample: TokenSample, tokenizer: Tokenizer, read_picture: ReadPicture, report: ProofReport, where: str = "sample"
) -> None:
    """Re-derive all proofs of a sample; `where` names it in the report's problems."""
    words = Words(tokenizer)
    windows: dict[int, _Window] = {}
    items: list[tuple[int, _Item]] = []
    for number, proof in enumerate(sample.proofs):
        report.items += 1
        with _told(report, f"{where}, item {number} ({proof.get('family')})"):
            start = proof["start"]
            if start not in windows:
                windows[start] = _Window(sample, start, tokenizer, words)
            items.append((number, _Item(windows[start], proof, read_picture)))
    for number, item in items:
        with _told(report, f"{where}, item {number} ({item.family})"):
            item.check()
            report.checked += 1
            report.clues += len(item.clues)
            report.pictured += item.pictured
            report.families[item.family] += 1
            report.lexical[item.family] += item.lexical


@contextmanager
def _told(report: ProofReport, where: str) -> Iterator[None]:
    """Count and tell what does not hold; a proof may be any JSON, so that what is not even a proof is told, too."""
    try:
        yield
    except Wrong as error:
        report.wrong[error.code] += 1
        report.problems.append(f"{where}: {error}")
    except Unreadable as error:
        report.wrong["unreadable"] += 1
        report.problems.append(f"{where}: unreadable: {error}")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        report.wrong["malformed"] += 1
        report.problems.append(f"{where}: malformed: {type(error).__name__}: {error}")


class _Window:
    """The group that items lie in, as tokens and as text."""

    def __init__(self, sample: TokenSample, start: int, tokenizer: Tokenizer, words: Words):
        group = next((one for one in sample.groups if one["start"] == start), None)
        if group is None:
            raise Wrong("group", f"no group starts at token {start}")
        self.sample, self.tokenizer, self.words = sample, tokenizer, words
        self.start = start
        self.names: set[str] = set()
        self.tokens = sample.tokens[start : group["end"]]
        self.length = group["end"] - start

    @cached_property
    def images(self) -> list[dict[str, Any]]:
        """The images of the group, `start` counted from its beginning, with their number in the sample."""
        return [
            {**one, "start": one["start"] - self.start, "number": number}
            for number, one in enumerate(self.sample.images)
            if self.start <= one["start"] < self.start + self.length
        ]

    @cached_property
    def _offsets(self) -> np.ndarray:
        """Byte offset of each token in `lowered`, and its end."""
        sizes = np.array([len(one) for one in self.tokenizer.token_bytes])
        return np.concatenate([[0], np.cumsum(sizes[self.tokens])])

    @cached_property
    def lowered(self) -> bytes:
        return self.tokenizer.decode_bytes(self.tokens).lower()

    def text(self, span: dict[str, int]) -> str:
        """The text of a span, pictures left out. Raises `Wrong` if it lies outside the window."""
        start, end = span["start"], span["end"]
        if not 0 <= start < end <= self.length:
            raise Wrong("span", f"{start}..{end} in a window of {self.length} tokens")
        ids = self.tokens[start:end]
        inside = [one for one in self.images if start <= one["start"] < end]
        if inside:  # what a picture is announced with is no text of the document
            special = self.tokenizer.special
            begin = np.flatnonzero(ids == special["media_begin"])
            finish = np.flatnonzero(ids == special["media_end"])
            if len(begin) != 1 or len(finish) != 1 or len(inside) != 1:
                raise Wrong("picture", f"{len(inside)} pictures in {start}..{end}, where one was to be")
            ids = np.concatenate([ids[: begin[0]], ids[finish[0] + 1 :]])
        return self.tokenizer.decode_bytes(ids).decode("utf-8", "replace").strip()

    def stands_alone(self, span: dict[str, int]) -> bool:
        """Whether a span begins after a line end (or with the window) and ends before one."""
        table, tokens = self.tokenizer.token_bytes, self.tokens
        before = table[tokens[span["start"] - 1]] if span["start"] else b"\n"
        after = table[tokens[span["end"]]] if span["end"] < self.length else b"\n"
        return before.endswith(b"\n") and after.startswith(b"\n")

    @cached_property
    def _mentions(self) -> dict[str, list[int]]:
        """Token positions of each of `names`, as a whole word in any case."""
        pattern = re.compile(b"(?<![a-z])(?:" + "|".join(sorted(self.names)).encode() + b")(?![a-z])")
        found: dict[str, list[int]] = {}
        for match in pattern.finditer(self.lowered):
            position = int(np.searchsorted(self._offsets, match.start(), "right")) - 1
            found.setdefault(match[0].decode(), []).append(position)
        return found

    def mentions(self, names: set[str]) -> Iterator[tuple[int, str]]:
        """(token position, name) of every place where one of the names stands. All must have been put into `names`."""
        for name in sorted(names):
            for position in self._mentions.get(name, []):
                yield position, name


@dataclass
class _Statement:
    start: int
    end: int
    facts: list[Fact]
    edited: list[Fact] | None = None
    predicted: str | None = None
    pictured: bool = False


class _Item:
    """One proof, read anew."""

    def __init__(self, window: _Window, proof: dict[str, Any], read_picture: ReadPicture):
        self.window, self.proof, self._read_picture = window, proof, read_picture
        if proof["version"] != _VERSION or proof["family"] not in FAMILIES:
            raise Wrong("version", f"version {proof['version']}, family {proof['family']!r} are not known here")
        if proof["tokenizer"] != window.tokenizer.digest:
            raise Wrong("tokenizer", "made with another tokenizer than the one given")
        if proof["length"] != window.length:
            raise Wrong("length", f"the proof is of {proof['length']} tokens, the window has {window.length}")
        self.family = proof["family"]
        self.query, self._question = self._read_question()
        self.answer = window.text(proof["answer"])
        self.clues = [self._statement(one) for one in proof["clues"]]
        self._needless = [self._statement(one) for one in proof["distractors"]]
        self.all = sorted((*self.clues, *self._needless), key=lambda one: one.start)
        self.pictured = any(one.pictured for one in self.clues)
        self.lexical = False
        self._names = names_in([fact for one in self.clues for fact in one.facts], self.query)
        window.names |= self._names

    def _read_question(self) -> tuple[Fact, str]:
        text = self.window.text(self.proof["question"])
        early = re.fullmatch(r"(.*) The answer is due on the last lines, under ([A-Z][a-z]+)\.", text, re.DOTALL)
        if early:
            text, self.tag = early[1], early[2]
            lead = {"start": self.proof["answer"]["start"] - 16, "end": self.proof["answer"]["start"]}
            if not self.window.text(lead).endswith(f"{self.tag}:"):
                raise Wrong("answer", f"the answer does not stand under {self.tag}")
        elif text.endswith("\nAnswer:") and self.proof["question"]["end"] == self.proof["answer"]["start"]:
            text, self.tag = text.removesuffix("\nAnswer:"), ""
        else:
            raise Wrong("question", f"{text[-60:]!r} does not say where its answer is due")
        return read_question(self.family, text), text

    def _statement(self, stated: dict[str, Any]) -> _Statement:
        text = self.window.text(stated)
        if not self.window.stands_alone(stated):
            raise Wrong("span", f"{stated['start']}..{stated['end']} is not a paragraph of its own")
        found = _Statement(stated["start"], stated["end"], [])
        if "picture" in stated:
            shown = self._shown(stated)
            found.pictured = True
            found.facts = [("shown", label, value) for label, value in shown.items()]
        else:
            found.facts = read_facts(self.family, text)
        edit = stated.get("edit")
        if edit is not None:
            found.predicted = edit["answer"]
            if "picture" in stated:
                if edit["label"] not in shown or shown[edit["label"]] == edit["value"]:
                    raise Wrong("edit", f"the picture's edit changes nothing ({edit['label']})")
                found.edited = [("shown", one, value) for one, value in {**shown, edit["label"]: edit["value"]}.items()]
            else:
                found.edited = read_facts(self.family, edit["text"])
        return found

    def _shown(self, stated: dict[str, Any]) -> dict[str, int]:
        """What the picture in a statement shows, by rendering its program again."""
        inside = [one for one in self.window.images if stated["start"] <= one["start"] < stated["end"]]
        if len(inside) != 1:
            raise Wrong("picture", f"{len(inside)} pictures in {stated['start']}..{stated['end']}")
        stored = hashlib.sha256(self.window.sample.picture(inside[0]["number"])).hexdigest()
        try:
            facts, digest = self._read_picture(stated["picture"]["kind"], stated["picture"]["program"])
        except ValueError as error:
            raise Wrong("picture", str(error)) from None
        if digest != stored:
            raise Wrong("picture", "rendering its program gives another picture than the one stored")
        return facts

    def check(self) -> None:
        """Raise `Wrong` for the first thing that does not hold."""
        self._check_leaks()
        if self.answer != self.proof["answer"]["text"]:
            raise Wrong("answer", f"the window answers {self.answer!r}, the proof {self.proof['answer']['text']!r}")
        if (found := self._solve(self.all)) != self.answer:
            raise Wrong("answer", f"the facts give {found!r}, the window answers {self.answer!r}")
        if self._solve([]) is not None:
            raise Wrong("no_context", "solvable without any fact")
        for number, clue in enumerate(self.clues):
            if self._solve([one for one in self.all if one is not clue]) == self.answer:
                raise Wrong("ablation", f"clue {number} is not needed")
            self._check_edit(number, clue)
        reach = REACH * self.window.length
        for first in self.all:
            part = [one for one in self.all if first.start <= one.start and one.end <= first.start + reach]
            if self._solve(part) == self.answer:
                raise Wrong("window", f"solvable from {first.start}..{first.start + round(reach)}")
        span = (max(one.end for one in self.clues) - min(one.start for one in self.clues)) / self.window.length
        if abs(span - self.proof["span"]) > 1e-6:
            raise Wrong("span", f"the clues span {span:.6f} of the window, the proof says {self.proof['span']:.6f}")
        self.lexical = self._lexical()
        if self.lexical != self.proof["lexical"]["solved"]:
            raise Wrong("lexical", f"retrieval {'solves' if self.lexical else 'does not solve'} it, the proof differs")

    def _check_edit(self, number: int, clue: _Statement) -> None:
        if clue.edited is None:
            raise Wrong("edit", f"clue {number} has no counterfactual")
        facts = [fact for one in self.all for fact in (clue.edited if one is clue else one.facts)]
        found = solve(self.family, facts, self.query)
        if found != clue.predicted or found == self.answer:
            raise Wrong("edit", f"with clue {number} edited the answer is {found!r}, the proof says {clue.predicted!r}")

    def _check_leaks(self) -> None:
        """Every mention of a name of the item must lie in a statement, the question or the answer."""
        question, answer = self.proof["question"], self.proof["answer"]
        told = [(one.start, one.end) for one in self.all]
        told += [(question["start"], question["end"]), (answer["start"], answer["end"])]
        for position, name in self.window.mentions(self._names):
            if not any(start <= position < end for start, end in told):
                raise Wrong("leak", f"{name!r} is mentioned at token {position}, which no clue or distractor covers")

    def _solve(self, statements: list[_Statement]) -> str | None:
        return solve(self.family, [fact for one in statements for fact in one.facts], self.query)

    def _lexical(self) -> bool:
        """Whether the 8 chunks that share most words with the question, weighed by idf, hold the answer."""
        tokens, size = self.window.tokens, self.proof["lexical"]["chunk"]
        count = -(-len(tokens) // size)
        terms = sorted(set(re.findall(r"\w+", self._question)))
        candidates = self.window.words.candidates(tokens, terms)
        score = np.zeros(count)
        for term in terms:
            holding = np.unique(self.window.words.find(tokens, term, candidates) // size)
            score[holding] += math.log(1 + (count - len(holding) + 0.5) / (len(holding) + 0.5))
        chosen = set(np.argsort(-score, kind="stable")[:CHUNKS].tolist())
        seen = [one for one in self.all if {one.start // size, (one.end - 1) // size} <= chosen]
        return self._solve(seen) == self.answer
