"""The shipped recipe from end to end, small: all three kinds and a real collection, the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import k3data
import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines.shipped import find
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import run, tar_bytes


def small(count: int, sample: int) -> recipes.Recipe:
    wanted = (
        f"jobs.render.source.vision.programs.count={count}",
        f"jobs.render.source.files.sample={sample}",
        "jobs.render.units.items=3",
    )
    return recipes.load(find("code_render"), wanted)


def test_the_shipped_recipe_makes_verified_samples_with_tasks(tmp_path: Path):
    rendered, packed = run(small(9, 3), tmp_path / "out", workers=2)
    assert rendered.outcomes["published"] == packed.samples == 12
    assert verify(str(tmp_path / "out")).problems == []
    data = k3data.open(tmp_path / "out", check=True)
    assert sorted({record.metadata["kind"] for record in data}) == ["cad", "svg", "web"]
    for record in data:
        names = {task["name"] for task in record.metadata["tasks"]}
        assert {"image_to_code", "code_to_caption"} <= names
        for task in record.metadata["tasks"]:
            for box in task["boxes"]:
                part = record.media[box["media"]].metadata
                x1, y1, x2, y2 = box["pixels"]
                assert 0 <= x1 < x2 <= part["width"]
                assert 0 <= y1 < y2 <= part["height"]
                sides = (part["width"], part["height"]) * 2
                assert box["normalised"] == [
                    pytest.approx(pixel / side, abs=1e-3) for pixel, side in zip(box["pixels"], sides, strict=True)
                ]


@pytest.mark.slow
def test_one_worker_and_four_give_the_same_pictures(tmp_path: Path):
    run(small(24, 6), tmp_path / "one", workers=1)
    run(small(24, 6), tmp_path / "four", workers=4)
    assert tar_bytes(tmp_path / "one") == tar_bytes(tmp_path / "four")
