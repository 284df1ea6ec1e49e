"""The latent mixture of experts against its equations, token by token."""

from __future__ import annotations

import pytest
import torch
from k3data.model.activation import situ_glu
from k3data.model.config import preset
from k3data.model.counts import count_parameters
from k3data.model.feed_forward import FeedForward
from k3data.model.moe import LatentMoE
from torch import Tensor

SMOKE = preset("smoke")


def mixture(dtype=torch.float64) -> LatentMoE:
    torch.manual_seed(3)
    moe = LatentMoE(SMOKE)
    moe.reset_parameters(0.3)
    with torch.no_grad():
        moe.norm.weight.uniform_(0.5, 1.5)
        moe.router.balancer.bias.normal_(std=0.1)
    return moe.to(dtype)


def hidden(*shape: int, dtype=torch.float64) -> Tensor:
    return torch.randn(*shape, SMOKE.d_model, generator=torch.Generator().manual_seed(5), dtype=torch.float64).to(dtype)


def by_definition(moe: LatentMoE, x: Tensor) -> Tensor:
    """One vector."""
    s = torch.sigmoid(moe.router.weight @ x)
    chosen = (s + moe.router.balancer.bias).topk(SMOKE.moe.top_k).indices
    p = s[chosen] / s[chosen].sum()
    z, experts = moe.down_proj.weight @ x, moe.experts
    u = sum(
        p_j * experts.down_ELI[j] @ situ_glu(experts.gate_EIL[j] @ z, experts.up_EIL[j] @ z)
        for p_j, j in zip(p, chosen, strict=True)
    )
    normed = u * torch.rsqrt(u.square().mean() + SMOKE.norm_eps) * moe.norm.weight
    shared = sum(  # two experts of their own
        down @ situ_glu(gate @ x, up @ x)
        for gate, up, down in zip(
            moe.shared.gate_proj.weight.chunk(2),
            moe.shared.up_proj.weight.chunk(2),
            moe.shared.down_proj.weight.chunk(2, dim=1),
            strict=True,
        )
    )
    return shared + moe.up_proj.weight @ normed


