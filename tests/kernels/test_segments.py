"""Long sequences walked in segments, with cuts as near as a test can have them."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from k3data.model.bench.kernels import TENSORS, composed, operands_of, results_and_gradients, results_by_place
from k3data.model.bench.oracles import relative_rms
from k3data.model.kda.gate import bounded_log_decay
from k3data.model.kda.recurrent import kda_recurrent
from k3data.model.kernels.kda import ChunkTable, chunks, kda

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
CUTS_OF = chunks.cuts_of


@pytest.fixture(autouse=True)
def near_cuts(monkeypatch):
    monkeypatch.setattr(chunks, "cuts_of", lambda heads: chunks.Cuts(128, 64))


def operands(length, gate="mixed", *, batch=1, heads=1, key_dim=32, value_dim=32, sequences=None, seed=0):
    return operands_of(
        batch, length, heads, key_dim, value_dim, gate, sequences=sequences, seed=seed, device=DEVICE, dtype=DTYPE
    )


def assert_right(given, limit_of, definition=composed, **options):
    found = results_and_gradients(kda, given, **options)
    expected = results_and_gradients(definition, [x.double() for x in given], **options)
    for name, a, b in zip(TENSORS, found, expected, strict=True):
        near = (a.double() - b).abs().max() <= 1e-6 or relative_rms(a, b) <= limit_of(name)
        assert near, (name, relative_rms(a, b))


@pytest.mark.parametrize("heads", [8, 9])
@pytest.mark.parametrize("length", [1, 2048, 2049, 8192, 10241, 65536, 65537, 300_000])
def test_a_sequence_has_the_cuts_of_a_longer_one(heads, length):
    cuts = CUTS_OF(heads)
    edges = cuts.edges(length)
    assert edges == [*cuts.edges(2**20)[: len(edges) - 1], length] and len(edges) == cuts.segments(length) + 1
    assert all(edge % chunks.CHUNK == 0 for edge in edges[:-1])
    assert (cuts.segments(4096) > 1) == (heads <= chunks.FEW_HEADS)


def test_where_sequences_are_cut():
    cuts = chunks.Cuts(128, 64, 256)
    assert [cuts.segments(length) for length in (0, 1, 128, 129, 192, 193, 256, 257, 384, 385)] == [
        1, 1, 1, 2, 2, 3, 3, 4, 4, 5
    ]  # fmt: skip
    assert cuts.edges(385) == [0, 128, 192, 256, 384, 385]
    table = ChunkTable.of([0, 100, 100, 300], 300, 1, "cpu")
    assert table.cuts_N2.tolist() == [[0, 1], [1, 1], [2, 3]]
    assert table.walks_Z8.tolist() == [
        [0, 100, 0, 2, 0, 0, 0, 0],
        [100, 300, 2, 2, 2, 0, 2, 2],
        [228, 300, 4, 1, 2, 1, 1, 3],
        [292, 300, 5, 1, 2, 2, 0, 4],
        [100, 100, 2, 0, 1, 0, 0, 1],
    ]


@pytest.mark.parametrize(
    ("length", "gate"),
    [(300, "mixed"), *(pytest.param(length, gate, marks=pytest.mark.slow)
                       for length in (129, 192, 193, 256) for gate in ("initial", "saturated", "near_zero"))],
)  # fmt: skip
def test_equal_to_fp64(length, gate, limit_of):
    assert_right(operands(length, gate), limit_of)


@pytest.mark.slow
@pytest.mark.parametrize("size", [64, 128])
def test_equal_to_fp64_at_every_head_size(size, limit_of):
    assert_right(operands(270, "initial", key_dim=size, value_dim=size), limit_of)


def test_a_batch_is_equal_to_the_recurrence(limit_of):
    def recurrent(q, k, v, z, beta, A_log, dt_bias, initial_state_NHKV):
        def unit(x):
            return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)

        log_decay = bounded_log_decay(z, A_log, dt_bias)
        return kda_recurrent(unit(q), unit(k), v, log_decay, beta.sigmoid(), initial_state_NHKV=initial_state_NHKV)

    assert_right(operands(200, "initial", batch=2), limit_of, recurrent)


BOUNDS = [0, 40, 40, 240, 390]


def test_packed_is_separate_bit_for_bit():
    given = operands(BOUNDS[-1], sequences=4)
    packed = dict(zip(TENSORS, results_by_place(kda, given, cu_seqlens=torch.tensor(BOUNDS)), strict=True))
    for n, (start, end) in enumerate(pairwise(BOUNDS)):
        if start == end:
            assert torch.equal(packed["state"][n], given[7][n])
            continue
        parts = [*(x[:, start:end] for x in given[:5]), *given[5:7], given[7][n : n + 1]]
        alone = dict(zip(TENSORS, results_by_place(kda, parts, skip=start), strict=True))
        for name in ("o", "dq", "dk", "dv", "dz", "dbeta"):
            assert torch.equal(packed[name][:, start:end], alone[name]), (name, n)
        for name in ("state", "dinitial_state"):
            assert torch.equal(packed[name][n], alone[name][0]), (name, n)


@pytest.mark.parametrize("prefix", [250, *(pytest.param(p, marks=pytest.mark.slow) for p in (100, 128, 192, 260))])
def test_later_tokens_change_neither_earlier_outputs_nor_their_gradients_by_a_bit(prefix):
    given, others = operands(270), operands(270, "saturated", seed=1)
    edited = [torch.cat([a[:, :prefix], b[:, prefix:]], 1) for a, b in zip(given[:5], others[:5], strict=True)]
    shorter = [x[:, :prefix] for x in given[:5]]

    def of_the_prefix(tensors):
        leaves = [x.detach().clone().requires_grad_() for x in tensors]
        o, _ = kda(*leaves[:7], initial_state_NHKV=leaves[7])
        (o[:, :prefix].float() * torch.linspace(-1, 2, o.shape[-1], device=DEVICE)).sum().backward()
        for leaf in leaves[:5]:
            assert leaf.grad[:, :prefix].any() and not leaf.grad[:, prefix:].any()
        return [o[:, :prefix], *(x.grad[:, :prefix] for x in leaves[:5]), leaves[7].grad]

    results = [of_the_prefix([*tensors, *given[5:]]) for tensors in (given[:5], edited, shorter)]
    for a, b, c in zip(*results, strict=True):
        assert torch.equal(a, b) and torch.equal(a, c)


def test_without_gradients_and_twice_it_is_the_same_bit_for_bit():
    given = operands(300)
    expected = kda(*(x.clone().requires_grad_() for x in given[:7]))
    with torch.no_grad():
        found = kda(*given[:7])
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.slow
def test_it_compiles_into_one_graph():
    given = operands(200)

    def step(*tensors):
        o, state = kda(*tensors[:7], initial_state_NHKV=tensors[7])
        return o.float().square().sum() + state.sum()

    found, expected = ([x.clone().requires_grad_() for x in given] for _ in range(2))
    torch.compile(step, fullgraph=True, backend="aot_eager")(*found).backward()
    step(*expected).backward()
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a.grad, b.grad)
