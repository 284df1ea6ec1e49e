"""The experts and the norm behind them by the kernels, against the PyTorch operators: outputs and every gradient."""

from __future__ import annotations

import ast
import json
from typing import NamedTuple

import pytest
import torch
import triton
from k3data.model.bench import expert_variants
from k3data.model.bench.oracles import relative_rms
from k3data.model.config import MoEConfig
from k3data.model.experts import Experts
from k3data.model.kernels.moe import experts, op, order
from k3data.model.kernels.moe.launch import ROWS, block_of, launches
from k3data.model.norm import RMSNorm
from k3data.model.router import Routes

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
NAMES = ("dz", "dgate", "dup", "ddown", "dweights", "dnorm_weight")
# With an eps so large, outputs and gradients depend on how large u is, and the gradient of a single p is not zero.
OPTIONS = {"beta_gate": 3.0, "beta_up": 7.0, "eps": 0.3}


class Ordered(NamedTuple):
    rows_M: torch.Tensor
    places_NK: torch.Tensor
    ends_E: torch.Tensor
    tiles_G2: torch.Tensor


def ordered(experts_NK, E):
    """What the kernel of the order gives, by sorting and loops."""
    M = experts_NK.numel()
    rows_M = experts_NK.flatten().argsort(stable=True)
    places_M = torch.empty_like(rows_M)
    places_M[rows_M] = torch.arange(M, device=rows_M.device)
    ends = torch.bincount(experts_NK.flatten(), minlength=E).cumsum(0).tolist()
    tiles = [
        (e, first)
        for e, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
        for first in range(start, end, ROWS)
    ]
    slots = -(-M // ROWS) + min(E, M)
    # What stands in unused slots behind the expert is nobody's: a place far outside.
    tiles += [(-1, 2**30)] * (slots - len(tiles))
    made = (rows_M, places_M.view_as(experts_NK), torch.tensor(ends), torch.tensor(tiles))
    return Ordered(*(x.to(rows_M.device, torch.int32) for x in made))


def routed(N, K, E, generator, skew=0.0):
    """K different experts for each token; with `skew` the first ones are taken by nearly all."""
    scores = torch.rand(N, E, generator=generator) - skew * torch.arange(E)
    return scores.topk(K, -1).indices


def operands(N, K, E, L, I, *, experts_NK=None, skew=0.0, seed=0, dtype=DTYPE):  # noqa: E741
    """z, three matrices, p, the norm's weight and the order. Gates reach into both ends of the activation."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape, std=1.0):
        return (torch.randn(*shape, generator=generator) * std).to(DEVICE, dtype)

    experts_NK = (routed(N, K, E, generator, skew) if experts_NK is None else experts_NK).to(DEVICE)
    matrices = normal(E, I, L, std=3 * L**-0.5), normal(E, I, L, std=4 * L**-0.5), normal(E, L, I, std=I**-0.5)
    p_NK = torch.rand(N, K, generator=generator).to(DEVICE) + 0.1
    norm_weight = (1 + 0.3 * torch.randn(L, generator=generator)).to(DEVICE)
    given = [normal(N, L), *matrices, p_NK, norm_weight]
    return given, experts_NK


def by_kernels(given, experts_NK, dy):
    leaves = [x.detach().requires_grad_() for x in given]
    y = experts(*leaves, ordered(experts_NK, len(given[1])), **OPTIONS)
    return y.detach(), torch.autograd.grad(y, leaves, dy)


def by_operators(given, experts_NK, dy, dtype=torch.float64):
    """In fp64 the definition; in bf16 what the model does without these kernels."""
    wide = torch.promote_types(dtype, torch.float32)
    leaves = [x.detach().to(dtype if n < 4 else wide).requires_grad_() for n, x in enumerate(given)]
    z, gate, up, down, p, w = leaves
    E, I, L = gate.shape  # noqa: E741
    config = MoEConfig(experts=E, top_k=p.shape[1], latent=L, inner=I)
    layer, norm = Experts(config, OPTIONS["beta_gate"], OPTIONS["beta_up"]), RMSNorm(L, OPTIONS["eps"])
    del layer.gate_EIL, layer.up_EIL, layer.down_ELI, norm.weight
    layer.gate_EIL, layer.up_EIL, layer.down_ELI, norm.weight = gate, up, down, w
    y = norm(layer(z, Routes(experts_NK, p))).to(dtype)
    return y.detach(), torch.autograd.grad(y, leaves, dy.to(dtype))


def assert_near(found, expected):
    """In bf16 on a GPU what rounding gives: of p more, since the norm leaves little of its gradient, and few tokens
    scatter."""
    for name, one, other in zip(("y", *NAMES), (found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        most = 5e-6 if DEVICE == "cpu" else 0.06 if name == "dweights" else 0.012
        assert relative_rms(one, other) <= most, (name, relative_rms(one, other))


def test_these_rows_are_in_the_order_that_the_package_gives():
    _, experts_NK = operands(300, 2, 5, 8, 8)
    made = order(experts_NK.int(), 5, ROWS)
    right = ordered(experts_NK, 5)
    assert all(torch.equal(a, b) for a, b in zip(made[:3], right[:3], strict=True))
    used = right.tiles_G2[:, 0] >= 0
    assert torch.equal(made.tiles_G2[:, 0], right.tiles_G2[:, 0])
    assert torch.equal(made.tiles_G2[used], right.tiles_G2[used])


CASES = {
    "ragged": {"N": 150, "K": 2, "E": 3, "L": 32, "I": 24},
    "more tiles than one an expert, few full": {"N": 140, "K": 3, "E": 4, "L": 40, "I": 16, "skew": 0.05},
    "empty experts": {"N": 20, "K": 2, "E": 9, "L": 32, "I": 24, "skew": 1.0},
    "one token": {"N": 1, "K": 2, "E": 4, "L": 32, "I": 24},
    "one expert a token": {"N": 7, "K": 1, "E": 2, "L": 8, "I": 8},
    "blocks that do not divide the widths": {"N": 30, "K": 2, "E": 3, "L": 136, "I": 104},
    "several blocks of both widths": {"N": 20, "K": 2, "E": 3, "L": 192, "I": 192},
}


@pytest.mark.parametrize("case", CASES)
def test_outputs_and_gradients_are_the_operators(case):
    given, experts_NK = operands(**CASES[case])
    dy = torch.randn(given[0].shape, generator=torch.Generator().manual_seed(9)).to(given[0])
    found = by_kernels(given, experts_NK, dy)
    assert found[0].dtype == DTYPE
    assert [x.dtype for x in found[1]] == [x.dtype for x in given]
    assert_near(found, by_operators(given, experts_NK, dy))


@pytest.mark.slow
@pytest.mark.parametrize(("L", "I", "K", "E"), [(256, 96, 4, 5), (512, 192, 3, 4), (384, 256, 8, 9), (768, 520, 2, 3)])
def test_sizes_of_models(L, I, K, E):  # noqa: E741
    given, experts_NK = operands(200, K, E, L, I)
    dy = torch.randn(given[0].shape, generator=torch.Generator().manual_seed(9)).to(given[0])
    assert_near(by_kernels(given, experts_NK, dy), by_operators(given, experts_NK, dy))


def test_in_bf16_it_is_as_near_as_the_operators_are():
    """To fp64 on the same rounded operands. Only p and the norm's weight, which the operators give back from fp32 and
    the kernels from bf16, may be further off: by the rounding of du and of u."""
    given, experts_NK = operands(200, 2, 4, 64, 48, dtype=torch.bfloat16)
    dy = torch.randn(given[0].shape, generator=torch.Generator().manual_seed(9)).to(given[0])
    expected = by_operators(given, experts_NK, dy)
    found, operators = by_kernels(given, experts_NK, dy), by_operators(given, experts_NK, dy, torch.bfloat16)
    for name, one, other, right in zip(
        ("y", *NAMES), *((y, *gradients) for y, gradients in (found, operators, expected)), strict=True
    ):
        limit = 0.006 if name in ("dweights", "dnorm_weight") else 1.1 * relative_rms(other, right)
        assert relative_rms(one, right) <= limit, (name, relative_rms(one, right), limit)


def test_all_tokens_to_one_expert():
    experts_NK = torch.full((300, 1), 2)
    given, experts_NK = operands(300, 1, 4, 16, 8, experts_NK=experts_NK)
    dy = torch.ones_like(given[0])
    y, gradients = by_kernels(given, experts_NK, dy)
    assert_near((y, gradients), by_operators(given, experts_NK, dy))
    for gradient in gradients[1:4]:
        assert gradient[2].abs().sum() > 0
        assert not gradient[[0, 1, 3]].any()


def test_a_token_has_the_same_bits_in_any_batch():
    """Alone, before others and behind them: its rows then lie elsewhere in other tiles."""
    given, experts_NK = operands(180, 2, 3, 48, 40)
    dy = torch.randn(given[0].shape, generator=torch.Generator().manual_seed(9)).to(given[0])
    y, (dz, _, _, _, dp, _) = by_kernels(given, experts_NK, dy)
    for part in (slice(0, 1), slice(0, 77), slice(77, 180), slice(33, 150)):
        of_part = [given[0][part], *given[1:4], given[4][part], given[5]]
        y_part, (dz_part, _, _, _, dp_part, _) = by_kernels(of_part, experts_NK[part], dy[part])
        assert torch.equal(y_part, y[part])
        assert torch.equal(dz_part, dz[part])
        assert torch.equal(dp_part, dp[part])


def test_repeated_bit_for_bit():
    given, experts_NK = operands(150, 2, 3, 32, 24)
    first, second = (by_kernels(given, experts_NK, torch.ones_like(given[0])) for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert all(torch.equal(*pair) for pair in zip(first[1], second[1], strict=True))


def test_memory_that_nobody_wrote_is_not_read(monkeypatch):
    """Everything the passes allocate holds NaN first."""
    given, experts_NK = operands(**CASES["ragged"])
    dy = torch.ones_like(given[0])
    expected = by_kernels(given, experts_NK, dy)
    new_empty, empty, empty_like = torch.Tensor.new_empty, torch.empty, torch.empty_like
    poisoned = []

    def poison(x):
        poisoned.append(x)
        return x.fill_(float("nan")) if x.is_floating_point() else x

    monkeypatch.setattr(torch.Tensor, "new_empty", lambda self, *size, **kw: poison(new_empty(self, *size, **kw)))
    monkeypatch.setattr(torch, "empty", lambda *size, **kw: poison(empty(*size, **kw)))
    monkeypatch.setattr(torch, "empty_like", lambda x, **kw: poison(empty_like(x, **kw)))
    y, gradients = by_kernels(given, experts_NK, dy)
    monkeypatch.undo()
    assert len(poisoned) >= 15
    assert torch.equal(y, expected[0])
    assert all(torch.equal(*pair) for pair in zip(gradients, expected[1], strict=True))


def test_what_is_not_a_number_stays_with_its_token_and_is_not_hidden():
    given, experts_NK = operands(40, 2, 3, 32, 24)
    clean, _ = by_kernels(given, experts_NK, torch.ones_like(given[0]))
    given[0][5, 3] = float("nan")
    dirty, (_, dgate, *_) = by_kernels(given, experts_NK, torch.ones_like(given[0]))
    assert dirty[5].isnan().all()
    assert dgate[experts_NK[5]].isnan().any()
    others = torch.arange(40) != 5
    assert torch.equal(dirty[others], clean[others])


def test_a_graph_may_be_gone_back_through_twice():
    given, experts_NK = operands(40, 2, 3, 32, 24)
    leaves = [x.requires_grad_() for x in given]
    y = experts(*leaves, ordered(experts_NK, 3), **OPTIONS)
    first = torch.autograd.grad(y.sum(), leaves, retain_graph=True)
    second = torch.autograd.grad(y.sum(), leaves)
    assert all(torch.equal(*pair) for pair in zip(first, second, strict=True))


@pytest.mark.parametrize(("L", "I", "K"), [(64, 24, 4), (64, 24, 8), (48, 32, 8)])
def test_bytes_kept_for_the_backward_pass(L, I, K):  # noqa: E741
    """In bf16, 4 I a row and 2 L + 4 a token; beside what the PyTorch operators keep, at the proportions of models."""
    N = 64
    given, experts_NK = operands(N, K, 16, L, I, dtype=torch.bfloat16)
    given[5] = given[5].bfloat16()
    made = ordered(experts_NK, 16)

    def kept(run):
        tensors = {}
        inputs = {x.untyped_storage().data_ptr() for x in (*given, *made, experts_NK)}

        def pack(x):
            tensors[x.untyped_storage().data_ptr()] = x
            return x

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            y = run()
        del y
        return sum(x.untyped_storage().nbytes() for at, x in tensors.items() if at not in inputs), tensors

    def operators():
        layer = Experts(MoEConfig(experts=16, top_k=K, latent=L, inner=I))
        layer.gate_EIL, layer.up_EIL, layer.down_ELI = map(torch.nn.Parameter, given[1:4])
        u = layer(given[0].requires_grad_(), Routes(experts_NK, given[4].requires_grad_()))
        return RMSNorm(L).to(DEVICE)(u).bfloat16()

    for x in given:
        x.requires_grad_()
    ours, _ = kept(lambda: experts(*given, made))
    theirs, _ = kept(operators)
    assert ours == N * K * 4 * I + N * (2 * L + 4)
    assert ours <= 0.6 * theirs


def test_without_a_gradient_nothing_is_kept():
    given, experts_NK = operands(20, 2, 3, 32, 24)
    made = ordered(experts_NK, 3)
    y, *kept = op._forward(*given, *made, 4.0, 25.0, 1e-5, False)
    assert [x.numel() for x in kept] == [0, 0, 0]
    trained, *_ = op._forward(*given, *made, 4.0, 25.0, 1e-5, True)
    assert torch.equal(y, trained)


CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


@pytest.mark.parametrize("training", [True, False])
def test_it_is_what_pytorch_asks_of_an_operator(training):
    given, experts_NK = operands(20, 2, 3, 16, 8)
    given = [x.requires_grad_(training) for x in given]
    inputs = (*given, *ordered(experts_NK, 3))
    torch.library.opcheck(op._forward.registered, (*inputs, 4.0, 25.0, 1e-5, training), test_utils=CHECKS)
    if training:
        inputs = [x.detach() for x in inputs]
        y, *kept = op._forward(*inputs, 4.0, 25.0, 1e-5, True)
        torch.library.opcheck(
            op._backward.registered, (torch.ones_like(y), *inputs, *kept, 4.0, 25.0), test_utils=CHECKS
        )


def test_it_compiles_into_one_graph():
    given, experts_NK = operands(20, 2, 3, 16, 8)
    made = ordered(experts_NK, 3)

    def run(*leaves):
        return (2 * experts(*leaves, made)).square().sum()

    results = []
    for function in (run, torch.compile(run, fullgraph=True, backend="aot_eager")):
        leaves = [x.detach().requires_grad_() for x in given]
        results.append(torch.autograd.grad(function(*leaves), leaves))
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_what_does_not_fit_is_refused_before_the_launch():
    given, experts_NK = operands(20, 2, 3, 32, 24)
    made = ordered(experts_NK, 3)
    z, gate, up, down, p, w = given
    for bad, match in (
        ((z.double(), gate, up, down, p, w), "z is torch.float64"),
        ((z, gate, up, down, p.to(torch.bfloat16), w), "weights is torch.bfloat16"),
        ((z, gate, up[:, :16], down, p, w), r"up is \[3, 16, 32\], but must be \[3, 24, 32\]"),
        ((z, gate, up, down.mT, p, w), "down is"),
        ((z[:, :12], gate[..., :12], up[..., :12], down[:, :12], p, w[:12]), "multiples of 8, not 12 and 24"),
        ((z[:0], gate, up, down, p[:0], w), "there are no tokens"),
        ((z[0], gate, up, down, p, w), "z, gate and weights must"),
        ((z, gate, up, down, p, w[:8]), "norm_weight is"),
    ):
        with pytest.raises(ValueError, match=match):
            experts(*bad, made)
    with pytest.raises(ValueError, match=r"tiles is \[3, 2\], but must be \[4, 2\]"):
        experts(*given, made._replace(tiles_G2=made.tiles_G2[:-1]))
    with pytest.raises(ValueError, match=r"rows is torch\.int64"):
        experts(*given, made._replace(rows_M=made.rows_M.long()))


def test_without_a_gpu_and_without_the_interpreter_it_is_refused(monkeypatch):
    given, experts_NK = operands(20, 2, 3, 32, 24)
    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    made = ordered(experts_NK.cpu(), 3)
    with pytest.raises(ValueError, match="the kernels need a GPU, but their operands are on cpu"):
        experts(*(x.cpu() for x in given), made)


def test_shapes_of_any_length_are_traced_without_the_kernels():
    from torch._subclasses.fake_tensor import FakeTensorMode

    N, K, E, L, I = 2**20, 16, 896, 1024, 512  # noqa: E741
    with FakeTensorMode():
        z = torch.empty(N, L, dtype=torch.bfloat16, requires_grad=True)
        gate, down = torch.empty(E, I, L, dtype=torch.bfloat16), torch.empty(E, L, I, dtype=torch.bfloat16)
        i32 = {"dtype": torch.int32}
        made = Ordered(
            torch.empty(N * K, **i32), torch.empty(N, K, **i32), torch.empty(E, **i32),
            torch.empty(N * K // ROWS + E, 2, **i32),
        )  # fmt: skip
        y = experts(z, gate, gate, down, torch.empty(N, K), torch.empty(L), made)
        (dz,) = torch.autograd.grad(y.sum(), z)
    assert y.shape == dz.shape == (N, L)


def test_blocks_divide_widths_where_they_can():
    assert [block_of(width, 128) for width in (96, 192, 256, 384, 512, 24, 136)] == [128, 64, 128, 128, 128, 64, 128]
    for latent, inner in ((256, 96), (512, 192), (384, 256), (768, 2048), (1024, 512)):
        table = launches(latent, inner)
        assert latent % table.down.block[0] == latent % table.back.block[0] == 0
        assert latent % table.up.depth == inner % table.down.depth == 0


@pytest.mark.slow
def test_every_kernel_compiles(compiled_for_h200):
    """For an H200, with no GPU there: in a process of its own, where nothing is interpreted."""
    lines = compiled_for_h200("moe.registers")
    assert len(lines) == 45
    for line in lines:
        _, _, _, name, numbers = line.split(" ", 4)
        numbers = ast.literal_eval(numbers)
        assert numbers["spills"] < 50, line
        if name in ("up", "down", "inner", "back", "gate_and_up", "down_matrix"):
            launch = getattr(launches(*map(int, line.split()[:2])), name)
            rows, columns = (*launch.block, 0)[:2] if "_" in name else (ROWS, launch.block[0] * (1 + (name == "up")))
            # Both operands of every stage: loads run ahead of products.
            assert numbers["shared"] >= launch.num_stages * 2 * launch.depth * (rows + columns), line


@pytest.mark.slow
def test_every_section_of_the_benchmark_ends_with_figures(monkeypatch):
    """Rehearsed: it is to be right the first time it meets a GPU."""
    few = {kernel: dict(list(ways.items())[:1]) for kernel, ways in expert_variants.VARIANTS.items()}
    monkeypatch.setattr(expert_variants, "VARIANTS", few)
    found = json.loads(json.dumps(expert_variants.study(600.0)))
    assert {name: value for name, value in found.items() if isinstance(value, str)} == {}
    assert found["bitwise.repeats"] == found["bitwise.a_part_is_separate"] == 1
    assert all(value == 0 for name, value in found.items() if name.endswith(".over"))
