"""Chunked KDA against the recurrence, output, state and every gradient; and that no token changes the past by a bit."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.model.bench.oracles import (
    GATES,
    LENGTHS,
    TENSORS,
    as_in_training,
    kda_operands,
    relative_rms,
    results_and_gradients,
    run,
)
from k3data.model.kda.chunked import kda_chunked
from k3data.model.kda.recurrent import kda_recurrent

TOLERANCE = dict(zip(TENSORS, (0.005, 0.005, 0.008, 0.008, 0.008, 0.02, 0.02, 0.008), strict=True))


def assert_equal_to_the_recurrence(operands, **options):
    chunk_size = options.pop("chunk_size", 64)
    expected = results_and_gradients(kda_recurrent, operands, **options)
    found = results_and_gradients(kda_chunked, operands, chunk_size=chunk_size, **options)
    for name, a, b in zip(TENSORS, found, expected, strict=True):
        assert (a - b).abs().max() <= 1e-10, name


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("length", LENGTHS)
def test_fp64_equals_the_recurrence_at_every_length(length, gate):
    assert_equal_to_the_recurrence(kda_operands(length, 2, 32, gate), scale=1.0 if length % 2 else None)


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("head_dim", [32, 64, 128])
def test_fp64_equals_the_recurrence_at_every_head_size(head_dim, gate, scale):
    assert_equal_to_the_recurrence(kda_operands(70, 2, head_dim, gate), scale=scale)


@pytest.mark.parametrize("chunk_size", [16, 32, 128])
def test_fp64_equals_the_recurrence_with_other_chunks(chunk_size):
    assert_equal_to_the_recurrence(kda_operands(150, 2, 32, "mixed"), chunk_size=chunk_size)


@pytest.mark.parametrize("gate", GATES)
def test_a_batch_of_sequences_equals_the_recurrence(gate):
    assert_equal_to_the_recurrence(kda_operands(75, 2, 32, gate, batch=3))


@pytest.mark.parametrize("gate", GATES)
def test_packed_sequences_equal_the_recurrence(gate):
    cu_seqlens = torch.tensor([0, 1, 1, 66, 82, 210, 225], dtype=torch.int32)
    operands = kda_operands(225, 2, 32, gate, sequences=6)
    assert_equal_to_the_recurrence(operands, cu_seqlens=cu_seqlens)


def test_values_may_be_wider_than_keys():
    operands = kda_operands(70, 2, 48, "mixed")
    operands[0], operands[1], operands[3] = (operands[i][..., :32] for i in (0, 1, 3))
    operands[5] = operands[5][:, :, :32]
    assert_equal_to_the_recurrence(operands)


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("head_dim", [32, 64, 128])
def test_bf16_is_within_the_tolerances_of_flash_linear_attention(head_dim, gate, scale):
    operands = as_in_training(kda_operands(145, 2, head_dim, gate))
    expected = results_and_gradients(kda_recurrent, [x.double() for x in operands], scale=scale)
    found = results_and_gradients(kda_chunked, operands, scale=scale)
    for name, a, b, operand in zip(TENSORS, found, expected, (operands[2], operands[5], *operands), strict=True):
        assert a.dtype == operand.dtype
        assert (a.double() - b).abs().max() <= 1e-6 or relative_rms(a, b) <= TOLERANCE[name], name


@pytest.mark.parametrize("gate", GATES)
def test_fp32_keeps_its_digits_even_when_gradients_are_tiny(gate):
    """A mean over many tokens gives gradients like 1e-9; times e^-75 they would be subnormal without the balance."""
    operands = [x.float() for x in kda_operands(145, 2, 64, gate)]

    def scaled(function):
        def call(*operands, **options):
            return (1e-9 * x for x in function(*operands, **options))

        return call

    expected = results_and_gradients(scaled(kda_recurrent), [x.double() for x in operands])
    found = results_and_gradients(scaled(kda_chunked), operands)
    for name, a, b in zip(TENSORS, found, expected, strict=True):
        assert relative_rms(a, b) < (1e-4 if name == "dlog_decay" else 5e-6), name


def test_a_slow_decay_keeps_its_digits_after_fast_ones():
    """Sums of decays reach −160 here; in fp32 their differences would be 1e-5 off, and so would what they decay."""
    operands = [x.float() for x in kda_operands(64, 2, 32, "near_zero")]
    operands[3][:, :32] = -5.0
    operands[3][:, 32:] = -0.01
    o, state = kda_chunked(*operands[:5], initial_state_NHKV=operands[5])
    expected = kda_recurrent(*(x.double() for x in operands[:5]), initial_state_NHKV=operands[5].double())
    assert relative_rms(o, expected[0]) < 5e-7
    assert relative_rms(state, expected[1]) < 5e-7


def test_the_lowest_gate_that_is_allowed_does_not_overflow():
    operands = [x.float() for x in kda_operands(130, 1, 32, "saturated")]
    operands[3] = torch.full_like(operands[3], -5.9)
    for name, found in zip(TENSORS, results_and_gradients(kda_chunked, operands), strict=True):
        assert torch.isfinite(found).all(), name


@pytest.mark.parametrize("prefix", [1, 7, 15, 16, 40, 63, 64, 100])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("packed", [False, True])
def test_later_tokens_change_neither_earlier_outputs_nor_their_gradients_by_a_bit(prefix, gate, packed):
    options = {"cu_seqlens": torch.tensor([0, 50, 131])} if packed else {}
    sequences = 2 if packed else 1

    def of_the_prefix(operands):
        leaves = [x.detach().requires_grad_() for x in operands]
        o, _ = kda_chunked(*leaves[:5], initial_state_NHKV=leaves[5], **options)
        (o[:, :prefix] * torch.linspace(-1, 2, o.shape[-1])).sum().backward()
        return o, [o[:, :prefix], *(x.grad[:, :prefix] for x in leaves[:5]), leaves[5].grad]

    operands = as_in_training(kda_operands(131, 2, 32, gate, sequences=sequences))
    others = as_in_training(kda_operands(131, 2, 32, "mixed", sequences=sequences, seed=1))
    edited = [torch.cat([a[:, :prefix], b[:, prefix:]], 1) for a, b in zip(operands[:5], others[:5], strict=True)]
    o, before = of_the_prefix(operands)
    edited_o, after = of_the_prefix([*edited, operands[5]])
    assert not torch.equal(o, edited_o)
    for a, b in zip(before, after, strict=True):
        assert torch.equal(a, b)


def test_the_gradient_of_a_loss_on_the_prefix_is_zero_after_it():
    leaves = [x.requires_grad_() for x in kda_operands(100, 1, 32, "initial")]
    o, _ = kda_chunked(*leaves[:5])
    o[:, :37].sum().backward()
    for leaf in leaves[:5]:
        assert leaf.grad[:, :37].any() and not leaf.grad[:, 37:].any()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 150), min_size=1, max_size=6).filter(any), st.sampled_from(GATES))
def test_packed_equals_separate(lengths, gate):
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    operands = kda_operands(int(bounds[-1]), 1, 16, gate, sequences=len(lengths))
    packed = results_and_gradients(kda_chunked, operands, cu_seqlens=bounds)
    for n, (start, end) in enumerate(pairwise(bounds.tolist())):
        if start == end:
            assert torch.equal(packed[1][n], operands[5][n])
            continue
        o, state = kda_chunked(*(x[:, start:end] for x in operands[:5]), initial_state_NHKV=operands[5][n : n + 1])
        torch.testing.assert_close(packed[0][:, start:end], o, rtol=0, atol=1e-12)
        torch.testing.assert_close(packed[1][n], state[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cut", [1, 40, 64, 99])
def test_a_sequence_goes_on_from_its_state(cut):
    operands = kda_operands(100, 2, 32, "initial")
    whole, state = kda_chunked(*operands[:5], initial_state_NHKV=operands[5])
    first, middle = kda_chunked(*(x[:, :cut] for x in operands[:5]), initial_state_NHKV=operands[5])
    second, last = kda_chunked(*(x[:, cut:] for x in operands[:5]), initial_state_NHKV=middle)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=0, atol=1e-12)
    torch.testing.assert_close(last, state, rtol=0, atol=1e-12)


def test_operands_and_initial_state_are_left_alone():
    operands = kda_operands(70, 1, 16, "mixed")
    copies = [x.clone() for x in operands]
    results_and_gradients(kda_chunked, operands)
    assert all(torch.equal(a, b) for a, b in zip(operands, copies, strict=True))


def test_autocast_does_not_reach_inside():
    operands = [x.float() for x in kda_operands(70, 1, 32, "initial")]
    expected, _ = kda_chunked(*operands[:5])
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = kda_chunked(*operands[:5])
    assert torch.equal(found, expected)


@pytest.mark.slow
def test_the_benchmark_gives_the_figures_that_it_promises():
    figures = run(True)["figures"]
    assert {"kda_fp64_max_error", *(f"kda_bf16_rms_{name}" for name in TENSORS)} <= figures.keys()
    assert 0 < figures["kda_fp64_max_error"] < 1e-10
