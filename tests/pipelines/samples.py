"""Small real records and data sets for the tests of shards, reader, interop, gallery, card and query."""

from __future__ import annotations

import io
from pathlib import Path

import fsspec
import orjson
from datatrove.data import Document
from k3data.pipelines import index
from k3data.pipelines import record as records
from k3data.pipelines.bench.s3 import Bucket, new_bucket
from k3data.pipelines.shards import ShardSet
from k3data.pipelines.stage import seeded_rng
from PIL import Image, ImageDraw

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}"><!-- {n} --><circle r="9" fill="#c33"/></svg>'
WEB = '<!doctype html>\n<html><body class="page">\n<h1>Hello {n}</h1><p>a &lt; b</p>\n</body></html>'
CAD = 'import cadquery as cq\n\n# part {n}\nresult = cq.Workplane("XY").box({w}, {h}, 4.5)\n'


def picture(number: int, width: int, height: int, format: str = "PNG") -> bytes:
    """A small drawing that differs from number to number in every pixel row."""
    rng = seeded_rng("picture", number)
    image = Image.new("RGB", (width, height), (250, 248, 244))
    draw = ImageDraw.Draw(image)
    for y in range(height):
        draw.point((rng.randrange(width), y), (rng.randrange(256), rng.randrange(256), rng.randrange(256)))
    draw.ellipse((width // 4, height // 4, width // 2, height // 2), fill=(rng.randrange(256), 90, 60))
    out = io.BytesIO()
    image.save(out, format)
    return out.getvalue()


def record(number: int, kind: str, *, split: str = "train", spdx: str = "MIT", text: str | None = None) -> Document:
    """A record of one of the kinds svg and web (one picture), cad (three pictures) and text (none)."""
    width, height = 60 + number % 7, 40 + number % 5
    program = {"svg": SVG, "web": WEB, "cad": CAD, "text": "Plain words, ünïcode too, {n}."}[kind]
    program = text if text is not None else program.format(w=width, h=height, n=number)
    made = records.new_record(
        program, kind=kind, domain="knowledge" if kind == "text" else "vision", uri=f"programs:{kind}/{kind}_plain",
        item=str(number), content=program, licence=records.licence(spdx, "A. Author" if number % 2 else ""),
    )  # fmt: skip
    made.id = f"{kind}-{number:06d}"
    for view in range({"svg": 1, "web": 1, "cad": 3, "text": 0}[kind]):
        format = "JPEG" if kind == "web" and number % 3 == 2 else "PNG"
        data = picture(number * 10 + view, width, height, format)
        made.media.append(
            records.image(data, mime=f"image/{format.lower()}", width=width, height=height, name=f"view{view}")
        )
    made.text += records.OBJECT * len(made.media)
    made.metadata.update(split=split, lineage=lineage(number))
    # The first thirty have empty lists everywhere: readers that infer types from them must still read the others.
    if number >= 30:
        records.add_check(made, "not_blank", True, 0.25 + number)
        made.metadata["turns"] = [{"role": "user", "channel": None, "start": 0, "end": 5}]
        made.metadata["targets"] = [{"start": 1, "end": 4, "weight": 0.5}]
        made.metadata["tasks"] = tasks(width, height, len(made.media))
    return made


def lineage(number: int) -> dict:
    return {
        "recipe": "demo", "unit": "u0", "seed": 7, "stages": [{"name": "vision.render", "version": 1}],
        "parents": [f"parent-{number}"] if number % 4 == 0 else [],
    }  # fmt: skip


def tasks(width: int, height: int, pictures: int) -> list[dict]:
    pixels = [width / 4, height / 4, width / 2, height / 2]
    place = {
        "label": "circle", "media": pictures - 1, "pixels": pixels,
        "normalised": [0.25, 0.25, 0.5, 0.5], "per_mille": [250, 250, 500, 500],
    }  # fmt: skip
    found = [{"name": "caption", "prompt": "What is shown?", "answer": "A circle.", "boxes": [], "points": []}]
    if pictures:
        found.append({"name": "grounding", "prompt": "Where is it?", "answer": "here", "boxes": [place], "points": []})
    return found


def upload(root: Path, endpoint: str, name: str) -> Bucket:
    """Put a run's folder into a new bucket as `<bucket>/out`."""
    bucket = new_bucket(endpoint, name)
    fsspec.filesystem("s3", **bucket.options).put(str(root), f"{name}/out", recursive=True)
    return bucket


def mixed(count: int = 40) -> list[Document]:
    """Records of all kinds, in two splits and two licence classes."""
    kinds = ("svg", "text", "web", "cad")
    return [
        record(n, kinds[n % 4], split="val" if n % 9 == 8 else "train", spdx="CC-BY-4.0" if n % 5 == 4 else "MIT")
        for n in range(count)
    ]


def publish(root: Path, documents: list[Document], job: str = "render", units: int = 2) -> Path:
    """Lay a data set out as a finished run leaves it; returns the job's folder."""
    folder = root / job
    (folder / "shards").mkdir(parents=True)
    (folder / "index").mkdir()
    tables, shards = [], []
    for unit in range(units):
        scratch = folder / "scratch"
        scratch.mkdir()
        writing = ShardSet(scratch, f"u{unit}")
        for document in documents[unit::units]:
            writing.add(document)
        finished = writing.finish()
        rows = [row for shard in finished for row in shard.rows]
        index.write_unit_index(rows, scratch / "rows.parquet")
        tables.append(index.read_unit_index((scratch / "rows.parquet").read_bytes()))
        for shard in finished:
            shard.path.rename(folder / "shards" / shard.name)
            shards.append(index.shard_row(shard))
        (scratch / "rows.parquet").unlink()
        scratch.rmdir()
    index.merge(tables, shards, folder / "index")
    (folder / "dataset.json").write_bytes(orjson.dumps({"name": job, "schema": 1, "complete": True}))
    (root / "k3data.json").write_bytes(orjson.dumps({"jobs": [job]}))
    return folder
