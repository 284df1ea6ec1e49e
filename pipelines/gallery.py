"""One self-contained HTML page that shows samples: pictures beside their programs and tasks, with filters and search.

What it shows was written by strangers, so nothing of it reaches the page as markup; see `page`.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import orjson
from datatrove.data import Media
from PIL import Image

from . import page, tokens
from . import record as records
from .errors import UserError
from .reader import Dataset

LIMIT = 120
_MAX_TEXT = 60_000


def write_gallery(
    dataset: Dataset, out_html: str | Path, *, limit: int = LIMIT, kind: str | None = None, seed: int = 0
) -> int:
    """Write the page and return the number of samples in it.

    Args:
        limit: at most so many samples, spread evenly over the kinds; which ones depends on `seed` alone.
        kind: only this kind.

    Raises:
        UserError: there is no sample, or none of that kind.
    """
    numbers = _choose(dataset, limit, kind, seed)
    if not len(dataset):
        raise UserError(f"{dataset.store.url} has no samples to show")
    if not numbers:
        kinds = dataset.sql("select distinct kind from samples order by kind").fetchall()
        raise UserError(f"no samples of kind {kind!r}; there are: {', '.join(name for (name,) in kinds)}")
    samples = [_sample(dataset, number) for number in numbers]
    text = render(str(dataset.info.get("name") or "samples"), samples, len(dataset))
    Path(out_html).write_text(text, encoding="utf-8")
    return len(samples)


def render(title: str, samples: list[dict[str, Any]], total: int) -> str:
    """The page as HTML.

    Args:
        samples: as the page's script expects them; see `_sample`.
        total: how many samples the data set has.
    """
    return page.render(
        page.read(__file__, "gallery.html"),
        title=title,
        style=page.SHARED_STYLE + page.read(__file__, "gallery.css"),
        script=page.SHARED_SCRIPT + page.read(__file__, "gallery_code.js") + page.read(__file__, "gallery.js"),
        data={"total": total, "samples": samples},
    )


def _choose(dataset: Dataset, limit: int, kind: str | None, seed: int) -> list[int]:
    """Row numbers of the samples to show, kinds in turn, so that the first page shows some of each."""
    condition = "kind = ?" if kind else "? is null"
    rows = dataset.connection.execute(
        "with ranked as (select number, kind, row_number() over (partition by kind order by md5(id || ?)) as turn"
        f" from (select kind, id, row_number() over () - 1 as number from samples) where {condition})"
        " select number from ranked order by turn, kind limit ?",
        [str(seed), kind, limit],
    ).fetchall()
    return [number for (number,) in rows]


def _sample(dataset: Dataset, number: int) -> dict[str, Any]:
    record = dataset[number]
    row = dataset.samples.slice(number, 1).to_pylist()[0]
    meta = record.metadata
    text = tokens.summary(meta["sample"]) if "sample" in meta else _readable(record.text)
    extra = orjson.loads(meta["extra"] or "{}")
    return {
        "id": record.id,
        "text": text[:_MAX_TEXT],
        "cut": max(0, len(text) - _MAX_TEXT),
        # What the text was written from stands beside it, not among the facts.
        "source_text": str(extra.pop("written_from", ""))[:_MAX_TEXT],
        "media": [_media(part) for part in record.media],
        "template": row["template"],
        "shard": row["shard"],
        **{name: meta[name] for name in ("kind", "split", "domain", "source", "licence", "lineage", "checks")},
        "extra": orjson.dumps(extra).decode(),
        "tasks": [_task(task) for task in meta["tasks"]],
    }


def _readable(text: str) -> str:
    """The text with its placeholders named, or without them where pictures only stand before and after it."""
    inner = text.strip(records.OBJECT + "\n")
    if records.OBJECT not in inner:
        return inner
    numbers = itertools.count(1)
    return re.sub(records.OBJECT, lambda _: f"[picture {next(numbers)}]", text)


def _task(task: dict[str, Any]) -> dict[str, Any]:
    return {**{name: (task[name] or "")[:_MAX_TEXT] for name in ("name", "prompt", "answer")}, "boxes": task["boxes"]}


def _media(part: Media) -> dict[str, Any]:
    facts = {name: part.metadata[name] for name in ("name", "mime", "width", "height")}
    try:
        return {**facts, "src": page.raster(part.media_bytes or b"")}
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        # Pillow's ways of saying that these bytes are no picture it can draw; the page says so in its place.
        return {**facts, "src": None, "why": f"{facts['mime']}, {len(part.media_bytes or b'')} bytes: {error}"}
