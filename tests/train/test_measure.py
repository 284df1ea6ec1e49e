"""The measurement of steps, on a CPU; and what it found: launches that grew with the number of parameters."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from k3data.model.config import preset
from k3data.train import measure
from k3data.train.config import StageConfig, load_config
from k3data.train.launches import Launches
from k3data.train.loop import Trainer
from k3data.train.run_folder import LiveLine, RunFolder
from k3data.train.synthetic import SyntheticStage

from .conftest import ONE


@pytest.mark.timeout(500)
def test_compiled_steps_are_the_same_steps(capsys):
    torch.compiler.reset()
    arguments = ["--sizes", "smoke", "--device", "cpu", "--kernels", "triton", "torch", "--backend", "aot_eager"]
    assert measure.main([*arguments, "--seconds", "400", "--pictures", "2"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["kernels"], row["compile"]) for row in rows] == [
        (kernels, compile_) for kernels in ("triton", "torch") for compile_ in ("none", "blocks")
    ]
    assert all("kernels: triton wants precision: bf16" in row["failed"] for row in rows[:2])
    plain, compiled = rows[2:]
    assert compiled["losses"] == pytest.approx(plain["losses"], rel=1e-4)
    assert plain["graphs"] == 0 and 0 < compiled["graphs"] < 20
    assert plain["tokens_per_s"] > 0 and plain["launches"] > 1000


def test_without_time_nothing_is_begun(capsys):
    assert measure.main(["--sizes", "smoke", "--device", "cpu", "--kernels", "torch", "--seconds", "1"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["skipped"] for row in rows] == ["no time is left"] * 2


def test_modules_that_keep_the_operators_are_named(capsys):
    arguments = ["--sizes", "smoke", "--device", "cpu", "--kernels", "torch", "--compile", "none"]
    assert measure.main([*arguments, "--without", "LatentMoe"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["failed"] == "ValueError: no module with kernels is named LatentMoe"


def trainer(layers: int, folder) -> tuple[Trainer, SyntheticStage]:
    model = replace(preset("smoke"), layers=layers, mla_layers=(1,))
    config = replace(load_config("smoke"), model=model, stages=(StageConfig("random", 2560, 256, 2),))
    stage = SyntheticStage(model, config.stages[0], window=128, document=40, pictures=2)
    return Trainer(config, [stage], RunFolder(folder), LiveLine(False), ONE), stage


def test_what_follows_the_gradients_takes_as_many_launches_in_a_deep_model_as_in_a_shallow_one(tmp_path):
    counts = []
    for layers in (3, 6):
        made, stage = trainer(layers, tmp_path / str(layers))
        with Launches() as backward:
            made.step(0, stage, stage.step(), 0)
        batches = stage.step()
        made.model.loss(
            batches[0].tokens_1T, batches[0].weights_1T, images=batches[0].images
        ).next_token.total.backward()
        with Launches() as optimisers:
            made.optimizers.step(1e-3)
        counts.append((backward.total, optimisers.total))
    assert counts[1][0] > counts[0][0] + 500
    assert counts[1][1] <= counts[0][1] + 5


def test_random_stages_have_tokens_of_one_number_in_groups_that_vary():
    model = preset("smoke")
    stage = SyntheticStage(model, StageConfig("random", 4096, 512, 2), window=128, document=40, pictures=3)
    (first, second), (third, _) = stage.step(), stage.step()
    assert {one.tokens_1T.shape for one in (first, second, third)} == {(1, 256)}
    assert len({tuple(one.groups.bounds) for one in (first, second, third)}) == 3
    for one in (first, second, third):
        assert all(bound in one.groups.bounds for bound in (0, 128, 256)), "no document straddles a window"
        assert (one.tokens_1T == model.media_pad_id).sum() == sum(image.tokens for image in one.images) > 0
        assert one.weight == float(one.weights_1T.sum()) and (one.labels["position"] >= 0).all()
