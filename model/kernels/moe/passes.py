"""What each pass launches, in which order, and in which memory.

Forward: up, down, combine. Backward: the norm, inner (through the activation), both gradients of matrices, back to the
latent, and rows to tokens. What is only handed on from one kernel to the next is freed as soon as it has been read:
a and the rows forward, a, dh and the rows backward. h is not overwritten by its gradient, which would save 4 I bytes a
row at the peak of the backward pass, because then a graph could not be gone back through twice.

Letters: as in `products.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..launch import cdiv, next_power_of_2
from .combine import combine_kernel, norm_back_kernel, scatter_back_kernel
from .gradients import inner_kernel, matrices_kernel
from .launch import ROWS, Launch, launches
from .products import back_kernel, down_kernel, up_kernel

_PROGRAMS = 1024
"""Of the norm's backward pass, at most: each leaves a row for the gradient of its weight."""


def run_forward(
    z: Tensor, gate: Tensor, up: Tensor, down: Tensor, weights: Tensor, norm_weight: Tensor,
    rows: Tensor, places: Tensor, ends: Tensor, tiles: Tensor,
    beta_gate: float, beta_up: float, eps: float, training: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """y, and for the backward pass h, u and the inverse root mean squares (else empty)."""
    (N, L), K, inner, M, G = z.shape, weights.shape[1], gate.shape[1], len(rows), len(tiles)
    table = launches(L, inner)
    a = z.new_empty(M, inner)
    h = z.new_empty((M, 2 * inner) if training else 0)
    launch = table.up
    up_kernel[(G * cdiv(inner, launch.block[0]),)](
        z, gate, up, weights, rows, ends, tiles, a, h, M, beta_gate, beta_up,
        L, inner, K, ROWS, launch.block[0], launch.depth, training, **launch.options(),
    )  # fmt: skip
    results = z.new_empty(M, L)
    launch = table.down
    down_kernel[(G * cdiv(L, launch.block[0]),)](
        a, down, ends, tiles, results, M, L, inner, ROWS, launch.block[0], launch.depth, **launch.options()
    )
    del a
    y = torch.empty_like(z)
    u = z.new_empty((N, L) if training else 0)
    inverse = z.new_empty(N if training else 0, dtype=torch.float32)
    launch = table.tokens
    combine_kernel[(cdiv(N, launch.block[0]),)](
        results, places, norm_weight, y, u, inverse, N, eps,
        L, next_power_of_2(L), K, launch.block[0], training, **launch.options(),
    )  # fmt: skip
    return y, h, u, inverse


def run_backward(
    dy: Tensor, z: Tensor, gate: Tensor, up: Tensor, down: Tensor, weights: Tensor, norm_weight: Tensor,
    rows: Tensor, places: Tensor, ends: Tensor, tiles: Tensor, h: Tensor, u: Tensor, inverse: Tensor,
    beta_gate: float, beta_up: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of z, gate, up, down, the weights of the routes and the norm's weight."""
    (N, L), K, inner, M, G = z.shape, weights.shape[1], gate.shape[1], len(rows), len(tiles)
    table = launches(L, inner)
    du, dnorm_weight = _norm_back(dy, u, inverse, norm_weight, table.tokens)

    dh, a = torch.empty_like(h), z.new_empty(M, inner)
    launch = table.inner
    blocks = cdiv(inner, launch.block[0])
    dweight_parts = torch.empty(blocks, N, K, dtype=torch.float32, device=z.device)
    inner_kernel[(G * blocks,)](
        du, down, weights, rows, ends, tiles, h, dh, a, dweight_parts, M, beta_gate, beta_up,
        L, inner, K, ROWS, launch.block[0], launch.depth, launch.block[1], **launch.options(),
    )  # fmt: skip
    ddown = torch.empty_like(down)
    launch = table.down_matrix
    matrices_kernel[_matrix_grid(down, L, inner, launch.block)](
        du, a, rows, ends, ddown, ddown, L, inner, L, K, *launch.block, launch.depth, True, **launch.options()
    )
    del a, du
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    launch = table.gate_and_up
    matrices_kernel[_matrix_grid(gate, 2 * inner, L, launch.block)](
        dh, z, rows, ends, dgate, dup, 2 * inner, L, inner, K, *launch.block, launch.depth, False, **launch.options()
    )
    results = z.new_empty(M, L)
    launch = table.back
    back_kernel[(G * cdiv(L, launch.block[0]),)](
        dh, gate, up, ends, tiles, results, M, L, inner, ROWS, launch.block[0], launch.depth, **launch.options()
    )
    del dh
    dz, dweights = torch.empty_like(z), torch.empty_like(weights)
    launch = table.tokens
    scatter_back_kernel[(cdiv(N, launch.block[0]),)](
        results, places, dweight_parts, dz, dweights, N,
        L, next_power_of_2(L), K, launch.block[0], blocks, **launch.options(),
    )  # fmt: skip
    return dz, dgate, dup, ddown, dweights, dnorm_weight


def _norm_back(
    dy: Tensor, u: Tensor, inverse: Tensor, norm_weight: Tensor, launch: Launch
) -> tuple[Tensor, Tensor]:  # fmt: skip
    N, L = dy.shape
    tokens = launch.block[0]
    steps = cdiv(N, tokens * _PROGRAMS)
    programs = cdiv(N, tokens * steps)
    du = torch.empty_like(dy)
    parts = torch.empty(programs, L, dtype=torch.float32, device=dy.device)
    norm_back_kernel[(programs,)](
        dy, u, inverse, norm_weight, du, parts, N, steps, L, next_power_of_2(L), tokens, **launch.options()
    )
    return du, parts.sum(0).to(norm_weight.dtype)


def _matrix_grid(stacked: Tensor, height: int, width: int, block: tuple[int, ...]) -> tuple[int]:
    return (len(stacked) * cdiv(height, block[0]) * cdiv(width, block[1]),)
