"""`attention`: checks, and the kernels as custom operators that autograd and torch.compile know.

Letters: B batch, T tokens, H heads, K channels of queries and keys, V channels of values, N = B·T, M tiles.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..launch import cdiv
from .backward import delta_kernel, keys_kernel, queries_kernel
from .forward import attention_kernel
from .launch import DELTA_ROWS, WIDEST_KEYS, WIDEST_VALUES, launches, parts, width
from .rows import UNIT as _UNIT
from .tiles import TileTable

UNIT = _UNIT.value
_DTYPES = (torch.bfloat16, torch.float32)


def attention(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, tiles: TileTable, *,
    causal: bool = True, scale: float | None = None, fp32_output: bool = False,
) -> Tensor:  # fmt: skip
    """o_BTHV = softmax(q kᵀ · scale) v over the group of each token, as `model.attention.attention` has it.

    Operands in bf16 (in the interpreter also fp32), o in their dtype, or with `fp32_output` in fp32. Scores, softmax
    and all sums are in fp32; probabilities are rounded to bf16 for their product with the values, as are they and the
    gradients of scores for the products of the backward pass, and what arrives as the gradient of o. `tiles` is made
    once for a batch of the groups' bounds; `causal` leaves out the tokens after each one; `scale` is K^-1/2 unless
    given. Differentiable, once, in q, k and v.

    Operands may have any strides between tokens and heads that are multiples of 8; others are copied. The bits of a
    group's results depend on nothing outside it, and when causal, those of its beginning on nothing behind it.

    Raises ValueError for dtypes, shapes and devices that do not fit, more than 192 channels of keys or 128 of values,
    channels that are not multiples of 8, a scale that is not positive, tiles of another number of tokens, and without
    a GPU (unless TRITON_INTERPRET=1).
    """
    _check(q_BTHK, k_BTHK, v_BTHV, tiles)
    K, V = q_BTHK.shape[-1], v_BTHV.shape[-1]
    scale = K**-0.5 if scale is None else float(scale)
    if not scale > 0:
        raise ValueError(f"the scale must be positive, not {scale}")
    launch = launches(K, V)
    tables = (
        tiles.queries(launch.forward.rows, causal),
        tiles.keys(launch.keys.rows, causal),
        tiles.queries(launch.queries.rows, causal),
    )
    o_BTHV, _ = _forward(q_BTHK, k_BTHK, v_BTHV, *tables, causal, scale, fp32_output)
    return o_BTHV


def _check(q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, tiles: TileTable) -> None:
    if q_BTHK.ndim != 4:
        raise ValueError(f"q must be [B, T, H, K], not {list(q_BTHK.shape)}")
    for name, x in {"q": q_BTHK, "k": k_BTHK, "v": v_BTHV}.items():
        if x.dtype not in _DTYPES or x.dtype != q_BTHK.dtype:
            raise ValueError(f"{name} is {x.dtype}, but the kernels take {' or '.join(map(str, _DTYPES))}, one for all")
        if x.device != tiles.device:
            raise ValueError(f"{name} is on {x.device} and the tiles on {tiles.device}")
    if k_BTHK.shape != q_BTHK.shape or v_BTHV.shape[:-1] != q_BTHK.shape[:-1]:
        shapes = f"{list(k_BTHK.shape)} and {list(v_BTHV.shape)}"
        raise ValueError(f"k and v are {shapes}, which do not go with q of {list(q_BTHK.shape)}")
    for name, channels, most in (("keys", q_BTHK.shape[-1], WIDEST_KEYS), ("values", v_BTHV.shape[-1], WIDEST_VALUES)):
        if not 0 < channels <= most or channels % UNIT:
            raise ValueError(f"{name} have {channels} channels, but the kernels take multiples of 8 up to {most}")
    if tiles.tokens != q_BTHK.shape[0] * q_BTHK.shape[1]:
        raise ValueError(f"the tiles are of {tiles.tokens} tokens, but the input has {list(q_BTHK.shape[:2])}")


def _runs(q: Tensor) -> None:
    on_gpu(q)
    if q.is_cuda and q.dtype != torch.bfloat16:
        raise ValueError(f"on a GPU the kernels take torch.bfloat16, not {q.dtype}")


def _rows(x: Tensor) -> Tensor:
    """[B, T, H, channels] as [N, H, channels] with channels side by side: a view where strides allow it."""
    x_NHD = x.flatten(0, 1)
    aligned = x_NHD.stride(-1) == 1 and not any(stride % UNIT for stride in x_NHD.stride()[:-1])
    return x_NHD if aligned else x_NHD.contiguous()


def _strides(*operands: Tensor) -> list[int]:
    """Of tokens and heads, as the kernels take them."""
    return [stride // UNIT for x in operands for stride in x.stride()[:2]]


@custom_op("k3data::attention")
def _forward(
    q: Tensor, k: Tensor, v: Tensor, tiles: Tensor, key_tiles: Tensor, query_tiles: Tensor,
    causal: bool, scale: float, fp32_output: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """o, and the logarithms of the sums, [H, N] in fp32. The last two tables are for the backward pass."""
    _runs(q)
    (B, T, H, K), V = q.shape, v.shape[-1]
    o = q.new_empty(B, T, H, V, dtype=torch.float32 if fp32_output else q.dtype)
    log_sum = q.new_empty(H, B * T, dtype=torch.float32)
    operands, launch = [_rows(x) for x in (q, k, v)], launches(K, V).forward
    if o.numel():
        attention_kernel[(len(tiles), H)](
            *operands, o, log_sum, tiles, B * T, *_strides(*operands), scale,
            K, *parts(K), V, width(V), launch.rows, launch.columns, causal, **launch.options(),
        )  # fmt: skip
    return o, log_sum


@_forward.register_fake
def _(q, k, v, tiles, key_tiles, query_tiles, causal, scale, fp32_output):  # type: ignore[no-untyped-def]
    B, T, H, _ = q.shape
    o = q.new_empty(B, T, H, v.shape[-1], dtype=torch.float32 if fp32_output else q.dtype)
    return o, q.new_empty(H, B * T, dtype=torch.float32)


@custom_op("k3data::attention_backward")
def _backward(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, log_sum: Tensor, key_tiles: Tensor, query_tiles: Tensor,
    causal: bool, scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k and v."""
    _runs(q)
    (H, K), V, N = q.shape[2:], v.shape[-1], q.shape[0] * q.shape[1]
    dq, dk, dv = (x.new_empty(x.shape) for x in (q, k, v))
    if not do.numel():
        return dq, dk, dv
    delta, rounded = torch.empty_like(log_sum), None if do.dtype == q.dtype else do.new_empty(do.shape, dtype=q.dtype)
    delta_kernel[(cdiv(N * H, DELTA_ROWS),)](do, o, rounded, delta, N, H, V, width(V), DELTA_ROWS, num_warps=4)
    operands, launch = [_rows(x) for x in (q, k, v)], launches(K, V)
    given = (*operands, do if rounded is None else rounded, log_sum, delta)
    sizes, widths = (N, *_strides(*operands), scale), (K, *parts(K), V, width(V))
    keys_kernel[(len(key_tiles), H)](
        *given, dk, dv, key_tiles, *sizes,
        *widths, launch.keys.rows, launch.keys.columns, causal, **launch.keys.options(),
    )  # fmt: skip
    queries_kernel[(len(query_tiles), H)](
        *given, dq, query_tiles, *sizes,
        *widths, launch.queries.rows, launch.queries.columns, causal, **launch.queries.options(),
    )  # fmt: skip
    return dq, dk, dv


@_backward.register_fake
def _(do: Tensor, q: Tensor, k: Tensor, v: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, _, key_tiles, query_tiles, ctx.causal, ctx.scale, _ = inputs
    ctx.save_for_backward(q, k, v, *output, key_tiles, query_tiles)
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, do: Tensor | None, _unused: None) -> tuple[Tensor | None, ...]:
    saved = ctx.saved_tensors  # once: activations that are made again are made at each look
    do = torch.zeros_like(saved[3]) if do is None else do.contiguous()
    return *_backward(do, *saved, ctx.causal, ctx.scale), *(None,) * 6


_forward.register_autograd(_gradients, setup_context=_save)
