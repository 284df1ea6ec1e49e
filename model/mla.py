"""Gated multi-head latent attention without positions, as K3 has it (K3 report, Eq. 7; the release for the q side).

    c_q = RMSNorm(h W_qdown);  q = c_q W_qup                                 per head [nope | rope] channels
    [c ; k_r] = h W_kvdown;  c ← RMSNorm(c);  [k_n ; v] = c W_kvup;  k = [k_n ; k_r],  k_r shared by all heads
    y = W_o [σ(h W_g) ⊙ o],  o = causal softmax(q kᵀ · (nope + rope)^-1/2) v

The "rope" channels keep their name from models that rotate them; here nothing is rotated. Two ways to the same o:

- expanded, for training and for a prompt: keys and values of every head are made of the latents;
- absorbed, for all that follows a cache: W_kvup's key half goes into the query and its value half behind the sum, so
  that all heads attend to the cache as it is, [c ; k_r], 576 numbers of a token in K3.

Letters: B batch, T new tokens, N sequences, S tokens of a cache, D model width, H heads, K channels of a query or key,
V channels of a value, C channels of the cache, L of them the latent's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from .attention import Groups, attention
from .config import ModelConfig
from .kda.inputs import compute_dtype
from .mla_cache import MLACache
from .norm import RMSNorm
from .operators import HasKernels, check_heads

_SCORES = 2**24
"""Scores that the absorbed form holds at once; it goes through more queries in blocks."""


class GatedMLA(HasKernels):
    def __init__(self, config: ModelConfig, *, fp32_output: bool = True) -> None:
        """`fp32_output`: see `attention`; K3 trains with it."""
        super().__init__()
        mla = config.mla
        self.config, self.fp32_output = mla, fp32_output
        D = config.d_model
        self.q_down = nn.Linear(D, mla.q_lora_rank, bias=False)
        self.q_norm = RMSNorm(mla.q_lora_rank, mla.latent_norm_eps)
        self.q_up = nn.Linear(mla.q_lora_rank, mla.heads * mla.qk_dim, bias=False)
        self.kv_down = nn.Linear(D, mla.cache_dim, bias=False)
        self.kv_norm = RMSNorm(mla.kv_lora_rank, mla.latent_norm_eps)
        self.kv_up = nn.Linear(mla.kv_lora_rank, mla.heads * (mla.qk_nope_dim + mla.v_dim), bias=False)
        self.gate_proj = nn.Linear(D, mla.width, bias=False)
        self.o_proj = nn.Linear(mla.width, D, bias=False)
        self.reset_parameters(config.init_std)

    def check_kernels(self) -> None:
        check_heads(self.config.qk_dim, self.config.v_dim)

    @torch.no_grad()
    def reset_parameters(self, std: float) -> None:
        """Matrices normal with `std`, the norms' weights 1."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=std)
            elif isinstance(module, RMSNorm):
                module.weight.fill_(1)

    def forward(self, x_BTD: Tensor, groups: Groups | Tensor | None = None, cache: MLACache | None = None) -> Tensor:
        """y_BTD. `groups` are `cu_seqlens` or a `Groups` made of them; a batch without them has one group a row.

        With a cache the sequences, which are the groups, go on from it, and it is brought up to date; gradients do not
        pass through it. Raises ValueError when the cache is another configuration's or for another number of sequences,
        and as `Groups` says.
        """
        groups = Groups.of(groups, *x_BTD.shape[:2])
        if cache is None:
            *operands, gate_BTP = self.operands(x_BTD)
            return self.output(self.core(operands, groups), gate_BTP)
        q_BTHK, latent_BTC = self._latents(x_BTD)
        self._check_cache(cache, latent_BTC, groups.sequences)
        before = cache.append(latent_BTC, groups.bounds)
        if any(before):
            o_BTHV = self._continued(q_BTHK, cache, before, groups)
        else:
            o_BTHV = self.core([q_BTHK, *self._expanded(latent_BTC)], groups)
        return self.output(o_BTHV, self.gate_proj(x_BTD))

    def operands(self, x_BTD: Tensor) -> list[Tensor]:
        """Queries, keys and values of every head, and the logits of the output's gate."""
        q_BTHK, latent_BTC = self._latents(x_BTD)
        return [q_BTHK, *self._expanded(latent_BTC), self.gate_proj(x_BTD)]

    def core(self, operands: Sequence[Tensor], groups: Groups) -> Tensor:
        q_BTHK, k_BTHK, v_BTHV = operands
        if self.kernels == "triton":
            from .kernels.attention import attention as by_kernels

            tiles = groups.tiles(q_BTHK.device)
            return by_kernels(q_BTHK, k_BTHK, v_BTHV, tiles, fp32_output=self.fp32_output)
        return attention(q_BTHK, k_BTHK, v_BTHV, groups, fp32_output=self.fp32_output)

    def output(self, o_BTHV: Tensor, gate_BTP: Tensor) -> Tensor:
        return self.o_proj(self.gated(o_BTHV, gate_BTP))

    def gated(self, o_BTHV: Tensor, gate_BTP: Tensor) -> Tensor:
        """σ(gate) ⊙ o, in the gate's dtype."""
        if self.kernels == "triton":
            from .kernels import fused

            return fused.gated_norm(o_BTHV, None, 0.0, gate_BTP)
        gated_BTP = torch.sigmoid(gate_BTP.to(compute_dtype(gate_BTP))) * o_BTHV.flatten(-2)
        return gated_BTP.to(gate_BTP.dtype)

    def _latents(self, x_BTD: Tensor) -> tuple[Tensor, Tensor]:
        q_BTHK = self.q_up(self.q_norm(self.q_down(x_BTD))).unflatten(-1, (self.config.heads, -1))
        c_BTL, k_BTR = self.kv_down(x_BTD).split([self.config.kv_lora_rank, self.config.qk_rope_dim], dim=-1)
        return q_BTHK, torch.cat([self.kv_norm(c_BTL), k_BTR], dim=-1)

    def _expanded(self, latent_BTC: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of every head."""
        mla = self.config
        c_BTL, k_BTR = latent_BTC.split([mla.kv_lora_rank, mla.qk_rope_dim], dim=-1)
        kv_BTHX = self.kv_up(c_BTL).unflatten(-1, (mla.heads, -1))
        k_BTHN, v_BTHV = kv_BTHX.split([mla.qk_nope_dim, mla.v_dim], dim=-1)
        shared_BTHR = k_BTR.unsqueeze(-2).expand(-1, -1, mla.heads, -1)
        return torch.cat([k_BTHN, shared_BTHR], dim=-1), v_BTHV

    def _continued(self, q_BTHK: Tensor, cache: MLACache, before: list[int], groups: Groups) -> Tensor:
        """Queries of sequences that have a past: all at once where they are rows, one by one where they are packed."""
        latent_NSC = cache.latent_NSC
        if not groups.packed:
            return self._absorbed(q_BTHK, latent_NSC[:, : max(cache.lengths)], before)
        parts = [
            self._absorbed(q_BTHK[:, start:end], latent_NSC[row : row + 1, : cache.lengths[row]], [before[row]])
            for row, (start, end) in enumerate(pairwise(groups.bounds))
            if end > start
        ]
        return torch.cat(parts, dim=1)

    def _absorbed(self, q_NTHK: Tensor, latent_NSC: Tensor, before: list[int]) -> Tensor:
        """o_NTHV in fp32 (fp64 stays): query t of sequence n sees the first before[n] + t + 1 tokens of the cache."""
        mla, wide = self.config, compute_dtype(q_NTHK)
        N, T, H, _ = q_NTHK.shape
        S = latent_NSC.shape[1]
        key_HNL, value_HVL = self.kv_up.weight.to(wide).unflatten(0, (H, -1)).split([mla.qk_nope_dim, mla.v_dim], dim=1)
        latent_NSC = latent_NSC.to(wide)
        positions_S = torch.arange(S, device=q_NTHK.device)
        before_N1 = torch.tensor(before, device=q_NTHK.device)[:, None]
        step = max(1, _SCORES // (N * H * S))
        outputs = []
        for start in range(0, T, step):
            nope_NTHN, rope_NTHR = (
                q_NTHK[:, start : start + step].to(wide).split([mla.qk_nope_dim, mla.qk_rope_dim], dim=-1)
            )
            q_NTHC = torch.cat([torch.einsum("nthk,hkl->nthl", nope_NTHN, key_HNL), rope_NTHR], dim=-1)
            last_NT = before_N1 + torch.arange(start, start + q_NTHC.shape[1], device=q_NTHK.device)
            hidden_NTS = positions_S > last_NT[..., None]
            scores_NTHS = torch.einsum("nthc,nsc->nths", q_NTHC, latent_NSC) * mla.qk_dim**-0.5
            p_NTHS = scores_NTHS.masked_fill(hidden_NTS[:, :, None], -torch.inf).softmax(dim=-1)
            o_NTHL = torch.einsum("nths,nsl->nthl", p_NTHS, latent_NSC[..., : mla.kv_lora_rank])
            outputs.append(torch.einsum("nthl,hvl->nthv", o_NTHL, value_HVL))
        return torch.cat(outputs, dim=1)

    def _check_cache(self, cache: MLACache, latent_BTC: Tensor, sequences: int) -> None:
        N, _, kept = cache.latent_NSC.shape
        expected = self.config.cache_dim
        if kept != expected:
            raise ValueError(f"the MLA cache keeps {kept} numbers of a token, but the layer has {expected}")
        if not N == len(cache.lengths) == sequences:
            raise ValueError(f"the MLA cache is for {N} sequences, but the input has {sequences}")
        if cache.latent_NSC.dtype != latent_BTC.dtype:
            raise ValueError(f"the MLA cache is {cache.latent_NSC.dtype}, but the activations are {latent_BTC.dtype}")
