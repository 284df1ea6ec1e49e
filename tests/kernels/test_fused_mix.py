"""The running sum, the mix over depth and the norm in one kernel, against the PyTorch operators that it stands for."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.attn_res import AttentionResidual
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.fused import mix, mix_op, norm_op, rms_norm
from k3data.model.kernels.fused.launch import mix_launch
from k3data.model.norm import rms_norm as definition_of_norm

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
OTHER = torch.float32 if DEVICE == "cuda" else torch.bfloat16
LIMIT = 0.005 if DEVICE == "cuda" else 1e-5
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


def draw(*shape, seed=0, dtype=DTYPE):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def operands(sources, dim, tokens=5, batch=1, added=True, normed=True):
    """Query, its norm weight, the weight behind, partial, added and blocks of different sizes."""
    weights = [
        2 * dim**-0.5 * draw(dim, seed=1),
        1 + 0.2 * draw(dim, seed=2),
        1 + 0.2 * draw(dim, seed=3) if normed else None,
    ]
    streams = [draw(batch, tokens, dim, seed=4), draw(batch, tokens, dim, seed=5) if added else None]
    return [*weights, *streams, *((1 + i) * draw(batch, tokens, dim, seed=6 + i) for i in range(sources - 1))]


def run(given):
    query, norm_weight, out_weight, *streams = given
    return mix(query, norm_weight, 1e-5, out_weight, 1e-4, *streams)


def definition(given):
    """`Layer.mixed`, with a mix that has these weights."""
    query, norm_weight, out_weight, partial, added, *blocks = given
    if added is not None:
        partial = partial + added
        partial = partial + (partial.to(DTYPE).to(partial.dtype) - partial).detach()
    residual = AttentionResidual(query.numel())
    del residual.query, residual.norm_weight
    residual.query, residual.norm_weight = query, norm_weight
    h = residual([*blocks, partial]) if blocks else partial
    return partial, h if out_weight is None else definition_of_norm(h, out_weight, 1e-4)


def outputs_and_gradients(function, given, dtype):
    given = [None if one is None else one.detach().to(dtype).requires_grad_() for one in given]
    total, x = function(given)
    outgoing = [draw(*x.shape, seed=20).to(dtype), draw(*x.shape, seed=21).to(dtype)]
    wanted = [one for one in given if one is not None]
    gradients = torch.autograd.grad([total, x], wanted, outgoing, allow_unused=True)
    return total.detach(), x.detach(), *gradients


def compare(given):
    found = outputs_and_gradients(run, given, DTYPE)
    expected = outputs_and_gradients(definition, given, torch.float64)
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert (one is None) == (other is None), place
        if other is not None:
            assert one.shape == other.shape
            assert one.dtype == DTYPE
            assert relative_rms(one, other) <= LIMIT, (place, relative_rms(one, other))


@pytest.mark.parametrize(
    ("sources", "dim", "added", "normed"),
    [(1, 192, True, True), (2, 192, True, True), (3, 40, False, True), (4, 512, True, False), (9, 48, True, True),
     (2, 16, False, False), (10, 192, True, True), (16, 24, True, True)],
)  # fmt: skip
def test_outputs_and_gradients_are_the_operators(sources, dim, added, normed):
    compare(operands(sources, dim, tokens=5, batch=2 if sources == 3 else 1, added=added, normed=normed))


@pytest.mark.slow
@pytest.mark.parametrize(("sources", "dim"), [(2, 1024), (9, 1024), (5, 7168), (3, 2048), (2, 8192)])
def test_wide_rows(sources, dim):
    compare(operands(sources, dim, tokens=3))


def test_norm_alone():
    x, weight = draw(2, 3, 192).requires_grad_(), (1 + draw(192, seed=1)).requires_grad_()
    wide = [one.detach().double().requires_grad_() for one in (x, weight)]
    y, expected = rms_norm(x, weight, 1e-5), definition_of_norm(*wide, 1e-5)
    dy = draw(2, 3, 192, seed=2)
    found = (y, *torch.autograd.grad(y, (x, weight), dy))
    for one, other in zip(found, (expected, *torch.autograd.grad(expected, wide, dy.double())), strict=True):
        assert relative_rms(one.detach(), other.detach()) <= LIMIT


def test_weights_of_another_dtype_get_gradients_of_theirs():
    given = operands(3, 48)
    given = [one.float() if place < 3 else one.bfloat16() for place, one in enumerate(given)]
    given = [one.requires_grad_() for one in given]
    total, x = run(given)
    assert total.dtype == x.dtype == torch.bfloat16
    gradients = torch.autograd.grad(x.float().sum(), given)
    assert all(one.dtype == other.dtype for one, other in zip(gradients, given, strict=True))
    wide = [one.detach().double().requires_grad_() for one in given]
    expected = definition(wide)[1]
    assert relative_rms(x.detach(), expected.detach()) <= 0.005
    for one, other in zip(gradients, torch.autograd.grad(expected.sum(), wide), strict=True):
        assert relative_rms(one, other) <= 0.01


def test_the_sum_is_rounded_as_the_stream_rounds_it():
    given = [one.bfloat16() for one in operands(2, 192)]
    assert torch.equal(run(given)[0], given[3] + given[4])
    without = [*given[:4], None, *given[5:]]
    assert run(without)[0] is without[3]


def test_a_query_of_zero_takes_the_mean():
    given = operands(3, 48, normed=False)
    given[0] = torch.zeros_like(given[0])
    total, x = run(given)
    mean = (total.double() + given[5].double() + given[6].double()) / 3
    assert relative_rms(x, mean) <= LIMIT


def test_a_tokens_results_do_not_depend_on_the_others():
    """Nor on the number of them: prefixes, and single tokens, bit for bit, in outputs and gradients."""
    given = operands(4, 192, tokens=9)
    whole = outputs_and_gradients(run, given, DTYPE)
    for start, end in ((0, 5), (0, 1), (8, 9), (3, 8)):
        part = [one[:, start:end] if place > 2 else one for place, one in enumerate(given)]
        part = [one.detach().requires_grad_() for one in part]
        results = run(part)
        outgoing = [draw(1, 9, 192, seed=seed)[:, start:end] for seed in (20, 21)]
        found = (*results, *torch.autograd.grad(results, part[3:], outgoing))
        expected = (*whole[:2], *whole[5:])
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one.detach(), other[:, start:end])


def test_what_is_not_contiguous_is_copied():
    given = operands(3, 40)
    wider = [torch.stack([one, torch.full_like(one, float("nan"))], -1)[..., 0] for one in given]
    assert not any(one.is_contiguous() for one in wider)
    results = [run(one) for one in (given, wider)]
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))
    leaves = [one.requires_grad_() for one in wider]
    dx = draw(1, 40, 5, seed=20).transpose(1, 2)
    found = torch.autograd.grad(run(leaves)[1], leaves, dx)
    expected = torch.autograd.grad(run(leaves)[1], leaves, dx.contiguous())
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_more_rows_than_programs_and_the_same_bits_again(monkeypatch):
    monkeypatch.setattr(mix_op, "mix_launch", lambda *given: replace(mix_launch(*given), programs=2))
    compare(operands(3, 40, tokens=9))
    first, again = (outputs_and_gradients(run, operands(2, 192, tokens=21), DTYPE) for _ in range(2))
    assert all(torch.equal(*pair) for pair in zip(first, again, strict=True))


def test_nothing_beyond_the_rows_is_read_or_written():
    """Rows of NaN behind every tensor stay out of all results, as do those of the outputs themselves."""
    given = operands(3, 40, tokens=5)
    expected = outputs_and_gradients(run, given, DTYPE)
    poisoned = []
    for one in given:
        long = torch.full((2, *one.shape), float("nan"), device=DEVICE, dtype=DTYPE)
        long[0] = one
        poisoned.append(long[0])
    found = outputs_and_gradients(run, poisoned, DTYPE)
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_it_compiles_into_one_graph():
    given = operands(3, 40)

    def loss(*tensors):
        total, x = run(tensors)
        return (2 * x).square().sum() + total.sum()

    results = []
    for function in (torch.compile(loss, fullgraph=True, backend="aot_eager"), loss):
        leaves = [one.detach().requires_grad_() for one in given]
        results.append(torch.autograd.grad(function(*leaves), leaves))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("added", [True, False])
def test_operators_tell_the_truth(added):
    query, norm_weight, out_weight, partial, other, *blocks = operands(3, 40, added=added)
    arguments = (blocks, partial, other, query, norm_weight, out_weight, 1e-5, 1e-4, True)
    torch.library.opcheck(mix_op._forward.registered, arguments, test_utils=CHECKS)
    stats = mix_op._forward(*arguments)[2]
    sources = [*blocks, partial]
    arriving = [None, None, torch.ones_like(partial)]
    arguments = (torch.ones_like(partial), arriving, sources, query, norm_weight, out_weight, stats, 1e-4)
    torch.library.opcheck(mix_op._backward.registered, arguments, test_utils=CHECKS)


def test_operators_of_a_norm_alone_tell_the_truth():
    x, weight = draw(3, 40), draw(40, seed=1)
    torch.library.opcheck(norm_op._forward.registered, (x, weight, 1e-5), test_utils=CHECKS)
    torch.library.opcheck(norm_op._backward.registered, (torch.ones_like(x), x, weight, 1e-5), test_utils=CHECKS)


def test_no_tokens():
    given = [one.requires_grad_() for one in operands(3, 40, tokens=0)]
    total, x = run(given)
    assert x.shape == total.shape == (1, 0, 40)
    assert all(not one.any() for one in torch.autograd.grad(x.sum(), given))


def test_what_does_not_fit_is_refused_before_the_launch():
    given = operands(3, 40)
    for place, bad, match in (
        (0, given[0][:39], r"query is \[39\], but must be \[40\]"),
        (2, given[2].double(), "out_weight is torch.float64"),
        (4, given[4][:, :4], r"added is \[1, 4, 40\], but must be \[1, 5, 40\] to go with partial"),
        (5, given[5].half(), "block 0 is torch.float16"),
        (3, given[3].to(OTHER), "to go with partial"),
    ):
        with pytest.raises(ValueError, match=match):
            run([*given[:place], bad, *given[place + 1 :]])
    with pytest.raises(ValueError, match="at most 16 sources, not 17"):
        run(operands(17, 16))
    with pytest.raises(ValueError, match="rows have 8193 channels, but the kernels take 1 to 8192"):
        rms_norm(draw(1, 8193), draw(8193), 1e-5)
