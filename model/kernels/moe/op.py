"""`experts`: checks, and the kernels as custom operators that autograd and torch.compile know.

    u_n = Σ_j p_nj W_down f(W_gate z_n, W_up z_n)        y = u / √(mean u² + eps) · w        (K3 report, Eq. 11 and 12)

with the matrices of the token's j-th expert: the routed branch of `model/moe.py` between its two projections, which is
`Experts` and the `RMSNorm` behind it.

Kept for the backward pass, but for what came in: g and u' = W_up z of each row, u and a number of each token. In bf16
4 I bytes a row and 2 L + 4 a token; the PyTorch operators keep 6 L + 6 I a row and 8 L a token.

Letters: N tokens, K experts of a token, M = N·K rows, E experts, L latent width, I inner width, G tiles.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..launch import cdiv
from .launch import ROWS
from .passes import run_backward, run_forward

__all__ = ["experts"]


class Ordered(Protocol):
    """Rows sorted by expert, as `order` gives them with a block of `launch.ROWS`."""

    @property
    def rows_M(self) -> Tensor: ...
    @property
    def places_NK(self) -> Tensor: ...
    @property
    def ends_E(self) -> Tensor: ...
    @property
    def tiles_G2(self) -> Tensor: ...


def experts(
    z_NL: Tensor, gate_EIL: Tensor, up_EIL: Tensor, down_ELI: Tensor, weights_NK: Tensor, norm_weight_L: Tensor,
    order: Ordered, *,
    beta_gate: float = 4.0, beta_up: float = 25.0, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """y_NL in z's dtype. z and the matrices are in bf16, `weights_NK` (p) in fp32, the norm's weight in either.

    `order` is of the experts of these weights, with tiles of `launch.ROWS` rows. Differentiable, once, in z, the
    matrices, p and the norm's weight; a matrix that no token goes to has the gradient zero. A token's y and dz have the
    same bits in any batch, and all results the same in any run. Operands that are not contiguous are copied.

    Raises ValueError for dtypes, shapes and devices that do not fit, for widths that are no multiples of 8, for tiles
    of other sizes, and without a GPU (unless TRITON_INTERPRET=1, where z and the matrices may be in fp32).
    """
    operands = {
        "z": z_NL, "gate": gate_EIL, "up": up_EIL, "down": down_ELI, "weights": weights_NK,
        "norm_weight": norm_weight_L,
        "rows": order.rows_M, "places": order.places_NK, "ends": order.ends_E, "tiles": order.tiles_G2,
    }  # fmt: skip
    _check(operands)
    tensors = [x.contiguous() for x in operands.values()]
    training = torch.is_grad_enabled() and any(x.requires_grad for x in operands.values())
    y_NL, *_ = _forward(*tensors, float(beta_gate), float(beta_up), float(eps), training)
    return y_NL


def _check(operands: dict[str, Tensor]) -> None:
    """Raises ValueError that names the operand whose shape, dtype or device does not fit."""
    z, gate, weights = operands["z"], operands["gate"], operands["weights"]
    if z.ndim != 2 or gate.ndim != 3 or weights.ndim != 2:
        raise ValueError(
            f"z, gate and weights must be [N, L], [E, I, L] and [N, K], "
            f"not {list(z.shape)}, {list(gate.shape)} and {list(weights.shape)}"
        )
    (N, L), (E, inner, _), K = z.shape, gate.shape, weights.shape[1]
    M = N * K
    if not M:
        raise ValueError("there are no tokens")
    if L % 8 or inner % 8:
        raise ValueError(f"the latent and inner widths must be multiples of 8, not {L} and {inner}")
    shapes = {
        "z": (N, L), "gate": (E, inner, L), "up": (E, inner, L), "down": (E, L, inner),
        "weights": (N, K), "norm_weight": (L,),
        "rows": (M,), "places": (N, K), "ends": (E,), "tiles": (cdiv(M, ROWS) + min(E, M), 2),
    }  # fmt: skip
    matrices = (torch.bfloat16,) if z.device.type == "cuda" else (torch.bfloat16, torch.float32)
    dtypes = {
        "z": matrices, "gate": (z.dtype,), "up": (z.dtype,), "down": (z.dtype,), "weights": (torch.float32,),
        "norm_weight": (torch.bfloat16, torch.float32),
    }  # fmt: skip
    for name, tensor in operands.items():
        if tuple(tensor.shape) != shapes[name]:
            raise ValueError(f"{name} is {list(tensor.shape)}, but must be {list(shapes[name])} to go with the others")
        allowed = dtypes.get(name, (torch.int32,))
        if tensor.dtype not in allowed:
            raise ValueError(f"{name} is {tensor.dtype}, but the kernels take {' or '.join(map(str, allowed))}")
        if tensor.device != z.device:
            raise ValueError(f"{name} is on {tensor.device} and z on {z.device}")


@custom_op("k3data::experts_forward")
def _forward(
    z: Tensor, gate: Tensor, up: Tensor, down: Tensor, weights: Tensor, norm_weight: Tensor,
    rows: Tensor, places: Tensor, ends: Tensor, tiles: Tensor,
    beta_gate: float, beta_up: float, eps: float, training: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """y, and for the backward pass h, u and the inverse root mean squares (else empty)."""
    on_gpu(z)
    return run_forward(
        z, gate, up, down, weights, norm_weight, rows, places, ends, tiles, beta_gate, beta_up, eps, training
    )


@_forward.register_fake
def _(z, gate, up, down, weights, norm_weight, rows, places, ends, tiles, beta_gate, beta_up, eps, training):  # type: ignore[no-untyped-def]
    N, L = z.shape
    h = z.new_empty((rows.shape[0], 2 * gate.shape[1]) if training else 0)
    u = z.new_empty((N, L) if training else 0)
    return torch.empty_like(z), h, u, z.new_empty(N if training else 0, dtype=torch.float32)


@custom_op("k3data::experts_backward")
def _backward(
    dy: Tensor, z: Tensor, gate: Tensor, up: Tensor, down: Tensor, weights: Tensor, norm_weight: Tensor,
    rows: Tensor, places: Tensor, ends: Tensor, tiles: Tensor, h: Tensor, u: Tensor, inverse: Tensor,
    beta_gate: float, beta_up: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of z, gate, up, down, the weights of the routes and the norm's weight."""
    return run_backward(
        dy, z, gate, up, down, weights, norm_weight, rows, places, ends, tiles, h, u, inverse, beta_gate, beta_up
    )


@_backward.register_fake
def _(dy: Tensor, *operands: Any) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(x) for x in operands[:6])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, beta_gate, beta_up, _, _ = inputs
    ctx.save_for_backward(*tensors, *output[1:])
    ctx.set_materialize_grads(False)
    ctx.betas = beta_gate, beta_up


def _gradients(ctx: Any, dy: Tensor | None, *_unused: None) -> tuple[Tensor | None, ...]:
    if dy is None:
        return (None,) * 14
    return (*_backward(dy.contiguous(), *ctx.saved_tensors, *ctx.betas), *(None,) * 8)


_forward.register_autograd(_gradients, setup_context=_save)
