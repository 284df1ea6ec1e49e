"""Planning the sequences of a stage for a million documents, at four windows, against concatenating and chunking.

Lengths are drawn like those of 66,433 real documents that were counted: log-normal with a median of 511 tokens and 1 %
above 19,800, of which the last per mille follow a power law up to ten million. The time is that from the index on disk
to a plan that has been recounted; documents longer than the window are split. The peer is what most loaders do:
documents in random order, end to end, cut at every window.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..cutting import cut_positions
from ..planning import PLACED, StagePlan, plan_stage
from ..stages import StageDefinition, stage_definition
from ..supply import COLUMNS, supply_from

NAME = "packing"
SUMMARY = "plan the sequences of a stage: fill, truncations, mixture, time for a million documents"

_WINDOWS = ("8k", "64k", "256k", "1m")
_MIXTURE = {"code": 0.3, "maths": 0.1, "knowledge": 0.4, "vision": 0.2}
_SUPPLY = {"code": 0.33, "maths": 0.11, "knowledge": 0.38, "vision": 0.18}


def run(quick: bool) -> dict[str, Any]:
    figures: dict[str, float] = {}
    truncated = 0
    errors = []
    peers: dict[str, dict[str, float]] = {"concatenate and chunk": {}}
    with tempfile.TemporaryDirectory(prefix="k3data-bench-") as name:
        million = _write_index(Path(name, "million.parquet"), 1_000_000)
        # A quick run times the window with the most pieces on all documents, and packs a fifth of them at the others.
        some = _write_index(Path(name, "some.parquet"), 200_000) if quick else million
        seconds = []
        for window in _WINDOWS:
            timed = window == "8k" or not quick
            plan, spent = _planned(_definition(window), million if timed else some)
            if timed:
                seconds.append(spent)
                figures[f"plan_seconds_{window}"] = round(spent, 2)
            truncated += _avoidable(plan)
            errors.append(_mixture_error(plan))
            figures[f"fill_{window}"] = round(_fill(plan), 6)
            peers["concatenate and chunk"][f"cut_share_{window}"] = round(_concatenated(plan), 5)
    figures["avoidable_truncations"] = truncated
    figures["plan_seconds_1m_docs"] = round(max(seconds), 2)
    figures["mixture_error"] = round(max(errors), 6)
    figures["peak_rss_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    return {"figures": figures, "peers": peers}


def draw_lengths(count: int, seed: int) -> np.ndarray:
    """[count] lengths in tokens."""
    rng = np.random.default_rng(seed)
    lengths = rng.lognormal(np.log(511), 1.57, count)
    tail = rng.random(count) < 0.001
    lengths[tail] = 30_000 * (1 + rng.pareto(1.05, int(tail.sum())))
    return np.clip(lengths, 1, 10_000_000).astype(np.int64)


def _write_index(path: Path, count: int) -> Path:
    """The columns of an index that planning reads, for documents that do not exist."""
    rng = np.random.default_rng(count)
    text = rng.bytes(16 * count).hex().encode()
    offsets = np.arange(0, 32 * count + 1, 32, dtype=np.int32)
    ids = pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))
    domains = rng.choice(len(_SUPPLY), count, p=list(_SUPPLY.values()))
    columns = {
        "id": ids,
        "tokens": draw_lengths(count, 1),
        "domain": pa.DictionaryArray.from_arrays(domains.astype(np.int32), list(_SUPPLY)).cast(pa.string()),
        "kind": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), ["text"]).cast(pa.string()),
        "split": pa.DictionaryArray.from_arrays((rng.random(count) < 0.02).astype(np.int32), ["train", "val"]).cast(
            pa.string()
        ),
    }
    empty = pa.array([], pa.struct([("name", pa.string()), ("passed", pa.bool_()), ("score", pa.float64())]))
    columns["checks"] = pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), empty)
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def _definition(window: str) -> StageDefinition:
    return stage_definition({"preset": window, "mixture": _MIXTURE, "overflow": "split", "tokens": "95%"})


def _planned(definition: StageDefinition, index: Path) -> tuple[StagePlan, float]:
    started = time.perf_counter()
    supply = supply_from([pq.read_table(index, columns=COLUMNS)])

    def cut(doc: int, window: int) -> np.ndarray:
        return cut_positions(int(supply.tokens[doc]), window, [], [])

    plan = plan_stage(definition, supply, np.zeros(len(supply), np.int64), cut, 1)
    spent = time.perf_counter() - started
    _recount(plan)
    return plan, spent


def _recount(plan: StagePlan) -> None:
    """Every token of every document in exactly one place, counted another way than the planner does."""
    length = plan.stop - plan.start
    if np.bincount(plan.doc, length).astype(np.int64).tolist() != plan.supply.tokens.tolist():
        raise AssertionError("the plan does not account for every token")
    placed = plan.fate == PLACED
    key = plan.sequence[placed] * len(plan.splits) + plan.supply.split.codes[plan.doc[placed]]
    if np.bincount(key, length[placed]).max() > plan.definition.window:
        raise AssertionError("the plan has a sequence longer than the window")


def _fill(plan: StagePlan) -> float:
    return float(plan.got.sum() / (sum(plan.sequences.values()) * plan.definition.window))


def _avoidable(plan: StagePlan) -> int:
    """Documents that fit into a window and were cut all the same."""
    return int((plan.supply.tokens[plan.doc[plan.part > 0]] <= plan.definition.window).sum())


def _mixture_error(plan: StagePlan) -> float:
    """The largest difference of a component's share from the one wanted."""
    got = plan.got[plan.splits.index("train")]
    wanted = [plan.definition.shares()[one.name] for one in plan.definition.mixture]
    return float(np.abs(got / got.sum() - wanted).max())


def _concatenated(plan: StagePlan) -> float:
    """The share of documents that fit into a window and that chunking cuts."""
    window = plan.definition.window
    lengths = np.random.default_rng(2).permutation(plan.supply.tokens)
    end = np.cumsum(lengths)
    cut = (end - lengths) // window != (end - 1) // window
    return float((cut & (lengths <= window)).mean())
