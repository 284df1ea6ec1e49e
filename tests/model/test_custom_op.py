"""Operators that skip the dispatcher when nothing asks for it: the same results and gradients every way."""

from __future__ import annotations

import pytest
import torch
from k3data.model.custom_op import CustomOp, custom_op
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


def _save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.factor = inputs[1]


def _made(name: str) -> tuple[CustomOp, list[str]]:
    """factor · x², and what was called."""
    calls: list[str] = []

    @custom_op(f"k3data_test::{name}")
    def square(x: Tensor, factor: float) -> Tensor:
        calls.append("forward")
        return factor * x * x

    @custom_op(f"k3data_test::{name}_backward")
    def square_backward(dy: Tensor, x: Tensor, factor: float) -> Tensor:
        calls.append("backward")
        return 2 * factor * x * dy

    square.register_fake(lambda x, factor: torch.empty_like(x))
    square_backward.register_fake(lambda dy, x, factor: torch.empty_like(x))
    square.register_autograd(
        lambda ctx, dy: (square_backward(dy, ctx.saved_tensors[0], ctx.factor), None), setup_context=_save
    )
    return square, calls


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def test_eager_compiled_and_seen_are_the_same():
    square, calls = _made("ways")
    compiled = torch.compile(square, fullgraph=True, backend="aot_eager")
    for way in (square, square.registered, compiled):
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        y = way(x, 2.0)
        y.sum().backward()
        assert y.tolist() == [2.0, 18.0] and x.grad.tolist() == [4.0, 12.0]
    assert calls == ["forward", "backward"] * 3
    with Seen() as seen:
        square(torch.ones(2), 2.0)
    assert "k3data_test.ways.default" in seen.names


def test_without_gradients_nothing_is_kept():
    square, _ = _made("plain")
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert not square(x, 2.0).requires_grad
    assert not square(torch.ones(2), 2.0).requires_grad


def test_differentiable_once():
    square, _ = _made("once")
    x = torch.ones(2, requires_grad=True)
    (dx,) = torch.autograd.grad(square(x, 2.0).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="autograd formula"):
        dx.sum().backward()


def test_lists_of_tensors_keep_their_gradients():
    @custom_op("k3data_test::total")
    def total(parts: list[Tensor]) -> Tensor:
        return torch.stack(parts).sum(0)

    total.register_autograd(
        lambda ctx, dy: [dy] * ctx.parts,
        setup_context=lambda ctx, inputs, output: setattr(ctx, "parts", len(inputs[0])),
    )
    parts = [torch.ones(2, requires_grad=True) for _ in range(3)]
    total(parts).sum().backward()
    assert all(part.grad.tolist() == [1.0, 1.0] for part in parts)
