"""Attention over groups by kernels, against PyTorch's in fp64, group by group."""

from __future__ import annotations

import ast
import json
from itertools import accumulate

import pytest
import torch
from k3data.model.attention import attention as definition
from k3data.model.bench import attention_variants
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.attention import TileTable, attention, op
from k3data.model.kernels.attention.launch import Launch, Launches
from k3data.model.kernels.attention.tiles import SIZES

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
LIMIT = 0.005 if DEVICE == "cuda" else 1e-5
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")
NAMES = ("o", "dq", "dk", "dv")


def bounds_of(*lengths):
    return [0, *accumulate(lengths)]


def draw(*shape, seed=0, dtype=DTYPE):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def operands(tokens, heads=1, keys=64, values=64, batch=1, dtype=DTYPE):
    """q, k, v and do, whose numbers are of bf16, so that they are the same in every dtype."""
    widths = (keys, keys, values, values)
    return [draw(batch, tokens, heads, D, seed=seed).bfloat16().to(dtype) for seed, D in enumerate(widths)]


def run(given, bounds, fp32_output=True, **options):
    """o and the gradients of q, k and v."""
    *leaves, do = given
    leaves = [x.detach().requires_grad_() for x in leaves]
    o = attention(*leaves, TileTable.of(bounds, DEVICE), fp32_output=fp32_output, **options)
    return [o.detach(), *torch.autograd.grad(o, leaves, do.to(o))]


def defined(given, bounds, **options):
    q, k, v, do = (x.double().flatten(0, 1)[None] for x in given)
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    o = definition(*leaves, torch.tensor(bounds), **options)
    found = [o.detach(), *torch.autograd.grad(o, leaves, do)]
    return [x.view(y.shape) for x, y in zip(found, (given[3], *given[:3]), strict=True)]


def compare(given, bounds, limit=LIMIT, **options):
    found, expected = run(given, bounds, **options), defined(given, bounds, **options)
    for name, one, other, like in zip(NAMES, found, expected, (given[3].float(), *given[:3]), strict=True):
        assert one.dtype == like.dtype
        assert relative_rms(one, other) <= (limit if name == "o" else 1.6 * limit), name


@pytest.mark.parametrize(
    ("keys", "values", "causal"),
    [(192, 128, True), (64, 64, False), (48, 32, True)]
    + [pytest.param(*one, marks=pytest.mark.slow) for one in ((192, 128, False), (96, 64, True), (96, 64, False))],
)
def test_output_and_gradients_are_the_definitions(keys, values, causal):
    """Groups shorter than a tile, of one token, of none, and of a tile and a rest."""
    bounds = bounds_of(37, 1, 0, 150)
    compare(operands(bounds[-1], 1, keys, values), bounds, causal=causal)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("keys", "values", "heads"), [(192, 128, 3), (160, 96, 1), (128, 128, 2), (72, 64, 2), (32, 40, 2), (8, 8, 5)]
)
def test_other_widths_and_several_heads(keys, values, heads, causal):
    bounds = bounds_of(65, 200)
    compare(operands(bounds[-1], heads, keys, values), bounds, causal=causal)


def launched(monkeypatch, rows, columns, cut=None):
    """All kernels with tiles of other sizes, and parts of other widths."""
    one = Launch(rows, columns, num_warps=4, num_stages=2)
    monkeypatch.setattr(op, "launches", lambda keys, values: Launches(one, one, one))
    if cut:
        monkeypatch.setattr(op, "parts", lambda keys: cut)


@pytest.mark.parametrize(("rows", "columns"), [(64, 128), pytest.param(128, 128, marks=pytest.mark.slow)])
def test_tiles_of_other_sizes_give_the_same(monkeypatch, rows, columns):
    launched(monkeypatch, rows, columns)
    bounds = bounds_of(10, 71)
    for causal in (True, False):
        compare(operands(bounds[-1]), bounds, causal=causal)


@pytest.mark.skipif(DEVICE == "cuda", reason="parts of 32 channels are not launched: see rows.py")
def test_parts_of_other_widths_give_the_same(monkeypatch):
    launched(monkeypatch, 64, 32, cut=(64, 32))
    compare(operands(70, keys=96), [0, 70])


def test_rows_of_a_batch_are_groups():
    given = operands(20, heads=2, batch=2)
    bounds = [0, 20, 40]
    compare(given, bounds)
    flat = [x.flatten(0, 1)[None] for x in given]
    for one, other in zip(run(given, bounds), run(flat, bounds), strict=True):
        assert torch.equal(one.flatten(0, 1), other[0])


