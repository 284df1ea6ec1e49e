"""A model on disk: `save_model`, `load_model` and `load_into`, in a folder of safetensors files and config.json.

    save_model(model, "run/step-1000", dtype=torch.bfloat16)
    model = load_model("run/step-1000", device="cuda")

Tensors have the names that the model's state dict gives them, among them the router's balancing biases. Counts of an
unfinished step are not saved. A loaded model is never initialised: it is built without memory, and each tensor gets
its own when its file is read. How the folder is written so that no kill can tear it, `shards` says; what K3's
released checkpoint calls the same tensors, `released`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .config import ConfigError, ModelConfig
from .quantile_balancing import QuantileBalancer
from .shards import CONFIG, ModelFileError, TensorFiles, check_tensors, listed, write_folder
from .transformer import K3Model
from .typed import differing

MAX_SHARD_BYTES = 4 * 2**30

_ROUTER_BIAS = ".balancer.bias"
KEPT_FP32 = (
    ".A_log", ".dt_bias", ".q_conv.weight", ".k_conv.weight", ".v_conv.weight", ".o_norm.weight", _ROUTER_BIAS
)  # fmt: skip
"""Ends of the names of those tensors that K3's release holds in fp32 among matrices and norms in bf16."""


def save_model(
    model: K3Model, folder: str | Path, *, dtype: torch.dtype | None = None, max_shard_bytes: int = MAX_SHARD_BYTES,
    overwrite: bool = False,
) -> None:  # fmt: skip
    """Writes the model, replacing an earlier checkpoint of the same configuration; see `save_state`."""
    save_state(
        model.state_dict(), model.config, folder, dtype=dtype, max_shard_bytes=max_shard_bytes, overwrite=overwrite
    )


def save_state(
    state: Mapping[str, Tensor], config: ModelConfig, folder: str | Path, *, dtype: torch.dtype | None = None,
    max_shard_bytes: int = MAX_SHARD_BYTES, overwrite: bool = False,
) -> None:  # fmt: skip
    """The same for a state dict, as a sharded model gathers it or `import_released` makes it.

    Args:
        dtype: what to cast tensors to (those of `KEPT_FP32` to fp32 at least); without it they stay as they are.
        max_shard_bytes: how large a file may be.
        overwrite: replace also what another configuration left in the folder.

    Raises:
        ModelFileError: the state is not that of a model of this configuration; the folder holds another
            configuration's checkpoint, or a config.json that is none, and `overwrite` is off.
        ValueError: a tensor without data here (on the meta device, or split over ranks); a limit below 1.
    """
    folder = Path(folder)
    check_tensors("the state", {name: tuple(tensor.shape) for name, tensor in state.items()}, state_shapes(config))
    if (folder / CONFIG).exists() and not overwrite:
        _check_config(folder, read_config(folder), config)
    dtypes = {name: _kept_dtype(name, tensor.dtype, dtype) for name, tensor in state.items()}
    write_folder(folder, config.to_json(), state, dtypes, max_shard_bytes)


def load_model(
    folder: str | Path, *, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
) -> K3Model:  # fmt: skip
    """The model of a folder, in training mode as a new one is.

    Without `dtype` every tensor keeps that of its file; else it is cast, those of `KEPT_FP32` to fp32 at least. Reads
    one file at a time. Raises ModelFileError for a folder without config.json, with one that is none, with missing,
    additional or misshapen tensors, or with a damaged file.
    """
    folder = Path(folder)
    config = read_config(folder)
    model = _without_memory(config)
    files = TensorFiles(folder)
    check_tensors(folder, files.shapes, _shapes(model))
    for part in files.files():
        filled = {
            name: torch.empty(tensor.shape, dtype=_kept_dtype(name, tensor.dtype, dtype), device=device).copy_(tensor)
            for name, tensor in part.items()
        }
        model.load_state_dict(filled, strict=False, assign=True)
    _restart_counts(model, device)
    return model


def load_into(model: K3Model, folder: str | Path) -> None:
    """Fills a model that is there; its dtypes and devices stay, and counts of an unfinished step start at zero.

    Raises ModelFileError as `load_model` does, and when the folder's configuration is not the model's (their names may
    differ); the model is as it was then. Raises ValueError for a model on the meta device.
    """
    folder = Path(folder)
    if any(parameter.is_meta for parameter in model.parameters()):
        raise ValueError("the model is on the meta device and has no memory to load into; `load_model` gives it some")
    _check_config(folder, read_config(folder), model.config)
    files = TensorFiles(folder)
    check_tensors(folder, files.shapes, _shapes(model))
    for part in files.files():
        model.load_state_dict(part, strict=False)
    _restart_counts(model, None)


def read_config(folder: str | Path) -> ModelConfig:
    """Raises ModelFileError when the folder has no config.json, or one that is no configuration of ours."""
    path = Path(folder) / CONFIG
    try:
        return ModelConfig.from_json(path.read_text())
    except FileNotFoundError:
        raise ModelFileError(f"{folder} is no checkpoint: it holds no {CONFIG}") from None
    except (ConfigError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path} is no model's configuration: {error}") from None


def state_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all that a model's checkpoint holds."""
    return _shapes(_without_memory(config))


def _without_memory(config: ModelConfig) -> K3Model:
    with torch.device("meta"):
        return K3Model(config)


def _shapes(model: K3Model) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def _kept_dtype(name: str, own: torch.dtype, wanted: torch.dtype | None) -> torch.dtype:
    if name.endswith(_ROUTER_BIAS):
        return torch.float32  # also in a model of fp64
    if wanted is None:
        return own
    return torch.promote_types(wanted, torch.float32) if name.endswith(KEPT_FP32) else wanted


def _restart_counts(model: K3Model, device: str | torch.device | None) -> None:
    """What is in no file: the counts of the balancers, at zero. `device`: where they get memory; None, they have it.

    Raises NotImplementedError for any other buffer that is not saved: this function would have to know its value.
    """
    for name, module in model.named_modules():
        if isinstance(module, QuantileBalancer):
            if device is not None:
                module.histogram_EB = torch.empty_like(module.histogram_EB, device=device)
                module.load_E = torch.empty_like(module.load_E, device=device)
            module.forget()
        elif module._non_persistent_buffers_set:
            unknown = ", ".join(sorted(module._non_persistent_buffers_set))
            raise NotImplementedError(f"{name} has {unknown}, which no file holds and loading cannot make")


def _check_config(folder: Path, found: ModelConfig, expected: ModelConfig) -> None:
    """Raises ModelFileError, and names the keys, when the two differ in more than their names."""
    renamed = replace(found, name=expected.name)
    different = [
        f"{key} ({_shown(theirs)} there, {_shown(ours)} here)"
        for key, theirs, ours in differing(asdict(renamed), asdict(expected))
    ]
    if different:
        raise ModelFileError(f"{folder} holds another model's checkpoint: {listed(different)}")


def _shown(value: Any) -> str:
    return "none" if value is None else "one" if isinstance(value, dict) else str(value)
