"""The ranks of a run: who they are, how they add up, and how a model is divided among them.

`torchrun` starts several; without it there is one. Several share the model by FSDP2, which keeps fp32 master weights,
gradients and sums beside bf16 activations; for one rank on a GPU `HalfCopies` does so, and on a CPU it trains the model
as it is. A rank that dies takes the others with it: torchrun ends them, and the last checkpoint stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method

from ..model.config import ConfigError
from ..model.transformer import K3Model, Layer
from .half_copies import HalfCopies
from .optim.sharding import whole

_PATIENCE = timedelta(minutes=10)
"""After which a rank that waits for another gives up."""


@dataclass
class Ranks:
    """This process among all that train.

    Attributes:
        mesh: None where nothing is sharded: for one process.
        writers: a gloo group for threads that write checkpoints beside the training; None for one process.
    """

    rank: int
    world: int
    device: torch.device
    mesh: DeviceMesh | None
    writers: dist.ProcessGroup | None

    @property
    def first(self) -> bool:
        return self.rank == 0

    def add(self, x: Tensor) -> None:
        """The sum over all ranks, in place; every rank must call this."""
        if self.world > 1:
            dist.all_reduce(x)

    def greatest(self, x: Tensor) -> None:
        """The maximum over all ranks, in place; every rank must call this."""
        if self.world > 1:
            dist.all_reduce(x, op=dist.ReduceOp.MAX)

    def barrier(self) -> None:
        if self.world > 1:
            dist.barrier()


@contextmanager
def started(device: str | None = None) -> Iterator[Ranks]:
    """This process's place, from torchrun's environment if it was started by that; ends the group at the end.

    `device` is cpu or cuda; cuda where there is one unless given. Raises ConfigError for a GPU that is not there.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("this machine has no GPU that torch can use")
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    place = torch.device(device, int(os.environ.get("LOCAL_RANK", 0))) if device == "cuda" else torch.device(device)
    if device == "cuda":
        torch.cuda.set_device(place)
    if world == 1:
        yield Ranks(0, 1, place, None, None)
        return
    dist.init_process_group("nccl" if device == "cuda" else "gloo", timeout=_PATIENCE)
    try:
        mesh = dist.init_device_mesh(device, (world,), mesh_dim_names=("data",))
        writers = dist.new_group(backend="gloo", timeout=_PATIENCE)
        yield Ranks(rank, world, place, mesh, writers)
    finally:
        dist.destroy_process_group()


def shard(model: K3Model, ranks: Ranks, precision: str) -> Callable[[], AbstractContextManager[None]]:
    """Divides the parameters among the ranks: every attention, every feed-forward, the vision encoder and the extra
    layer is gathered when it runs, and what is left (embedding, head, norms, mixes) at the start of a step.

    Returns what makes the context in which the model computes, forward and backward. For one rank there is nothing to
    gather: there in bf16 copies take the parameters' place. Raises ConfigError for bf16 on a CPU.
    """
    if precision == "bf16" and ranks.device.type == "cpu":
        raise ConfigError("precision: bf16 needs a GPU; on a CPU give --set precision=fp32 --set kernels=torch")
    if ranks.mesh is None:
        return HalfCopies(model).in_place if precision == "bf16" else nullcontext
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if precision == "bf16" else None,
        reduce_dtype=torch.float32, cast_forward_inputs=False,
    )  # fmt: skip
    parts: list[torch.nn.Module | None] = [model.vision, model.mtp]
    parts += [part for layer in model.layers if isinstance(layer, Layer) for part in (layer.attention, layer.ffn)]
    for part in parts:
        if part is not None:
            fully_shard(part, mesh=ranks.mesh, mp_policy=policy)
    fully_shard(model, mesh=ranks.mesh, mp_policy=policy)
    for method in ("loss", "loss_of", "logits"):
        register_fsdp_forward_method(model, method)
    return nullcontext


def gathered(model: K3Model, ranks: Ranks) -> dict[str, Tensor]:
    """The whole state dict on the CPU of the first rank, and nothing on the others; every rank must call this."""
    state = {}
    for name, tensor in model.state_dict().items():
        full = whole(tensor)
        if ranks.first:
            state[name] = full.cpu()
    return state
