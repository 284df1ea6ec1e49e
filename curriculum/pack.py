"""The source `curriculum.pack`: the sequences of one stage, planned on lengths and then filled.

Planning reads indexes alone (and, of documents that must be split, where they may be). A unit holds a run of sequences
and names, for each, the pieces that go into it; so what was planned is what is read, whatever happens in between.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
import orjson
import pyarrow.compute as pc
from datatrove.data import Document
from pydantic import BeforeValidator, Field, PrivateAttr, WithJsonSchema

from ..pipelines.prepared import check_prepared, tokenizer_at
from ..pipelines.reader import Dataset
from ..pipelines.record import new_record, strictest
from ..pipelines.sources.dataset import DatasetSource
from ..pipelines.stage import Context, Input, Item, Slice, Source
from ..pipelines.tokens import TokenSample, check, token_record
from ..tokenizer import Tokenizer
from . import report
from .assemble import Piece, assemble
from .cutting import cut_positions, picture_spans
from .planning import PLACED, StagePlan, plan_stage
from .stages import StageDefinition, presets, stage_definition
from .supply import Ints, Supply, salt_of, supply_of

_UNIT_TOKENS = 1 << 23
_COLUMNS = ("sequence", "dataset", "row", "copy", "part", "start", "stop")


def _definition(given: Any) -> Any:
    return given if isinstance(given, StageDefinition) else stage_definition(given)


_SCHEMA = {"anyOf": [{"type": "string", "enum": list(presets())}, {"type": "object"}]}


class Pack(Source):
    """Training sequences of one stage, out of tokenised documents.

    Attributes:
        documents: data sets of token samples: jobs that end with `curriculum.tokenise`, or windows of `synth.scatter`.
        tokenizer: what they were tokenised with; a copy goes into the output.
        stage: a preset's name, or a definition's fields (`{preset: 8k, tokens: 2000000}`).
        after: earlier jobs of this recipe that pack; what they have used is left alone.
    """

    version: ClassVar[int] = 1

    documents: list[DatasetSource] = Field(min_length=1)
    tokenizer: str
    stage: Annotated[StageDefinition, BeforeValidator(_definition), WithJsonSchema(_SCHEMA)]
    after: list[str] = []

    _plan: StagePlan | None = PrivateAttr(default=None)
    _datasets: list[Dataset] | None = PrivateAttr(default=None)

    @property
    def jobs(self) -> tuple[str, ...]:
        return (*(name for one in self.documents for name in one.jobs), *self.after)

    def semantic(self) -> dict[str, Any]:
        return {
            "documents": [one.semantic() for one in self.documents],
            "stage": self.stage.as_dict(),
            "after": self.after,
        }

    def reads(self, context: Context) -> dict[str, str]:
        digest = tokenizer_at(context, self.tokenizer)[0].digest
        return {"tokenizer": digest, "image tokens": str(self.stage.max_image_tokens)}

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        plan = self._planned(context)
        datasets = self._opened(context)
        shards = [one.samples["shard"].combine_chunks().dictionary_encode() for one in datasets]
        inputs = [source.inputs(one) for source, one in zip(self.documents, datasets, strict=True)]
        size = unit_items or max(1, _UNIT_TOKENS // self.stage.window)
        for split, rows in _by_split(plan):
            for first in range(0, plan.sequences[split], size):
                stop = min(first + size, plan.sequences[split])
                low, high = np.searchsorted(plan.sequence[rows], (first, stop))
                chosen = rows[low:high]
                where = {"split": split, "start": first, "stop": stop, **_packed(plan, chosen, first)}
                yield Slice(where, stop - first, tuple(_used(plan, chosen, shards, inputs)))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        datasets = self._opened(context)
        tokenizer = tokenizer_at(context, self.tokenizer)[0]
        table = _unpacked(where["pieces"])
        edges = np.searchsorted(table["sequence"], np.arange(where["stop"] - where["start"] + 1))
        for number, (low, high) in enumerate(pairwise(edges.tolist()), start=where["start"]):
            rows = [tuple(int(table[name][at]) for name in _COLUMNS[1:]) for at in range(low, high)]
            about = [(datasets[dataset].samples["id"][row].as_py(), *rest) for dataset, row, *rest in rows]
            key = f"{where['split']}-{number:08d}"
            load = partial(self._sequence, key, where["split"], rows, datasets, tokenizer)
            yield Item(key, f"{key}:{hashlib.sha256(orjson.dumps(about)).hexdigest()}", load)

    def files(self, context: Context, slices: Sequence[dict[str, Any]]) -> Iterable[tuple[str, bytes]]:
        plan = self._planned(context)
        tokenizer, content = tokenizer_at(context, self.tokenizer)
        made = Counter[str]()
        kept = np.zeros(len(plan.doc), bool)
        rows = dict(_by_split(plan))
        for where in slices:
            made[where["split"]] += where["stop"] - where["start"]
            these = rows[where["split"]]
            low, high = np.searchsorted(plan.sequence[these], (where["start"], where["stop"]))
            kept[these[low:high]] = True
        names = [source.out or source.job or "" for source in self.documents]
        yield report.FILE, report.curriculum_json(plan, kept, dict(made), tokenizer, self._opened(context))
        yield report.DOCUMENTS, report.documents_parquet(plan, kept, names)
        yield report.TOKENIZER, content

    def _opened(self, context: Context) -> list[Dataset]:
        if self._datasets is None:
            tokenizer = tokenizer_at(context, self.tokenizer)[0]
            self._datasets = [one.open_dataset(context) for one in self.documents]
            for dataset in self._datasets:
                bound, who = self.stage.max_image_tokens, f"stage {self.stage.name}"
                check_prepared(dataset, tokenizer, self.tokenizer, bound, who)
        return self._datasets

    def _planned(self, context: Context) -> StagePlan:
        if self._plan is None:
            datasets = self._opened(context)
            supply = supply_of(datasets)
            cut = partial(_cut, supply, datasets, tokenizer_at(context, self.tokenizer)[0])
            used = self._used_before(context, supply)
            self._plan = plan_stage(self.stage, supply, used, cut, salt_of("pack", context.seed, self.stage.name))
        return self._plan

    def _used_before(self, context: Context, supply: Supply) -> Ints:
        """[N] how many copies of each document earlier stages have placed or dropped."""
        used = np.zeros(len(supply), np.int64)
        for job in self.after:
            ids, copies = report.copies_taken(Dataset.open(context.output, job=job).store, job)
            at = pc.index_in(supply.ids, value_set=ids)
            used = np.maximum(used, np.where(pc.is_valid(at), copies[at.fill_null(0)], 0))
        return used

    def _sequence(
        self, key: str, split: str, rows: list[tuple[int, ...]], datasets: list[Dataset], tokenizer: Tokenizer
    ) -> Document:
        pieces, licences = [], []
        shares: Counter[str] = Counter()
        for dataset, row, copy, part, start, stop in rows:
            record = datasets[dataset][row]
            pieces.append(Piece(record.metadata["sample"], start, stop, copy, part))
            licences.append(record.metadata["licence"])
            shares[record.metadata["domain"]] += stop - start
        sample = assemble(pieces, self.stage.window, tokenizer.special["pad"])
        check(sample)
        about = new_record(
            "",
            kind="packed",
            domain=max(sorted(shares), key=shares.__getitem__),
            uri=f"packed:{self.stage.name}",
            item=key,
            content=sample.tokens.tobytes(),
            licence=strictest(licences),
        )
        about.metadata["split"] = split
        return token_record(sample, like=about.metadata)


def _by_split(plan: StagePlan) -> Iterator[tuple[str, Ints]]:
    """Each split with the rows that are placed in its sequences, in their order."""
    placed = np.flatnonzero(plan.fate == PLACED)
    codes = plan.supply.split.codes[plan.doc[placed]]
    for code, name in enumerate(plan.splits):
        if plan.sequences.get(name):
            yield name, placed[codes == code]


def _packed(plan: StagePlan, rows: Ints, first: int) -> dict[str, str]:
    """A unit's pieces as JSON values: a compressed table of integers, and a digest of the documents it names."""
    doc = plan.doc[rows]
    columns = (
        plan.sequence[rows] - first, plan.supply.dataset[doc], plan.supply.row[doc],
        plan.copy[rows], plan.part[rows], plan.start[rows], plan.stop[rows],
    )  # fmt: skip
    table = np.stack(columns).astype("<i8")
    ids = "\n".join(plan.supply.ids.take(doc).to_pylist())
    return {
        "pieces": base64.b64encode(zlib.compress(table.tobytes(), 1)).decode(),
        "documents": hashlib.sha256(ids.encode()).hexdigest()[:32],
    }


