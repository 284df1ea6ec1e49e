"""Attention stops at the bounds of groups, on the CPU's path and in the blocks that a GPU visits."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.model.attention import Groups, attention
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

CPU = torch.device("cpu")


def operands(batch: int, length: int, heads: int = 2, qk: int = 24, v: int = 16, dtype=torch.float64) -> list[Tensor]:
    rng = torch.Generator().manual_seed(length)
    return [torch.randn(batch, length, heads, c, generator=rng, dtype=torch.float64).to(dtype) for c in (qk, qk, v)]


def visible(bounds: list[int], causal: bool) -> Tensor:
    """What the definition says: [T, T], true where a query may see a key."""
    group = torch.repeat_interleave(torch.arange(len(bounds) - 1), torch.tensor(bounds).diff())
    same = group[:, None] == group
    return same.tril() if causal else same


def by_definition(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float | None = None) -> Tensor:
    scores = torch.einsum("bthk,bshk->bhts", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    return torch.einsum("bhts,bshv->bthv", scores.masked_fill(~mask, -torch.inf).softmax(-1), v)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("bounds", [[0, 40], [0, 1, 17, 40], [0, 0, 20, 20, 40, 40]])
def test_packed_groups_match_the_definition_with_gradients(bounds, causal):
    leaves = [x.requires_grad_() for x in operands(1, 40)]
    weights = torch.randn(1, 40, 2, 16, dtype=torch.float64)
    ours = attention(*leaves, torch.tensor(bounds), causal=causal, scale=0.3)
    theirs = by_definition(*leaves, visible(bounds, causal), 0.3)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    for one, other in zip(
        torch.autograd.grad((ours * weights).sum(), leaves),
        torch.autograd.grad((theirs * weights).sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_rows_of_a_batch_are_groups():
    q, k, v = operands(3, 20)
    packed = attention(*(x.flatten(0, 1)[None] for x in (q, k, v)), torch.tensor([0, 20, 40, 60]))
    torch.testing.assert_close(attention(q, k, v), packed.view(3, 20, 2, 16), rtol=0, atol=1e-12)


def test_other_groups_change_nothing():
    q, k, v = operands(1, 50, dtype=torch.float32)
    cut = torch.tensor([0, 20, 50])
    before = attention(q, k, v, cut)
    k[:, 20:], v[:, 20:] = 100.0, -100.0
    assert torch.equal(attention(q, k, v, cut)[:, :20], before[:, :20])


@pytest.mark.parametrize(("qk", "v"), [(24, 16), (16, 24), (16, 16)])
def test_keys_and_values_may_differ_in_width(qk, v):
    q, k, values = operands(1, 30, qk=qk, v=v)
    ours = attention(q, k, values)
    assert ours.shape == (1, 30, 2, v)
    torch.testing.assert_close(ours, by_definition(q, k, values, visible([0, 30], True)), rtol=0, atol=1e-12)


def test_the_fp32_flag_avoids_the_rounding_of_the_output():
    q, k, v = operands(1, 64, dtype=torch.bfloat16)
    exact = by_definition(q.double(), k.double(), v.double(), visible([0, 64], True))
    rounded, kept = attention(q, k, v), attention(q, k, v, fp32_output=True)
    assert rounded.dtype == torch.bfloat16
    assert kept.dtype == torch.float32
    assert (kept - exact).abs().max() < 1e-5 < 1e-3 < (rounded - exact).abs().max()


def cuts(length: int):
    return st.lists(st.integers(0, length), max_size=6).map(lambda inner: [0, *sorted(inner), length])


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from([1, 127, 128, 129, 300, 512]), st.booleans())
def test_the_blocks_of_a_gpu_cover_exactly_what_is_visible(data, length, causal):
    bounds = data.draw(cuts(length))
    mask = Groups(1, length, torch.tensor(bounds)).block_mask(CPU, causal)
    blocks = -(-length // 128)
    whole = torch.zeros(blocks, blocks, dtype=torch.bool)
    partial = torch.zeros(blocks, blocks, dtype=torch.bool)
    for row in range(blocks):
        whole[row, mask.full_kv_indices[0, 0, row, : mask.full_kv_num_blocks[0, 0, row]].long()] = True
        listed = mask.kv_indices[0, 0, row, : mask.kv_num_blocks[0, 0, row]].long()
        assert len(set(listed.tolist())) == len(listed)
        partial[row, listed] = True
    assert not (whole & partial).any()
    seen = visible(bounds, causal)
    positions = torch.arange(length)
    told = mask.mask_mod(torch.tensor(0), torch.tensor(0), positions[:, None], positions)
    assert torch.equal(told, seen)
    for row, column in torch.cartesian_prod(torch.arange(blocks), torch.arange(blocks)).tolist():
        tile = seen[128 * row : 128 * row + 128, 128 * column : 128 * column + 128]
        assert not whole[row, column] or tile.all()
        assert whole[row, column] or partial[row, column] or not tile.any()


def test_no_block_is_visited_that_shows_nothing():
    """A thousand short groups: each row of blocks has one or two blocks to visit, not its whole past."""
    mask = Groups(1, 100_000, torch.arange(0, 100_001, 100)).block_mask(CPU, True)
    assert mask.kv_num_blocks.max() <= 2
    assert mask.full_kv_num_blocks.max() == 0


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("causal", [True, False])
def test_flex_attention_takes_the_blocks(causal):
    """Uncompiled, so on any machine; the compiled kernel runs on a GPU alone."""
    q, k, v = operands(1, 300, dtype=torch.float32)
    cut = torch.tensor([0, 100, 130, 300])
    mask = Groups(1, 300, cut).block_mask(CPU, causal)
    flexible = flex_attention(*(x.transpose(1, 2) for x in (q, k, v)), block_mask=mask).transpose(1, 2)
    torch.testing.assert_close(flexible, attention(q, k, v, cut, causal=causal), rtol=0, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="FlexAttention is for a GPU")
@pytest.mark.parametrize("causal", [True, False])
def test_the_gpu_agrees_with_the_cpu(causal):
    cut = torch.tensor([0, 100, 130, 700])
    for dtype, qk, v, limit in (
        (torch.float32, 48, 32, 1e-5),
        (torch.bfloat16, 48, 32, 2e-3),
        (torch.bfloat16, 192, 128, 2e-3),
    ):
        leaves = [x.cuda().requires_grad_() for x in operands(1, 700, qk=qk, v=v, dtype=dtype)]
        wide = [x.detach().double().cpu().requires_grad_() for x in leaves]
        ours = attention(*leaves, cut, causal=causal, fp32_output=True)
        theirs = attention(*wide, cut, causal=causal)
        torch.testing.assert_close(ours.double().cpu(), theirs, rtol=0, atol=limit)
        for one, other in zip(
            torch.autograd.grad(ours.sin().sum(), leaves), torch.autograd.grad(theirs.sin().sum(), wide), strict=True
        ):
            error = (one.double().cpu() - other).norm() / other.norm()
            assert error < 4 * limit


def test_wrong_input_is_told():
    q, k, v = operands(1, 10)
    with pytest.raises(ValueError, match="must end at the number of tokens, 10, not at 9"):
        attention(q, k, v, torch.tensor([0, 9]))
    with pytest.raises(ValueError, match="must start at 0, not at 1"):
        attention(q, k, v, torch.tensor([1, 10]))
    with pytest.raises(ValueError, match="entry 2 is 3 after 5"):
        attention(q, k, v, torch.tensor([0, 5, 3, 10]))
    with pytest.raises(ValueError, match="the groups are of 1 x 12 tokens, but the input has 1 x 10"):
        attention(q, k, v, Groups(1, 12, None))
    with pytest.raises(ValueError, match="do not go with q"):
        attention(q, k[:, :9], v)
    with pytest.raises(ValueError, match="one dtype"):
        attention(q, k.float(), v)
    with pytest.raises(ValueError, match="at least one token"):
        attention(q[:, :0], k[:, :0], v[:, :0])


def test_no_group_holds_all_pairs():
    """A sequence of many groups costs the memory of its groups: 2^17 tokens would make a mask of 16 GiB."""
    length, step = 2**17, 2**10
    q = torch.ones(1, length, 1, 8)
    bounds = list(range(0, length + 1, step))
    v = torch.arange(length, dtype=torch.float32)[None, :, None, None].expand(-1, -1, -1, 8)
    out = attention(q, q, v, torch.tensor(bounds))
    for start, end in list(pairwise(bounds))[::32]:
        assert out[0, end - 1, 0, 0] == pytest.approx((start + end - 1) / 2, rel=1e-4)
