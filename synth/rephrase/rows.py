"""A rewrite as a record, and back: what `synth.rephrase` publishes and `synth.judge` reads.

One record is a run of chunks, one after another, that passed; or one chunk whose answer failed. Everything that is
needed to judge it again without a call is in it: the chunks as the source has them, the answers, the prompt's id.
`extra` holds, under `written_from`, those chunks, and under `rewrite`:

    style, perspective, length, prompt {id, version, sha256}, backend, model, excerpt
    chunks [{source [start, end], at [start, end] in the document, text [start, end], verdict, attempts, finish,
             checks [[name, value, threshold, ok, code, spans, of_source], …]; facts, if asked for}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import orjson
from datatrove.data import Document

from ...pipelines.record import add_check
from ..verify.facts import fact_sheet
from ..verify.result import Check
from .assign import Assignment
from .prompts import Prompt
from .rewriter import Asked

KIND = "rewrite"
_JOIN = "\n\n"


@dataclass(frozen=True)
class Made:
    """What a rewrite was made with."""

    backend: str
    model: str
    prompt: Prompt
    assignment: Assignment
    excerpt: int


def runs(asked: Sequence[Asked]) -> Iterator[list[Asked]]:
    """The chunks by record: each run of those that passed, each answer that failed by itself."""
    run: list[Asked] = []
    for one in asked:
        if one.passed:
            run.append(one)
            continue
        if run:
            yield run
            run = []
        if one.verdict is not None:
            yield [one]
    if run:
        yield run


def row(document: Document, run: Sequence[Asked], made: Made, sheets: bool = False) -> Document:
    """The record of one run, with the fact sheets of its chunks if they are wanted. Its id is the engine's to give."""
    text, source, chunks = "", "", []
    for one in run:
        assert one.verdict is not None
        text, source = (before + _JOIN if before else "" for before in (text, source))
        said = document.text[one.part.start : one.part.end]
        chunks.append({
            "source": [len(source), len(source) + len(said)], "at": [one.part.start, one.part.end],
            "text": [len(text), len(text) + len(one.text)], "verdict": one.verdict.verdict, "attempts": one.attempts,
            "finish": one.finish,
            "checks": [_packed(check) for check in one.verdict.checks],
            **({"facts": fact_sheet(said).as_json()} if sheets else {}),
        })  # fmt: skip
        text, source = text + one.text, source + said
    extra = {
        "written_from": source,
        "rewrite": {
            "style": made.assignment.style, "perspective": made.assignment.perspective,
            "length": made.assignment.length, "excerpt": made.excerpt,
            "prompt": {"id": made.prompt.id, "version": made.prompt.version, "sha256": made.prompt.sha256},
            "backend": made.backend, "model": made.model, "chunks": chunks,
        }
    }  # fmt: skip
    kept = deepcopy({name: document.metadata.get(name) for name in ("source", "licence", "domain", "split")})
    kept |= {"kind": KIND, "scratch": {}, "extra": orjson.dumps(extra).decode()}
    record = Document(text, document.id, [], kept)
    _note(record, [check for one in run for check in one.verdict.checks])  # type: ignore[union-attr]
    return record


def rewrite_of(record: Document) -> dict[str, Any]:
    """What `row` put into `extra`, with the source's text as `source` and, in a document's first record, what is said
    of the whole as `document`; an empty dict if the record is none of its."""
    extra: dict[str, Any] = orjson.loads(record.metadata.get("extra") or "{}")
    if "rewrite" not in extra:
        return {}
    return {**extra["rewrite"], "source": extra["written_from"], "document": extra.get("document")}


def judged_again(record: Document, rewrite: dict[str, Any], verdicts: Sequence[tuple[str, Sequence[Check]]]) -> None:
    """Put other verdicts, one a chunk, in the place of those that the record holds."""
    for chunk, (verdict, checks) in zip(rewrite["chunks"], verdicts, strict=True):
        chunk.update(verdict=verdict, checks=[_packed(check) for check in checks])
    extra = orjson.loads(record.metadata["extra"])
    extra["rewrite"]["chunks"] = rewrite["chunks"]
    record.metadata["extra"] = orjson.dumps(extra).decode()
    record.metadata["checks"] = [one for one in record.metadata.get("checks") or [] if one["name"] != "verified"]
    _note(record, [check for _, checks in verdicts for check in checks])


def codes_of(rewrite: dict[str, Any]) -> list[str]:
    """Codes of the failed checks of a stored rewrite, in order, each once."""
    failed = (code for chunk in rewrite["chunks"] for _, _, _, ok, code, *_ in chunk["checks"] if not ok)
    return list(dict.fromkeys(failed))


def _note(record: Document, checks: Iterable[Check]) -> None:
    failed = [check for check in checks if not check.ok]
    codes = ", ".join(dict.fromkeys(check.code for check in failed))
    add_check(record, "verified", not failed, float(len(failed)), codes)


def unpacked(stored: list[Any]) -> Check:
    """A check as it was before it was stored."""
    name, value, threshold, ok, code, spans, of_source = stored
    return Check(name, value, threshold, ok, code, tuple((start, end) for start, end in spans), of_source)


def _packed(check: Check) -> list[Any]:
    return [check.name, check.value, check.threshold, check.ok, check.code, [list(one) for one in check.spans],
            check.of_source]  # fmt: skip
