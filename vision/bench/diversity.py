"""How many generated programs look alike once colour is taken away.

Each picture becomes an edge map: wherever two colours meet there is an edge, whatever the colours are. A 256-bit
perceptual hash of that map is compared with all others of its kind; a program is a near-duplicate if an earlier one
lies within `THRESHOLD` bits. The threshold is checked in the same run from both sides: copies of programs with every
colour replaced must fall within it, and pairs of programs from different templates must not.
"""

from __future__ import annotations

import io
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from ...pipelines.stage import seeded_rng
from ..programs import KINDS, generate, templates
from ..programs.palette import choose
from .thumbnails import CadThumbnails, WebThumbnails

NAME = "diversity"
SUMMARY = "near-duplicates among generated programs, by perceptual hash of colour-normalised pictures"

THRESHOLD = 18
"""Of 256 bits. Recoloured copies differ by 0 to 10 as a rule, programs from different templates by about 120."""

SECONDS = {"svg": 14.0, "web": 18.0, "cad": 12.0}
"""What `--quick` spends on a kind."""

Draw = Callable[[str], Image.Image]


def run(quick: bool) -> dict[str, dict[str, Any]]:
    """Figures per kind: programs drawn, share of near-duplicates, templates, and the threshold's two checks."""
    figures: dict[str, Any] = {}
    for kind in KINDS:
        figures |= measure(kind, 10_000, SECONDS[kind] if quick else None)
    return {"figures": figures, "peers": {}}


def measure(kind: str, count: int, seconds: float | None = None, seed: int = 0) -> dict[str, Any]:
    """Draw up to `count` programs of a kind (for at most `seconds`) and count near-duplicates among them."""
    names = templates(kind)
    started, hashes, owners = time.monotonic(), [], []
    with _drawer(kind) as draw:
        recoloured = [_recoloured_distance(kind, name, draw) for name in names[:: 4 if seconds else 1]]
        for index in range(count):
            if seconds and time.monotonic() - started > seconds:
                break
            name = names[index % len(names)]
            program = generate(kind, seeded_rng("diversity", seed, kind, index), name)
            hashes.append(edge_hash(draw(program.text)))
            owners.append(name)
    table = np.stack(hashes)
    duplicate = near_duplicates(table)
    worst: dict[str, int] = {}
    for name, twice in zip(owners, duplicate, strict=True):
        worst[name] = worst.get(name, 0) + int(twice)
    return {
        f"{kind}_programs": len(hashes),
        f"{kind}_templates": len(names),
        f"{kind}_near_duplicates": int(duplicate.sum()),
        f"{kind}_near_duplicate_share": round(float(duplicate.mean()), 5),
        f"{kind}_near_duplicates_in_worst_template": max(worst.values()),
        f"{kind}_recoloured_copies_caught": round(statistics.mean(d <= THRESHOLD for d in recoloured), 4),
        f"{kind}_other_templates_confused": round(_confused(table, owners), 6),
    }


def edge_hash(picture: Image.Image) -> np.ndarray:
    """The 256-bit hash of a picture's edges, as four unsigned 64-bit integers."""
    import imagehash

    pixels = np.asarray(picture.convert("RGB").resize((128, 128), Image.Resampling.BOX), dtype=np.float32)
    across = np.abs(np.diff(pixels, axis=1, prepend=pixels[:, :1])).max(axis=2)
    down = np.abs(np.diff(pixels, axis=0, prepend=pixels[:1])).max(axis=2)
    edges = np.minimum(np.maximum(across, down), 6) * (255 / 6)
    bits = imagehash.phash(Image.fromarray(edges.astype(np.uint8)), hash_size=16).hash
    return np.packbits(bits.ravel()).view(np.uint64)


def near_duplicates(table: np.ndarray) -> np.ndarray:
    """For each hash, whether an earlier one lies within the threshold."""
    found = np.zeros(len(table), dtype=bool)
    for index in range(1, len(table)):
        found[index] = bool((distances(table[:index], table[index]) <= THRESHOLD).any())
    return found


def distances(table: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Hamming distances of a hash to each row."""
    return np.bitwise_count(table ^ one).sum(axis=1)


def _recoloured_distance(kind: str, name: str, draw: Draw) -> int:
    """How far the same program in other colours is from the original."""
    text, again = (
        generate(
            kind, seeded_rng("diversity", "recolour", kind, name), name, choose(seeded_rng("colours", name, copy))
        ).text
        for copy in (0, 1)
    )
    first, second = draw(text), draw(again)
    if kind == "cad":  # a solid has no colours of its own: change those of its picture
        red, green, blue = second.convert("RGB").split()
        second = Image.merge("RGB", (blue.point(lambda value: 255 - value), red, green))
    return int(distances(edge_hash(first)[None], edge_hash(second))[0])


def _confused(table: np.ndarray, owners: list[str]) -> float:
    """Share of random pairs from different templates that lie within the threshold."""
    rng, pairs, within = random.Random(0), 0, 0
    for _ in range(20_000):
        a, b = rng.randrange(len(owners)), rng.randrange(len(owners))
        if owners[a] != owners[b]:
            pairs += 1
            within += int(distances(table[a][None], table[b])[0] <= THRESHOLD)
    return within / max(pairs, 1)


class _Svg:
    """Draws SVG in this process: the programs are our own."""

    def __enter__(self) -> Draw:
        import cairosvg

        return lambda text: Image.open(io.BytesIO(cairosvg.svg2png(bytestring=text.encode(), output_width=160)))

    def __exit__(self, *exc: object) -> None:
        pass


def _drawer(kind: str) -> Any:
    return {"svg": _Svg, "web": WebThumbnails, "cad": CadThumbnails}[kind]()
