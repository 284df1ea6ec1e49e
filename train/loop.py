"""Training, as one story: open the data, build the model, go on from where it was, and step through the plan.

    with parallel.started() as ranks:
        train(load_config("nano"), "out/curriculum", "runs/nano", ranks)

A plan is the stages of the configuration one after the other. A step belongs to the stage it falls in, whose window,
mixture and batch it has; the learning rate is a function of all tokens of the plan. The number of steps done is the
whole state of the data: killed anywhere, the same call goes on from the last checkpoint, to the last bit where the
number of ranks is the same.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from ..model.checkpoint import save_state
from ..model.compiled import compile_blocks
from ..model.config import ConfigError, ModelConfig
from ..model.counts import count_parameters
from ..model.inputs import Batch
from ..model.quantile_balancing import balance
from ..model.transformer import K3Model
from . import parallel
from .checkpoint import Checkpoints, differences
from .config import TrainConfig, with_vocabulary
from .data import Microbatch, StageData
from .evaluate import Evaluator
from .memory import check_memory
from .metrics import StepMetrics, diagnose
from .optim.clip import clip_gradients, total_norm
from .optim.groups import describe
from .optim.guard import SkipStepGuard, Verdict
from .optim.optimizers import Optimizers
from .optim.qk_clip import QKClip
from .optim.schedule import CosinePlan, learning_rate
from .parallel import Ranks
from .run_folder import LiveLine, RunFolder
from .stages import open_stages
from .tensorboard import TensorBoard

FINISHED, STOPPED = "finished", "stopped"


def train(
    config: TrainConfig, data: str, folder: str | Path, ranks: Ranks, *,
    quiet: bool = False, stop_after: int | None = None, tensorboard: bool = False,
) -> str:  # fmt: skip
    """Trains to the end of the plan, or to a signal, or for `stop_after` more steps; returns which.

    Args:
        config: what to train; its vocabulary is replaced by that of the data's tokenizer.
        data: an output of a `curriculum` recipe; a path or any fsspec URL.
        folder: the run; where it has a checkpoint, training goes on from it.
        ranks: this process among all.
        tensorboard: write the metrics for TensorBoard, too.

    Raises:
        ConfigError: the configuration, the data and the run's folder do not go together.
        TooManySkips: training does not come out of a spike.
    """
    stages = open_stages(config, data, ranks)
    config = with_vocabulary(config, stages[0].reader.about["tokenizer"]["vocab_size"])
    check_memory(config, stages, ranks)
    mirror = TensorBoard(Path(folder)) if tensorboard and ranks.first else None
    run, live = RunFolder(folder, ranks.first, mirror), LiveLine(ranks.first and not quiet)
    try:
        trainer = Trainer(config, stages, run, live, ranks)
        start = trainer.resume()
        if start is None:
            trainer.begin(data)
        try:
            with stop_signal() as asked_to_stop:
                return trainer.run_from(start or 0, asked_to_stop, stop_after)
        finally:
            trainer.checkpoints.finish()
    finally:
        run.close()
        if mirror is not None:
            mirror.close()


class Trainer:
    """Model, optimisers, and all that a step touches; see `train`."""

    def __init__(
        self, config: TrainConfig, stages: list[StageData], run: RunFolder, live: LiveLine, ranks: Ranks
    ) -> None:
        self.config, self.stages, self.run, self.live, self.ranks = config, stages, run, live, ranks
        torch.manual_seed(config.seed)
        self.model = build_model(config.model, ranks.device)
        self.model.recompute(config.recompute)
        self.model.use_kernels(config.kernels)
        if config.compile == "blocks":
            compile_blocks(self.model)
        self.computing = parallel.shard(self.model, ranks, config.precision)
        options = config.optimiser
        self.optimizers = Optimizers(self.model, weight_decay=options.weight_decay, momentum=options.muon_momentum)
        self.qk_clip = QKClip(self.model, options.qk_clip, all_reduce_max=ranks.greatest) if options.qk_clip else None
        self.guard = SkipStepGuard()
        self.plan = CosinePlan(
            options.learning_rate, sum(stage.steps * stage.config.batch_tokens for stage in stages),
            options.warmup_fraction, options.final_fraction,
        )  # fmt: skip
        self.checkpoints = Checkpoints(
            run.checkpoints, keep=config.checkpoint.keep, wait=config.checkpoint.wait,
            rank=ranks.rank, world=ranks.world, group=ranks.writers,
        )  # fmt: skip
        self.evaluator = Evaluator(config, run, ranks)

    # ------------------------------------------------------------------------------------------------ start

    def facts(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be gone on from."""
        return {
            "config": self.config.digest(),
            "table": self.optimizers.digest,
            "data": {stage.config.stage: stage.reader.files.digest for stage in self.stages},
            "tokenizer": self.stages[0].reader.about["tokenizer"]["digest"],
        }

    def resume(self) -> int | None:
        """Reads the newest checkpoint, if there is one, and returns its step."""
        step = self.checkpoints.newest()
        if step is None:
            return None
        stored = self.checkpoints.facts(step)
        if changed := differences(self.facts(), {key: stored.get(key) for key in self.facts()}):
            raise ConfigError(
                f"{self.run.path} was trained with another {', '.join(changed)}; give another folder, or the same again"
            )
        state = self._state()
        # Tensors in place. A guard of before norms that come back were taken has no row of them.
        self.checkpoints.load(step, state, optional=("rng", "guard/large_in_row"))
        self.guard.load_state_dict(state["guard"])
        rng = state["rng"][f"rank{self.ranks.rank}"]
        torch.set_rng_state(rng["cpu"])
        if "cuda" in rng:
            torch.cuda.set_rng_state(rng["cuda"])
        self.run.log("start", resumed_from=step)
        self.live.say(f"going on from step {step:,}")
        return step

    def begin(self, data: str) -> None:
        """Writes down what this run is."""
        counts = count_parameters(self.config.model)
        device = self.ranks.device
        self.run.write_facts({
            "config": asdict(self.config), "digest": self.config.digest(), "data": data,
            "parameters": {"total": counts.total, "active": counts.active, "everything": counts.everything},
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU",
            "ranks": self.ranks.world, "torch": torch.__version__,
            "words": self.config.model.vocab_size, "tokens": self.plan.tokens,
            "steps": sum(stage.steps for stage in self.stages),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        })  # fmt: skip
        self.run.write_text("parameter_groups.txt", describe(self.optimizers.table) + "\n")
        self.run.write_text("tokenizer/tokenizer.json", self.stages[0].tokenizer_file())
        self.run.log("start", resumed_from=None)
        self.live.say(
            f"{self.config.name}: {counts.everything / 1e6:.1f}M parameters, {counts.active / 1e6:.1f}M active; "
            f"{self.plan.tokens:,} tokens in {len(self.stages)} stages"
        )

    # ------------------------------------------------------------------------------------------------- loop

    def run_from(self, start: int, asked_to_stop: dict[str, bool], stop_after: int | None) -> str:
        """Steps `start` to the end, whatever stages they fall in."""
        every, evaluate = self.config.checkpoint.every, self.config.evaluation.every
        total = sum(stage.steps for stage in self.stages)
        last = total if stop_after is None else min(total, start + stop_after)
        for step, stage, microbatches, tokens in self._steps(start):
            self.step(step, stage, microbatches, tokens)
            done = step + 1
            stopping = self._agreed(asked_to_stop["now"]) or done == last
            if evaluate and (done % evaluate == 0 or done == total):
                with self.computing():
                    self.evaluator.evaluate(self.model, stage, done)
                    diagnose(self.model, microbatches[0], done, self.run, self.ranks)
            if done % every == 0 or stopping or done == total:
                self._check_alike()
                self.checkpoints.save(done, self._state(), {**self.facts(), "step": done})
                self.run.log("checkpoint", step=done)
            if stopping:
                break
        self.checkpoints.finish()
        if start < total and done < total:
            self.live.say(f"stopped after step {done:,} of {total:,}; the same command goes on from there")
            self.run.log("end", step=done, finished=False)
            return STOPPED
        self._export()
        self.run.log("end", step=total, finished=True)
        self.live.say(f"finished {total:,} steps; the model lies in {self.run.path / 'model'}")
        return FINISHED

    def step(self, step: int, stage: StageData, microbatches: list[Microbatch], tokens_before: int) -> Verdict:
        """One optimiser step: gradients of all microbatches, one verdict, and the update if it is taken."""
        ranks, options, metrics = self.ranks, self.config.optimiser, StepMetrics(stage, self.ranks)
        started = time.perf_counter()
        rate = learning_rate(self.plan, tokens_before + stage.config.batch_tokens / 2)
        weight, ahead_weight = self._weights(microbatches)
        for microbatch in microbatches:
            batch = Batch.of(
                self.config.model, microbatch.tokens_1T, microbatch.weights_1T, ranks.device,
                images=microbatch.images, groups=microbatch.groups, real_BT=microbatch.real_1T,
            )  # fmt: skip
            # In this thread: another one would wait for the interpreter's lock at every launch.
            with self.computing(), torch.autograd.set_multithreading_enabled(False):
                losses = self.model.loss_of(batch, options.z_loss)
                objective = losses.next_token.total / weight
                if losses.next_next_token is not None:
                    objective = objective + options.next_next_weight * losses.next_next_token.total / ahead_weight
                (objective * ranks.world).backward()  # sharded gradients are means over the ranks
            metrics.add(microbatch, losses)
        metrics.vision_norm = total_norm(self.model.vision.parameters()) if self.model.vision else None
        norm = clip_gradients(self.model.parameters(), options.clip_norm)
        verdict = self.guard.judge(metrics.loss_sum, metrics.weight_sum, norm, ranks.add)
        if verdict.skip:
            for balancer in self.model.balancers():
                balancer.forget()
            self.run.log("skip", step=step + 1, reason=verdict.reason)
        else:
            self.optimizers.step(rate)
            balancers = self.model.balancers()
            metrics.load_LE = torch.stack([one.load_E for one in balancers]) if balancers else None
            metrics.excess_L = balance(balancers, ranks.add)
            metrics.largest_LH = self.qk_clip.clip(check=False) if self.qk_clip else None
        self.optimizers.zero_grad()
        values = metrics.finish(self.config.model, rate, verdict, started)
        tokens = tokens_before + stage.config.batch_tokens
        self.run.log("step", step=step + 1, stage=stage.config.stage, tokens=tokens, **values)
        self.live.show(_line(step + 1, stage, verdict, values))
        return verdict

    def _steps(self, start: int) -> Iterator[tuple[int, StageData, list[Microbatch], int]]:
        """Number, stage, microbatches, and tokens of all steps before, from step `start` on."""
        first, tokens = 0, 0
        for stage in self.stages:
            if start < first + stage.steps:
                self.run.log("stage", stage=stage.config.stage, step=max(start, first), window=stage.reader.window)
                begin = max(start - first, 0)
                for number, microbatches in enumerate(stage.from_step(begin), begin):
                    yield first + number, stage, microbatches, tokens + number * stage.config.batch_tokens
            first += stage.steps
            tokens += stage.steps * stage.config.batch_tokens

    # ------------------------------------------------------------------------------------------------ parts

    def _weights(self, microbatches: list[Microbatch]) -> tuple[float, float]:
        """Sums over the step's microbatches of all ranks: of the next token's weights, and of those after it."""
        sums = torch.tensor([[one.weight, one.next_next_weight] for one in microbatches], dtype=torch.float64).sum(0)
        if self.ranks.world > 1:
            sums = sums.to(self.ranks.device)
            self.ranks.add(sums)
        weight, ahead = sums.tolist()
        return max(weight, 1e-9), max(ahead, 1e-9)

    def _agreed(self, stop: bool) -> bool:
        """Whether any rank was asked to stop."""
        flag = torch.tensor(int(stop), device=self.ranks.device)
        self.ranks.greatest(flag)
        return bool(flag)

    def _check_alike(self) -> None:
        """Raises RuntimeError when ranks balance their experts by different biases."""
        bias = torch.cat([balancer.bias for balancer in self.model.balancers()])
        greatest, least = bias.clone(), -bias
        self.ranks.greatest(greatest)
        self.ranks.greatest(least)
        if not torch.equal(greatest, -least):
            raise RuntimeError("the ranks' balancing biases have come apart, so they would train different models")

    def _state(self) -> dict[str, Any]:
        rng = {"cpu": torch.get_rng_state()}
        if self.ranks.device.type == "cuda":
            rng["cuda"] = torch.cuda.get_rng_state()
        return {
            "model": self.model.state_dict(),
            "optimizers": self.optimizers.state_dict(),
            "guard": self.guard.state_dict(),
            "rng": {f"rank{self.ranks.rank}": rng},
        }

    def _export(self) -> None:
        state = parallel.gathered(self.model, self.ranks)
        if self.ranks.first:
            save_state(state, self.config.model, self.run.path / "model", overwrite=True)
        self.ranks.barrier()


def build_model(config: ModelConfig, device: torch.device) -> K3Model:
    """Initialised on the CPU, whatever the device and the ranks, so that one seed gives one model."""
    return K3Model(config).to(device)


@contextmanager
def stop_signal() -> Iterator[dict[str, bool]]:
    """SIGINT and SIGTERM ask for a stop after the step, with a checkpoint; a second one ends at once.

    In a thread other than the main one, which signals do not reach, nothing is changed.
    """
    asked = {"now": False}
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: Any) -> None:
        if asked["now"]:
            raise KeyboardInterrupt
        asked["now"] = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _line(step: int, stage: StageData, verdict: Verdict, values: dict[str, Any]) -> str:
    skipped = "  skipped" if verdict.skip else ""
    return (
        f"step {step:,}  {stage.config.stage}  loss {verdict.loss:.4f}  norm {verdict.norm:.2f}  "
        f"{values['tokens_per_s']:,.0f} tokens/s  waited {values['waited']:.0%}{skipped}"
    )
