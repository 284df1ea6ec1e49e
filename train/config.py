"""What a training run is: a model, an optimiser, stages of a curriculum and how often to look; one strict YAML file.

    name: nano
    model: nano                       # a size, or {preset: nano, layers: 5, …}
    stages:
      - {stage: 8k, tokens: 50_000_000, batch_tokens: 65536}
      - {stage: 64k, tokens: 10_000_000, batch_tokens: 131072}

Everything else has a default. Read by dataclasses and yaml alone, as a machine that trains has no more.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from ..model.config import ConfigError, ModelConfig, preset
from ..model.typed import read_dataclass

CONFIGS = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class StageConfig:
    """One stage of the curriculum, in the order in which they are trained."""

    stage: str
    """The name of a packed stage, or of the job that packed it."""
    tokens: int
    """To train on, padding and all; where the data has fewer it is read again."""
    batch_tokens: int
    """Of one optimiser step, over all ranks: a multiple of the stage's window."""
    micro_sequences: int = 1
    """Sequences that go through the model at once, on each rank."""

    def __post_init__(self) -> None:
        for name in ("tokens", "batch_tokens", "micro_sequences"):
            if getattr(self, name) < 1:
                raise ConfigError(f"stage {self.stage}: {name} is {getattr(self, name)}, and must be at least 1")


@dataclass(frozen=True)
class OptimiserConfig:
    """Muon for matrices and AdamW for the rest, at one learning rate (see `train.optim.groups`)."""

    learning_rate: float = 2e-3
    final_fraction: float = 0.0
    """Of the learning rate, where the cosine ends."""
    warmup_fraction: float = 0.01
    """Of all tokens of the plan."""
    weight_decay: float = 0.1
    muon_momentum: float = 0.95
    clip_norm: float = 1.0
    qk_clip: float = 100.0
    """Largest attention logit of an MLA head; 0 turns the clip off."""
    z_loss: float = 0.0
    next_next_weight: float = 0.1
    """Of the extra layer's loss, where the model has one."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "clip_norm"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"optimiser.{name} is {getattr(self, name)}, and must be above 0")
        for name in ("final_fraction", "warmup_fraction"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"optimiser.{name} is {getattr(self, name)}, not in [0, 1]")
        for name in ("weight_decay", "qk_clip", "z_loss", "next_next_weight"):
            if getattr(self, name) < 0:
                raise ConfigError(f"optimiser.{name} is {getattr(self, name)}, and must be 0 or more")


@dataclass(frozen=True)
class CheckpointConfig:
    every: int = 200
    """Steps."""
    keep: int = 3
    """The newest ones; 0 for all."""
    wait: bool = False
    """Write before going on, instead of beside the next steps."""

    def __post_init__(self) -> None:
        if self.every < 1 or self.keep < 0:
            raise ConfigError(f"checkpoint is every {self.every} steps, keep {self.keep}: not at least 1 and 0")


@dataclass(frozen=True)
class EvaluationConfig:
    every: int = 200
    """Steps; 0 for never. It is also done after the last step."""
    sequences: int = 8
    """Held-out sequences whose bits per byte are measured."""
    questions: int = 32
    """Held-out tasks that the model answers freely, of each kind."""
    max_tokens: int = 1024
    """Of an answer."""
    split: str = "val"
    prompts: tuple[str, ...] = ("The", "<svg xmlns=")
    """Beginnings that are written on at every evaluation."""

    def __post_init__(self) -> None:
        if min(self.every, self.sequences, self.questions) < 0 or self.max_tokens < 1:
            raise ConfigError("evaluation's numbers must not be negative, and max_tokens at least 1")


@dataclass(frozen=True)
class TrainConfig:
    name: str
    model: ModelConfig
    stages: tuple[StageConfig, ...]
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    seed: int = 0
    precision: Literal["fp32", "bf16"] = "fp32"
    """Of activations and of the parameters that they meet; master weights, gradients and sums are fp32."""
    recompute: bool = False
    """Run sublayers again in the backward instead of keeping what they made."""
    kernels: Literal["torch", "triton"] = "torch"
    """Whose operators run: PyTorch's, or the Triton kernels where there are any, which want a GPU and bf16."""
    compile: Literal["none", "blocks"] = "none"
    """Whether the pieces of every layer are compiled (see `model.compiled`)."""
    workers: int = 4
    """Threads that decode pictures ahead of the model."""

    def __post_init__(self) -> None:
        if self.kernels == "triton" and self.precision != "bf16":
            raise ConfigError("kernels: triton wants precision: bf16")
        if not self.stages:
            raise ConfigError("stages is empty; there is nothing to train on")

    @property
    def tokens(self) -> int:
        """Of all stages."""
        return sum(stage.tokens for stage in self.stages)

    def digest(self) -> str:
        """Of all that decides what is learnt, in 16 hex digits: not of how often one looks or saves."""
        values = asdict(self)
        for name in ("checkpoint", "evaluation", "workers", "name", "compile"):
            del values[name]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def load_config(path: str | Path, overrides: tuple[str, ...] = ()) -> TrainConfig:
    """A configuration from a YAML file, or by the name of one that ships (`nano`), with `a.b=value` set on top.

    Raises ConfigError that names the file and what is wrong.
    """
    file = Path(path)
    if not file.exists() and (CONFIGS / f"{path}.yaml").exists():
        file = CONFIGS / f"{path}.yaml"
    try:
        values = yaml.safe_load(file.read_text())
    except OSError as error:
        shipped = ", ".join(sorted(one.stem for one in CONFIGS.glob("*.yaml")))
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); those that ship are {shipped}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    try:
        if not isinstance(values, dict):
            raise ConfigError("not an object with keys")
        for override in overrides:
            _set(values, override)
        values["model"] = model_values(values.get("model"))
        return read_dataclass(TrainConfig, values)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def model_values(given: Any) -> dict[str, Any]:
    """`nano`, `{preset: nano, layers: 5}` or all keys of a `ModelConfig`, as all keys."""
    if isinstance(given, str):
        return asdict(preset(given))
    if not isinstance(given, dict):
        raise ConfigError(f"model is {given!r}, not the name of a size or an object with keys")
    if "preset" not in given:
        return given
    changes = dict(given)
    return _merged(asdict(preset(changes.pop("preset"))), changes)


