"""The gate of an attention's output in one kernel, against what the layers do in PyTorch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.fused import gated, gated_norm
from k3data.model.kernels.fused.launch import head_launch
from k3data.model.norm import rms_norm

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
LIMIT = 0.005 if DEVICE == "cuda" else 1e-5
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, DTYPE)


def operands(heads=3, channels=64, tokens=5, batch=2, normed=True):
    """o, the norm's weight and the gate's logits, large ones among them."""
    gate = 3 * draw(batch, tokens, heads * channels, seed=3)
    return [draw(batch, tokens, heads, channels), 1 + draw(channels, seed=2) if normed else None, gate]


def run(o, weight, gate):
    return gated_norm(o, weight, 1e-3, gate)


def definition(o, weight, gate):
    n = o if weight is None else rms_norm(o, weight, 1e-3)
    return torch.sigmoid(gate) * n.flatten(-2)


def output_and_gradients(function, given):
    given = [None if one is None else one.detach().requires_grad_() for one in given]
    y = function(*given)
    dy = draw(*y.shape, seed=9).to(y)
    return [y.detach(), *torch.autograd.grad(y, [one for one in given if one is not None], dy)]


def compare(given):
    found = output_and_gradients(run, given)
    expected = output_and_gradients(definition, [None if one is None else one.double() for one in given])
    kept = [given[2], *(one for one in given if one is not None)]
    for one, other, operand in zip(found, expected, kept, strict=True):
        assert one.dtype == operand.dtype
        assert relative_rms(one, other) <= LIMIT


@pytest.mark.parametrize(
    ("heads", "channels", "normed"), [(3, 64, True), (1, 128, True), (2, 24, True), (3, 64, False)]
)
def test_output_and_gradients_are_the_operators(heads, channels, normed):
    compare(operands(heads, channels, normed=normed))


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize(("channels", "wider"), [(32, 0), (32, 16), (24, 0), (32, 3)])
def test_heads_before_tokens_are_the_same_bits(channels, wider, normed):
    """As an attention leaves them, cut out of wider ones or not; where strides are odd, by a copy."""
    o, weight, gate = operands(3, channels, normed=normed)
    lies = torch.full((2, 3, 5, channels + wider), float("nan"), device=DEVICE, dtype=DTYPE)
    lies[..., :channels] = o.transpose(1, 2)
    results = [output_and_gradients(run, [one, weight, gate]) for one in (o, lies.transpose(1, 2)[..., :channels])]
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_more_rows_than_programs(monkeypatch):
    monkeypatch.setattr(gated, "head_launch", lambda *a, **k: replace(head_launch(*a, **k), programs=2))
    compare(operands(heads=3, channels=128, tokens=31))


def test_a_gate_of_another_dtype_gives_its_own_to_the_output():
    o, weight, gate = operands()
    o, weight, gate = o.float(), weight.float(), gate.bfloat16()
    found = output_and_gradients(run, [o, weight, gate])
    expected = output_and_gradients(definition, [o.double(), weight.double(), gate.double()])
    assert [one.dtype for one in found] == [gate.dtype, o.dtype, weight.dtype, gate.dtype]
    assert all(relative_rms(one, other) <= 0.005 for one, other in zip(found, expected, strict=True))


def test_a_tokens_results_do_not_depend_on_the_others_and_come_again():
    given = operands(batch=1, tokens=40)
    whole, again = (output_and_gradients(run, given) for _ in range(2))
    assert all(torch.equal(*pair) for pair in zip(whole, again, strict=True))
    leaves = [given[0][:, :7].detach().requires_grad_(), given[1], given[2][:, :7].detach().requires_grad_()]
    y = run(*leaves)
    dy = draw(1, 40, 192, seed=9)[:, :7]
    do, dgate = torch.autograd.grad(y, (leaves[0], leaves[2]), dy)
    for one, other in zip((y.detach(), do, dgate), (whole[0], whole[1], whole[3]), strict=True):
        assert torch.equal(one, other[:, :7])


def test_nothing_beyond_the_rows_is_read():
    given = operands(tokens=3)
    expected = output_and_gradients(run, given)
    poisoned = []
    for one in given:
        long = torch.full((2, *one.shape), float("nan"), device=DEVICE, dtype=DTYPE)
        long[0] = one
        poisoned.append(long[0])
    assert all(torch.equal(*pair) for pair in zip(output_and_gradients(run, poisoned), expected, strict=True))


def test_it_compiles_into_one_graph():
    given = operands()

    def loss(*tensors):
        return (2 * run(*tensors)).square().sum()

    results = []
    for function in (torch.compile(loss, fullgraph=True, backend="aot_eager"), loss):
        leaves = [one.detach().requires_grad_() for one in given]
        results.append(torch.autograd.grad(function(*leaves), leaves))
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


@pytest.mark.parametrize("normed", [True, False])
def test_operators_tell_the_truth(normed):
    o, weight, gate = operands(normed=normed)
    torch.library.opcheck(gated._forward.registered, (o, gate, weight, 1e-3), test_utils=CHECKS)
    torch.library.opcheck(gated._backward.registered, (torch.ones_like(gate), o, gate, weight, 1e-3), test_utils=CHECKS)


def test_what_does_not_fit_is_refused_before_the_launch():
    o, weight, gate = operands()
    for bad, match in (
        ((o, weight, gate[..., :-1]), r"the gate is \[2, 5, 191\], which does not go with o, \[2, 5, 3, 64\]"),
        ((o, weight[:-1], gate), r"norm_weight is \[63\], but must be \[64\]"),
        ((o.half(), weight, gate), "o is torch.float16"),
        ((o[0], weight, gate[0]), r"o must be \[B, T, H, channels\], not \[5, 3, 64\]"),
    ):
        with pytest.raises(ValueError, match=match):
            run(*bad)