def test_it_equals_its_equations_with_gradients():
    moe, x = mixture(), hidden(2, 9).requires_grad_()
    ours = moe(x)
    theirs = torch.stack([by_definition(moe, token) for token in x.flatten(0, 1)]).view_as(x)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
    leaves = [x, *moe.parameters()]
    weights = torch.randn_like(ours)
    for one, other in zip(
        torch.autograd.grad((ours * weights).sum(), leaves),
        torch.autograd.grad((theirs * weights).sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


def test_experts_without_tokens_have_no_part_and_zero_gradients():
    moe, x = mixture(), hidden(1, 1).requires_grad_()
    torch.testing.assert_close(moe(x)[0, 0], by_definition(moe, x[0, 0]), rtol=0, atol=1e-10)
    moe(x).sum().backward()
    used = moe.experts.gate_EIL.grad.abs().sum((1, 2)) > 0
    assert used.sum() == SMOKE.moe.top_k
    assert moe.experts.down_ELI.grad.isfinite().all()


def test_all_tokens_to_the_same_experts():
    moe, x = mixture(), hidden(1, 20)
    moe.router.balancer.bias[:] = -10
    moe.router.balancer.bias[:2] = 10
    theirs = torch.stack([by_definition(moe, token) for token in x[0]])[None]
    torch.testing.assert_close(moe(x), theirs, rtol=0, atol=1e-10)


def test_the_bias_chooses_and_does_not_weigh():
    moe, x = mixture(), hidden(1, 6)
    plain = moe.router(x[0])
    moe.router.balancer.bias[plain.experts_NK[0]] += 100  # the first token's experts, which keep their weights
    pushed = moe.router(x[0])
    order = pushed.experts_NK[0].argsort()
    torch.testing.assert_close(
        pushed.weights_NK[0][order], plain.weights_NK[0][plain.experts_NK[0].argsort()], rtol=0, atol=1e-12
    )
    assert (pushed.experts_NK.sort(1).values == plain.experts_NK[0].sort().values).all()
    torch.testing.assert_close(pushed.weights_NK.sum(1), torch.ones(6, dtype=torch.float64))


def test_what_the_norm_sees_may_have_any_size():
    """Sizes of the experts' outputs cancel, except through eps."""
    moe, x = mixture(), hidden(1, 5)
    before = moe(x)
    with torch.no_grad():
        moe.experts.down_ELI *= 1000
    torch.testing.assert_close(moe(x), before, rtol=1e-3, atol=1e-3)


def test_bf16_routes_in_fp32_and_adds_in_fp32():
    moe = mixture(torch.bfloat16)
    x = hidden(1, 40, dtype=torch.bfloat16)
    routes = moe.router(x[0])
    assert routes.weights_NK.dtype == torch.float32
    exact = moe.router.double()(x[0].double())
    assert torch.equal(exact.experts_NK, routes.experts_NK)
    assert moe.experts(torch.randn(40, SMOKE.moe.latent).bfloat16(), routes).dtype == torch.float32
    got = mixture(torch.bfloat16)(x)
    assert got.dtype == torch.bfloat16
    wide = mixture(torch.bfloat16).double()(x.double())
    assert (got - wide).norm() / wide.norm() < 0.02


def test_padding_is_routed_and_not_counted():
    moe, x = mixture(), hidden(2, 5)
    real = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    masked = moe(x, real)
    assert moe.router.balancer.load_E.sum() == 7 * SMOKE.moe.top_k
    torch.testing.assert_close(masked, moe(x), rtol=0, atol=0)
    with pytest.raises(ValueError, match=r"must be bool \[2, 5\], not torch\.bool \[2, 4\]"):
        moe(x, real[:, :4])
    with pytest.raises(ValueError, match=r"must be bool \[2, 5\], not torch\.float32"):
        moe(x, real.float())


def test_the_grouped_product_equals_one_product_an_expert():
    """It is chosen for bf16 on a GPU; PyTorch has it on a CPU too, where it can be held against the loop."""
    from k3data.model.experts import _grouped, _one_by_one

    ends = torch.tensor([3, 3, 11, 16], dtype=torch.int32)
    x = torch.randn(16, 32).bfloat16().requires_grad_()
    weight = torch.randn(4, 24, 32).bfloat16().requires_grad_()
    loop, grouped = _one_by_one(x, weight, ends), _grouped(x, weight, ends)
    torch.testing.assert_close(loop, grouped, rtol=1e-2, atol=1e-2)
    for one, other in zip(
        torch.autograd.grad(loop.float().sin().sum(), (x, weight)),
        torch.autograd.grad(grouped.float().sin().sum(), (x, weight)),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=5e-2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the grouped product is for a GPU")
def test_the_gpu_agrees_with_the_cpu():
    x = hidden(1, 50, dtype=torch.bfloat16)
    on_cpu, on_gpu = mixture(torch.bfloat16), mixture(torch.bfloat16).cuda()
    exact = mixture(torch.bfloat16).double()
    for moe in (on_cpu, on_gpu, exact):
        y = moe(x.to(moe.up_proj.weight))
        (y.double().sin().sum()).backward()
        moe.y = y.detach().double().cpu()
    assert (on_gpu.y - exact.y).norm() < 2 * (on_cpu.y - exact.y).norm()
    for name, expected in exact.named_parameters():
        error = (on_gpu.get_parameter(name).grad.double().cpu() - expected.grad).norm() / expected.grad.norm()
        assert error < 0.05, name


def test_sizes_are_those_of_the_count():
    with torch.device("meta"):
        moe = LatentMoE(preset("k3"))
        dense = FeedForward(7168, 33792)
    counts = count_parameters(preset("k3"))
    assert sum(p.numel() for p in moe.parameters()) == counts.moe // 92
    assert sum(p.numel() for p in dense.parameters()) == counts.dense
