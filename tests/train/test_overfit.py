"""The example that learns pictures by heart, in small: a model that must look at what was rendered to be right."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from k3data.model.config import preset
from k3data.model.transformer import K3Model
from k3data.tokenizer.bpe import Tokenizer
from k3data.tokenizer.train import train
from k3data.train.examples.overfit import Pair, find_pairs, overfit, packed, recall

SHAPES = (
    '<circle cx="56" cy="56" r="{0}"/>', '<rect x="{0}" y="30" width="50" height="50"/>',
    '<path d="M{0},10 L100,100 L10,90 Z"/>',
    '<line x1="{0}" y1="9" x2="60" y2="99" stroke="black" stroke-width="{0}"/>',
)  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> tuple[list[Pair], Tokenizer]:
    """Eight drawings through `k3data run`, as pairs of at most 256 tokens."""
    folder = tmp_path_factory.mktemp("overfit")
    drawings = folder / "drawings"
    drawings.mkdir()
    for number in range(8):
        shape = SHAPES[number % 4].format(12 + 5 * number)
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 112 112" width="112" height="112">{shape}</svg>\n'
        (drawings / f"{number}.svg").write_text(svg)
    recipe = folder / "drawings.yaml"
    recipe.write_text(
        f"name: drawings\nseed: 1\njobs:\n  - name: render\n    source:\n"
        f"      - files: {{root: {drawings}, glob: '*.svg', kind: svg, licence: MIT}}\n"
        f"    stages:\n      - vision.render: {{timeout_s: 20}}\n"
    )
    command = [sys.executable, "-m", "k3data.pipelines.cli", "run", str(recipe), "--out", str(folder / "out"), "-q"]
    subprocess.run(command, check=True)
    tokenizer = Tokenizer(train([path.read_text() for path in sorted(drawings.iterdir())], 600))
    return find_pairs(str(folder / "out"), tokenizer, 8), tokenizer


def test_a_small_model_writes_each_program_from_its_picture_alone(pairs):
    found, tokenizer = pairs
    assert len({tuple(pair.prompt) for pair in found}) == 1 and len({tuple(pair.program) for pair in found}) == 8
    smoke = preset("smoke")
    torch.manual_seed(0)
    model = K3Model(replace(smoke, vocab_size=tokenizer.vocab_size))
    loss = overfit(model, found, steps=500, until=0.001)
    recalled = recall(model, found, tokenizer)
    assert loss < 0.1
    assert recalled["own_picture"] == 8
    assert recalled["blank_picture"] <= 1 and recalled["swapped_picture"] == 0


def test_weights_are_for_the_program_alone(pairs):
    found, _ = pairs
    tokens, weights, bounds = packed(found[:2])
    assert bounds.tolist() == [0, len(found[0].prompt + found[0].program), tokens.shape[1]]
    labels = tokens.roll(-1)[weights > 0].tolist()
    assert labels == found[0].program + found[1].program
