"""The kernels of KDA against the PyTorch operators in fp64, and what holds bit for bit.

On a GPU they run as they are, in bf16; elsewhere in Triton's interpreter, in fp32 (`test_rounding.py` has bf16).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from k3data.model.bench.kernels import TENSORS, composed, operands_of, results_and_gradients, results_by_place
from k3data.model.bench.oracles import GATES, relative_rms
from k3data.model.kernels.kda import ChunkTable, kda, launch, passes

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32


def operands(length, gate="initial", *, batch=1, heads=1, key_dim=32, value_dim=32, sequences=None, seed=0):
    return operands_of(
        batch, length, heads, key_dim, value_dim, gate, sequences=sequences, seed=seed, device=DEVICE, dtype=DTYPE
    )


def assert_right(given, limit_of, **options):
    packed = options.get("cu_seqlens")
    found = results_and_gradients(kda, given, **options)
    expected = results_and_gradients(composed, [x.double() for x in given], **options)
    for name, a, b, operand in zip(TENSORS, found, expected, (given[2], given[7], *given), strict=True):
        assert a.dtype == operand.dtype, name
        assert torch.isfinite(a).all(), name
        # A gate at its end has gradients that are nothing but rounding; both are then next to zero.
        difference = (a.double() - b).abs().max()
        assert difference <= 1e-6 or relative_rms(a, b) <= limit_of(name), (
            name,
            relative_rms(a, b),
            float(difference),
            packed,
        )


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("length", [1, 65, *(pytest.param(length, marks=pytest.mark.slow) for length in (16, 63, 130))])
def test_equal_to_fp64_at_every_length(length, gate, limit_of):
    def limit(name):
        # One token's output is one product of q and k, in which much may cancel.
        return limit_of(name) * (4 / 3 if name == "o" and length == 1 and DEVICE == "cuda" else 1)

    assert_right(operands(length, gate), limit, scale=1.0 if length % 2 else None)


@pytest.mark.parametrize("size", [128, pytest.param(64, marks=pytest.mark.slow)])
def test_equal_to_fp64_at_every_head_size(size, limit_of):
    for gate in ("mixed", "initial") if DEVICE == "cpu" else GATES:
        assert_right(operands(70, gate, heads=1, key_dim=size, value_dim=size), limit_of)


@pytest.mark.parametrize("gate", ["mixed", pytest.param("saturated", marks=pytest.mark.slow)])
def test_a_batch_of_sequences_is_equal_to_fp64(gate, limit_of):
    assert_right(operands(75, gate, batch=2, heads=2), limit_of)


def test_the_lowest_bound_does_not_overflow(limit_of):
    assert_right(operands(70, "saturated"), limit_of, lower_bound=-5.9)


BOUNDS = [0, 1, 1, 66, 82, 146, 161]


SOME_GATES = [gate if gate in ("mixed", "saturated") else pytest.param(gate, marks=pytest.mark.slow) for gate in GATES]


@pytest.mark.parametrize("gate", SOME_GATES)
def test_packed_sequences_are_equal_to_fp64(gate, limit_of):
    assert_right(operands(BOUNDS[-1], gate, sequences=6), limit_of, cu_seqlens=torch.tensor(BOUNDS))


def test_packed_is_separate_bit_for_bit():
    given = operands(BOUNDS[-1], "mixed", sequences=6)
    packed = results_by_place(kda, given, cu_seqlens=torch.tensor(BOUNDS))
    for n, (start, end) in enumerate(pairwise(BOUNDS)):
        if start == end:
            assert torch.equal(packed[1][n], given[7][n])
            continue
        alone = results_by_place(
            kda, [*(x[:, start:end] for x in given[:5]), *given[5:7], given[7][n : n + 1]], skip=start
        )
        for name in ("o", "dq", "dk", "dv", "dz", "dbeta"):
            i = TENSORS.index(name)
            assert torch.equal(packed[i][:, start:end], alone[i]), (name, n)
        for name in ("state", "dinitial_state"):
            i = TENSORS.index(name)
            assert torch.equal(packed[i][n], alone[i][0]), (name, n)


def test_loads_ahead_change_no_gradient_by_a_bit(monkeypatch):
    given = operands(70, "mixed")
    late = results_and_gradients(kda, given)
    table = launch.launches(32, 32)
    ahead = replace(table, gate=replace(table.gate, ahead=True))
    monkeypatch.setattr(passes, "launches", lambda *_: ahead)
    assert all(map(torch.equal, late, results_and_gradients(kda, given)))


def test_twice_is_the_same_bit_for_bit():
    given = operands(130, "mixed")
    for name, a, b in zip(TENSORS, results_by_place(kda, given), results_by_place(kda, given), strict=True):
        assert torch.equal(a, b), name


@pytest.mark.parametrize(
    "prefix", [40, 64, *(pytest.param(length, marks=pytest.mark.slow) for length in (1, 15, 16, 63, 100))]
)
def test_later_tokens_change_neither_earlier_outputs_nor_their_gradients_by_a_bit(prefix):
    given, others = operands(131, "mixed"), operands(131, "saturated", seed=1)
    edited = [torch.cat([a[:, :prefix], b[:, prefix:]], 1) for a, b in zip(given[:5], others[:5], strict=True)]

    def of_the_prefix(tensors):
        leaves = [x.detach().clone().requires_grad_() for x in tensors]
        o, _ = kda(*leaves[:7], initial_state_NHKV=leaves[7])
        (o[:, :prefix].float() * torch.linspace(-1, 2, o.shape[-1], device=DEVICE)).sum().backward()
        for leaf in leaves[:5]:
            assert leaf.grad[:, :prefix].any() and not leaf.grad[:, prefix:].any()
        return [o[:, :prefix], *(x.grad[:, :prefix] for x in leaves[:5]), leaves[7].grad]

    for a, b in zip(of_the_prefix(given), of_the_prefix([*edited, *given[5:]]), strict=True):
        assert torch.equal(a, b)


def test_memory_that_nobody_wrote_reaches_nothing(monkeypatch):
    given = operands(BOUNDS[-1], "mixed", sequences=6)
    options = {"cu_seqlens": torch.tensor(BOUNDS)}
    expected = results_by_place(kda, given, **options)

    def poisoned(allocate):
        def call(*args, **options):
            tensor = allocate(*args, **options)
            return tensor.fill_(float("nan")) if tensor.is_floating_point() else tensor

        return call

    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty))
    monkeypatch.setattr(torch, "empty_like", poisoned(torch.empty_like))
    found = results_by_place(kda, given, **options)
    monkeypatch.undo()
    for name, a, b in zip(TENSORS, found, expected, strict=True):
        assert torch.equal(a, b), name


def test_a_shorter_sequence_is_the_beginning_of_a_longer_one():
    given = operands(131, "mixed")
    o, _ = kda(*given[:7])
    for length in (1, 17, 64, 100):
        part, _ = kda(*(x[:, :length] for x in given[:5]), *given[5:7])
        assert torch.equal(part, o[:, :length])


def test_a_sequence_goes_on_from_its_state():
    given = operands(128, "initial")
    whole, state = kda(*given[:7], initial_state_NHKV=given[7])
    first, middle = kda(*(x[:, :64] for x in given[:5]), *given[5:7], initial_state_NHKV=given[7])
    second, last = kda(*(x[:, 64:] for x in given[:5]), *given[5:7], initial_state_NHKV=middle)
    assert torch.equal(torch.cat([first, second], 1), whole)
    assert torch.equal(last, state)


def test_without_gradients_the_output_is_the_same():
    given = operands(100, "mixed")
    expected, _ = kda(*(x.clone().requires_grad_() for x in given[:7]))
    with torch.no_grad():
        found, _ = kda(*given[:7])
    assert torch.equal(found, expected)


def test_operands_are_left_alone_and_need_not_be_contiguous():
    given = operands(70)
    copies = [x.clone() for x in given]
    expected = results_by_place(kda, given)
    strided = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in given[:5]] + given[5:]
    assert all(torch.equal(a, b) for a, b in zip(given, copies, strict=True))
    for a, b in zip(results_by_place(kda, strided), expected, strict=True):
        assert torch.equal(a, b)


def test_a_loss_on_the_state_alone():
    given = operands(70)
    leaves = [x.clone().requires_grad_() for x in given]
    kda(*leaves[:7])[1].sum().backward()
    doubles = [x.double().requires_grad_() for x in given]
    composed(*doubles[:7])[1].sum().backward()
    for a, b in zip(leaves[1:5], doubles[1:5], strict=True):
        assert relative_rms(a.grad, b.grad) <= (0.05 if DEVICE == "cuda" else 5e-5)


def test_it_compiles_into_one_graph():
    given = operands(66, "mixed", sequences=2)
    table = ChunkTable.of([0, 30, 66], 66, 1, DEVICE)

    def step(*tensors):
        o, state = kda(*tensors[:7], initial_state_NHKV=tensors[7], cu_seqlens=table)
        return o.float().square().sum() + state.sum()

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    found, expected = ([x.clone().requires_grad_() for x in given] for _ in range(2))
    compiled(*found).backward()
    step(*expected).backward()
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a.grad, b.grad)


def refused(change, match):
    given = dict(zip(("q", "k", "v", "z", "beta", "A_log", "dt_bias"), operands(70, heads=2)[:7], strict=True))
    options = {}
    change(given, options)
    with pytest.raises(ValueError, match=match):
        kda(*given.values(), **options)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda g, o: g.update(q=g["q"][..., :16], k=g["k"][..., :16], z=g["z"][..., :16]), "heads have 16 key"),
        (lambda g, o: g.update(q=g["q"].half()), "q is torch.float16"),
        (lambda g, o: g.update(z=g["z"][:, :69]), r"z is \[1, 69, 2, 32\]"),
        (lambda g, o: g.update(dt_bias=g["dt_bias"][:63]), "dt_bias is"),
        (lambda g, o: g.update(A_log=g["A_log"].double()), "A_log is torch.float64"),
        (lambda g, o: o.update(lower_bound=-6.0), "lower_bound is -6.0"),
        (lambda g, o: o.update(lower_bound=0.0), "lower_bound is 0.0"),
        (lambda g, o: o.update(cu_seqlens=torch.tensor([0, 30, 69])), "must end at the number of tokens, 70"),
        (lambda g, o: o.update(cu_seqlens=torch.tensor([0, 80, 70])), "must not fall"),
        (lambda g, o: o.update(cu_seqlens=ChunkTable.of([0, 69], 69, 1, DEVICE)), "chunk table is of 69 tokens"),
        (lambda g, o: o.update(initial_state_NHKV=torch.zeros(2, 2, 32, 32, device=DEVICE)), "2 sequences, but the"),
        (lambda g, o: o.update(initial_state_NHKV=torch.zeros(1, 2, 32, 16, device=DEVICE)), "initial_state is"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_launch(change, match):
    refused(change, match)


def test_without_a_gpu_it_says_so(monkeypatch):
    import triton

    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    with pytest.raises(ValueError, match="need a GPU"):
        kda(*(x.cpu() for x in operands(70)[:7]))
