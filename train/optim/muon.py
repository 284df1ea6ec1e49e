"""Muon: momentum made orthogonal, one logical matrix at a time, so that every direction of it moves equally far.

    M ← μM + (1 − μ)G;  X = NS(μM + (1 − μ)G), block by block;  W ← W − η(0.2·√max(R, C)·X + λW)

(Moonlight, arXiv:2502.16982, Eq. 4; with the mean of gradients instead of their sum, like `torch.optim.Muon`: X is the
same.) An orthogonal X has a root mean square of 1/√max(R, C), so the update has that of AdamW, about 0.2, and
both share a learning rate. The blocks of a head or an expert have their own R and C (K3 report, §2.5).

`sharding` says what happens where a parameter is cut over ranks. Letters: R rows, C columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from .newton_schulz import orthogonalise_
from .sharding import RowShards, at_owners_, local, owners, row_shards, rows

UPDATE_RMS = 0.2


class _Layout(NamedTuple):
    """Of a parameter: its pattern of blocks, the scale of all rows, or of each that is here, and how its rows are
    spread."""

    block_rows: tuple[int, ...]
    scale: float | Tensor
    shards: RowShards | None


class _Job(NamedTuple):
    """A parameter in a step: what of it is here, as matrices [R, C]."""

    weight_RC: Tensor
    direction_RC: Tensor
    layout: _Layout


class Muon(torch.optim.Optimizer):
    """Of matrices, and stacks of them, in fp32 (fp64 for comparisons). A group may have its own `block_rows`.

    The momentum, in the dtype of the parameter, is there from the start, as a checkpoint is read into it.
    """

    def __init__(
        self, params: ParamsT, lr: float = 1e-3, *, block_rows: tuple[int, ...] | None = None, momentum: float = 0.95,
        weight_decay: float = 0.1, newton_schulz_dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        """
        Args:
            block_rows: see `newton_schulz`; without them a matrix is one block, and so is each matrix of a stack.
            newton_schulz_dtype: None for bf16 on a GPU and the parameter's dtype on a CPU.

        Raises:
            ValueError: a parameter that is neither matrix nor stack, or not fp32 or fp64, or whose rows the pattern
                of blocks does not divide, or that is cut over ranks in a way that `row_shards` does not know.
        """
        self.newton_schulz_dtype = newton_schulz_dtype
        self._layouts: dict[Tensor, _Layout] = {}
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "block_rows": block_rows}
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for parameter in group["params"]:
            self._layouts[parameter] = _layout(parameter, group["block_rows"])
            self.state[parameter]["momentum"] = torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Under sharding all ranks must call this. Raises RuntimeError for a parameter without a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        jobs = [self._prepare(group) for group in self.param_groups]
        _orthogonalise([job for group in jobs for job in group], self.newton_schulz_dtype)
        for group, prepared in zip(self.param_groups, jobs, strict=True):
            weights, updates = [job.weight_RC for job in prepared], [job.direction_RC for job in prepared]
            torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_mul_(updates, -group["lr"])
            scales = [job.layout.scale for job in prepared]
            torch._foreach_mul_(updates, [1.0 if isinstance(scale, Tensor) else scale for scale in scales])
            for update_RC, scale in zip(updates, scales, strict=True):
                if isinstance(scale, Tensor):
                    update_RC.mul_(scale)
            torch._foreach_add_(weights, updates)
        return loss

    def _prepare(self, group: dict[str, Any]) -> list[_Job]:
        """Brings the momenta up to date. What is sharded stays so: up to here all is element by element."""
        for parameter in group["params"]:
            if parameter.grad is None:
                raise RuntimeError(
                    f"a matrix {list(parameter.shape)} has no gradient; Muon wants one for each, each step"
                )
        weights = [local(parameter) for parameter in group["params"]]
        momenta = [local(self.state[parameter]["momentum"]) for parameter in group["params"]]
        gradients = [
            local(parameter.grad).to(weight.dtype) for parameter, weight in zip(group["params"], weights, strict=True)
        ]
        torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
        directions = torch._foreach_lerp(gradients, momenta, group["momentum"])
        return [
            _Job(rows(weight), rows(direction), self._layouts[parameter])
            for parameter, weight, direction in zip(group["params"], weights, directions, strict=True)
        ]


def _orthogonalise(jobs: list[_Job], dtype: torch.dtype | None) -> None:
    """Blocks that are here as a whole at once, in place; those that are cut at their owners."""
    if jobs and dtype is None and jobs[0].weight_RC.is_cuda:
        dtype = torch.bfloat16
    here: list[_Job] = []
    cut: dict[Any, list[_Job]] = defaultdict(list)
    for job in jobs:
        block_rows, _, shards = job.layout
        if shards is not None and shards.cuts(block_rows):
            cut[shards.group].append(job)
        else:
            here.append(job)
    orthogonalise_([job.direction_RC for job in here], [job.layout.block_rows for job in here], dtype)
    for together in cut.values():
        sent = [job.direction_RC.to(dtype or job.direction_RC.dtype) for job in together]
        _orthogonalise_cut(sent, [job.layout for job in together])
        torch._foreach_copy_([job.direction_RC for job in together], sent)


def _orthogonalise_cut(directions_RC: list[Tensor], layouts: list[_Layout]) -> None:
    shards = [layout.shards for layout in layouts if layout.shards is not None]

    def work_(mine: list[int], matrices_RC: list[Tensor]) -> None:
        orthogonalise_(matrices_RC, [layouts[job].block_rows for job in mine])

    # About the multiplications of a step of Newton–Schulz, of the whole matrix.
    costs = [
        float(one.bounds[-1] * direction_RC.shape[1] * min(direction_RC.shape[1], max(layout.block_rows)))
        for one, direction_RC, layout in zip(shards, directions_RC, layouts, strict=True)
    ]
    at_owners_(directions_RC, shards, owners(costs, len(shards[0].bounds) - 1), work_)


def _layout(parameter: Tensor, block_rows: tuple[int, ...] | None) -> _Layout:
    if parameter.ndim not in (2, 3) or not parameter.numel():
        raise ValueError(f"Muon is for matrices and stacks of them, not for {list(parameter.shape)}")
    if parameter.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"a matrix {list(parameter.shape)} is {parameter.dtype}; Muon trains fp32 (master) weights")
    pattern = block_rows or (parameter.shape[-2],)
    columns = parameter.shape[-1]
    patterns, left = divmod(parameter.numel() // columns, sum(pattern))
    if left:
        raise ValueError(f"blocks of {list(pattern)} rows do not divide a matrix {list(parameter.shape)}")
    scales = [UPDATE_RMS * max(height, columns) ** 0.5 for height in pattern for _ in range(height)]
    shards = row_shards(parameter)
    if len(set(scales)) == 1:
        return _Layout(pattern, scales[0], shards)
    scale_R1 = local(parameter).new_tensor(scales).repeat(patterns)[:, None]
    return _Layout(pattern, scale_R1 if shards is None else scale_R1[shards.mine], shards)
