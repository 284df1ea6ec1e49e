"""Reading packed sequences of 8,192 tokens in the order of training, against webdataset.WebDataset in the files' order.

Both hand over token ids as arrays that own their memory, from files in the page cache. `checked` compares token ids and
spans with their SHA-256, which is what training does by default and webdataset cannot; `training` adds group bounds and
weights; `pictures` adds decoding one picture a sequence. webdataset is given its fastest form: only the members that
are asked for. Resuming is opening the data set anew and reading the first sequence.
"""

from __future__ import annotations

import io
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from PIL import Image, ImageDraw

from ...pipelines import index
from ...pipelines.bench.harness import interleaved
from ...pipelines.record import licence, new_record
from ...pipelines.shards import ShardSet
from ...pipelines.tokens import MEDIA, SPANS, TOKENS, TokenSample, from_label_weights, spread, token_record
from ..reader import PackedReader

NAME = "reader"
SUMMARY = "read packed sequences in the order of training, against webdataset.WebDataset; resume"

WINDOW = 8192
_DOCUMENTS, _PAD = 8, 7
_SIDE = 336


def run(quick: bool) -> dict[str, Any]:
    count = 1200 if quick else 6000
    with tempfile.TemporaryDirectory(prefix="k3data-bench-") as name:
        folder = Path(name)
        urls = _publish(folder, count)
        _check_content(folder, urls, count)
        differ = _order_differs(folder)
        # Decoding takes a hundred times as long as reading: it is measured on a part.
        cases = _cases(folder, urls, count // 10)
        seconds = interleaved({case: partial(_timed, make) for case, (make, _) in cases.items()}, 5 if quick else 9)
        resume = max(_resume(folder, share) for share in (0.01, 0.5, 0.99) for _ in range(3))
    rate = {case: round(number * WINDOW / seconds[case]) for case, (_, number) in cases.items()}
    ratio = {case: round(rate[case] / rate[f"WebDataset {case}"], 2) for case in ("tokens", "training", "pictures")}
    return {
        "figures": {
            "sequences": count,
            "tokens_per_s": rate["tokens"],
            "ratio_vs_webdataset": ratio["tokens"],
            "tokens_per_s_checked": rate["checked"],
            "ratio_vs_webdataset_checked": round(rate["checked"] / rate["WebDataset tokens"], 2),
            "tokens_per_s_training": rate["training"],
            "ratio_vs_webdataset_training": ratio["training"],
            "tokens_per_s_pictures": rate["pictures"],
            "ratio_vs_webdataset_pictures": ratio["pictures"],
            "resume_seconds_max": round(resume, 4),
            "order_differs_1_3_2_ranks": differ,
        },
        "peers": {case: {"tokens_per_s": one} for case, one in rate.items() if case.startswith("WebDataset")},
    }


def _cases(folder: Path, urls: list[str], few: int) -> dict[str, tuple[Callable[[], Iterable[Any]], int]]:
    """Each case as what makes its items, and how many there are."""
    plain, checked = (PackedReader.open(str(folder), check=check) for check in (False, True))
    count = len(plain)

    def ours(reader: PackedReader, number: int, what: Callable[[Any], Any]) -> Iterator[Any]:
        return (what(one) for one in islice(reader.iter(), number))

    def theirs(number: int, what: Callable[[dict[str, bytes]], Any], *members: str) -> Iterator[Any]:
        return (what(one) for one in islice(_webdataset(urls, members), number))

    return {
        "tokens": (lambda: ours(plain, count, lambda one: one.tokens.copy()), count),
        "checked": (lambda: ours(checked, count, lambda one: one.tokens.copy()), count),
        "WebDataset tokens": (lambda: theirs(count, _tokens, TOKENS), count),
        "training": (
            lambda: ours(plain, count, lambda one: (one.tokens.copy(), one.cu_seqlens, one.weights)), count,
        ),
        "WebDataset training": (lambda: theirs(count, _training, TOKENS, SPANS), count),
        "pictures": (lambda: ours(plain, few, lambda one: (one.tokens.copy(), one.pixels(0))), few),
        "WebDataset pictures": (lambda: theirs(few, _picture, TOKENS, SPANS, MEDIA), few),
    }  # fmt: skip


def _tokens(found: dict[str, bytes]) -> np.ndarray:
    return np.frombuffer(found[TOKENS], "<u4", offset=128)


def _training(found: dict[str, bytes]) -> Any:
    spans = json.loads(found[SPANS])
    bounds = np.array([0, *(one["end"] for one in spans["groups"])], np.int32)
    return _tokens(found), bounds, spread(spans["weights"])


def _picture(found: dict[str, bytes]) -> Any:
    (one,) = json.loads(found[SPANS])["images"]
    with Image.open(io.BytesIO(found[MEDIA][one["offset"] : one["offset"] + one["bytes"]])) as image:
        return _tokens(found), np.asarray(image.convert("RGB"))


def _webdataset(urls: list[str], members: tuple[str, ...]) -> Iterator[dict[str, bytes]]:
    import webdataset

    wanted = tuple(f".{one}" for one in members)
    return iter(webdataset.WebDataset(urls, shardshuffle=False, select_files=lambda name: name.endswith(wanted)))


def _timed(make: Callable[[], Iterable[Any]]) -> float:
    started = time.perf_counter()
    for _ in make():
        pass
    return time.perf_counter() - started


def _resume(folder: Path, share: float) -> float:
    """Seconds from nothing open to the sequence at that share of the first epoch."""
    started = time.perf_counter()
    reader = PackedReader.open(str(folder))
    found = next(reader.iter(cursor=reader.advance(reader.start(), int(share * len(reader)))))
    spent = time.perf_counter() - started
    wanted = next(islice(PackedReader.open(str(folder)).iter(), int(share * len(reader)), None))
    if found.place != wanted.place or (found.tokens != wanted.tokens).any():
        raise AssertionError("resuming does not give the sequence that was to come")
    return spent


def _order_differs(folder: Path) -> int:
    """Places at which going from 1 to 3 to 2 ranks gives another sequence than 1 rank alone."""
    reader = PackedReader.open(str(folder))
    cursor, found = reader.start(), []
    for ranks, steps in ((1, 97), (3, 101), (2, 211)):
        streams = [list(islice(reader.places(cursor, rank, ranks), steps)) for rank in range(ranks)]
        found += [place for step in zip(*streams, strict=True) for place in step]
        cursor = reader.advance(cursor, ranks * steps)
    wanted = islice(reader.places(reader.start()), len(found))
    return sum(one != other for one, other in zip(found, wanted, strict=True))


def _check_content(folder: Path, urls: list[str], count: int) -> None:
    """Both sides read the same sequences, each of them once."""
    ours = {one.spans["id"]: one.tokens.tobytes() for one in islice(PackedReader.open(str(folder)).iter(), count)}
    theirs = {one["__key__"]: _tokens(one).tobytes() for one in _webdataset(urls, (TOKENS,))}
    if ours != theirs or len(ours) != count:
        raise AssertionError("the readers do not give the same sequences")


def _publish(folder: Path, count: int) -> list[str]:
    """A packed stage: eight documents a sequence and one picture; the urls of its shards."""
    writing = ShardSet(folder, "bench")
    pictures = [_draw(number) for number in range(16)]
    for number in range(count):
        about = new_record(
            "", kind="packed", domain="code", uri="bench", item=str(number), content=b"", licence=licence("MIT")
        )
        record = token_record(_sample(number, pictures[number % len(pictures)]), like=about.metadata)
        record.id = f"{number:032x}"
        record.metadata["split"] = "train"
        writing.add(record)
    (shard,) = writing.finish()
    for sub in (index.SHARD_FOLDER, "index"):
        (folder / sub).mkdir()
    path = shard.path.rename(folder / index.SHARD_FOLDER / shard.name)
    index.write_unit_index(shard.rows, folder / "rows.parquet")
    table = index.read_unit_index((folder / "rows.parquet").read_bytes())
    index.merge([table], [index.shard_row(shard)], folder / "index")
    (folder / "dataset.json").write_bytes(orjson.dumps({"name": "bench", "complete": True}))
    (folder / "curriculum.json").write_bytes(orjson.dumps({"name": "bench", "stage": {"window": WINDOW}}))
    return [str(path)]


def _sample(number: int, picture: bytes) -> TokenSample:
    rng = random.Random(number)
    edges = [0, *sorted(rng.sample(range(300, WINDOW), _DOCUMENTS - 1)), WINDOW]
    groups = [{"start": start, "end": end} for start, end in pairwise(edges)]
    tokens = np.random.default_rng(number).integers(8, 16_000, WINDOW, dtype=np.uint32)
    tokens[8 : 8 + 144] = _PAD
    image = {"start": 8, "tokens": 144, "grid": [12, 12], "frames": 1, "offset": 0, "bytes": len(picture),
             "mime": "image/png", "width": _SIDE, "height": _SIDE}  # fmt: skip
    docs = [{**one, "id": f"{rng.getrandbits(128):032x}", "domain": "code", "kind": "text"} for one in groups]
    weights = from_label_weights((tokens != _PAD).astype(np.float32), groups)
    return TokenSample(tokens, groups, docs, [image], weights, media=picture)


def _draw(number: int) -> bytes:
    """A picture like those of rendered programs: flat shapes on a plain ground."""
    rng = random.Random(number)
    image = Image.new("RGB", (_SIDE, _SIDE), "white")
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = rng.randrange(_SIDE), rng.randrange(_SIDE)
        draw.ellipse((x, y, x + 80, y + 60), fill=tuple(rng.randrange(256) for _ in range(3)))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
