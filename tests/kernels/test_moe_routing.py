"""Routing and its counts by kernels, against the router and its balancer."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from k3data.model.bench.oracles import relative_rms
from k3data.model.config import MoEConfig
from k3data.model.experts import Experts
from k3data.model.kernels.moe import choose, count, counting, order, ordering, route, routing
from k3data.model.kernels.moe.selection import scores
from k3data.model.quantile_balancing import QuantileBalancer
from k3data.model.router import Router, Routes

LIMIT = 5e-6 if torch.cuda.is_available() else 2e-6  # a GPU's σ is off by a few ulp
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


@pytest.fixture(autouse=True)
def small_programs(device, monkeypatch):
    """In the interpreter, where an element costs as much as a tile: so that there are several programs and windows."""
    if device == "cpu":
        for module, name, size in (
            (counting, "TOKENS", 32), (counting, "WINDOW", 64), (counting, "ROUTES", 64), (ordering, "CHUNK", 32),
            (ordering, "STEP", 4), (ordering, "SLOTS", 4),
        ):  # fmt: skip
            monkeypatch.setattr(module, name, size)


@triton.jit
def scores_kernel(logits_ptr, scores_ptr, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(scores_ptr + place, scores(logits_ptr, place, place >= 0))


def same_sigmoid(logits):
    """σ as the kernels make it, bit for bit."""
    padded = torch.zeros(triton.cdiv(logits.numel(), 256) * 256, device=logits.device)
    padded[: logits.numel()] = logits.detach().flatten()
    found = torch.empty_like(padded)
    scores_kernel[(len(padded) // 256,)](padded, found, 256, enable_fp_fusion=False)
    return found[: logits.numel()].view_as(logits)


def operands(N, E, device, spread=1.5, seed=0):
    """Logits and a bias."""
    generator = torch.Generator().manual_seed(seed)
    logits_NE, bias_E = (torch.randn(shape, generator=generator).to(device) for shape in ((N, E), (E,)))
    return spread * logits_NE, 0.1 * bias_E


def defined(logits_NE, bias_E, K):
    """Experts, weights and thresholds by a stable sort of the same scores."""
    scores_NE = same_sigmoid(logits_NE)
    best = torch.sort(scores_NE + bias_E, dim=-1, descending=True, stable=True)
    chosen_NK = scores_NE.gather(1, best.indices[:, :K])
    return best.indices[:, :K], chosen_NK / (chosen_NK.sum(-1, keepdim=True) + 1e-20), best.values[:, K]


def check_choice(logits_NE, bias_E, K):
    found = choose(logits_NE, bias_E, K)
    expected = defined(logits_NE, bias_E, K)
    assert [x.dtype for x in found] == [torch.int32, torch.float32, torch.float32]
    assert torch.equal(found[0].long(), expected[0])
    torch.testing.assert_close(found[1], expected[1], rtol=1e-6, atol=0)
    assert torch.equal(found[2], expected[2])


@pytest.mark.parametrize(
    ("N", "E", "K"),
    [(1, 2, 1), (5, 8, 2), (4, 33, 32), (3, 64, 4), (3, 100, 20), (20, 256, 8), (4, 896, 16), (2, 1024, 31)],
)
def test_the_best_experts_in_order_with_their_weights_and_the_next_best(N, E, K, device):
    check_choice(*operands(N, E, device), K)


@pytest.mark.filterwarnings("ignore:overflow")  # of e^200, in the interpreter
def test_ties_go_to_the_lower_number(device):
    logits_NE, bias_E = operands(6, 256, device)
    for steps in (1, 4):  # few different scores
        check_choice((steps * logits_NE).round() / steps, torch.zeros_like(bias_E), 8)
    check_choice(torch.zeros(2, 200, device=device), torch.zeros(200, device=device), 16)  # a token of zeros
    check_choice(torch.full((1, 1024), -200.0, device=device), bias_E.repeat(4), 32)  # σ = 0


def test_good_scores_that_share_groups_are_told_apart(device):
    logits_NE, bias_E = operands(3, 256, device)
    group_E = torch.arange(256, device=device) % 128 // 4
    logits_NE = 0.1 * logits_NE - 0.2 * group_E
    found = logits_NE.sigmoid().view(-1, 2, 32, 4)
    bound = found.amax((1, 3)).sort(descending=True).values[:, 8]
    assert ((found >= bound[:, None, None, None]).sum((1, 2, 3)) > routing.settings(256, 8)["S"]).all()
    check_choice(logits_NE, 0 * bias_E, 8)


def test_whatever_logits_are_experts_are_different_ones_and_other_tokens_unharmed(device):
    logits_NE, bias_E = operands(5, 256, device)
    expected = choose(logits_NE, bias_E, 8)
    logits_NE[1, 3:8], logits_NE[1, 9], logits_NE[2] = float("nan"), float("inf"), float("nan")
    logits_NE[3] = float("-inf")
    experts, weights, thresholds = choose(logits_NE, bias_E, 8)
    assert all(len(set(row)) == 8 and set(row) <= set(range(256)) for row in experts.tolist())
    for found, wanted in zip((experts, weights, thresholds), expected, strict=True):
        assert torch.equal(found[[0, 4]], wanted[[0, 4]])


def test_a_token_has_the_same_bits_in_any_batch_and_run(device):
    logits_NE, bias_E = operands(6, 256, device)
    both = choose(logits_NE, bias_E, 8)
    for found, again, prefix in zip(
        both, choose(logits_NE, bias_E, 8), choose(logits_NE[:2], bias_E, 8), strict=True
    ):  # fmt: skip
        assert torch.equal(found, again)
        assert torch.equal(found[:2], prefix)


@pytest.mark.parametrize(("N", "E", "K"), [(5, 12, 3), (3, 256, 8), (2, 40, 32)])
def test_the_gradient_of_logits(N, E, K, device):
    logits_NE, bias_E = operands(N, E, device)
    experts, weights, thresholds = choose(logits_NE.requires_grad_(), bias_E, K)
    assert not thresholds.requires_grad
    dweights = torch.randn(N, K, generator=torch.Generator().manual_seed(1)).to(device)
    (found,) = torch.autograd.grad(weights, logits_NE, dweights)
    wide = logits_NE.detach().double().requires_grad_()
    chosen = wide.sigmoid().gather(1, experts.long())
    (expected,) = torch.autograd.grad(chosen / chosen.sum(-1, keepdim=True), wide, dweights.double())
    assert found.dtype == torch.float32
    assert relative_rms(found, expected) <= LIMIT
    assert (found[expected == 0] == 0).all()


def moe_config(E, K):
    return MoEConfig(experts=E, top_k=K, latent=16, inner=8, qb_bins=1000)


def router_and_input(N, D, E, K, device, dtype):
    """A router with a bias, and x. Fixed numbers, whose scores are further apart than roundings."""
    torch.manual_seed(3)
    router = Router(D, moe_config(E, K))
    router.reset_parameters(0.3)
    router.balancer.bias.copy_(0.1 * torch.randn(E))
    return router.to(device, dtype), torch.randn(N, D).to(device, dtype).requires_grad_()


@pytest.mark.parametrize("real", [False, True])
def test_routing_and_counting_replace_the_router(real, device, monkeypatch):
    """In fp32, where both make the same logits: the same experts and counts, exactly, and the same experts' results."""
    N, E, K = 40, 12, 3
    router, x_ND = router_and_input(N, 16, E, K, device, torch.float32)
    counted_N = torch.arange(N, device=device) % 5 > 0 if real else None
    routes = router(x_ND, counted_N)
    dweights = torch.randn(N, K, generator=torch.Generator().manual_seed(1)).to(device)
    expected = torch.autograd.grad(routes.weights_NK, (x_ND, router.weight), dweights)
    router.balancer.forget()
    with monkeypatch.context() as patch:  # of one ulp, scores may fall into other bins
        patch.setattr(torch, "sigmoid", same_sigmoid)
        same = router(x_ND.detach(), counted_N)
    assert torch.equal(same.experts_NK, routes.experts_NK)

    ours = route(x_ND, router.weight, router.balancer.bias, K)
    assert torch.equal(ours.experts_NK.long(), routes.experts_NK)
    torch.testing.assert_close(ours.weights_NK, routes.weights_NK, rtol=LIMIT, atol=0)
    for found, wanted in zip(
        torch.autograd.grad(ours.weights_NK, (x_ND, router.weight), dweights), expected, strict=True
    ):  # fmt: skip
        assert relative_rms(found, wanted) <= LIMIT
    balancer = QuantileBalancer(E, K).to(device)
    flags_N = torch.ones(N, dtype=torch.bool, device=device) if counted_N is None else counted_N
    count(
        balancer.histogram_EB, balancer.load_E, ours.logits_NE, router.balancer.bias, ours.thresholds_N,
        ours.experts_NK, flags_N,
    )  # fmt: skip
    if device == "cpu":  # on a GPU PyTorch makes the width by a product with 1 / B, which is another number
        assert torch.equal(balancer.histogram_EB, router.balancer.histogram_EB)
    assert torch.equal(balancer.load_E, router.balancer.load_E)

    ordered = order(ours.experts_NK, E, 16)
    assert torch.equal(ordered.rows_M.long(), routes.experts_NK.flatten().argsort(stable=True))
    experts = Experts(moe_config(E, K)).to(device)
    experts.reset_parameters(0.3)
    z_NL = torch.randn(N, 16, generator=torch.Generator().manual_seed(2)).to(device)
    u_NL = experts(z_NL, Routes(ours.experts_NK.long(), ours.weights_NK))
    torch.testing.assert_close(u_NL, experts(z_NL, routes), rtol=1e-5, atol=1e-6)