def with_vocabulary(config: TrainConfig, words: int) -> TrainConfig:
    """The same with the vocabulary of the data's tokenizer."""
    return replace(config, model=replace(config.model, vocab_size=words))


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    both = dict(base)
    for key, value in changes.items():
        nested = isinstance(value, dict) and isinstance(base.get(key), dict)
        both[key] = _merged(base[key], value) if nested else value
    return both


def _set(values: dict[str, Any], override: str) -> None:
    """One `a.b=value`; the value is YAML, and a part of the path that is a number counts in a list."""
    path, equals, text = override.partition("=")
    if not equals:
        raise ConfigError(f"--set {override}: not of the form key=value")
    *parents, last = path.split(".")
    at: Any = values
    if parents and parents[0] == "model" and isinstance(values.get("model"), str):
        values["model"] = {"preset": values["model"]}
    for name in parents:
        if isinstance(at, list) and name.isdigit() and int(name) < len(at):
            at = at[int(name)]
        elif isinstance(at, dict):
            at = at.setdefault(name, {})
        else:
            raise ConfigError(f"--set {path}: there is no {name}")
    if isinstance(at, list) and last.isdigit() and int(last) < len(at):
        at[int(last)] = yaml.safe_load(text)
    elif isinstance(at, dict):
        at[last] = yaml.safe_load(text)
    else:
        raise ConfigError(f"--set {path}: there is no {last}")
