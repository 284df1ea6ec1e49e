"""The hostile set through a whole run: every file is published truly or stands in the rejects with a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import k3data
import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines.look import rejects_relation
from k3data.pipelines.record import OBJECT
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import run
from k3data.vision.bench.hostile import listener, true_picture
from k3data.vision.hostile import HostileInput, hostile_inputs
from k3data.vision.types import Image, Render

RECIPE = """name: hostile
seed: 1
jobs:
  - name: render
    source:
      - files: {glob: "svg/*", kind: svg, licence: MIT}
      - files: {glob: "web/*", kind: web, licence: MIT}
      - files: {glob: "cad/*", kind: cad, licence: MIT, trusted: true}
    stages:
      - vision.render: {timeout_s: 1.5, memory_mib: 1024, svg: {width: 256, height: 256},
                        web: {width: 800, height: 1000}, cad: {width: 160, height: 160}}
    units: {items: 80}
errors: {budget: 0.2}
"""

# A source may find out first what the renderer would have said in other words.
BY_SOURCE = {"empty", "encoding", "too_large", "parse"}


@pytest.mark.slow
def test_every_hostile_file_is_published_truly_or_rejected_with_its_reason(tmp_path: Path):
    with listener() as (beacon, heard):
        inputs = _written(tmp_path, beacon)
        (tmp_path / "recipe.yaml").write_text(RECIPE)
        (dataset,) = run(recipes.parse(RECIPE, "recipe.yaml", tmp_path), tmp_path / "out", workers=2)
        assert heard() == 0
    assert sum(dataset.outcomes.values()) == len(inputs) == 300
    published = {Path(one.metadata["source"]["item"]).name: one for one in k3data.open(tmp_path / "out")}
    rejected = {
        Path(item).name: (outcome, code)
        for item, outcome, code in rejects_relation(str(tmp_path / "out"), None, None)
        .select("item, outcome, code")
        .fetchall()
    }
    assert published.keys() | rejected.keys() == inputs.keys() and not published.keys() & rejected.keys()
    for name, (outcome, code) in rejected.items():
        assert not inputs[name].control, (name, code)
        assert code in inputs[name].codes | BY_SOURCE, (name, outcome, code)
    for name, record in published.items():
        assert record.text.startswith(OBJECT) and _shown(inputs[name], record.media[0].media_bytes), name
    assert Counter(outcome for outcome, _ in rejected.values())["invalid_input"] > 100
    assert verify(str(tmp_path / "out")).problems == []


def _written(folder: Path, beacon: str) -> dict[str, HostileInput]:
    found = {}
    for one in hostile_inputs(300, beacon=beacon):
        place = folder / one.kind / one.name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(one.data)
        found[one.name] = one
    return found


def _shown(one: HostileInput, png: bytes) -> bool:
    return true_picture(one, Render((Image("picture", png, 0, 0),), (), "", ""))
