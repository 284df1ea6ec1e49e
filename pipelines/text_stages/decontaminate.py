"""Decontamination: drop records that share a run of words with texts the user names, such as the tests of a benchmark.

Texts are compared as runs of `ngram` words of lower-case letters and digits, so that punctuation, case and line breaks
do not matter. A listed text that is shorter, but has at least `min_words`, is sought as a whole. The index holds one
64-bit hash for each run, sorted; it is built once a process. That two different runs share a hash is less likely than
one in 10^8 for a list of 10 million runs and a record of 10,000 words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson
from datatrove.data import Document
from pydantic import Field, PrivateAttr

from ..dedup.shingles import ngram_hashes, word_hashes
from ..errors import UserError
from ..record import add_check
from ..stage import Context, Filtered, Stage
from .restated import Problems, Restated, problems


@dataclass(frozen=True)
class Index:
    """The runs of words of all lists.

    Attributes:
        hashes: by length of run, sorted uint64.
        places: by length of run, for each hash the listed text it is from.
        names: of each listed text, `<list>:<line>`.
    """

    hashes: dict[int, np.ndarray]
    places: dict[int, np.ndarray]
    names: list[str]

    def hits(self, text: str) -> list[str]:
        """For each distinct run that the text holds, the name of the listed text it is from."""
        words = word_hashes(text)
        found: list[str] = []
        for length, hashes in self.hashes.items():
            runs = ngram_hashes(words, length)
            at = np.searchsorted(hashes, runs)
            at[at == len(hashes)] = 0
            found += [self.names[self.places[length][place]] for place in np.unique(at[hashes[at] == runs])]
        return found


class Decontaminate(Stage):
    """Drop records that hold a run of words of a listed text.

    Attributes:
        lists: files of listed texts, relative to the recipe. `.jsonl`: one text a line, under any of `keys`;
            other files: one text a paragraph.
        ngram: words a run.
        min_words: listed texts of fewer words than this are not sought.
        keys: columns of `.jsonl` files that hold texts; each is a text of its own.
        hits: so many distinct runs must be found.
        restated: also drop records that restate a listed problem with its answer (see `Restated`); for mathematics.
            With it, texts need not hold long runs, so that `{}` is a sensible value.
    """

    version: ClassVar[int] = 1

    lists: list[str] = Field(min_length=1)
    ngram: int = Field(default=13, ge=1)
    min_words: int = Field(default=8, ge=1)
    keys: list[str] = ["text", "question", "problem", "prompt", "answer", "solution"]
    hits: int = Field(default=1, ge=1)
    restated: Restated | None = None

    _index: Index | None = PrivateAttr(default=None)
    _problems: Problems | None = PrivateAttr(default=None)

    def semantic(self) -> dict[str, Any]:
        # What is in the lists counts, and `reads` says that; where they lie does not.
        unused = {"lists"} if self.restated else {"lists", "restated"}
        return self.model_dump(mode="json", exclude=unused)

    def reads(self, context: Context) -> dict[str, str]:
        found = {}
        for path in self._paths(context):
            if not path.is_file():
                raise UserError(f"text.decontaminate: the list {path} does not exist")
            found[f"list {path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        if len(found) < len(self.lists):
            raise UserError("text.decontaminate: two lists have the same file name, by which hits are told apart")
        self._build(context)  # so that a list that holds nothing is told before the run
        if self.restated:
            _read_problems(self._stamped(context), self.restated)
        return found

    def open(self, context: Context) -> None:
        self._index = self._build(context)
        if self.restated:
            self._problems = _read_problems(self._stamped(context), self.restated)

    def process(self, record: Document) -> Document:
        assert self._index is not None
        found = self._index.hits(record.text)
        if len(found) >= self.hits:
            names = list(dict.fromkeys(found))
            runs = f"{len(found)} run{'s' if len(found) > 1 else ''}"
            raise Filtered(f"contaminated_{Path(names[0]).stem}", f"{runs} of words of {', '.join(names[:5])}")
        if self._problems is not None and (names := self._problems.found(record.text)):
            raise Filtered(f"restates_{names[0].rpartition(':')[0].removesuffix('.jsonl')}",
                           f"a problem with its answer: {', '.join(names[:5])}")  # fmt: skip
        add_check(record, "decontaminated", True, len(found))
        return record

    def _paths(self, context: Context) -> list[Path]:
        return [context.base / Path(one).expanduser() for one in self.lists]

    def _stamped(self, context: Context) -> tuple[tuple[Path, int], ...]:
        return tuple((path, path.stat().st_mtime_ns) for path in self._paths(context))

    def _build(self, context: Context) -> Index:
        return _read(self._stamped(context), self.ngram, self.min_words, tuple(self.keys))


@lru_cache(maxsize=4)
def _read(files: tuple[tuple[Path, int], ...], ngram: int, min_words: int, keys: tuple[str, ...]) -> Index:
    names: list[str] = []
    runs: dict[int, list[np.ndarray]] = {}
    owners: dict[int, list[np.ndarray]] = {}
    for path, _ in files:
        before = len(names)
        for line, text in _texts(path, keys):
            words = word_hashes(text)
            if len(words) < min_words:
                continue
            length = min(ngram, len(words))
            hashes = ngram_hashes(words, length)
            runs.setdefault(length, []).append(hashes)
            owners.setdefault(length, []).append(np.full(len(hashes), len(names), dtype=np.uint32))
            names.append(f"{path.name}:{line}")
        if len(names) == before:
            raise UserError(f"text.decontaminate: the list {path} holds no text of {min_words} or more words"
                            + (f" under {', '.join(keys)}" if path.suffix == ".jsonl" else ""))  # fmt: skip
    found: dict[int, np.ndarray] = {}
    places: dict[int, np.ndarray] = {}
    for length in sorted(runs):
        values, first = np.unique(np.concatenate(runs[length]), return_index=True)
        found[length], places[length] = values, np.concatenate(owners[length])[first]
    return Index(found, places, names)


@lru_cache(maxsize=4)
def _read_problems(files: tuple[tuple[Path, int], ...], options: Restated) -> Problems:
    rows = []
    for path, _ in files:
        for line, values in _objects(path) if path.suffix == ".jsonl" else ():
            question, answer = values.get(options.question), values.get(options.answer)
            if isinstance(question, str) and answer is not None:
                rows.append((f"{path.name}:{line}", question, str(answer)))
    found = problems(rows, options)
    if not found.names:
        raise UserError(
            f"text.decontaminate: no list holds problems under {options.question!r} with an answer under "
            f"{options.answer!r}, of {options.min_runs} runs of {options.ngram} words or more"
        )
    return found


def _texts(path: Path, keys: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """(line, text) of each listed text."""
    if path.suffix == ".jsonl":
        for line, values in _objects(path):
            for key in keys:
                if isinstance(values.get(key), str):
                    yield line, values[key]
        return
    line = 1
    for paragraph in _content(path).split("\n\n"):
        yield line, paragraph
        line += paragraph.count("\n") + 2


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, object) of a `.jsonl` list."""
    for line, row in enumerate(_content(path).splitlines(), start=1):
        if not row.strip():
            continue
        try:
            values = orjson.loads(row)
        except orjson.JSONDecodeError as error:
            raise UserError(f"{path}:{line}: {error}") from None
        if not isinstance(values, dict):
            raise UserError(f"{path}:{line}: a {type(values).__name__} where an object was expected")
        yield line, values


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"text.decontaminate: the list {path} is not UTF-8: {error}") from None