@pytest.mark.parametrize("fp32_output", [True, False])
def test_bf16_is_as_near_as_its_roundings_allow(fp32_output):
    bounds = bounds_of(40, 140)
    given = operands(bounds[-1], 1, 192, 128, dtype=torch.bfloat16)
    found, expected = run(given, bounds, fp32_output), defined(given, bounds)
    assert found[0].dtype == (torch.float32 if fp32_output else torch.bfloat16)
    assert [x.dtype for x in found[1:]] == [torch.bfloat16] * 3
    for name, one, other in zip(NAMES, found, expected, strict=True):
        assert relative_rms(one, other) <= (0.005 if name == "o" else 0.008), name


def test_an_unrounded_output_makes_gradients_of_queries_better():
    """Where values have a sign in common, o is long and its rounding goes into δ; where keys have something in common,
    δ's error goes along it into dq."""
    q, k, v, do = operands(160, dtype=torch.bfloat16)
    given = [q, (k.float() + 4).bfloat16(), (v.float() + 4).bfloat16(), do]
    expected = defined(given, [0, 160])
    rounded, unrounded = (run(given, [0, 160], wide) for wide in (False, True))
    assert relative_rms(unrounded[0], expected[0]) < 0.5 * relative_rms(rounded[0], expected[0])
    assert relative_rms(unrounded[1], expected[1]) < 0.5 * relative_rms(rounded[1], expected[1])


@pytest.mark.parametrize("causal", [True, False])
def test_a_group_has_the_same_bits_packed_and_alone_and_comes_again(causal):
    bounds = bounds_of(30, 1, 140)
    given = operands(bounds[-1])
    packed, again = (run(given, bounds, causal=causal) for _ in range(2))
    assert all(torch.equal(*pair) for pair in zip(packed, again, strict=True))
    for start, end in ((31, 171),):
        alone = run([x[:, start:end] for x in given], [0, end - start], causal=causal)
        assert all(torch.equal(one, other[:, start:end]) for one, other in zip(alone, packed, strict=True))


@pytest.mark.parametrize("length", [1, 64, 130])
def test_what_follows_does_not_change_a_bit_of_what_was_before(length):
    given = operands(150)
    given[3][:, length:] = 0
    whole = run(given, [0, 150])
    beginning = run([x[:, :length] for x in given], [0, length])
    assert all(torch.equal(one, other[:, :length]) for one, other in zip(beginning, whole, strict=True))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("causal", [True, False])
