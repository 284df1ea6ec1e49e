"""The chunked loss against PyTorch's cross-entropy over whole logits."""

from __future__ import annotations

import pytest
import torch
from k3data.model.loss import chunked_cross_entropy
from torch import Tensor
from torch.nn import functional as F

T, D, V, WORDS = 37, 16, 64, 50


def operands(dtype=torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(0)
    hidden = torch.randn(T, D, generator=rng, dtype=torch.float64).to(dtype).requires_grad_()
    head = torch.randn(V, D, generator=rng, dtype=torch.float64).to(dtype).requires_grad_()
    targets = torch.randint(0, WORDS, (T,), generator=rng)
    weights = torch.rand(T, generator=rng, dtype=torch.float64) * (torch.arange(T) % 3 > 0)
    return hidden, head, targets, weights


def plain(hidden: Tensor, head: Tensor, targets: Tensor, weights: Tensor, z: float = 0.0) -> Tensor:
    logits = hidden @ head[:WORDS].T
    each = F.cross_entropy(logits, targets, reduction="none") + z * logits.logsumexp(1).square()
    return (weights * each).sum()


@pytest.mark.parametrize("chunk_size", [1, 7, 1024])
@pytest.mark.parametrize("z", [0.0, 1e-2])
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_loss_and_gradients_equal_the_plain_ones(chunk_size, z, dtype, limit):
    hidden, head, targets, weights = operands(dtype)
    options = {"vocab_size": WORDS, "z_loss": z, "chunk_size": chunk_size}
    loss = chunked_cross_entropy(hidden, head, targets, weights, **options)
    wide = [x.detach().double().requires_grad_() for x in (hidden, head)]
    expected = plain(*wide, targets, weights, z)
    assert loss.total.item() == pytest.approx(expected.item(), rel=10 * limit)
    assert (loss.cross_entropy + loss.z_loss).item() == pytest.approx(loss.total.item())
    assert loss.weight.item() == pytest.approx(weights.sum().item())
    ours = torch.autograd.grad(loss.total / loss.weight, (hidden, head))
    theirs = torch.autograd.grad(expected / weights.sum(), wide)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0, atol=limit)


def test_weights_are_one_unless_given():
    hidden, head, targets, _ = operands()
    loss = chunked_cross_entropy(hidden, head, targets)
    torch.testing.assert_close(loss.total, F.cross_entropy(hidden @ head.T, targets, reduction="sum"))
    assert loss.weight == T


def test_words_that_fill_up_the_head_take_no_part():
    hidden, head, targets, weights = operands()
    before = chunked_cross_entropy(hidden, head, targets, weights, vocab_size=WORDS)
    before.total.backward()
    assert head.grad[:WORDS].abs().min() > 0
    assert head.grad[WORDS:].abs().max() == 0
    with torch.no_grad():
        head[WORDS:] = 1000
    assert chunked_cross_entropy(hidden, head, targets, weights, vocab_size=WORDS).total == before.total


def test_tokens_of_weight_zero_may_have_any_target_and_any_state():
    hidden, head, targets, weights = operands()
    before = chunked_cross_entropy(hidden, head, targets, weights)
    idle = weights == 0
    changed = hidden.detach().clone()
    changed[idle] = torch.nan
    changed.requires_grad_()
    after = chunked_cross_entropy(changed, head, targets.masked_fill(idle, -100), weights)
    assert after.total == before.total
    after.total.backward()
    assert changed.grad[idle].abs().max() == 0
    assert changed.grad.isfinite().all()


def test_no_token_at_all_is_a_loss_of_zero():
    hidden, head, targets, weights = operands()
    loss = chunked_cross_entropy(hidden, head, targets, weights * 0)
    loss.total.backward()
    assert loss.total == loss.weight == 0
    assert hidden.grad.abs().max() == head.grad.abs().max() == 0


def test_bf16_logits_are_not_rounded():
    hidden, head, targets, weights = operands(torch.bfloat16)
    loss = chunked_cross_entropy(hidden, head, targets, weights, vocab_size=WORDS)
    wide = [x.detach().double().requires_grad_() for x in (hidden, head)]
    expected = plain(*wide, targets, weights)
    assert loss.total.dtype == torch.float32
    assert loss.total.item() == pytest.approx(expected.item(), rel=1e-6)
    for one, other in zip(
        torch.autograd.grad(loss.total, (hidden, head)), torch.autograd.grad(expected, wide), strict=True
    ):
        assert one.dtype == torch.bfloat16
        assert (one - other).norm() / other.norm() < 4e-3


def test_only_a_slice_of_logits_exists():
    """The largest tensor that forward and backward make is the head's gradient, not T × V logits."""
    tokens, words, chunk = 4096, 2048, 64
    hidden = torch.randn(tokens, 8, requires_grad=True)
    head = torch.randn(words, 8, requires_grad=True)
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            if isinstance(result, Tensor):
                largest = max(largest, result.numel())
            return result

    with Watch():
        chunked_cross_entropy(hidden, head, torch.zeros(tokens, dtype=torch.int64), chunk_size=chunk).total.backward()
    assert largest == chunk * words


def test_without_gradients_none_are_made():
    hidden, head, targets, weights = operands()
    with torch.no_grad():
        quiet = chunked_cross_entropy(hidden, head, targets, weights)
    assert not quiet.total.requires_grad
    torch.testing.assert_close(quiet.total, chunked_cross_entropy(hidden, head, targets, weights).total)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a GPU multiplies bf16 by other means")
def test_the_gpu_agrees_with_fp64():
    hidden, head, targets, weights = operands(torch.bfloat16)
    near = [x.detach().cuda().requires_grad_() for x in (hidden, head)]
    wide = [x.detach().double().requires_grad_() for x in (hidden, head)]
    loss = chunked_cross_entropy(*near, targets.cuda(), weights.cuda(), vocab_size=WORDS, z_loss=1e-3, chunk_size=16)
    expected = plain(*wide, targets, weights, 1e-3)
    assert loss.total.item() == pytest.approx(expected.item(), rel=1e-6)
    for one, other in zip(
        torch.autograd.grad(loss.total, near), torch.autograd.grad(expected, wide), strict=True
    ):
        assert (one.double().cpu() - other).norm() / other.norm() < 8e-3


def test_wrong_input_is_told():
    hidden, head, targets, weights = operands()
    targets[4] = 50
    with pytest.raises(ValueError, match="the target at 4 is 50, but words are 0 to 49"):
        chunked_cross_entropy(hidden, head, targets, weights, vocab_size=WORDS)
    with pytest.raises(ValueError, match="vocab_size is 65, but the head has 64 rows"):
        chunked_cross_entropy(hidden, head, targets, vocab_size=65)
    with pytest.raises(ValueError, match=r"targets are \[36\], but there are 37 tokens"):
        chunked_cross_entropy(hidden, head, targets[1:])
    with pytest.raises(ValueError, match="finite and not below 0"):
        chunked_cross_entropy(hidden, head, targets, -weights)
    with pytest.raises(ValueError, match=r"\[T, D\] and \[V, D\], not \[37, 16\] and \[64, 15\]"):
        chunked_cross_entropy(hidden, head[:, 1:], targets)
    with pytest.raises(ValueError, match="they must be the same"):
        chunked_cross_entropy(hidden.float(), head, targets)
    with pytest.raises(ValueError, match="chunk_size is 0"):
        chunked_cross_entropy(hidden, head, targets, chunk_size=0)
