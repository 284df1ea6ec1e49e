"""The short convolution and SiLU in one kernel each way, against `ShortConvolution.packed`."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.bench.oracles import relative_rms
from k3data.model.kda.conv import ShortConvolution
from k3data.model.kernels.fused import conv, conv_silu, conv_silu_each
from k3data.model.kernels.fused.launch import conv_backward_launch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
LIMIT = 0.005 if DEVICE == "cuda" else 1e-6
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


@pytest.fixture(autouse=True)
def segment(monkeypatch):
    """Short ones, so that few tokens have many, and the interpreter, which is slow, has few."""
    monkeypatch.setattr(conv, "conv_backward_launch", lambda channels: replace(conv_backward_launch(channels), rows=8))


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, DTYPE)


def places_of(*rows, dtype=torch.int32):
    """A row of tokens for each list of lengths of documents."""
    return torch.stack([torch.cat([torch.arange(n) for n in lengths]) for lengths in rows]).to(DEVICE, dtype)


def definition(x, weight, places):
    convolution = ShortConvolution(x.shape[-1])
    del convolution.weight
    convolution.weight = weight
    return convolution.packed(x, places)


def output_and_gradients(function, x, weight, places):
    leaves = [one.detach().requires_grad_() for one in (x, weight)]
    y = function(*leaves, places)
    return [y.detach(), *torch.autograd.grad(y, leaves, draw(*y.shape, seed=9).to(y))]


def compare(x, weight, places):
    found = output_and_gradients(conv_silu, x, weight, places)
    expected = output_and_gradients(definition, x.double(), weight.double(), places)
    for one, other, operand in zip(found, expected, (x, x, weight), strict=True):
        assert one.dtype == operand.dtype
        assert one.shape == other.shape
        assert relative_rms(one, other) <= LIMIT


@pytest.mark.parametrize(
    ("lengths", "channels"),
    [([[19]], 40), ([[1, 2, 3, 4, 11]], 64), ([[8, 9]], 16), ([[9], [9]], 300), ([[2]], 8), ([[7, 1, 1]], 24)],
)  # fmt: skip
def test_output_and_gradients_are_the_operators(lengths, channels):
    places = places_of(*lengths)
    compare(draw(*places.shape, channels), draw(channels, 1, 4, seed=1), places)


@pytest.mark.slow
def test_segments_as_long_as_they_are_launched(monkeypatch):
    monkeypatch.setattr(conv, "conv_backward_launch", conv_backward_launch)
    compare(draw(1, 200, 512), draw(512, 1, 4, seed=1), places_of([64, 1, 135]))


def test_more_segments_than_programs(monkeypatch):
    monkeypatch.setattr(conv, "conv_programs", lambda columns: 2)
    compare(draw(1, 37, 24), draw(24, 1, 4, seed=1), places_of([17, 20], dtype=torch.int64))


def test_weights_in_fp32_beside_inputs_in_bf16():
    x, weight, places = draw(1, 20, 40).bfloat16(), draw(40, 1, 4, seed=1).float(), places_of([7, 13])
    found = output_and_gradients(conv_silu, x, weight, places)
    expected = output_and_gradients(definition, x.double(), weight.double(), places)
    assert [one.dtype for one in found] == [x.dtype, x.dtype, weight.dtype]
    assert all(relative_rms(one, other) <= 0.005 for one, other in zip(found, expected, strict=True))


def test_three_inputs_in_one_launch_are_the_same_bits_as_three_launches():
    inputs, weights = [draw(1, 17, 40, seed=n) for n in range(3)], [draw(40, 1, 4, seed=4 + n) for n in range(3)]
    places = places_of([7, 10])
    leaves = [one.requires_grad_() for one in (*inputs, *weights)]
    outputs = conv_silu_each(inputs, weights, places)
    outgoing = [draw(1, 17, 40, seed=9)] * 3
    gradients = torch.autograd.grad(outputs, leaves, outgoing)
    for n in range(3):
        alone = output_and_gradients(conv_silu, inputs[n], weights[n], places)
        for one, other in zip((outputs[n], gradients[n], gradients[3 + n]), alone, strict=True):
            assert torch.equal(one, other)
    (lonely,) = torch.autograd.grad(conv_silu_each(inputs, weights, places)[1].sum(), leaves[1:2])
    assert lonely.any()


@pytest.mark.parametrize("start", [5, 8, 11])
def test_packed_is_separate_to_the_bit(start):
    """In outputs and in gradients of x; and so is a prefix, whatever follows it, NaN included."""
    x, weight = draw(1, 19, 24), draw(24, 1, 4, seed=1)
    y, dx, _ = output_and_gradients(conv_silu, x, weight, places_of([start, 19 - start]))
    dy = draw(1, 19, 24, seed=9)
    for where in (slice(0, start), slice(start, 19)):
        leaf = x[:, where].detach().requires_grad_()
        alone = conv_silu(leaf, weight, places_of([where.stop - where.start]))
        assert torch.equal(alone, y[:, where])
        assert torch.equal(torch.autograd.grad(alone, leaf, dy[:, where])[0], dx[:, where])
    poisoned = x.clone()
    poisoned[:, start:] = float("nan")
    y_poisoned, dx_poisoned, _ = output_and_gradients(conv_silu, poisoned, weight, places_of([start, 19 - start]))
    assert torch.equal(y_poisoned[:, :start], y[:, :start])
    assert torch.equal(dx_poisoned[:, :start], dx[:, :start])


def test_nothing_beyond_the_rows_is_read_and_it_comes_again():
    x, weight, places = draw(1, 17, 24), draw(24, 1, 4, seed=1), places_of([7, 10])
    expected, again = (output_and_gradients(conv_silu, x, weight, places) for _ in range(2))
    assert all(torch.equal(*pair) for pair in zip(expected, again, strict=True))
    long = torch.full((3, 17, 24), float("nan"), device=DEVICE, dtype=DTYPE)
    long[1] = x
    found = output_and_gradients(conv_silu, long[1:2], weight, places)
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_it_compiles_into_one_graph():
    x, weight, places = draw(1, 20, 24), draw(24, 1, 4, seed=1), places_of([7, 13])

    def doubled(*tensors):
        return 2 * conv_silu(*tensors)

    compiled = torch.compile(doubled, fullgraph=True, backend="aot_eager")
    pairs = [output_and_gradients(function, x, weight, places) for function in (compiled, doubled)]
    assert all(torch.equal(*pair) for pair in zip(*pairs, strict=True))


def test_operators_tell_the_truth():
    inputs, weights = [draw(1, 20, 24, seed=n) for n in range(2)], [draw(24, 1, 4, seed=4 + n) for n in range(2)]
    places = places_of([7, 13])
    torch.library.opcheck(conv._forward.registered, (inputs, weights, places), test_utils=CHECKS)
    arguments = ([torch.ones_like(x) for x in inputs], inputs, weights, places)
    torch.library.opcheck(conv._backward.registered, arguments, test_utils=CHECKS)


def test_what_does_not_fit_is_refused_before_the_launch():
    x, weight, places = draw(1, 20, 24), draw(24, 1, 4, seed=1), places_of([7, 13])
    for bad, match in (
        ((x, weight[..., 1:], places), r"the weight is \[24, 1, 3\], but must be \[24, 1, 4\]"),
        ((x, weight, places[:, 1:]), r"places are \[1, 19\], but must be \[1, 20\]"),
        ((x, weight, places.float()), "places must be integers"),
        ((x.half(), weight, places), "x 0 is torch.float16"),
        ((x[0], weight, places), r"x must be \[B, T, P\]"),
    ):
        with pytest.raises(ValueError, match=match):
            conv_silu(*bad)
    with pytest.raises(ValueError, match="there are 2 inputs and 1 weights"):
        conv_silu_each([x, x], [weight], places)
    assert conv_silu(x[:, :0], weight, places[:, :0]).shape == (1, 0, 24)
