"""The two indexes of a data set: where every sample lies and what it is, and which shards there are.

`samples.parquet` has a row per sample, `shards.parquet` a row per shard; they join on `shard`. Both are plain Parquet,
meant to be queried by hand. Rows keep the order in which they are given (shards in the order of the plan, samples in
the order of their shard), and the writer's options are fixed, so that the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .shards import Shard

SAMPLES = pa.schema(
    [
        ("id", pa.string()),
        ("key", pa.string()),
        ("shard", pa.string()),
        ("offset", pa.int64()),
        ("size", pa.int64()),
        ("members", pa.list_(pa.struct([("name", pa.string()), ("offset", pa.int64()), ("size", pa.int64())]))),
        ("kind", pa.string()),
        ("domain", pa.string()),
        ("split", pa.string()),
        ("licence", pa.string()),
        ("spdx", pa.string()),
        ("attribution", pa.string()),
        ("source", pa.string()),
        ("item", pa.string()),
        ("text_chars", pa.int64()),
        ("tokens", pa.int64()),
        ("media", pa.int32()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("tasks", pa.list_(pa.string())),
        ("template", pa.string()),
        ("checks", pa.list_(pa.struct([("name", pa.string()), ("passed", pa.bool_()), ("score", pa.float64())]))),
    ]
)
"""`offset` and `size` span the whole sample with its headers; a member's offset and size are those of its content, both
counted from the start of the shard. `tokens` is null unless the sample is made of token ids. `width` and `height` are
those of the first picture, `licence` is the class, `template` is that of a generated program."""

SHARDS = pa.schema(
    [
        ("shard", pa.string()),
        ("path", pa.string()),
        ("bytes", pa.int64()),
        ("samples", pa.int64()),
        ("sha256", pa.string()),
        ("signature", pa.string()),
        ("split", pa.string()),
        ("licence", pa.string()),
        ("unit", pa.string()),
    ]
)
"""`path` is relative to the data set's folder."""

SHARD_FOLDER = "shards"
SAMPLES_FILE, SHARDS_FILE = "samples.parquet", "shards.parquet"
_ROW_GROUP = 65_536


def shard_row(shard: Shard) -> dict[str, Any]:
    """A finished shard's row for `merge`."""
    return {
        "shard": shard.name,
        "bytes": shard.bytes,
        "samples": shard.samples,
        "sha256": shard.sha256,
        "signature": shard.signature,
        "split": shard.split,
        "licence": shard.licence,
        "unit": shard.unit,
    }


def write_unit_index(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write the index rows of one unit's shards."""
    with _writer(path, SAMPLES) as writer:
        writer.write_table(pa.Table.from_pylist(list(rows), schema=SAMPLES), row_group_size=_ROW_GROUP)


def read_unit_index(data: bytes) -> pa.Table:
    """The rows that `write_unit_index` wrote."""
    return pq.read_table(pa.BufferReader(data), schema=SAMPLES)


def merge(units: Iterable[pa.Table], shards: Sequence[dict[str, Any]], folder: Path) -> tuple[Path, Path]:
    """Write a data set's two indexes, streaming over the units.

    Args:
        units: the index tables of the units, in the plan's order.
        shards: the shards in the same order, as `shard_row` gives them; `path` is filled in.
        folder: local folder for the two files.

    Returns:
        The paths of `samples.parquet` and `shards.parquet`.

    Raises:
        ValueError: the rows and the shards do not belong together; the message names the shard.
    """
    samples_path, shards_path = folder / SAMPLES_FILE, folder / SHARDS_FILE
    wanted = {shard["shard"]: shard["samples"] for shard in shards}
    seen = dict.fromkeys(wanted, 0)
    with _writer(samples_path, SAMPLES) as writer:
        for table in _rebatch(units):
            for count in table["shard"].value_counts():
                shard = count["values"].as_py()
                if shard not in seen:
                    raise ValueError(f"the index has samples of {shard}, which is not a shard of this data set")
                seen[shard] += count["counts"].as_py()
            writer.write_table(table, row_group_size=_ROW_GROUP)
    for shard, number in seen.items():
        if number != wanted[shard]:
            raise ValueError(f"shard {shard} has {wanted[shard]} samples, the index {number}")
    rows = [{**shard, "path": f"{SHARD_FOLDER}/{shard['shard']}"} for shard in shards]
    with _writer(shards_path, SHARDS) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=SHARDS))
    return samples_path, shards_path


def _rebatch(tables: Iterable[pa.Table]) -> Iterable[pa.Table]:
    # Many small units must not become as many small row groups.
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += len(table)
        if rows >= _ROW_GROUP:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd", version="2.6", write_statistics=True)
