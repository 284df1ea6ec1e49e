"""Kimi Delta Attention chunk by chunk, forward and backward: matrix products instead of a walk over tokens.

Inside a chunk, with G the running sum of the log decay, γ = e^G, S the state that enters and the rows

    k⁺ = γ k      k⁻ = k / γ      k° = e^{G_last − G} k      q⁺ = scale γ q

the K3 report (Eq. 4) and Kimi Linear (Eq. 6-9) give

    P = StrictTril(k⁺ k⁻ᵀ)     A = Tril(q⁺ k⁻ᵀ)     [W U] = (I + Diag(β) P)⁻¹ Diag(β) [k⁺ v]
    Ṽ = U − W S                O = q⁺ S + A Ṽ        S' = Diag(γ_last) S + k°ᵀ Ṽ

All but the walk S → S' runs over all chunks at once. The inverse is a forward substitution.

Numerics. k⁻ of a whole chunk would overflow (e^320 for 64 steps of −5), so P and A are made tile by tile of 16 rows,
with both factors relative to the G of the tile's first row: e^{G_i − R} ≤ 1 and e^{R − G_j} ≤ e^75. That row lies in
the past of every row of the tile, so no later token can change an earlier result, not by a bit (an anchor in the middle
of the tile would). The factors are balanced by 2^±54, exactly, so that gradients do not become subnormal in fp32. G is
summed in fp64 and only differences of it are rounded: in fp32 a slow decay after a fast one would lose its digits.

The gradient of G needs no derivative of an exponential: each of the four rows contributes ± itself times its gradient.

Letters: B batch, T tokens of all sequences, N sequences, M chunks, C rows of a chunk, H heads, K key channels,
V value channels; D = K + V.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .chunk_plan import ChunkPlan, plan_chunks
from .inputs import check_operands, compute_dtype

TILE = 16
"""Rows whose decays, at most 5.9 a row, span less than the exponents of fp32."""
_BALANCE = 2.0**54


def kda_chunked(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, log_decay_BTHK: Tensor, beta_BTH: Tensor, *,
    scale: float | None = None, initial_state_NHKV: Tensor | None = None, cu_seqlens: Tensor | None = None,
    chunk_size: int = 64, check_values: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same as `kda_recurrent`: o_BTHV in v's dtype, and the states after each sequence, [N, H, K, V] in fp32.

    fp64 is computed and returned in fp64, all else computed in fp32. `scale` is K^-1/2 unless given. Differentiable,
    once, in every operand and in the initial state. `chunk_size` is a multiple of 16.
    `check_values` costs a wait for a GPU; without it, what is not finite goes through.
    Raises ValueError for another chunk size, and as `check_operands` says.
    """
    if chunk_size < TILE or chunk_size % TILE:
        raise ValueError(f"chunk_size is {chunk_size}, but must be a multiple of {TILE}")
    bounds = check_operands(
        q_BTHK, k_BTHK, v_BTHV, log_decay_BTHK, beta_BTH, initial_state_NHKV, cu_seqlens, check_values
    )
    B, T, _, K = q_BTHK.shape
    plan = plan_chunks(tuple(bounds), chunk_size, q_BTHK.device)
    operands = [x.flatten(0, 1) for x in (q_BTHK, k_BTHK, v_BTHV, log_decay_BTHK, beta_BTH)]
    with torch.autocast(q_BTHK.device.type, enabled=False):
        o_THV, state_NHKV = _KDAChunked.apply(  # type: ignore[no-untyped-call]
            *operands, initial_state_NHKV, K**-0.5 if scale is None else scale, plan
        )
    return o_THV.unflatten(0, (B, T)), state_NHKV


class _Rows(NamedTuple):
    """The operands cut into chunks, and what the decays make of them."""

    q: Tensor  # [M, H, C, K], like k and decayed
    k: Tensor
    v: Tensor  # [M, H, C, V]
    G: Tensor  # [M, H, C, K], fp64
    beta: Tensor  # [M, H, C, 1]
    gamma: Tensor  # [M, H, C, K]: e^G
    to_end: Tensor  # [M, H, C, K]: e^{G_last − G}
    gamma_last: Tensor  # [M, H, K, 1]


