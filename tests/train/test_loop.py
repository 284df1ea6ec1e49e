"""Training end to end, in small: losses fall, stops and goes on exactly, leaves behind what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from k3data.model.checkpoint import load_model
from k3data.model.config import ConfigError
from k3data.model.moe import LatentMoE
from k3data.model.transformer import Layer
from k3data.pipelines.errors import UserError
from k3data.train import loop
from k3data.train.config import EvaluationConfig, OptimiserConfig, StageConfig
from k3data.train.loop import FINISHED, STOPPED, train
from k3data.train.run_folder import RunFolder, RunFolderError

from .conftest import ONE, tiny

EVALUATION = EvaluationConfig(every=6, sequences=1, questions=2, max_tokens=300, prompts=("<svg",))


def events(run: Path, event: str) -> list[dict]:
    return [row for line in (run / "metrics.jsonl").open() if (row := json.loads(line))["event"] == event]


def trained(packed: str, run: Path, stop_after: int | None = None, **changes) -> str:
    return train(tiny(**changes), packed, run, ONE, quiet=True, stop_after=stop_after)


@pytest.fixture(scope="module")
def whole(packed, tmp_path_factory) -> Path:
    """An undisturbed run of twelve steps."""
    torch.set_num_threads(1)
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert trained(packed, run, evaluation=EVALUATION) == FINISHED
    return run


def test_the_loss_falls_and_every_step_is_written_down(whole):
    steps = events(whole, "step")
    assert [one["step"] for one in steps] == list(range(1, 13))
    assert [one["tokens"] for one in steps] == [1024 * n for n in range(1, 13)]
    assert steps[-1]["loss"] < 0.8 * steps[0]["loss"]
    one = steps[-1]
    assert one["tokens_per_s"] > 0 and one["next_next_loss"] > 0 and 0 <= one["waited"] <= 1
    assert one["by"]["domain"].keys() == {"vision"} and one["by"]["kind"].keys() == {"svg"}
    assert one["by"]["domain"]["vision"] == pytest.approx(one["loss"], rel=1e-5)
    assert one["vision_norm"] > 0 and one["largest_logit"] is not None and one["dead_experts"] >= 0
    assert steps[0]["learning_rate"] > steps[5]["learning_rate"] > steps[-1]["learning_rate"] > 0


def test_evaluations_have_controls_and_predictions_beside_the_truth(whole):
    first, last = events(whole, "evaluation")
    assert (first["step"], last["step"]) == (6, 12)
    assert last["bits_per_byte_all"] < first["bits_per_byte_all"] < 8
    assert last["answers"] == {"to_code": {"asked": 2, "exact": 0}}
    assert last["controls"].keys() == {"blank", "swapped"}
    rows = [json.loads(line) for line in (whole / "predictions/step-00000012.jsonl").open()]
    assert [row["control"] for row in rows] == ["", "", "blank", "swapped", "blank", "swapped"]
    assert all(row["truth"].startswith("<svg") and row["truth"].endswith("</svg>") for row in rows)
    assert (whole / rows[0]["image"]["png"]).read_bytes().startswith(b"\x89PNG")
    assert json.loads((whole / "samples/step-00000012.jsonl").read_text())["prompt"] == "<svg"
    (inside,) = [one for one in events(whole, "diagnostics") if one["step"] == 12]
    assert len(inside["attn_res"]) == 4 and all(sum(p) == pytest.approx(1, abs=1e-4) for p in inside["attn_res"])
    assert inside["decay"]["layers"].keys() == {"0"} and inside["load"].keys() == {"1"}


def test_the_trained_model_can_be_loaded(whole):
    model = load_model(whole / "model")
    assert model.config.vocab_size == json.loads((whole / "run.json").read_text())["words"] == 540
    assert "muon" in (whole / "parameter_groups.txt").read_text()


def test_stopped_anywhere_it_goes_on_to_the_last_bit(packed, whole, tmp_path):
    run = tmp_path / "stopped"
    assert trained(packed, run, stop_after=4, evaluation=EVALUATION) == STOPPED
    assert trained(packed, run, stop_after=3, evaluation=EVALUATION) == STOPPED
    assert trained(packed, run, evaluation=EVALUATION) == FINISHED
    assert [one["resumed_from"] for one in events(run, "start")] == [None, 4, 7]
    assert [one["loss"] for one in events(run, "step")] == [one["loss"] for one in events(whole, "step")]
    theirs, ours = load_model(whole / "model").state_dict(), load_model(run / "model").state_dict()
    assert all(torch.equal(theirs[name], ours[name]) for name in theirs)
    # Asked again it has nothing left to do.
    assert trained(packed, run, evaluation=EVALUATION) == FINISHED


def test_looking_changes_nothing(packed, whole, tmp_path):
    """Evaluations and diagnoses leave the histograms, the random numbers and the weights alone."""
    assert trained(packed, tmp_path / "blind") == FINISHED
    assert [one["loss"] for one in events(tmp_path / "blind", "step")] == [one["loss"] for one in events(whole, "step")]


def test_the_inside_is_seen_although_kernels_compute_it(packed, tmp_path, monkeypatch):
    """Kernels that mix and route call no module; here, without a GPU, they would be an error."""
    diagnose = loop.diagnose

    def with_kernels(model, *rest):
        through_kernels = [one for one in model.modules() if isinstance(one, (Layer, LatentMoE))]
        for one in through_kernels:
            one.kernels = "triton"
        diagnose(model, *rest)
        assert {one.kernels for one in through_kernels} == {"triton"}
        for one in through_kernels:
            one.kernels = "torch"

    monkeypatch.setattr(loop, "diagnose", with_kernels)
    look = EvaluationConfig(every=2, sequences=1, questions=0, prompts=())
    assert trained(packed, tmp_path / "run", stop_after=2, evaluation=look) == STOPPED
    (inside,) = events(tmp_path / "run", "diagnostics")
    assert len(inside["attn_res"]) == 4 and inside["load"].keys() == {"1"}


def test_a_checkpoint_without_a_row_of_large_norms_is_gone_on_from(packed, tmp_path, monkeypatch):
    """As guards wrote it that skipped every large norm."""
    state_dict = loop.SkipStepGuard.state_dict

    def before(guard):
        state = state_dict(guard)
        del state["large_in_row"]
        return state

    with monkeypatch.context() as patched:
        patched.setattr(loop.SkipStepGuard, "state_dict", before)
        assert trained(packed, tmp_path / "run", stop_after=1) == STOPPED
    assert trained(packed, tmp_path / "run", stop_after=1) == STOPPED
    assert [one["resumed_from"] for one in events(tmp_path / "run", "start")] == [None, 1]


def test_recomputing_gives_the_same_losses(packed, whole, tmp_path):
    assert trained(packed, tmp_path / "again", recompute=True) == FINISHED
    losses = [[one["loss"] for one in events(run, "step")] for run in (tmp_path / "again", whole)]
    assert losses[0] == losses[1]
    excess = [[one["load_excess"] for one in events(run, "step")] for run in (tmp_path / "again", whole)]
    assert excess[0] == excess[1]


def test_stages_follow_each_other_without_a_restart(packed, tmp_path):
    stages = (StageConfig("shapes", 4096, 1024), StageConfig("shapes", 8192, 4096, micro_sequences=2))
    assert trained(packed, tmp_path / "run", stages=stages) == FINISHED
    assert [one["step"] for one in events(tmp_path / "run", "stage")] == [0, 4]
    steps = events(tmp_path / "run", "step")
    assert [one["tokens"] for one in steps] == [1024, 2048, 3072, 4096, 8192, 12288]
    rates = [one["learning_rate"] for one in steps]
    assert rates == sorted(rates, reverse=True)


def test_a_step_of_several_microbatches_is_the_same_step(packed, tmp_path):
    losses = {}
    for micro in (1, 4):
        stages = (StageConfig("shapes", 8192, 4096, micro_sequences=micro),)
        trained(packed, tmp_path / str(micro), stages=stages)
        losses[micro] = [one["loss"] for one in events(tmp_path / str(micro), "step")]
    assert losses[1] == pytest.approx(losses[4], rel=1e-5)


def test_a_spike_is_skipped_and_leaves_no_trace_in_the_counts(packed, tmp_path, monkeypatch):
    judge = loop.SkipStepGuard.judge

    def broken(self, loss_sum, *arguments):
        self.calls = getattr(self, "calls", 0) + 1
        return judge(self, loss_sum * float("nan") if self.calls == 2 else loss_sum, *arguments)

    monkeypatch.setattr(loop.SkipStepGuard, "judge", broken)
    stages = (StageConfig("shapes", 3072, 1024),)
    assert trained(packed, tmp_path / "run", stages=stages) == FINISHED
    assert [one["skipped"] for one in events(tmp_path / "run", "step")] == [False, True, False]
    (skip,) = events(tmp_path / "run", "skip")
    assert skip["reason"] == "the loss is nan" and events(tmp_path / "run", "step")[1]["loss"] is None


def test_what_does_not_go_together_is_refused(packed, tmp_path):
    run = tmp_path / "run"
    trained(packed, run, stop_after=1)
    with pytest.raises(ConfigError, match="was trained with another config"):
        trained(packed, run, seed=5)
    with pytest.raises(UserError, match="nowhere"):
        trained(packed, run, stages=(StageConfig("nowhere", 1024, 1024),))
    held = RunFolder(run)
    with pytest.raises(RunFolderError, match="another process trains there"):
        trained(packed, run)
    held.close()
    wide = replace(tiny().model, d_model=2**15, dense_inner=2**17)
    with pytest.raises(ConfigError, match=r"stage shapes needs about .* GiB for 1,024 tokens at once"):
        trained(packed, tmp_path / "large", model=wide)


def test_half_a_line_of_metrics_is_cut_off(packed, tmp_path):
    trained(packed, tmp_path / "run", stop_after=1)
    with (tmp_path / "run/metrics.jsonl").open("a") as file:
        file.write('{"event": "st')
    trained(packed, tmp_path / "run", stop_after=1)
    assert [one["step"] for one in events(tmp_path / "run", "step")] == [1, 2]


def test_the_clip_of_logits_can_be_off(packed, tmp_path):
    trained(packed, tmp_path / "run", stop_after=1, optimiser=OptimiserConfig(qk_clip=0))
    assert events(tmp_path / "run", "step")[0]["largest_logit"] is None


def test_metrics_go_to_tensorboard_when_asked(packed, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(tiny(), packed, tmp_path / "run", ONE, quiet=True, stop_after=2, tensorboard=True)
    seen = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    seen.Reload()
    losses = [one["loss"] for one in events(tmp_path / "run", "step")]
    assert [one.value for one in seen.Scalars("step/loss")] == pytest.approx(losses)
    assert "step/by/kind/svg" in seen.Tags()["scalars"]