def test_other_groups_are_not_read(causal):
    bounds = bounds_of(50, 75, 10)
    given = operands(bounds[-1])
    expected = run(given, bounds, causal=causal)
    for x in given:
        x[:, :50] = x[:, 125:] = float("nan")
    found = run(given, bounds, causal=causal)
    assert all(torch.equal(one[:, 50:125], other[:, 50:125]) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("wider", [16, 3])
def test_operands_lie_as_projections_leave_them(wider):
    """Keys of nope channels and shared ones, values split from a wider tensor; where strides are odd, by a copy."""
    given = operands(35, 2, 96, 64, batch=2)
    bounds = [0, 35, 70]
    expected = run(given, bounds)
    lies = []
    for x in given:
        space = torch.full((*x.shape[:-1], x.shape[-1] + 2 * wider), float("nan"), device=DEVICE, dtype=DTYPE)
        space[..., wider : wider + x.shape[-1]] = x
        lies.append(space[..., wider : wider + x.shape[-1]])
    lies[0] = lies[0].transpose(1, 2).contiguous().transpose(1, 2)
    assert all(torch.equal(*pair) for pair in zip(run(lies, bounds), expected, strict=True))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_scores_far_from_zero_and_a_scale_of_one():
    given = operands(130)
    compare([8 * x if n < 2 else x for n, x in enumerate(given)], [0, 130])
    compare([0.125 * given[0], *given[1:]], [0, 130], scale=1.0)
    ones = [torch.ones_like(x) for x in given]
    o, dq, dk, dv = run(ones, [0, 130], scale=1.0)
    assert torch.allclose(o, torch.ones_like(o), atol=4e-3)
    harmonic = torch.tensor([1 / (n + 1) for n in range(130)], dtype=torch.float64).flip(0).cumsum(0).flip(0)
    assert relative_rms(dv[0, :, 0, 0].cpu(), harmonic) <= LIMIT
    assert max(x.abs().max() for x in (dq, dk)) <= 0.02


def test_every_token_has_one_tile_and_most_work_comes_first():
    bounds = bounds_of(300, 0, 1, 128, 50)
    table = TileTable.of(bounds, DEVICE)
    works = {
        (table.queries, True): lambda first, start, end: first - start,
        (table.keys, True): lambda first, start, end: end - first,
        (table.queries, False): lambda first, start, end: end - start,
        (table.keys, False): lambda first, start, end: end - start,
    }
    for (tiles_of, causal), work in works.items():
        for size in SIZES:
            there = tiles_of(size, causal)
            assert there.data_ptr() % 16 == 0
            groups = [(bounds[group], bounds[group + 1]) for *_, group in there.tolist()]
            tiles = [tuple(tile) for *tile, _ in there.tolist()]
            assert groups == [(start, end) for _, start, end in tiles]
            covered = sorted(t for first, _, end in tiles for t in range(first, min(first + size, end)))
            assert covered == list(range(bounds[-1]))
            assert all((first - start) % size == 0 for first, start, _ in tiles)
            amounts = [work(*tile) for tile in tiles]
            assert amounts == sorted(amounts, reverse=True)


def test_a_table_made_without_gradients_can_be_trained_with():
    with torch.inference_mode():
        table = TileTable.of([0, 5], DEVICE)
    q, k, v, _ = operands(5)
    attention(q.requires_grad_(), k, v, table).sum().backward()
    assert q.grad.isfinite().all()


def test_no_tokens_give_nothing():
    given = operands(0)
    assert [x.numel() for x in run(given, [0, 0])] == [0] * 4


def test_it_compiles_into_one_graph():
    given, tiles = operands(70)[:3], TileTable.of([0, 30, 70], DEVICE)

    def loss(*tensors):
        return (2 * attention(*tensors, tiles, fp32_output=True)).square().sum()

    results = []
    for function in (torch.compile(loss, fullgraph=True, backend="aot_eager"), loss):
        leaves = [x.detach().requires_grad_() for x in given]
        results.append(torch.autograd.grad(function(*leaves), leaves))
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_operators_tell_the_truth():
    q, k, v, do = operands(40, 2, dtype=torch.bfloat16)
    table = TileTable.of([0, 40], DEVICE)
    tiles = table.queries(128, True), table.keys(128, True), table.queries(128, True)
    torch.library.opcheck(op._forward.registered, (q, k, v, *tiles, True, 0.1, True), test_utils=CHECKS)
    o, log_sum = op._forward(q, k, v, *tiles, True, 0.1, True)
    given = (do.float(), q, k, v, o, log_sum, *tiles[1:], True, 0.1)
    torch.library.opcheck(op._backward.registered, given, test_utils=CHECKS)


def test_what_does_not_fit_is_refused_before_the_launch():
    q, k, v, _ = operands(10)
    tiles = TileTable.of([0, 10], DEVICE)
    wide = [torch.zeros(1, 10, 1, 200, device=DEVICE, dtype=DTYPE)] * 2
    for bad, options, match in (
        ((q.half(), k, v), {}, "q is torch.float16"),
        ((q, k.double(), v), {}, "k is torch.float64"),
        ((q[0], k, v), {}, r"q must be \[B, T, H, K\], not \[10, 1, 64\]"),
        ((q, k[:, :-1], v), {}, r"k and v are \[1, 9, 1, 64\] and \[1, 10, 1, 64\], which do not go with q"),
        ((*wide, v), {}, "keys have 200 channels, but the kernels take multiples of 8 up to 192"),
        ((q, k, v[..., :63]), {}, "values have 63 channels"),
        ((q, k, v), {"scale": 0.0}, "the scale must be positive, not 0.0"),
        ((q[:, :9], k[:, :9], v[:, :9]), {}, r"the tiles are of 10 tokens, but the input has \[1, 9\]"),
    ):
        with pytest.raises(ValueError, match=match):
            attention(*bad, tiles, **options)
    for bounds in ([0], [1, 5], [0, 5, 4]):
        with pytest.raises(ValueError, match="bounds must be two or more numbers"):
            TileTable.of(bounds, DEVICE)


@pytest.mark.slow
def test_every_kernel_compiles_without_spills(compiled_for_h200):
    """For an H200, with no GPU there: in a process of its own, where nothing is interpreted."""
    found = dict(line.split(": ", 1) for line in compiled_for_h200("attention.registers"))
    assert len(found) == 5 * 6 + 3
    assert [(name, figures) for name, figures in found.items() if ast.literal_eval(figures)["spills"]] == []


@pytest.mark.slow
@pytest.mark.skipif(DEVICE == "cuda", reason="a rehearsal of what a GPU runs in full")
def test_the_benchmark_ends_with_figures_and_the_results_of_the_table():
    found = json.loads(json.dumps(attention_variants.study(600.0)))
    assert {name: value for name, value in found.items() if isinstance(value, str)} == {}
    over = {name: value for name, value in found.items() if name.endswith(".over")}
    shapes = [attention_variants.SHAPES[name] for name in attention_variants.TUNED]
    assert len(over) == len(attention_variants.CHECKED) + sum(len(attention_variants.ways(one)) for one in shapes) + 1
    assert not any(over.values())
    assert all(found[name] for name in ("bitwise.again", "bitwise.alone", "bitwise.beginning", "far.alone"))
