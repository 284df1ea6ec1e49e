"""bf16 copies of the parameters, in their place while a model computes: for one rank what FSDP does on several.

    copies = HalfCopies(model)
    with copies.in_place():
        model.loss(batch).backward()
    # the model has its fp32 parameters again, and they have fp32 gradients

FSDP would do the same for one rank as well, parameter by parameter, which takes a fifth of a small model's step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class HalfCopies:
    """The copies live as long as the model: 2 bytes a parameter, and while it computes 2 more of each gradient."""

    def __init__(self, model: nn.Module, dtype: torch.dtype = torch.bfloat16) -> None:
        # A parameter may be held in several places, and is one parameter all the same.
        places: dict[nn.Parameter, list[tuple[nn.Module, str]]] = {}
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
                places.setdefault(parameter, []).append((module, name))
        self._places = list(places.values())
        self._masters: list[Tensor] = list(places)
        self._copies: list[Tensor] = [
            nn.Parameter(torch.empty_like(one, dtype=dtype), requires_grad=one.requires_grad) for one in self._masters
        ]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within it modules compute with copies of what the parameters are now. At its end gradients are added to the
        parameters' own; where it is left by an error, they are dropped."""
        with torch.no_grad():
            torch._foreach_copy_(self._copies, self._masters)
        self._put(self._copies)
        try:
            yield
            self._hand_over()
        finally:
            self._put(self._masters)
            for copy in self._copies:
                copy.grad = None

    def _put(self, parameters: list[Tensor]) -> None:
        for parameter, places in zip(parameters, self._places, strict=True):
            for module, name in places:
                module._parameters[name] = parameter  # type: ignore[assignment]

    def _hand_over(self) -> None:
        """Gradients in bf16, as fp32; a parameter that took no part has none, or keeps what it had."""
        pairs = [
            (one, copy.grad) for one, copy in zip(self._masters, self._copies, strict=True) if copy.grad is not None
        ]
        if not pairs:
            return
        wide = [torch.empty_like(one) for one, _ in pairs]
        torch._foreach_copy_(wide, [gradient for _, gradient in pairs])
        again = [(one.grad, new) for (one, _), new in zip(pairs, wide, strict=True) if one.grad is not None]
        if again:
            torch._foreach_add_([kept for kept, _ in again], [new for _, new in again])
        for (one, _), new in zip(pairs, wide, strict=True):
            if one.grad is None:
                one.grad = new
