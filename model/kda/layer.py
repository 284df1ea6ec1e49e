"""A layer of Kimi Delta Attention as K3 has it (K3 report, Eq. 2, 5 and 6).

    q, k, v = SiLU(conv(x W_q)), SiLU(conv(x W_k)), SiLU(conv(x W_v));  q, k ← q/‖q‖, k/‖k‖ per head
    g = lower_bound · σ(e^A · (x W_down W_up + bias));  β = σ(x W_β)
    y = W_o [σ(x W_g) ⊙ RMSNorm(KDA(q, k, v, g, β))],  the norm per head, with one weight for all heads

Letters: B batch, T tokens, D model width, H heads, K channels of a head (keys and values alike), P = H·K.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ..attention import Groups
from ..config import ConfigError, ModelConfig
from ..norm import RMSNorm
from ..operators import HasKernels
from ..wide_linear import wide_linear
from .cache import KDACache
from .chunked import kda_chunked
from .conv import ShortConvolution
from .gate import bounded_log_decay, initial_dt_bias
from .inputs import compute_dtype
from .step import kda_step

if TYPE_CHECKING:
    from ..kernels.kda import ChunkTable

_L2_EPS = 1e-6
"""Added to the sum of squares of a head's query or key."""


class KimiDeltaAttention(HasKernels):
    """Parameters A_log, dt_bias, the convolutions and o_norm take part in fp32 whatever their dtype."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        kda = config.kda
        self.config = kda
        D, P = config.d_model, kda.width
        self.q_proj = nn.Linear(D, P, bias=False)
        self.k_proj = nn.Linear(D, P, bias=False)
        self.v_proj = nn.Linear(D, P, bias=False)
        self.q_conv = ShortConvolution(P, kda.conv_kernel)
        self.k_conv = ShortConvolution(P, kda.conv_kernel)
        self.v_conv = ShortConvolution(P, kda.conv_kernel)
        self.decay_down = nn.Linear(D, kda.decay_rank, bias=False)
        self.decay_up = nn.Linear(kda.decay_rank, P, bias=False)
        self.A_log = nn.Parameter(torch.zeros(kda.heads))
        self.dt_bias = nn.Parameter(torch.empty(P))
        self.beta_proj = nn.Linear(D, kda.heads, bias=False)
        self.gate_proj = nn.Linear(D, P, bias=False)
        self.o_norm = RMSNorm(kda.head_dim, config.norm_eps)
        self.o_proj = nn.Linear(P, D, bias=False)
        self.reset_parameters(config.init_std)

    def check_kernels(self) -> None:
        from ..kernels.fused.conv import TAPS
        from ..kernels.kda.op import HEAD_SIZES

        if self.config.head_dim not in HEAD_SIZES:
            heads = f"heads of {self.config.head_dim} channels"
            raise ConfigError(f"kernels: triton has none for {heads}, only of {HEAD_SIZES}")
        if self.config.conv_kernel != TAPS:
            raise ConfigError(f"kernels: triton has none for convolutions of {self.config.conv_kernel}, only of {TAPS}")

    @torch.no_grad()
    def reset_parameters(self, std: float) -> None:
        """Matrices normal with `std`, A = 0, dt_bias as `initial_dt_bias`, the norm's weight 1."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=std)
            elif isinstance(module, ShortConvolution):
                module.reset_parameters()
        self.A_log.zero_()
        self.dt_bias.copy_(initial_dt_bias(self.dt_bias.numel()))
        self.o_norm.weight.fill_(1)

    def forward(self, x_BTD: Tensor, groups: Groups | Tensor | None = None, cache: KDACache | None = None) -> Tensor:
        """y_BTD. `groups` are `cu_seqlens` or a `Groups` made of them; a batch without them has one sequence a row.

        With a cache the sequences go on from it, and it is brought up to date. One token a sequence, unpacked, goes
        through `kda_step`, all else through `kda_chunked`. Raises ValueError when the cache is another configuration's
        or for another number of sequences, and as the operators say; but what is not finite is looked for only where
        no gradient is wanted, as training has its own guard.
        """
        groups = Groups.of(groups, *x_BTD.shape[:2])
        if cache is None:
            *operands, gate_BTP = self.operands(x_BTD, groups.places(x_BTD.device))
            o_BTHK, _ = self.core(operands, groups)
            return self.output(o_BTHK, gate_BTP)
        self._check_cache(cache, groups.sequences)
        convolved, tails = [], []
        projections, convolutions = (self.q_proj, self.k_proj, self.v_proj), (self.q_conv, self.k_conv, self.v_conv)
        for projection, convolution, tail_NLP in zip(projections, convolutions, cache.tails, strict=True):
            y_BTP, tail_NLP = convolution(projection(x_BTD), groups.cu_seqlens, tail_NLP)
            convolved.append(y_BTP)
            tails.append(tail_NLP)
        *operands, gate_BTP = self._operands(x_BTD, convolved)
        o_BTHK, state_NHKV = self.core(operands, groups, cache.state_NHKV)
        cache.state_NHKV, cache.tails = state_NHKV, (tails[0], tails[1], tails[2])
        return self.output(o_BTHK, gate_BTP)

    def operands(self, x_BTD: Tensor, places_BT: Tensor) -> list[Tensor]:
        """What `core` takes, and the logits of the output's gate; no shape depends on where sequences end."""
        projected = (projection(x_BTD) for projection in (self.q_proj, self.k_proj, self.v_proj))
        return self._operands(x_BTD, self.convolved(places_BT, *projected))

    def convolved(self, places_BT: Tensor, *projected: Tensor) -> list[Tensor]:
        """q, k and v after their convolutions, for training: see `ShortConvolution.packed`."""
        convolutions = (self.q_conv, self.k_conv, self.v_conv)
        if self.kernels == "triton":
            from ..kernels import fused

            return fused.conv_silu_each(projected, [one.weight for one in convolutions], places_BT)
        return [one.packed(x_BTP, places_BT) for one, x_BTP in zip(convolutions, projected, strict=True)]

    def core(
        self, operands: Sequence[Tensor], groups: Groups, state_NHKV: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """o_BTHK and the states after the sequences."""
        one_token = state_NHKV is not None and not groups.packed and groups.length == 1
        if self.kernels == "triton":
            return self._by_kernels(operands, groups, state_NHKV, one_token)
        if one_token and state_NHKV is not None:
            q, k, v, log_decay, beta = (x.squeeze(1) for x in operands)
            o_BHK, state_NHKV = kda_step(q, k, v, log_decay, beta, state_NHKV)
            return o_BHK.unsqueeze(1), state_NHKV
        return kda_chunked(
            *operands, initial_state_NHKV=state_NHKV, cu_seqlens=groups.cu_seqlens,
            check_values=not torch.is_grad_enabled(),
        )  # fmt: skip

    def output(self, o_BTHK: Tensor, gate_BTP: Tensor) -> Tensor:
        return self.o_proj(self.gated(o_BTHK, gate_BTP))

    def gated(self, o_BTHK: Tensor, gate_BTP: Tensor) -> Tensor:
        """σ(gate) ⊙ RMSNorm(o), in the gate's dtype."""
        if self.kernels == "triton":
            from ..kernels import fused

            return fused.gated_norm(o_BTHK, self.o_norm.weight, self.o_norm.eps, gate_BTP)
        wide = compute_dtype(gate_BTP)
        gated_BTP = torch.sigmoid(gate_BTP.to(wide)) * self.o_norm(o_BTHK.to(wide)).flatten(-2)
        return gated_BTP.to(gate_BTP.dtype)

    def _operands(self, x_BTD: Tensor, convolved: Sequence[Tensor]) -> list[Tensor]:
        q_BTHK, k_BTHK, v_BTHK = (self._heads(x_BTP) for x_BTP in convolved)
        z_BTHK = self._heads(self.decay_up(self.decay_down(x_BTD)))
        beta_logit_BTH = wide_linear(x_BTD, self.beta_proj.weight)
        operands = (q_BTHK, k_BTHK, v_BTHK, z_BTHK, beta_logit_BTH)
        if self.kernels == "torch":
            operands = self._prepared(*operands)
        return [*operands, self.gate_proj(x_BTD)]

    def _prepared(
        self, q_BTHK: Tensor, k_BTHK: Tensor, v_BTHK: Tensor, z_BTHK: Tensor, beta_logit_BTH: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """q and k of length 1, v, log decays and β."""
        log_decay_BTHK = bounded_log_decay(z_BTHK, self.A_log, self.dt_bias, self.config.gate_lower_bound)
        return _unit_length(q_BTHK), _unit_length(k_BTHK), v_BTHK, log_decay_BTHK, torch.sigmoid(beta_logit_BTH)

    def _by_kernels(
        self, operands: Sequence[Tensor], groups: Groups, state_NHKV: Tensor | None, one_token: bool
    ) -> tuple[Tensor, Tensor]:
        """The gate, the unit lengths and β are inside the kernels; a single token changes the state in place."""
        from ..kernels.kda import kda, kda_step

        q_BTHK, k_BTHK, v_BTHK, z_BTHK, beta_logit_BTH = operands
        if one_token and state_NHKV is not None and not torch.is_grad_enabled():
            bound = self.config.gate_lower_bound
            q, k, v, z, beta_logit = (x.squeeze(1) for x in operands)
            o_BHK = kda_step(q, k, v, z, beta_logit, self.A_log, self.dt_bias, state_NHKV, lower_bound=bound)
            return o_BHK.unsqueeze(1), state_NHKV
        table = chunk_table(tuple(groups.bounds), self.config.heads, q_BTHK.device) if groups.packed else None
        return kda(
            q_BTHK, k_BTHK, v_BTHK, z_BTHK, beta_logit_BTH, self.A_log, self.dt_bias,
            lower_bound=self.config.gate_lower_bound, initial_state_NHKV=state_NHKV, cu_seqlens=table,
        )  # fmt: skip

    def _heads(self, x_BTP: Tensor) -> Tensor:
        return x_BTP.unflatten(-1, (self.config.heads, self.config.head_dim))

    def _check_cache(self, cache: KDACache, sequences: int) -> None:
        empty = KDACache.empty(self.config, sequences, device="meta")
        tensors = zip(("state", "q tail", "k tail", "v tail"), cache.tensors(), empty.tensors(), strict=True)
        for name, tensor, expected in tensors:
            if tensor.shape != expected.shape:
                raise ValueError(f"the KDA cache's {name} is {list(tensor.shape)}, not {list(expected.shape)}")


@lru_cache(maxsize=8)
def chunk_table(bounds: tuple[int, ...], heads: int, device: torch.device) -> ChunkTable:
    """Remembered, because every layer of a model cuts the same batch."""
    from ..kernels.kda import ChunkTable

    with torch.inference_mode(False):
        return ChunkTable.of(list(bounds), bounds[-1], heads, device)


def _unit_length(x: Tensor) -> Tensor:
    wide = x.to(compute_dtype(x))
    return (wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + _L2_EPS)).to(x.dtype)
