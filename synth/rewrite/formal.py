"""Records of formal mathematics (Metamath, as the source `metamath` writes them with `formulas: code`), said otherwise.

    Theorem `a1i`. Inference introducing an antecedent.
    Given:
      `a1i.1`: `|- ph`
    Then:
      `|- ( ps -> ph )`
    Proved from: `wi`, `ax-1`, `ax-mp`.

A record has a fixed form, so its parts are read exactly: formulas and labels are moved, never touched. Only records
whose formulas are code to the verifier are taken. What a proof uses is a set, and is told in the order of the alphabet.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from ..verify.sentences import sentences
from .masks import Mask
from .passage import copied
from .phrases import opened
from .restate import sentence
from .wording import series

_COPIED = 0.55
_CODE = r"`[^`\s](?:[^`\n]{0,98}[^`\s])?`"
_RECORD = re.compile(
    rf"(?P<kind>Theorem|Axiom) (?P<label>{_CODE})\.(?P<comment>[^\n]*)\n"
    rf"(?:Given:\n(?P<given>(?:  [^\n]+\n)+)Then:\n)?"
    rf"  (?P<claim>{_CODE})\n?"
    rf"(?:Proved from: (?P<used>{_CODE}(?:, {_CODE})*)\.)?\s*\Z"
)
_STATEMENT = re.compile(r"^  `?\|- ", re.MULTILINE)
_VARIABLES = re.compile(rf"distinct variables: ({_CODE})")
_HYPOTHESIS = re.compile(rf"({_CODE}): ({_CODE})")
_KIND = {"Theorem": ("theorem", "proposition"), "Axiom": ("axiom", "postulate")}


class Record(NamedTuple):
    """One axiom or theorem; formulas and labels between their back-quotes."""

    kind: str
    label: str
    comment: str
    apart: tuple[str, ...]
    hypotheses: tuple[tuple[str, str], ...]
    claim: str
    used: tuple[str, ...]


def records(source: str) -> list[Record]:
    """The records of a chunk; none if anything else stands in it beside headings."""
    found = []
    for paragraph in re.split(r"\n{2,}", source.strip()):
        if not paragraph.startswith("#"):
            record = _record(paragraph)
            if record is None:
                return []
            found.append(record)
    return found


def _record(paragraph: str) -> Record | None:
    one = _RECORD.match(paragraph)
    if one is None:
        return None
    apart: list[str] = []
    hypotheses: list[tuple[str, str]] = []
    for line in (one["given"] or "").splitlines():
        if variables := _VARIABLES.fullmatch(line.strip()):
            apart.append(variables[1])
        elif hypothesis := _HYPOTHESIS.fullmatch(line.strip()):
            hypotheses.append((hypothesis[1], hypothesis[2]))
        else:
            return None
    used = tuple(sorted(set(re.findall(_CODE, one["used"] or ""))))
    return Record(one["kind"], one["label"], one["comment"].strip(), tuple(dict.fromkeys(apart)), tuple(hypotheses),
                  one["claim"], used)  # fmt: skip


def _notes(found: list[Record], rng: random.Random) -> str:
    """What is given, what follows, and what the proof rests on."""
    given = rng.choice(("Given", "Assumed", "Setting", "Premises"))
    follows = rng.choice(("Then", "It follows", "Conclusion", "Claim"))
    proof = rng.choice(("Proved by means of", "Proved with", "Proved by", "Proved on the ground of"))
    parts = []
    for one in found:
        name = rng.choice(_KIND[one.kind])
        lines = [f"**{one.label}**, {_article(name)} {name}. {_comment(one.comment, rng)}".rstrip()]
        if one.hypotheses or one.apart:
            lines.append(f"- {given}: {'; '.join(_assumptions(one, rng))}.")
        lines.append(f"- {follows}: {one.claim}.")
        if one.used:
            lines.append(f"- {proof}: {series(one.used)}.")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _outline(found: list[Record], rng: random.Random) -> str:
    """Each claim first, then under what it holds and by what it is proved."""
    claim = rng.choice(("Claim", "Assertion", "Statement"))
    under = rng.choice(("It holds under", "This supposes", "Needed for it"))
    by = rng.choice(("Proved by means of", "Proved with", "Proved by"))
    parts = []
    for one in found:
        lines = [f"{claim} {one.label}: {one.claim}."]
        if one.hypotheses or one.apart:
            lines.append(f"   {under}: {'; '.join(_assumptions(one, rng))}.")
        if one.used:
            lines.append(f"   {by}: {series(one.used)}.")
        if comment := _comment(one.comment, rng):
            lines.append(f"   {comment}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def is_formal(source: str) -> bool:
    """Whether a chunk holds formal statements, which are no sentences: nothing for styles of prose."""
    return bool(_STATEMENT.search(source))


def formal_reading(source: str, rng: random.Random) -> str | None:
    """The chunk as notes or as an outline; None if it holds anything but records, or comes out a copy."""
    if "Theorem `" not in source and "Axiom `" not in source:
        return None
    found = records(source)
    if not found:
        return None
    headings = [line for line in source.splitlines() if line.startswith("#")]
    text = "\n\n".join([*headings, rng.choice((_notes, _outline))(found, rng)])
    return text if copied(_bare(source), _bare(text)) <= _COPIED else None


def _bare(text: str) -> str:
    """Every formula and label as one word."""
    return re.sub(_CODE, lambda one: f"c{''.join(filter(str.isalnum, one[0]))}", text)


def _comment(comment: str, rng: random.Random) -> str:
    """Its sentences in other words, as far as they are sentences."""
    mask = Mask(comment)
    said: list[str] = []
    for span in sentences(mask.text):
        body = mask.text[span.start : span.end]
        free = body.endswith(".") and body[:1].isupper() and len(body.split()) > 4
        said += sentence(opened(body[:-1]), rng) if free else [body]
    return mask.show(" ".join(said))


def _assumptions(one: Record, rng: random.Random) -> list[str]:
    apart = rng.choice(("pairwise distinct", "distinct", "distinct from one another"))
    told = [f"the variables {names} are {apart}" for names in one.apart]
    return [*(f"{formula} (as {label})" for label, formula in one.hypotheses), *told]


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"
