"""A picture depends on its program alone: not on what the same process drew before, nor on which process drew it."""

from __future__ import annotations

import random

import pytest
from k3data.vision.pool import RenderPool
from k3data.vision.programs import generate
from k3data.vision.types import Render, RenderSpec

SPECS = {"svg": RenderSpec(512, 512), "web": RenderSpec(1280, 1600), "cad": RenderSpec(256, 256)}


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("svg", 25),
        pytest.param("svg", 150, marks=pytest.mark.slow),
        pytest.param("web", 30, marks=pytest.mark.slow),
        pytest.param("cad", 10, marks=pytest.mark.slow),
    ],
)
def test_any_order_gives_the_same_pictures_and_places(kind: str, count: int):
    programs = [generate(kind, random.Random(f"order/{index}")).text for index in range(count)]
    forwards, shuffled = list(range(count)), list(range(count))
    random.Random(1).shuffle(shuffled)
    results = []
    for order in (forwards, shuffled):
        with RenderPool(kind, timeout_s=60) as pool:
            results.append({index: pool.render(programs[index], SPECS[kind]) for index in order})
    for index in range(count):
        assert isinstance(results[0][index], Render), results[0][index]
        assert results[0][index] == results[1][index], f"{kind} program {index}"