class _KDAChunked(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q_THK: Tensor, k_THK: Tensor, v_THV: Tensor, log_decay_THK: Tensor, beta_TH: Tensor,
        initial_NHKV: Tensor | None, scale: float, plan: ChunkPlan,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        rows = _rows(q_THK, k_THK, v_THV, log_decay_THK, beta_TH, plan)
        M, H, C, K = rows.k.shape
        V = rows.v.shape[-1]
        P_MHCC, A_MHCC = _within_tiles(rows, scale)
        inverse_MHCC = torch.linalg.solve_triangular(
            rows.beta * P_MHCC, torch.eye(C, dtype=P_MHCC.dtype, device=P_MHCC.device).expand_as(P_MHCC),
            upper=False, unitriangular=True,
        )  # fmt: skip
        WU_MHCD = inverse_MHCC @ (rows.beta * torch.cat([rows.gamma * rows.k, rows.v], -1))
        W_MHCK, written_MHCV = WU_MHCD[..., :K], WU_MHCD[..., K:].clone()
        k_end_MHKC = (rows.to_end * rows.k).transpose(-1, -2)
        entering_MHKV = rows.v.new_empty(M, H, K, V)
        N = len(plan.order)
        S_NHKV = rows.v.new_zeros(N, H, K, V) if initial_NHKV is None else initial_NHKV.to(rows.v.dtype)[plan.order]
        for step in plan.steps:
            active = step.stop - step.start
            S = S_NHKV[:active]
            entering_MHKV[step] = S
            written_MHCV[step] -= W_MHCK[step] @ S
            S_NHKV[:active] = rows.gamma_last[step] * S + k_end_MHKC[step] @ written_MHCV[step]
        o_MHCV = scale * (rows.gamma * rows.q) @ entering_MHKV + A_MHCC @ written_MHCV
        ctx.save_for_backward(
            q_THK, k_THK, v_THV, log_decay_THK, beta_TH,
            P_MHCC, A_MHCC, inverse_MHCC, WU_MHCD, written_MHCV, entering_MHKV,
        )  # fmt: skip
        ctx.scale, ctx.plan = scale, plan
        ctx.initial_dtype = None if initial_NHKV is None else initial_NHKV.dtype
        return plan.to_tokens(o_MHCV, v_THV.dtype), S_NHKV[plan.rank]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor, dfinal_NHKV: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, log_decay, beta, *saved = ctx.saved_tensors
        P_MHCC, A_MHCC, inverse_MHCC, WU_MHCD, written_MHCV, entering_MHKV = saved
        scale, plan = ctx.scale, ctx.plan
        rows = _rows(q, k, v, log_decay, beta, plan)
        K = rows.k.shape[-1]
        W_MHCK = WU_MHCD[..., :K]
        do_MHCV = plan.to_chunks(do_THV, rows.v.dtype)

        # Back through the walk over chunks: what leaves a chunk, and what was written in it.
        dwritten_MHCV = A_MHCC.mT @ do_MHCV
        dread_MHKV = scale * (rows.gamma * rows.q).mT @ do_MHCV
        k_end_MHCK = rows.to_end * rows.k
        dleaving_MHKV = torch.empty_like(entering_MHKV)
        dS_NHKV = dfinal_NHKV.to(rows.v.dtype)[plan.order]
        for step in reversed(plan.steps):
            active = step.stop - step.start
            dS = dS_NHKV[:active]
            dleaving_MHKV[step] = dS
            dwritten_MHCV[step] += k_end_MHCK[step] @ dS
            dS_NHKV[:active] = rows.gamma_last[step] * dS + dread_MHKV[step] - W_MHCK[step].mT @ dwritten_MHCV[step]

        # Back through the inverse.
        dWU_MHCD = torch.cat([-dwritten_MHCV @ entering_MHKV.mT, dwritten_MHCV], -1)
        back_MHCD = inverse_MHCC.mT @ dWU_MHCD
        dL_MHCC = -(back_MHCD @ WU_MHCD.mT).tril(-1)
        dbeta_MHC1 = (
            (back_MHCD[..., K:] * rows.v).sum(-1, keepdim=True)
            + (back_MHCD[..., :K] * rows.gamma * rows.k).sum(-1, keepdim=True)
            + (dL_MHCC * P_MHCC).sum(-1, keepdim=True)
        )
        dv_MHCV = rows.beta * back_MHCD[..., K:]

        # Back to q, k and the decays. k takes part as k⁺ (from the start), k⁻ (within the tiles) and k° (to the end).
        dA_MHCC = (do_MHCV @ written_MHCV.mT).tril()
        dq_MHCK, dk_start_MHCK, dk_inverse_MHCK = _back_within_tiles(rows, scale, rows.beta * dL_MHCC, dA_MHCC)
        dq_MHCK += scale * rows.gamma * (do_MHCV @ entering_MHKV.mT)
        dk_start_MHCK += rows.gamma * rows.beta * back_MHCD[..., :K]
        dk_end_MHCK = rows.to_end * (written_MHCV @ dleaving_MHKV.mT)
        dG_MHCK = rows.q * dq_MHCK + rows.k * (dk_start_MHCK - dk_inverse_MHCK - dk_end_MHCK)
        dG_MHCK[:, :, -1] += (rows.k * dk_end_MHCK).sum(2)
        dG_MHCK[:, :, -1] += rows.gamma_last.squeeze(-1) * (entering_MHKV * dleaving_MHKV).sum(-1)
        dlog_decay_MHCK = dG_MHCK.flip(2).cumsum(2).flip(2)

        gradients = (dq_MHCK, dk_start_MHCK + dk_inverse_MHCK + dk_end_MHCK, dv_MHCV, dlog_decay_MHCK, dbeta_MHC1)
        dq, dk, dv, dlog_decay, dbeta = (
            plan.to_tokens(gradient, operand.dtype)
            for gradient, operand in zip(gradients, (q, k, v, log_decay, beta), strict=True)
        )
        dinitial = None if ctx.initial_dtype is None else dS_NHKV[plan.rank].to(ctx.initial_dtype)
        return dq, dk, dv, dlog_decay, dbeta.squeeze(-1), dinitial, None, None


def _rows(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, plan: ChunkPlan) -> _Rows:
    wide = compute_dtype(q)
    G = plan.to_chunks(log_decay, torch.float64).cumsum(2)
    return _Rows(
        q=plan.to_chunks(q, wide),
        k=plan.to_chunks(k, wide),
        v=plan.to_chunks(v, wide),
        G=G,
        beta=plan.to_chunks(beta[..., None], wide),
        gamma=G.to(wide).exp(),
        to_end=(G[:, :, -1:] - G).to(wide).exp(),
        gamma_last=G[:, :, -1, :, None].to(wide).exp(),
    )


def _tiles(G_MHCK: Tensor, dtype: torch.dtype) -> Iterator[tuple[slice, slice, Tensor, Tensor]]:
    """For each tile: its rows, all rows up to its last, and the two factors of e^{G_i − G_j} for i, j in them."""
    for start in range(0, G_MHCK.shape[2], TILE):
        tile, past = slice(start, start + TILE), slice(0, start + TILE)
        anchor = G_MHCK[:, :, start : start + 1]
        down = (G_MHCK[:, :, tile] - anchor).to(dtype).exp() * _BALANCE
        up = (anchor - G_MHCK[:, :, past]).to(dtype).exp() / _BALANCE
        yield tile, past, down, up


def _within_tiles(rows: _Rows, scale: float) -> tuple[Tensor, Tensor]:
    """P and A, [M, H, C, C]."""
    M, H, C, _ = rows.k.shape
    P, A = rows.k.new_zeros(2, M, H, C, C)
    for tile, past, down, up in _tiles(rows.G, rows.k.dtype):
        later = torch.cat([down * rows.k[:, :, tile], scale * down * rows.q[:, :, tile]], 2)
        products = later @ (up * rows.k[:, :, past]).mT
        P[:, :, tile, past] = products[:, :, :TILE].tril(tile.start - 1)
        A[:, :, tile, past] = products[:, :, TILE:].tril(tile.start)
    return P, A


def _back_within_tiles(rows: _Rows, scale: float, dP: Tensor, dA: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients, through P and A alone, of q, of k as k⁺ and of k as k⁻; each [M, H, C, K]."""
    dq, dk_start = torch.empty_like(rows.q), torch.empty_like(rows.k)
    dk_inverse = torch.zeros_like(rows.k)
    for tile, past, down, up in _tiles(rows.G, rows.k.dtype):
        dproducts = torch.cat([dP[:, :, tile, past], dA[:, :, tile, past]], 2)
        later = torch.cat([down * rows.k[:, :, tile], scale * down * rows.q[:, :, tile]], 2)
        dlater = dproducts @ (up * rows.k[:, :, past])
        dk_start[:, :, tile] = down * dlater[:, :, :TILE]
        dq[:, :, tile] = scale * down * dlater[:, :, TILE:]
        dk_inverse[:, :, past] += up * (dproducts.mT @ later)
    return dq, dk_start, dk_inverse