def _unpacked(pieces: str) -> dict[str, Ints]:
    table = np.frombuffer(zlib.decompress(base64.b64decode(pieces)), "<i8").reshape(len(_COLUMNS), -1)
    return dict(zip(_COLUMNS, table, strict=True))


def _used(plan: StagePlan, rows: Ints, shards: list[Any], inputs: list[dict[str, Input]]) -> Iterator[Input]:
    """The shards that a unit reads."""
    doc = plan.doc[rows]
    for at, (encoded, files) in enumerate(zip(shards, inputs, strict=True)):
        these = plan.supply.row[doc[plan.supply.dataset[doc] == at]]
        codes = np.bincount(encoded.indices.to_numpy()[these], minlength=len(encoded.dictionary))
        for code in np.flatnonzero(codes):
            yield files[encoded.dictionary[int(code)].as_py()]


def _cut(supply: Supply, datasets: list[Dataset], tokenizer: Tokenizer, doc: int, window: int) -> Ints:
    """Cut a document where its tokens allow it; it is read for that."""
    record = datasets[supply.dataset[doc]][int(supply.row[doc])]
    sample: TokenSample = record.metadata["sample"]
    breaks = orjson.loads(record.metadata["extra"]).get("breaks", [])
    pictures = picture_spans(sample, tokenizer.special["media_begin"])
    return cut_positions(len(sample.tokens), window, breaks, pictures, f"document {record.id}")