def test_products_of_bf16_are_no_further_off_than_their_own_rounding(device):
    N, D, E, K = 64, 24, 32, 4
    router, x_ND = router_and_input(N, D, E, K, device, torch.bfloat16)
    ours = route(x_ND, router.weight, router.balancer.bias, K)
    dweights = torch.randn(N, K, generator=torch.Generator().manual_seed(1)).to(device)
    found = torch.autograd.grad(ours.weights_NK, (x_ND, router.weight), dweights)
    x, weight = (tensor.detach().double().requires_grad_() for tensor in (x_ND, router.weight))
    logits = x @ weight.T
    assert ours.logits_NE.dtype == torch.float32
    assert not ours.logits_NE.requires_grad
    assert relative_rms(ours.logits_NE, logits) <= 1e-6
    chosen = logits.sigmoid().gather(1, ours.experts_NK.long())
    expected = torch.autograd.grad(chosen / chosen.sum(-1, keepdim=True), (x, weight), dweights.double())
    for gradient, exact in zip(found, expected, strict=True):
        assert gradient.dtype == torch.bfloat16
        assert relative_rms(gradient, exact) <= 1.01 * relative_rms(exact.bfloat16(), exact)


def test_a_matrix_in_fp32_and_autocast_keep_fp32(device):
    router, x_ND = router_and_input(9, 16, 8, 2, device, torch.float32)
    x_ND = x_ND.detach().bfloat16().requires_grad_()
    with torch.autocast(device, torch.bfloat16):
        ours = route(x_ND, router.weight, router.balancer.bias, 2)
        ours.weights_NK[:, 0].sum().backward()
    exact = x_ND.double() @ router.weight.double().T
    assert relative_rms(ours.logits_NE, exact) <= 1e-6
    assert (x_ND.grad.dtype, router.weight.grad.dtype) == (torch.bfloat16, torch.float32)


