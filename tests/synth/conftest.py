"""A tokenizer and documents for scattered windows: the standard library's own sources, as an output of the engine."""

from __future__ import annotations

import json
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines.run import Options
from k3data.pipelines.run import run as run_recipe
from k3data.pipelines.screen import Quiet
from k3data.tokenizer import Tokenizer
from k3data.tokenizer.train import train

_RECIPE = """
name: world
seed: 3
jobs:
  - name: pictures
    source:
      - vision.fact_pictures: {kinds: [svg], count: 40}
    stages:
      - vision.render: {svg: {width: 448, height: 448}}
      - vision.facts: {}
  - name: documents
    source:
      - jsonl: {glob: "texts.jsonl", licence: PSF-2.0, domain: code}
    stages:
      - curriculum.tokenise: {tokenizer: TOKENIZER}
splits: {val: 0.0, test: 0.0}
"""


@dataclass(frozen=True)
class World:
    """Where things lie: a folder with the outputs `world` and `tokenizer`."""

    folder: Path
    tokenizer: Tokenizer


def run(recipe: str, folder: Path, out: str, *, workers: int = 1) -> Path:
    """Run a recipe text; returns the output's folder."""
    file = folder / f"{out}.yaml"
    file.write_text(recipe)
    run_recipe(recipes.load(file), str(folder / out), Options(file=file.name, workers=workers), Quiet())
    return folder / out


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Documents of about 700,000 tokens and 40 pictures with facts."""
    folder = tmp_path_factory.mktemp("world")
    library = Path(sysconfig.get_path("stdlib"))
    texts = [path.read_text("utf-8", errors="replace") for path in sorted(library.glob("*.py"))[:120]]
    (folder / "texts.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts) + "\n")
    trained = train(texts, 2048)
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "tokenizer.json").write_bytes(trained)
    run(_RECIPE.replace("TOKENIZER", "tokenizer"), folder, "world")
    return World(folder, Tokenizer.load(folder / "tokenizer"))
