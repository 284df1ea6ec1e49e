"""One self-contained HTML page that shows samples: pictures beside their programs and tasks, with filters and search.

What it shows was written by strangers, so nothing of it reaches the page as markup. Samples lie in the page as JSON in
a script element that does not run, with every character that could end it escaped; the page's own script puts them on
screen as text only. Pictures are decoded and encoded anew, and shown as raster data: URIs. A content security policy
forbids everything else: it names the page's one script and one style by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import itertools
import re
from pathlib import Path
from typing import Any

import orjson
from datatrove.data import Media
from PIL import Image

from . import record as records
from . import tokens
from .errors import UserError
from .reader import Dataset

LIMIT = 120
_MAX_SIDE = 1280
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
    page = render(str(dataset.info.get("name") or "samples"), samples, len(dataset))
    Path(out_html).write_text(page, encoding="utf-8")
    return len(samples)


def render(title: str, samples: list[dict[str, Any]], total: int) -> str:
    """The page as HTML.

    Args:
        samples: as the page's script expects them; see `_sample`.
        total: how many samples the data set has.
    """
    style = _read("gallery.css")
    script = _read("gallery_code.js") + _read("gallery.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(title),
        "style": style,
        "script": script,
        "data": _inert(orjson.dumps({"total": total, "samples": samples}).decode()),
    }
    # Cut the template at its placeholders, once: what is put in is never looked at again.
    first, *rest = _read("gallery.html").split("{{")
    return first + "".join(parts[name] + after for name, after in (piece.split("}}", 1) for piece in rest))


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
    return {
        "id": record.id,
        "text": text[:_MAX_TEXT],
        "cut": max(0, len(text) - _MAX_TEXT),
        "media": [_media(part) for part in record.media],
        "template": row["template"],
        "shard": row["shard"],
        **{name: meta[name] for name in ("kind", "split", "domain", "source", "licence", "lineage", "checks", "extra")},
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
        return {**facts, "src": _raster(part.media_bytes or b"")}
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        # Pillow's ways of saying that these bytes are no picture it can draw; the page says so in its place.
        return {**facts, "src": None, "why": f"{facts['mime']}, {len(part.media_bytes or b'')} bytes: {error}"}


def _raster(data: bytes) -> str:
    picture: Image.Image = Image.open(io.BytesIO(data))
    picture = picture.convert("RGBA" if "transparency" in picture.info or picture.mode in ("RGBA", "LA") else "RGB")
    picture.thumbnail((_MAX_SIDE, _MAX_SIDE))
    out = io.BytesIO()
    picture.save(out, "WEBP", lossless=True, quality=60, method=2)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"


def _inert(json: str) -> str:
    """JSON that cannot end the script element it lies in, nor begin anything else."""
    for character in "<>&\u2028\u2029":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