def zero_counts(E, B, device):
    return [torch.zeros(shape, dtype=torch.int64, device=device) for shape in ((E, B), (E,))]


def observed(E, B, logits_NE, bias_E, thresholds_N, experts_NK, counted_N):
    """The balancer's counts, on a CPU: there a width is a true quotient."""
    balancer = QuantileBalancer(E, 1, B)
    balancer.bias.copy_(bias_E)
    balancer.observe(same_sigmoid(logits_NE).cpu(), thresholds_N.cpu(), experts_NK.long().cpu(), counted_N.cpu())
    return balancer.histogram_EB, balancer.load_E


@pytest.mark.parametrize(
    ("N", "E", "K", "B", "spread"), [(1, 2, 1, 1000, 1), (45, 9, 2, 1000, 1), (40, 5, 3, 37, 1), (40, 6, 2, 1000, 30)]
)
def test_counts_are_those_of_the_balancer(N, E, K, B, spread, device):
    """With a wide spread scores are near 0 and 1, in many windows of bins with gaps between. The one token of the
    first case does not count."""
    logits_NE, bias_E = operands(N, E, device, spread)
    experts, _, thresholds = choose(logits_NE, bias_E, K)
    counted_N = torch.arange(N, device=device) % 7 != 0
    expected = observed(E, B, logits_NE, bias_E, thresholds, experts, counted_N)
    histogram = torch.ones(E, B, dtype=torch.int64, device=device)
    load = torch.full((E,), 2**40, device=device)
    logits_NE[~counted_N], thresholds[~counted_N], experts[~counted_N] = float("nan"), float("nan"), 2**30
    for times in (1, 2):
        count(histogram, load, logits_NE, bias_E, thresholds, experts, counted_N)
        assert torch.equal(histogram.cpu(), 1 + times * expected[0])
        assert torch.equal(load.cpu(), 2**40 + times * expected[1])


