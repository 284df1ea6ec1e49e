"""What each pass launches, in which order, and in which memory.

Letters: B batch, T tokens, N sequences, M chunks, Z segments, H heads, K key channels, V value channels, G heads of a
group.
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import chunks
from .backward import reverse_kernel, rows_kernel
from .chunks import CHUNK, batch_table
from .forward import prepare_kernel, scan_kernel
from .launch import launches
from .local import gate_kernel, pairs_kernel
from .products import inner_kernel, ones_of_rows
from .segments import carry_back_kernel, carry_kernel, pass_on_kernel
from .workspace import head_groups


class Sizes:
    def __init__(
        self, q: Tensor, v: Tensor, rows: Tensor | None, walks: Tensor | None, cuts: Tensor | None
    ) -> None:  # fmt: skip
        self.B, self.T, self.H, self.K = q.shape
        self.V = v.shape[-1]
        self.chunks_of_row = -(-self.T // CHUNK)
        self.M = self.B * self.chunks_of_row if rows is None else len(rows)
        self.N = self.B if cuts is None else len(cuts)
        self.Z = self.B * chunks.cuts_of(self.H).segments(self.T) if walks is None else len(walks)
        self.cut = self.Z > self.N

    def tables(
        self, q: Tensor, walks: Tensor | None, cuts: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
        """Those of the rows of a batch are made here, where they are long enough to be cut."""
        if walks is not None or not self.cut:
            return walks, cuts
        table = batch_table(self.B, self.T, chunks.cuts_of(self.H), q.device)
        return table.walks_Z8, table.cuts_N2


def run_forward(
    q: Tensor, k: Tensor, v: Tensor, z: Tensor, beta: Tensor, A_log: Tensor, dt_bias: Tensor,
    initial: Tensor | None, rows: Tensor | None, walks: Tensor | None, cuts: Tensor | None,
    lower_bound: float, scale: float, training: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """o, the final states, entering, written, a, x, lengths, across; the last six empty but for training."""
    sizes = Sizes(q, v, rows, walks, cuts)
    walks, cuts = sizes.tables(q, walks, cuts)
    M, H, K, V = sizes.M, sizes.H, sizes.K, sizes.V
    q_plus, k_plus, k_end = (q.new_empty(M, H, CHUNK, K) for _ in range(3))
    a, x = (q.new_empty(M, H, CHUNK, CHUNK) for _ in range(2))
    decay = q.new_empty(M, H, K, dtype=torch.float32)
    lengths = q.new_empty(M, H, 3, CHUNK, dtype=torch.float32)
    table = launches(K, V)
    launch = table.prepare
    prepare_kernel[(M * H,)](
        q, k, z, beta, A_log, dt_bias, rows, q_plus, k_plus, k_end, a, x, decay, lengths,
        sizes.T, H, sizes.chunks_of_row, scale, lower_bound,
        K, launch.slice, rows is not None, launch.num_warps, H * K, **launch.options(),
    )  # fmt: skip
    passed, across = None, q.new_empty(0, dtype=torch.float32)
    if sizes.cut:
        carried, passed = (q.new_empty(sizes.Z, H, V, K, dtype=torch.float32) for _ in range(2))
        across = q.new_empty(sizes.Z, H, K, K, dtype=torch.float32)
        launch = table.carry
        carry_kernel[(sizes.Z * H * ((V + K) // launch.slice),)](
            k_plus, k_end, x, decay, lengths, v, initial, walks, carried, across,
            H, K, V, launch.slice, initial is not None, training, launch.ahead, **launch.options(),
        )  # fmt: skip
        launch = table.pass_on
        pass_on_kernel[(sizes.N * H * (V // launch.slice),)](
            carried, across, cuts, passed, H, 0, H, K, V, launch.slice, False, launch.precision, **launch.options()
        )
        del carried
    o = torch.empty_like(v)
    final = q.new_empty(sizes.N, H, K, V, dtype=torch.float32)
    entering = q.new_empty((M, H, V, K) if training else 0)
    written = q.new_empty((M, H, V, CHUNK) if training else 0)
    launch = table.scan
    scan_kernel[(sizes.Z * H * (V // launch.slice),)](
        q_plus, k_plus, k_end, a, x, decay, lengths, v, initial, passed, walks, o, final, entering, written,
        sizes.T, H, sizes.chunks_of_row, scale,
        K, V, launch.slice, walks is not None, sizes.cut, initial is not None, training, launch.ahead,
        **launch.options(),
    )  # fmt: skip
    if not training:
        none = [q.new_empty(0, dtype=dtype) for dtype in (*[q.dtype] * 4, *[torch.float32] * 2)]
        return o, final, none[0], none[1], none[2], none[3], none[4], none[5]
    return o, final, entering, written, a, x, lengths, across


def run_backward(
    do: Tensor, dfinal: Tensor | None,
    q: Tensor, k: Tensor, v: Tensor, z: Tensor, beta: Tensor, A_log: Tensor, dt_bias: Tensor,
    initial: Tensor | None, rows: Tensor | None, walks: Tensor | None, cuts: Tensor | None,
    o: Tensor, entering: Tensor, written: Tensor, a: Tensor, x: Tensor, lengths: Tensor, across: Tensor,
    lower_bound: float, scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v, z, beta, A_log, dt_bias and of the initial states (else empty)."""
    sizes = Sizes(q, v, rows, walks, cuts)
    walks, cuts = sizes.tables(q, walks, cuts)
    M, H, K, V, T = sizes.M, sizes.H, sizes.K, sizes.V, sizes.T
    packed, cut = rows is not None, sizes.cut
    table = launches(K, V)
    key_slices = K // table.gate.slice
    dq, dk, dv, dz, dbeta = (torch.empty_like(tensor) for tensor in (q, k, v, z, beta))
    dinitial = q.new_empty(0 if initial is None else initial.shape, dtype=torch.float32)
    dA_log_parts = q.new_empty(M, H, key_slices, dtype=torch.float32)
    ddt_bias_parts = q.new_empty(M, H, K, dtype=torch.float32)
    ones = ones_of_rows(q.dtype, q.device)
    for first, G, inner_groups in head_groups(M, sizes.Z if cut else 0, H, K, V, q.itemsize):
        k_end = q.new_empty(M, G, CHUNK, K)
        decay = q.new_empty(M, G, K, dtype=torch.float32)
        launch = table.rows
        rows_kernel[(M * G * (K // launch.slice),)](
            q, k, z, A_log, dt_bias, rows, lengths, dq, dk, k_end, decay,
            T, H, sizes.chunks_of_row, first, G, scale, lower_bound,
            K, launch.slice, packed, launch.num_warps, **launch.options(),
        )  # fmt: skip
        passed = None
        if cut:
            carried, passed = (q.new_empty(sizes.Z, G, V, K, dtype=torch.float32) for _ in range(2))
            launch = table.carry_back
            carry_back_kernel[(sizes.Z * G * (V // launch.slice),)](
                do, dfinal, dq, dk, k_end, a, x, decay, lengths, walks, carried,
                H, first, G, K, V, launch.slice, dfinal is not None, launch.ahead, **launch.options(),
            )  # fmt: skip
            launch = table.pass_on
            pass_on_kernel[(sizes.N * G * (V // launch.slice),)](
                carried, across, cuts, passed, H, first, G, K, V, launch.slice, True, launch.precision,
                **launch.options(),
            )  # fmt: skip
            del carried
        leaving = q.new_empty(M, G, V, K)
        launch = table.reverse
        reverse_kernel[(sizes.Z * G * (V // launch.slice),)](
            do, dfinal, dq, dk, k_end, a, x, decay, lengths, passed, walks, leaving, dv, dinitial,
            T, H, sizes.chunks_of_row, first, G,
            K, V, launch.slice, walks is not None, cut, dfinal is not None, initial is not None, launch.ahead,
            **launch.options(),
        )  # fmt: skip
        del k_end, decay, passed
        for own_first, own in inner_groups:
            dA, dP = (q.new_empty(M, own, CHUNK, CHUNK) for _ in range(2))
            along = q.new_empty(M, own, 2, CHUNK, dtype=torch.float32)
            pairs_kernel[(M * own,)](
                v, beta, o, do, written, dv, lengths, rows, dA, dP, along, dbeta,
                T, H, sizes.chunks_of_row, own_first, own, scale, V, packed, **table.pairs.options(),
            )  # fmt: skip
            launch = table.inner
            inner_kernel[(M * own * (K // launch.slice),)](
                q, k, z, A_log, dt_bias, rows, do, dv, entering, dA, dP, lengths, along, ones, dq, dk, dz,
                T, H, sizes.chunks_of_row, own_first, own, scale, lower_bound,
                K, V, launch.slice, packed, launch.ahead, launch.parts, **launch.options(),
            )  # fmt: skip
            launch = table.gate
            gate_kernel[(M * own * (K // launch.slice),)](
                k, z, A_log, dt_bias, rows, along, written, entering, leaving,
                dk, dz, dA_log_parts, ddt_bias_parts,
                T, H, sizes.chunks_of_row, own_first, own, first, G, lower_bound,
                K, V, launch.slice, packed, launch.num_warps,
                H * K, launch.block, launch.num_stages, launch.ahead, **launch.options(),
            )  # fmt: skip
            del dA, dP, along
        del leaving
    dA_log = dA_log_parts.sum((0, 2)).to(A_log.dtype)
    ddt_bias = ddt_bias_parts.sum(0).flatten().to(dt_bias.dtype)
    return dq, dk, dv, dz, dbeta, dA_log, ddt_bias, dinitial
