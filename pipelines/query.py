"""Questions to a data set: which samples, how many of what, and what became of the rest.

All of it is SQL over the two index files and the rejects, run by DuckDB in memory, so it is the same on a local disk
and on an object store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from .errors import UserError
from .ledger import Ledger
from .plan import Plan
from .reader import Dataset
from .store import Store
from .unit import REJECTS

if TYPE_CHECKING:
    import duckdb

COLUMNS = ("id", "kind", "split", "licence", "width", "height", "text_chars", "source")
STATS_FILE = "stats.json"
_COUNTED = ("kind", "split", "licence", "spdx", "domain", "template")
_MEASURED = ("size", "text_chars", "tokens", "media", "width", "height")


def where(dataset: Dataset, condition: str, columns: Sequence[str] = COLUMNS) -> duckdb.DuckDBPyRelation:
    """The samples for which an SQL condition over the columns of the index holds, in the order of the index.

    Raises:
        UserError: the condition or a column is wrong; one line that says how.
    """
    import duckdb

    try:
        found = dataset.relation().filter(condition).select(*columns)
        found.limit(0).fetchall()
    except duckdb.Error as error:
        raise UserError(f"--where {condition!r}: {_one_line(error)}") from None
    return found


def stats(dataset: Dataset) -> dict[str, Any]:
    """Counts by kind, split, licence and so on, sizes, tasks, checks, and what was left out at which stage.

    Everything is a JSON value. `sizes` has, for each measure, its minimum, quartiles and maximum.
    """
    run = _json(dataset.store, STATS_FILE)
    shards, stored = dataset.sql("select count(*), coalesce(sum(bytes), 0)::bigint from shards").fetchall()[0]
    return {
        "name": dataset.info.get("name"),
        "samples": len(dataset),
        "shards": shards,
        "bytes": stored,
        "counts": {column: _counts(dataset, column) for column in _COUNTED},
        "kinds_by_split": _rows(
            dataset, "select kind, split, count(*) as samples from samples group by all order by all"
        ),
        "tasks": _counts(dataset, "unnest(tasks)"),
        "sizes": {column: _sizes(dataset, column) for column in _MEASURED},
        "checks": _rows(
            dataset,
            "select c.name as name, count(*) as samples, count(*) filter (c.passed) as passed,"
            " min(c.score) as least, avg(c.score) as mean, max(c.score) as most"
            " from (select unnest(checks) as c from samples) group by c.name order by c.name",
        ),
        "outcomes": run.get("outcomes", {}),
        "rejects": run.get("codes", {}),
        "stages": run.get("stages", []),
    }


def rejects(store: Store) -> pa.Table:
    """Every item that the current plan's units did not publish, with stage, code and detail.

    Args:
        store: the job's folder.
    """
    plan = Plan.load(store)
    records = Ledger(store).records()
    units = [records[unit.id] for unit in plan.units if unit.id in records] if plan else []
    tables = [
        pq.read_table(pa.BufferReader(store.read(record.rejects.path)), schema=REJECTS)
        for record in units
        if record.rejects
    ]
    return pa.concat_tables(tables) if tables else REJECTS.empty_table()


def _counts(dataset: Dataset, what: str) -> dict[str, int]:
    query = f"select value, count(*) from (select {what} as value from samples) where value is not null group by value"
    return dict(dataset.sql(f"{query} order by count(*) desc, value").fetchall())


def _sizes(dataset: Dataset, column: str) -> dict[str, float] | None:
    row = dataset.sql(
        f"select min({column}), quantile_cont({column}, [0.25, 0.5, 0.75]), max({column}) from samples"
    ).fetchall()[0]
    if row[0] is None:
        return None
    least, (lower, median, upper), most = row
    return {"min": least, "q25": lower, "median": median, "q75": upper, "max": most}


def _rows(dataset: Dataset, query: str) -> list[dict[str, Any]]:
    return dataset.sql(query).to_arrow_table().to_pylist()


def _json(store: Store, path: str) -> dict[str, Any]:
    try:
        return orjson.loads(store.read(path))
    except FileNotFoundError:
        return {}


def _one_line(error: Exception) -> str:
    # DuckDB's message goes on with the query and a caret; its first line and its suggestion are what helps.
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    helpful = [line for line in lines[1:] if line.startswith("Candidate")]
    return " ".join([lines[0], *helpful])