def test_what_lies_on_an_edge_of_bins_falls_where_it_does_for_the_balancer(device):
    """The same operations in the same order: thresholds that put r on edges, where each rounding tells."""
    N, E, B = 60, 4, 100
    logits_NE, bias_E = operands(N, E, device)
    low = bias_E.min() - 1
    width = (bias_E.max() + 1 - low) / B
    edges_N = low + torch.arange(N, device=device) * width
    thresholds_N = edges_N + same_sigmoid(logits_NE)[:, 1]
    experts_NK = torch.zeros(N, 1, dtype=torch.int32, device=device)
    counted_N = torch.ones(N, dtype=torch.bool, device=device)
    found, load = zero_counts(E, B, device)
    count(found, load, logits_NE, bias_E, thresholds_N, experts_NK, counted_N)
    expected = observed(E, B, logits_NE, bias_E, thresholds_N, experts_NK, counted_N)
    assert torch.equal(found.cpu(), expected[0])
    assert load.tolist() == [N, 0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("E", "K"), [(128, 8), (256, 8), (896, 16)])
def test_programs_as_large_as_launched(E, K, device, monkeypatch):
    """Several of each on a GPU; few in the interpreter."""
    monkeypatch.undo()
    N = 50_003 if device == "cuda" else 130
    logits_NE, bias_E = operands(N, E, device)
    logits_NE += torch.linspace(-1, 1, E, device=device)  # some experts are busier
    check_choice(logits_NE, bias_E, K)
    experts, _, thresholds = choose(logits_NE, bias_E, K)
    counted_N = torch.arange(N, device=device) % 7 != 1
    histogram, load = zero_counts(E, 1000, device)
    count(histogram, load, logits_NE, bias_E, thresholds, experts, counted_N)
    expected = observed(E, 1000, logits_NE, bias_E, thresholds, experts, counted_N)
    assert torch.equal(histogram.cpu(), expected[0])
    assert torch.equal(load.cpu(), expected[1])
    found = order(experts, E, 128)
    rows_M = experts.flatten().long().argsort(stable=True)
    assert torch.equal(found.rows_M.long(), rows_M)
    assert torch.equal(found.places_NK.flatten().long(), rows_M.argsort())
    tiles = found.tiles_G2[found.tiles_G2[:, 0] >= 0].long()
    ends_E = found.ends_E.long()
    assert torch.equal(ends_E, torch.bincount(experts.flatten(), minlength=E).cumsum(0))
    lengths = torch.minimum(ends_E[tiles[:, 0]] - tiles[:, 1], torch.tensor(128, device=device))
    assert lengths.cumsum(0).tolist() == [*tiles[1:, 1].tolist(), N * K]


def test_operators_tell_the_truth(device):
    logits_NE, bias_E = operands(5, 8, device)
    torch.library.opcheck(
        routing._choose.registered, (logits_NE.clone().requires_grad_(), bias_E, 2), test_utils=CHECKS
    )
    experts, weights, thresholds, totals = routing._choose(logits_NE, bias_E, 2)
    torch.library.opcheck(
        routing._choose_backward.registered, (weights, weights, experts, totals, 8), test_utils=CHECKS
    )
    for dtype in (torch.float32, torch.bfloat16):
        router, x_ND = router_and_input(5, 16, 8, 2, device, dtype)
        torch.library.opcheck(routing._route.registered, (x_ND, router.weight, bias_E, 2), test_utils=CHECKS)
        backward = (weights, x_ND.detach(), router.weight.detach(), weights, experts, totals)
        torch.library.opcheck(routing._route_backward.registered, backward, test_utils=CHECKS)
    histogram, load = zero_counts(8, 1000, device)
    flags = torch.ones(5, dtype=torch.bool, device=device)
    torch.library.opcheck(
        counting._count.registered, (histogram, load, logits_NE, bias_E, thresholds, experts, flags), test_utils=CHECKS
    )
    torch.library.opcheck(ordering._order.registered, (experts, 8, 16), test_utils=CHECKS)


