"""Styles of mathematics: a learning note, an example worked in steps, outline of a proof. Formulas stay as they are.

A passage is read as a row of points: a sentence, or one that ends in a colon together with the formula it announces.
What a point does (assumes, defines, concludes, gives a reason) is told by the words that mathematicians write for it.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from . import wording
from .equalities import Link, chain, operation
from .masks import HIDDEN
from .parts import capitalised, is_clause
from .passage import Passage, Statement, copied
from .restate import polished, sentence
from .topics import label

_COPIED = 0.48  # less than in prose: the verifier counts what a formula is made of otherwise
_FORMULA = re.compile(r"\$|\\\(|\\\[|\\begin\{")
_ONLY_FORMULA = re.compile(rf"{HIDDEN}[.,;]?$")
_GIVEN = re.compile(
    r"(?:Let|Suppose|Assume|Given|Consider|Denote|Fix|Here,?|We (?:assume|consider|denote|write)"
    r"|Write)\b"
)
_LET = re.compile(r"Let (?P<x>[^,;:]{1,40}?) (?P<be>be) (?P<what>[^;:]{3,200})$")
_DEFINES = re.compile(
    r"\b(?:defined|denotes?|denoted|is called|are called|is given by|are given by|represents?"
    r"|stands? for|known as)\b"
)
_CONCLUDES = re.compile(
    r"(?P<cue>Then|Therefore|Hence|Thus|So|Consequently|It follows that|As a result|This "
    r"implies that|This means that|In particular|Accordingly),? (?P<rest>.+)$"
)
_REASON = re.compile(r"(?P<x>.{12,240}?),? (?P<cue>because|since|as) (?P<y>[^,;:]{8,160})$")
_REASON_FIRST = re.compile(r"(?P<cue>Because|Since|As) (?P<y>[^,;:]{8,160}), (?P<x>.{10,240})$")


class Point(NamedTuple):
    """One step of a text. `role`: given, defined, follows, why, said; `formula`: what stands displayed behind it."""

    statement: Statement
    formula: str
    role: str


def points(passage: Passage) -> list[Point] | None:
    """The points of a mathematical passage, or None if it is none or holds what cannot be told apart."""
    shown = [passage.mask.shown(letter) for letter in re.findall(HIDDEN, passage.mask.text)]
    if sum(_FORMULA.match(one) is not None for one in shown) < 2:
        return None
    found: list[Point] = []
    for paragraph in passage.paragraphs:
        if paragraph.kind == "whole":
            return None
        for statement in paragraph.statements:
            body = statement.body
            if _ONLY_FORMULA.match(statement.text):
                if not found:
                    return None
                formula = found[-1].formula
                found[-1] = found[-1]._replace(formula=f"{formula}\n\n{statement.text}" if formula else statement.text)
            elif body[:1].islower() and body.split()[0] in ("where", "with") and found and statement.end in ".:":
                found.append(Point(statement._replace(free=False), "", "defined"))
            elif body[:1].islower():
                if not found or not found[-1].formula:
                    return None
                # The sentence goes on behind its formula: what it says there still stands under its beginning.
                found[-1] = found[-1]._replace(formula=f"{found[-1].formula}\n\n{statement.text}")
            else:
                found.append(Point(statement, "", _role(body)))
    if any(not point.statement.free and point.statement.end not in (".", "?") and not point.formula for point in found):
        return None  # announces what is not there
    return found


def _role(body: str) -> str:
    if _GIVEN.match(body):
        return "given"
    if _CONCLUDES.match(body):
        return "follows"
    reason = _REASON_FIRST.match(body) or _REASON.match(body)
    if reason and is_clause(capitalised(reason["y"])):
        return "why"
    return "defined" if _DEFINES.search(body) else "said"


def _told(point: Point, rng: random.Random) -> str:
    """A point in other words, with its formula."""
    if point.role == "defined" and point.statement.body.startswith(("where ", "with ")):
        first, _, rest = point.statement.body.partition(" ")
        here = rng.choice(("Here", "In this formula,", "Therein,")) if first == "where" else "With"
        said = f"{here} {polished(rest, rng)}{point.statement.end}"
    elif found := _LET.match(point.statement.body):
        take = rng.choice(("Take", "Choose"))
        said = f"{take} {found['x']} to be {polished(found['what'], rng)}{point.statement.end}"
    elif point.statement.free:
        said = " ".join(sentence(point.statement.body, rng, splits=not point.formula))
    else:
        said = point.statement.text
    if point.formula:
        return f"{said}\n\n{point.formula}\n\n"
    return said


def learning_note(passage: Passage, rng: random.Random) -> str | None:
    """What is given or defined, what follows, and why, each under its heading, in the order of the source."""
    found = points(passage)
    if found is None or len(found) < 3:
        return None
    words = rng.choice(wording.NOTE)
    kinds = rng.choice(wording.KINDS)
    heads = {"given": words[0], "defined": words[1], "follows": words[2], "why": words[3], "said": words[4]}
    if len({point.role for point in found}) < 2:
        return None
    told = [_told(point, rng) for point in found]
    blocks: list[tuple[str, list[str]]] = []
    for point, said in zip(found, told, strict=True):
        if not blocks or blocks[-1][0] != point.role:
            blocks.append((point.role, []))
        blocks[-1][1].append(said)
    text = "\n\n".join(f"**{heads[role]}.** {_flow(said)}" for role, said in blocks)
    listed = "\n".join(
        f"- {_headed(_head(point, heads, kinds, words[5]))}{_flow([said])}"
        for point, said in zip(found, told, strict=True)
    )
    return _checked(passage, text) or _checked(passage, listed)


def proof_outline(passage: Passage, rng: random.Random) -> str | None:
    """The claims in order, numbered, each with the reason that the source gives for it."""
    found = points(passage)
    if found is None or len(found) < 3:
        return None
    words = rng.choice(wording.OUTLINE)
    if 5 * sum(_holds_formula(passage, point) for point in found) < 2 * len(found):
        return None
    lines, reasons = [], 0
    for point in found:
        body = point.statement.body
        split = _REASON_FIRST.match(body) or _REASON.match(body)
        concluded = _CONCLUDES.match(body)
        if split and is_clause(capitalised(split["y"])) and is_clause(capitalised(split["x"])):
            reasons += 1
            claim = " ".join(sentence(capitalised(split["x"]), rng, splits=False))
            lines.append(f"**{words[0]}.** {claim} **{words[1]}.** {capitalised(split['y'])}.{_shown(point)}")
        elif concluded and (inner := _REASON.match(concluded["rest"])) and is_clause(capitalised(inner["y"])):
            reasons += 1
            claim = " ".join(sentence(capitalised(inner["x"]), rng, splits=False))
            lines.append(f"**{words[2]}.** {claim} **{words[1]}.** {capitalised(inner['y'])}.{_shown(point)}")
        elif concluded and is_clause(concluded["rest"]):
            reasons += 1
            lines.append(
                f"**{words[2]}.** "
                f"{' '.join(sentence(capitalised(concluded['rest']), rng, splits=False))}{_shown(point)}"
            )
        else:
            head = {"given": words[3], "defined": words[4]}.get(point.role, words[0])
            lines.append(f"**{head}.** {_told(point, rng)}")
    if 4 * reasons < len(found):
        return None
    text = "\n".join(f"{number}. {_flow([line])}" for number, line in enumerate(lines, 1))
    return _checked(passage, text)


def worked_example(passage: Passage, rng: random.Random) -> str | None:
    """Chains of equalities as tables, one equality a row, with the operation where it can be read off."""
    found = points(passage)
    if found is None:
        return None
    head = rng.choice(wording.STEPS)
    blocks, tables = [], 0
    for point in found:
        blocks.append(_flow([_told(point, rng)]))
        for letter in re.findall(HIDDEN, point.statement.body + point.formula):
            links = chain(passage.mask.shown(letter))
            named = [operation(link.left, link.right) for link in links]
            if not (len(links) > 1 or any(named)) or any("|" in link.chain or "\n" in link.chain for link in links):
                continue
            tables += 1
            rows = [f"| ${_from_start(links, at)}$ | {how or '–'} |" for at, how in enumerate(named)]
            blocks.append("\n".join((f"| {head[0]} | {head[1]} |", "|---|---|", *rows)))
    return _checked(passage, "\n\n".join(blocks)) if tables else None


def _from_start(links: list[Link], at: int) -> str:
    """An equality by itself; one that begins with a digit, as sums of money do, from its chain's start."""
    if at and links[at].written[0].isdigit():
        return links[0].chain[: links[at].end]
    return links[at].written


def _holds_formula(passage: Passage, point: Point) -> bool:
    return bool(point.formula) or any(
        _FORMULA.match(passage.mask.shown(one)) for one in re.findall(HIDDEN, point.statement.body)
    )


def _head(point: Point, heads: dict[str, str], kinds: dict[str, str], formula: str) -> str:
    """What a point is in a list: of those that only say something, the kind of statement."""
    if point.role != "said":
        return heads[point.role]
    return kinds[label(point.statement.body)] or (formula if point.formula else "")


def _headed(head: str) -> str:
    return f"**{head}.** " if head else ""


def _shown(point: Point) -> str:
    return f"\n\n{point.formula}\n\n" if point.formula else ""


def _flow(said: list[str]) -> str:
    """Sentences in one line, with displayed formulas between blank lines."""
    return re.sub(r" *\n\n *", "\n\n", " ".join(said)).strip()


def _checked(passage: Passage, text: str) -> str | None:
    """The text with its formulas, if it has all of them and is no near-copy."""
    shown = passage.mask.show(text)
    for letter in set(re.findall(HIDDEN, passage.mask.text)):
        if passage.mask.shown(letter) not in shown:
            return None
    return shown if copied(passage.source, shown) <= _COPIED else None
