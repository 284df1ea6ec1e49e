"""`custom_op`: `torch.library.custom_op`, without its way through the dispatcher where nothing asks for it.

    @custom_op("k3data::double")
    def double(x: Tensor) -> Tensor: ...

    double.register_fake(...)
    double.register_autograd(gradients, setup_context=save)

A registered operator is what torch.compile and fake tensors can see as a whole, but each call goes through several
layers of Python, forward and again backward, which takes longer than to launch a kernel. So an eager call runs the
function itself, under autograd in a `torch.autograd.Function` of the same save and gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_origin, get_type_hints

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode


class CustomOp:
    """See the module. `registered` is the operator as torch knows it."""

    def __init__(self, name: str, function: Callable[..., Any], mutates_args: Iterable[str]) -> None:
        self.registered = torch.library.custom_op(name, function, mutates_args=mutates_args)
        self._function = function
        self._differentiable: type[torch.autograd.Function] | None = None

    def register_fake(self, fake: Callable[..., Any]) -> Callable[..., Any]:
        return self.registered.register_fake(fake)

    def register_autograd(self, gradients: Callable[..., Any], *, setup_context: Callable[..., None]) -> None:
        self.registered.register_autograd(gradients, setup_context=setup_context)
        if any(get_origin(hint) is list for hint in get_type_hints(self._function).values()):
            return  # a Function sees no tensors in lists
        function = self._function

        class Differentiable(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                output = function(*inputs)
                setup_context(ctx, inputs, output)
                return output

            @staticmethod
            def backward(ctx: Any, *arriving: Any) -> Any:
                return gradients(ctx, *arriving)

        self._differentiable = Differentiable

    def __call__(self, *inputs: Any) -> Any:
        if torch.compiler.is_compiling() or is_in_torch_dispatch_mode():
            return self.registered(*inputs)
        if not torch.is_grad_enabled() or not any(map(_requires_grad, inputs)):
            return self._function(*inputs)
        if self._differentiable is None:  # raises when somebody wants gradients through it
            return self.registered(*inputs)
        return self._differentiable.apply(*inputs)


def _requires_grad(one: Any) -> bool:
    if isinstance(one, Tensor):
        return one.requires_grad
    return isinstance(one, list | tuple) and any(map(_requires_grad, one))


def custom_op(name: str, *, mutates_args: Iterable[str] = ()) -> Callable[[Callable[..., Any]], CustomOp]:
    """Registers a function as `torch.library.custom_op` does, whose rules for signatures and outputs hold."""
    return lambda function: CustomOp(name, function, mutates_args)