def test_all_of_it_compiles_into_one_graph(device):
    router, x_ND = router_and_input(6, 16, 8, 2, device, torch.float32)
    bias_E, flags = router.balancer.bias, torch.ones(6, dtype=torch.bool, device=device)

    def step(x, histogram, load):
        routing_ = route(x, router.weight, bias_E, 2)
        count(histogram, load, routing_.logits_NE, bias_E, routing_.thresholds_N, routing_.experts_NK, flags)
        ordered = order(routing_.experts_NK, 8, 4)
        return (routing_.weights_NK * (ordered.places_NK + 1)).square().sum()

    results = []
    for run in (step, torch.compile(step, fullgraph=True, dynamic=True, backend="aot_eager")):
        counts = zero_counts(8, 1000, device)
        total = run(x_ND, *counts)
        results.append([total, *counts, *torch.autograd.grad(total, (x_ND, router.weight))])
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))


def test_shapes_of_any_length_are_traced_without_the_kernels():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x_ND = torch.empty(2**20, 64, dtype=torch.bfloat16, requires_grad=True)
        ours = route(x_ND, torch.empty(896, 64, dtype=torch.bfloat16), torch.empty(896), 16)
        (dx,) = torch.autograd.grad(ours.weights_NK.sum(), x_ND)
        ordered = order(ours.experts_NK, 896, 128)
    assert dx.shape == x_ND.shape
    assert ours.logits_NE.shape == (2**20, 896)
    assert ordered.rows_M.shape == (2**24,)
    assert ordered.tiles_G2.shape == (2**17 + 896, 2)


def test_what_does_not_fit_is_refused_before_the_launch(device):
    logits_NE, bias_E = operands(5, 8, device)
    x_ND, weight_ED = torch.zeros(5, 16, device=device), torch.zeros(8, 16, device=device)
    for call, match in (
        (lambda: choose(logits_NE.double(), bias_E, 2), "logits must be float32"),
        (lambda: choose(logits_NE, bias_E[:7], 2), r"bias must be float32 \[8\]"),
        (lambda: choose(logits_NE, bias_E, 8), "8 of 8 experts"),
        (lambda: choose(logits_NE, bias_E, 0), "0 of 8 experts"),
        (lambda: choose(logits_NE.repeat(1, 8), bias_E.repeat(8), 33), "33 of 64 experts"),
        (lambda: choose(logits_NE.repeat(1, 129), bias_E.repeat(129), 2), "2 of 1032 experts"),
        (lambda: choose(logits_NE[:0], bias_E, 2), "no tokens"),
        (lambda: route(x_ND[:, :15], weight_ED, bias_E, 2), "router's matrix"),
        (lambda: route(x_ND.half(), weight_ED, bias_E, 2), "x is torch.float16"),
        (lambda: route(x_ND, weight_ED.double(), bias_E, 2), "matrix is torch.float64"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            call()


def test_counts_that_do_not_fit_are_refused(device):
    logits_NE, bias_E = operands(5, 8, device)
    experts, _, thresholds = choose(logits_NE, bias_E, 2)
    right = {
        **dict(zip(("histogram", "load"), zero_counts(8, 9, device), strict=True)),
        "logits": logits_NE, "bias": bias_E, "thresholds": thresholds, "experts": experts,
        "counted": torch.ones(5, dtype=torch.bool, device=device),
    }  # fmt: skip
    for name, bad, match in (
        ("histogram", right["histogram"].int(), "histogram must be torch.int64"),
        ("histogram", right["histogram"].mT.contiguous().mT, "contiguous"),
        ("thresholds", thresholds[:4], "thresholds must be"),
        ("experts", experts.long(), "experts must be torch.int32"),
        ("counted", right["counted"].int(), "counted must be torch.bool"),
    ):
        with pytest.raises(ValueError, match=match):
            count(*{**right, name: bad}.values())


def test_without_a_gpu_the_kernels_say_so(monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    with pytest.raises(ValueError, match="need a GPU"):
        choose(*operands(2, 8, "cpu"), 2)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["64,4", "128,8", "256,8", "896,16", "8,2", "1024,32"])
def test_every_kernel_compiles_without_spills(shape, compiled_for_h200):
    lines = compiled_for_h200("moe.routing_registers", shape)
    assert len(lines) == 9
    assert all("'spills': 0}" in line for line in lines), lines
