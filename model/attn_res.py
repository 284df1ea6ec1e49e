"""Block attention residuals: before each sublayer, a softmax over depth instead of a plain running sum.

    score_i = ⟨w, RMSNorm(v_i)⟩,  p = softmax(score),  h = Σ p_i v_i                    (K3 report, Eq. 8 to 10)

The sources v are the embedding, the sums of the finished blocks, and the running sum of the current block. The norm has
a weight n of its own, so only w̃ = w ⊙ n counts; w starts at zero, which makes h the plain mean of the sources.

K3's block of 12 counts layers, each with two sublayers. (The paper of attention residuals counts sublayers: 24.)

Letters: B batch, T tokens, D model width, Q queries; lists run over the sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .kda.inputs import compute_dtype, rounded
from .operators import HasKernels


class AttentionResidual(HasKernels):
    """One mix over depth: `query` w and `norm_weight` n, both [D]."""

    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.query = nn.Parameter(torch.zeros(dim))
        self.norm_weight = nn.Parameter(torch.ones(dim))

    def forward(self, sources: Sequence[Tensor]) -> Tensor:
        """h_BTD from sources of [B, T, D], in their dtype, computed in fp32 (fp64 stays).

        Backward keeps the sources alone, which the residual stream holds anyway, and computes the rest again.
        Raises ValueError without a source, or for sources of different shapes.
        """
        if not sources:
            raise ValueError("there is no source to mix")
        for v_BTD in sources:
            if v_BTD.shape != sources[0].shape:
                shapes = f"{list(sources[0].shape)} and {list(v_BTD.shape)}"
                raise ValueError(f"the sources of a mix must have one shape, not {shapes}")
        if self.kernels == "triton":
            from .kernels import fused

            return fused.mix(
                self.query, self.norm_weight, self.eps, None, 0.0, sources[-1], None, *sources[:-1]
            )[1]  # fmt: skip
        return _Mix.apply(self.query, self.norm_weight, self.eps, *sources)  # type: ignore[no-untyped-call]

    def extra_repr(self) -> str:
        return f"{self.query.numel()}, eps={self.eps}"


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query_D: Tensor, norm_weight_D: Tensor, eps: float, *sources: Tensor) -> Tensor:
        ctx.save_for_backward(query_D, norm_weight_D, *sources)
        ctx.eps = eps
        wide = compute_dtype(sources[0])
        probabilities, _ = _probabilities(_folded(query_D, norm_weight_D, wide), sources, eps)
        return rounded(_weighted_sum(probabilities, sources), sources[0].dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """With score s_i = r_i ⟨w̃, v_i⟩ and r_i = (mean v_i² + ε)^-1/2:

        ds_i = p_i (⟨dh, v_i⟩ − ⟨dh, h⟩),  dv_i = p_i dh + ds_i r_i (w̃ − s_i r_i v_i / D),  dw̃ = Σ ds_i r_i v_i
        """
        query_D, norm_weight_D, *sources = ctx.saved_tensors
        wide = compute_dtype(sources[0])
        folded_D = _folded(query_D, norm_weight_D, wide)
        probabilities, scales = _probabilities(folded_D, sources, ctx.eps)
        dh_BTD = gradients[0].to(wide)
        agreements = [(dh_BTD * v_BTD).sum(-1) for v_BTD in sources]  # ⟨dh, v_i⟩, and their mean under p is ⟨dh, h⟩
        mean_BT = sum(p_BT * a_BT for p_BT, a_BT in zip(probabilities, agreements, strict=True))
        dfolded_D = torch.zeros_like(folded_D)
        dsources = []
        for v, p_BT, r_BT, a_BT in zip(sources, probabilities, scales, agreements, strict=True):
            v_BTD = v.to(wide)
            weight_BT = p_BT * (a_BT - mean_BT) * r_BT  # ds · r
            dfolded_D += torch.einsum("bt,btd->d", weight_BT, v_BTD)
            pull_BT = weight_BT * r_BT.square() * (v_BTD @ folded_D) / v_BTD.shape[-1]  # ds · r · s · r / D
            dv_BTD = p_BT[..., None] * dh_BTD + weight_BT[..., None] * folded_D - pull_BT[..., None] * v_BTD
            dsources.append(dv_BTD.to(v.dtype))
        dquery_D = (dfolded_D * norm_weight_D.to(wide)).to(query_D.dtype)
        dnorm_weight_D = (dfolded_D * query_D.to(wide)).to(norm_weight_D.dtype)
        return dquery_D, dnorm_weight_D, None, *dsources


def _folded(query_D: Tensor, norm_weight_D: Tensor, wide: torch.dtype) -> Tensor:
    return query_D.to(wide) * norm_weight_D.to(wide)


def _score(folded_D: Tensor, v_BTD: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """s_BT and r_BT of one source."""
    wide_BTD = v_BTD.to(folded_D.dtype)
    r_BT = torch.rsqrt(wide_BTD.square().mean(-1) + eps)
    return r_BT * (wide_BTD @ folded_D), r_BT


def _probabilities(folded_D: Tensor, sources: Sequence[Tensor], eps: float) -> tuple[Sequence[Tensor], list[Tensor]]:
    """p_BT and r_BT of each source."""
    scores, scales = zip(*(_score(folded_D, v_BTD, eps) for v_BTD in sources), strict=True)
    return torch.stack(scores).softmax(dim=0).unbind(0), list(scales)


def _weighted_sum(weights: Sequence[Tensor], sources: Sequence[Tensor]) -> Tensor:
    h_BTD = weights[0][..., None] * sources[0]
    for w_BT, v_BTD in zip(weights[1:], sources[1:], strict=True):
        h_BTD = torch.addcmul(h_BTD, w_BT[..., None], v_BTD.to(h_BTD.dtype))
    return h_BTD


class ResidualStream:
    """The sources on their way through the layers. A model drives it as K3's schedule says:

        for number, layer in enumerate(layers):
            x = stream.read(layer.attention_mix)
            if number % block == 0:
                stream.close_block()
            stream.add(attention(norm(x)))
            x = stream.read(layer.ffn_mix)
            stream.add(ffn(norm(x)))
        x = stream.read(output_mix)

    A finished block is still the running sum when the next one's first attention reads, and is stored right after. So
    layer 0 stores the embedding, and its own attention reads the embedding alone, which no query can change.
    """

    def __init__(self, embedding_BTD: Tensor) -> None:
        self.blocks: list[Tensor] = []
        self.partial: Tensor | None = embedding_BTD
        self.added: Tensor | None = None
        """What was added last, where it is not in the running sum yet: who reads next may do both at once."""

    def sources(self) -> list[Tensor]:
        self.settle()
        return self.blocks if self.partial is None else [*self.blocks, self.partial]

    def read(self, mix: AttentionResidual) -> Tensor:
        sources = self.sources()
        return mix(sources) if self.blocks else sources[0]

    def close_block(self) -> None:
        """Stores the running sum as a source of its own; the next `add` begins a new one."""
        self.settle()
        if self.partial is None:
            raise ValueError("a block must add something before it is closed")
        self.blocks.append(self.partial)
        self.partial = None

    def add(self, y_BTD: Tensor) -> None:
        self.settle()
        self.added = y_BTD

    def settle(self) -> None:
        """Brings the running sum up to date."""
        if self.added is not None:
            self.partial = self.added if self.partial is None else self.partial + self.added
            self.added = None


class TwoPhaseStream(ResidualStream):
    """The same for inference, with the stored blocks read once a block instead of once a sublayer (K3 report, §5.4.2).

    Phase one, when a block is stored: every query that will meet these stored blocks goes over them together. Phase
    two, at each sublayer: the running sum joins by online softmax.
    """

    def __init__(self, embedding_BTD: Tensor, schedule: Sequence[Sequence[AttentionResidual]]) -> None:
        """`schedule`: the mixes that read between one `close_block` and the next, as `block_mixes` gives them."""
        super().__init__(embedding_BTD)
        self._schedule = iter(schedule)
        self._stored: dict[AttentionResidual, _Stored] = {}

    def close_block(self) -> None:
        super().close_block()
        mixes = next(self._schedule)
        self._stored = dict(zip(mixes, _phase_one(self.blocks, mixes), strict=True))

    def read(self, mix: AttentionResidual) -> Tensor:
        self.settle()
        if not self.blocks or self.partial is None:
            return super().read(mix)
        return _phase_two(self._stored[mix], mix, self.partial)


def block_mixes(
    attention_mixes: Sequence[AttentionResidual], ffn_mixes: Sequence[AttentionResidual],
    output_mix: AttentionResidual, block: int,
) -> list[list[AttentionResidual]]:  # fmt: skip
    """The mixes of all layers by the stored blocks that they read: 2 · block a group, in the order of their turn.

    A group begins with the feed-forward of a block's first layer and ends with the attention of the next block's first.
    """
    turns = [mix for pair in zip(attention_mixes, ffn_mixes, strict=True) for mix in pair] + [output_mix]
    return [turns[start : start + 2 * block] for start in range(1, len(turns), 2 * block)]


class _Stored(NamedTuple):
    """Running maximum of the scores, Σ e^(score − maximum), and Σ e^(score − maximum) · v over the stored blocks."""

    maximum_BT: Tensor
    total_BT: Tensor
    sum_BTD: Tensor


def _phase_one(blocks: Sequence[Tensor], mixes: Sequence[AttentionResidual]) -> list[_Stored]:
    wide = compute_dtype(blocks[0])
    folded_QD = torch.stack([_folded(mix.query, mix.norm_weight, wide) for mix in mixes])
    scores = []
    for v_BTD in blocks:
        v_BTD = v_BTD.to(wide)
        square_BT = v_BTD.square().mean(-1)  # shared by all queries
        r_QBT = torch.stack([torch.rsqrt(square_BT + mix.eps) for mix in mixes])
        scores.append(r_QBT * torch.einsum("btd,qd->qbt", v_BTD, folded_QD))
    maximum_QBT = torch.stack(scores).amax(0)
    weights = [torch.exp(s_QBT - maximum_QBT) for s_QBT in scores]
    sum_QBTD = _weighted_sum(weights, blocks)
    return [_Stored(*parts) for parts in zip(maximum_QBT, sum(weights[1:], weights[0]), sum_QBTD, strict=True)]


def _phase_two(stored: _Stored, mix: AttentionResidual, partial_BTD: Tensor) -> Tensor:
    wide = compute_dtype(partial_BTD)
    s_BT, _ = _score(_folded(mix.query, mix.norm_weight, wide), partial_BTD, mix.eps)
    maximum_BT = torch.maximum(stored.maximum_BT, s_BT)
    kept_BT, new_BT = torch.exp(stored.maximum_BT - maximum_BT), torch.exp(s_BT - maximum_BT)
    total_BT = stored.total_BT * kept_BT + new_BT
    h_BTD = stored.sum_BTD * kept_BT[..., None] + new_BT[..., None] * partial_BTD
    return (h_BTD / total_BT[..., None]).to(partial_BTD.dtype)
