"""Muon and AdamW of one model as one object, by the table of `groups`, with a state by the names of parameters.

    optimizers = Optimizers(model)                  # after sharding, which makes new parameters
    loss.backward(); optimizers.step(learning_rate); optimizers.zero_grad()

Both have the same learning rate: Muon's update is scaled to be as large as AdamW's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from .groups import Entry, digest, parameter_table
from .muon import Muon
from .sharding import local

ADAMW_BETAS = (0.9, 0.95)
ADAMW_EPS = 1e-12
"""Gradients of single numbers, of a mean over many tokens, come near 1e-8, the usual choice, and would be held back."""


class Optimizers:
    """All state is there from the start, and a checkpoint is read into it in place."""

    def __init__(
        self, model: nn.Module, *, weight_decay: float = 0.1, momentum: float = 0.95,
        newton_schulz_dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        """Raises ValueError for a parameter that the table does not have, or that is not fp32 (or fp64)."""
        self.table = parameter_table(model, weight_decay)
        self.digest = digest(self.table)
        self._parameters: dict[str, Tensor] = dict(model.named_parameters())
        for name, parameter in self._parameters.items():
            if parameter.dtype not in (torch.float32, torch.float64):
                raise ValueError(f"parameter {name} is {parameter.dtype}; the optimisers train fp32 (master) weights")
        matrices = self._groups("muon")
        self.muon = Muon(matrices, momentum=momentum, newton_schulz_dtype=newton_schulz_dtype) if matrices else None
        others = self._groups("adamw")
        self.adamw = torch.optim.AdamW(others, betas=ADAMW_BETAS, eps=ADAMW_EPS, fused=True) if others else None
        for name in self._names("adamw"):
            parameter = self._parameters[name]
            self._state(name).update(
                step=torch.zeros((), dtype=torch.float32, device=local(parameter).device),
                exp_avg=torch.zeros_like(parameter), exp_avg_sq=torch.zeros_like(parameter),
            )  # fmt: skip

    @property
    def both(self) -> list[torch.optim.Optimizer]:
        return [one for one in (self.muon, self.adamw) if one is not None]

    def step(self, learning_rate: float) -> None:
        """Under sharding all ranks must call this.

        Raises RuntimeError that names parameters without a gradient, or one that should have none.
        """
        trained = [*self._names("muon"), *self._names("adamw")]
        missing = [name for name in trained if self._parameters[name].grad is None]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise RuntimeError(f"{missing[0]}{others} had no part in the step: there is no gradient")
        for name in self._names("none"):
            if self._parameters[name].grad is not None:
                raise RuntimeError(f"{name} has a gradient, but no optimiser: the table takes it for idle")
        for optimizer in self.both:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate
        if self.muon is not None:
            self.muon.step()
        self._step_adamw()

    @torch.no_grad()
    def _step_adamw(self) -> None:
        """AdamW's own step, on what is here of each tensor: a call on the sharded ones costs far more than the work."""
        for group in self.adamw.param_groups if self.adamw is not None else ():
            parameters = group["params"]
            states = [self.adamw.state[parameter] for parameter in parameters]  # type: ignore[union-attr]
            exp_avgs, exp_avg_sqs = ([local(state[key]) for state in states] for key in ("exp_avg", "exp_avg_sq"))
            adamw(
                [local(parameter) for parameter in parameters], [local(parameter.grad) for parameter in parameters],
                exp_avgs, exp_avg_sqs, [], [state["step"] for state in states],
                fused=True, amsgrad=False, beta1=group["betas"][0], beta2=group["betas"][1], lr=group["lr"],
                weight_decay=group["weight_decay"], eps=group["eps"], maximize=False,
            )  # fmt: skip

    def zero_grad(self) -> None:
        for optimizer in self.both:
            optimizer.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        """The tensors themselves, not copies, sharded as the parameters are: for `torch.distributed.checkpoint`."""
        return {
            "table": self.digest,
            "muon": {name: dict(self._state(name)) for name in self._names("muon")},
            "adamw": {name: dict(self._state(name)) for name in self._names("adamw")},
        }

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises ValueError when the state is of another table, or lacks a tensor, or has one too many."""
        if state["table"] != self.digest:
            raise ValueError("the optimisers' state is of another table of parameters: its digest differs")
        own = self.state_dict()
        for kind in ("muon", "adamw"):
            _check_names(own[kind], state[kind], kind)
            for name, tensors in own[kind].items():
                _check_names(tensors, state[kind][name], name)
                for key, tensor in tensors.items():
                    tensor.copy_(state[kind][name][key])

    def _groups(self, optimiser: str) -> list[dict[str, Any]]:
        """Parameters with the same blocks and decay together."""
        alike: dict[tuple[Any, ...], list[Entry]] = {}
        for entry in self.table:
            if entry.optimiser == optimiser:
                alike.setdefault((entry.block_rows, entry.weight_decay), []).append(entry)
        groups: list[dict[str, Any]] = []
        for (block_rows, weight_decay), entries in alike.items():
            parameters = [self._parameters[entry.name] for entry in entries]
            groups.append({"params": parameters, "weight_decay": weight_decay})
            if optimiser == "muon":
                groups[-1]["block_rows"] = block_rows
        return groups

    def _names(self, optimiser: str) -> list[str]:
        return [entry.name for entry in self.table if entry.optimiser == optimiser]

    def _state(self, name: str) -> dict[str, Tensor]:
        parameter = self._parameters[name]
        optimizer = self.muon if self.muon is not None and parameter in self.muon.state else self.adamw
        assert optimizer is not None
        return optimizer.state[parameter]  # type: ignore[no-any-return]


def _check_names(own: Iterable[str], given: Iterable[str], where: str) -> None:
    missing, extra = set(own) - set(given), set(given) - set(own)
    if missing or extra:
        first, what = (min(missing), "lacks") if missing else (min(extra), "has an unknown")
        raise ValueError(f"the optimisers' state of {where} {what} {first}")
