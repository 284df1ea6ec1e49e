"""What a packed stage says of itself: `curriculum.json`, and `documents.parquet` with the fate of every document.

Everything is counted from the plan's rows, so that it adds up: the tokens of all fates are those of all copies.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..pipelines.errors import UserError
from ..pipelines.prepared import TOKENIZER_FILE
from ..pipelines.reader import Dataset
from ..pipelines.store import Store
from ..pipelines.tokens import SPANS
from ..tokenizer import Tokenizer
from ..tokenizer.images import PATCH, SIDE_LIMIT
from .mixing import Mask
from .planning import DROPPED, FATES, LEFT, PLACED, StagePlan

FILE, DOCUMENTS, TOKENIZER = "curriculum.json", "documents.parquet", TOKENIZER_FILE
FORMAT = 1
_BINS = 20
_ALL = 2**31 - 1


def curriculum_json(
    plan: StagePlan, kept: Mask, sequences: dict[str, int], tokenizer: Tokenizer, datasets: Sequence[Dataset]
) -> bytes:
    """The file's content.

    Args:
        kept: [P] rows whose sequence is part of the data set; others are not when a run was limited.
        sequences: how many there are, by split.
    """
    definition = plan.definition
    length = plan.stop - plan.start
    fate = _fates(plan, kept)
    positions = sum(sequences.values()) * definition.window
    placed = int(length[kept].sum())
    values = {
        "format": FORMAT,
        "name": definition.name,
        "stage": definition.as_dict(),
        "sequences": sequences,
        "tokens": {"positions": positions, "placed": placed, "padding": positions - placed},
        "padding_share": round((positions - placed) / positions, 6) if positions else 0.0,
        "padding_by_split": {name: _padding(plan, kept, name, count) for name, count in sequences.items()},
        "mixture": {name: _mixture(plan, kept, code) for code, name in enumerate(plan.splits) if name in sequences},
        "by_kind": _by(plan, kept, plan.supply.kind.codes, plan.supply.kind.names),
        "by_domain": _by(plan, kept, plan.supply.domain.codes, plan.supply.domain.names),
        "fates": {
            name: {"pieces": int((fate == code).sum()), "tokens": int(length[fate == code].sum())}
            for code, name in enumerate(FATES)
        },
        "split_documents": len(np.flatnonzero(np.bincount(plan.doc[plan.part > 0], minlength=1))),
        "images": {
            "max_tokens": definition.max_image_tokens, "patch": PATCH, "token_pixels": 2 * PATCH,
            "side_limit": SIDE_LIMIT, "pad_multiple": 2 * PATCH, "upscale": False, "mean": 0.5, "std": 0.5,
        },
        "tokenizer": {
            "file": TOKENIZER, "digest": tokenizer.digest, "vocab_size": tokenizer.vocab_size,
            "special": {name: id for name, id in tokenizer.special.items() if not name.startswith("reserved_")},
        },
        "weights": "the weight of position t is that of predicting token t + 1; 0 at the last position of every group",
        "distances": _distances(plan, kept, datasets),
    }  # fmt: skip
    return orjson.dumps(values, option=orjson.OPT_INDENT_2)


def documents_parquet(plan: StagePlan, kept: Mask, datasets: Sequence[str]) -> bytes:
    """A row a piece: which tokens of which copy of which document, and what became of them."""
    supply, doc = plan.supply, plan.doc
    components = [one.name for one in plan.definition.mixture]
    fate = _fates(plan, kept)
    component = pa.array(plan.component, pa.int32(), mask=plan.component < 0)
    table = pa.table({
        "id": supply.ids.take(pa.array(doc)),
        "dataset": pa.DictionaryArray.from_arrays(pa.array(supply.dataset[doc], pa.int32()), list(datasets)),
        "copy": pa.array(plan.copy, pa.int32()),
        "part": pa.array(plan.part, pa.int32()),
        "start": plan.start,
        "stop": plan.stop,
        "component": pa.DictionaryArray.from_arrays(component, components),
        "split": pa.DictionaryArray.from_arrays(pa.array(supply.split.codes[doc], pa.int32()), supply.split.names),
        "fate": pa.DictionaryArray.from_arrays(pa.array(fate, pa.int32()), list(FATES)),
        "sequence": pa.array(plan.sequence, pa.int64(), mask=~kept),
    })  # fmt: skip
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def copies_taken(store: Store, job: str) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """The documents that a packed stage has placed or dropped, and how many copies of each no later stage may take.

    Raises:
        UserError: the job did not pack.
    """
    try:
        table = pq.read_table(io.BytesIO(store.read(DOCUMENTS)), columns=["id", "copy", "fate"])
    except FileNotFoundError:
        raise UserError(f"after: job {job!r} has no {DOCUMENTS}; it does not pack") from None
    fate = table["fate"].cast(pa.string())
    placed = pc.if_else(pc.equal(fate, FATES[PLACED]), pc.add(table["copy"], 1), 0)
    copies = pc.if_else(pc.equal(fate, FATES[DROPPED]), _ALL, placed)
    most = table.append_column("copies", copies).group_by("id").aggregate([("copies", "max")])
    return most["id"].combine_chunks(), most["copies_max"].to_numpy().astype(np.int64)


def _fates(plan: StagePlan, kept: Mask) -> npt.NDArray[np.int64]:
    """[P] what is planned for a sequence that a limited run leaves out is left."""
    return np.where((plan.fate == PLACED) & ~kept, LEFT, plan.fate)


def _padding(plan: StagePlan, kept: Mask, split: str, count: int) -> dict[str, Any]:
    these = kept & (plan.supply.split.codes[plan.doc] == plan.splits.index(split))
    positions = count * plan.definition.window
    placed = int((plan.stop - plan.start)[these].sum())
    return {"positions": positions, "padding": positions - placed, "share": round(1 - placed / positions, 6)}


def _mixture(plan: StagePlan, kept: Mask, split: int) -> list[dict[str, Any]]:
    """Wanted against got, a component a row."""
    length = plan.stop - plan.start
    inside = kept & (plan.supply.split.codes[plan.doc] == split)
    total = max(int(length[inside].sum()), 1)
    wanted_total = max(int(plan.wanted[split].sum()), 1)
    rows = []
    for at, one in enumerate(plan.definition.mixture):
        these = inside & (plan.component == at)
        got = int(length[these].sum())
        rows.append({
            "name": one.name,
            "wanted_tokens": int(plan.wanted[split, at]),
            "got_tokens": got,
            "wanted_share": round(int(plan.wanted[split, at]) / wanted_total, 6),
            "got_share": round(got / total, 6),
            "offered_tokens": int(plan.offered[split, at]),
            "documents": int(np.count_nonzero(np.bincount(plan.doc[these], minlength=1))),
            "copies": int((these & (plan.part == 0)).sum()),
            "upsample": one.upsample,
        })  # fmt: skip
    return rows


def _by(plan: StagePlan, kept: Mask, codes: npt.NDArray[np.int32], names: list[str]) -> dict[str, int]:
    """Placed tokens by a word of their documents."""
    total = np.bincount(codes[plan.doc[kept]], (plan.stop - plan.start)[kept], minlength=len(names))
    return {name: int(count) for name, count in sorted(zip(names, total, strict=True)) if count}


def _distances(plan: StagePlan, kept: Mask, datasets: Sequence[Dataset]) -> dict[str, Any]:
    """How far before their answers the clues of placed items lie, as fractions of the window."""
    supply = plan.supply
    rows = np.flatnonzero(kept & supply.kind.among(plan.definition.whole)[plan.doc])
    found = []
    for doc in plan.doc[rows]:
        spans = orjson.loads(datasets[supply.dataset[doc]].raw(int(supply.row[doc]))[SPANS])
        for proof in map(json.loads, spans["proofs"]):
            found += [proof["answer"]["start"] - clue["end"] for clue in proof["clues"]]
    fractions = np.clip(np.array(found, float) / plan.definition.window, 0, 1)
    counts, edges = np.histogram(fractions, bins=_BINS, range=(0, 1))
    wanted = [{"from": one.low, "to": one.high, "share": one.share} for one in plan.definition.distances]
    got = [
        float(((fractions >= one["from"]) & (fractions < one["to"])).mean()) if len(found) else 0.0 for one in wanted
    ]
    return {
        "dependencies": len(found),
        "histogram": {"edges": [round(float(edge), 4) for edge in edges], "counts": counts.tolist()},
        "wanted": wanted,
        "got": [{**one, "share": round(share, 4)} for one, share in zip(wanted, got, strict=True)],
    }
