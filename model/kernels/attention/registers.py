"""Registers, spills and instructions of the attention kernels as launched, compiled for an H200 without one.

    python -m k3data.model.kernels.attention.registers [channels of keys, channels of values …]

Not with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import sys
from typing import Any

from ..registers import of_kernel
from . import backward, forward
from .launch import DELTA_ROWS, Launch, launches, parts, width

KERNELS = {"forward": forward.attention_kernel, "keys": backward.keys_kernel, "queries": backward.queries_kernel}
SHAPES = ((192, 128), (96, 64), (64, 64), (48, 32), (128, 128))
"""Channels of keys and of values: of the small model, of nano, of the vision tower, of the tiniest."""


def of_attention(
    name: str, keys: int, values: int, causal: bool, launch: Launch | None = None,
    cut: tuple[int, int] | None = None,
) -> dict[str, int]:  # fmt: skip
    """`cut` are other widths of the parts of queries and keys than the table's."""
    launch = launch or getattr(launches(keys, values), name)
    K1, K2 = cut or parts(keys)
    constants: dict[str, Any] = {
        "K": keys, "K1": K1, "K2": K2, "V": values, "VW": width(values), "R": launch.rows, "C": launch.columns,
        "CAUSAL": causal,
    }  # fmt: skip
    types = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "do_ptr", "dq_ptr", "dk_ptr", "dv_ptr"), "*bf16")
    types |= dict.fromkeys(("o_ptr", "log_sum_ptr", "delta_ptr"), "*fp32") | {"tiles_ptr": "*i32", "scale": "fp32"}
    return of_kernel(KERNELS[name], constants, types, launch.options())


def of_delta(values: int) -> dict[str, int]:
    constants = {"V": values, "VW": width(values), "R": DELTA_ROWS}
    types = {"do_ptr": "*fp32", "o_ptr": "*fp32", "rounded_ptr": "*bf16", "delta_ptr": "*fp32"}
    return of_kernel(backward.delta_kernel, constants, types, {"num_warps": 4})


def main() -> None:
    given = list(map(int, sys.argv[1:]))
    for keys, values in zip(given[::2], given[1::2], strict=True) if given else SHAPES:
        for name in KERNELS:
            for causal in (True, False):
                way = "causal" if causal else "whole"
                print(f"{name} {keys}/{values} {way}: {of_attention(name, keys, values, causal)}")
        print(f"delta {values}: {of_delta(values)}")


if __name__ == "__main__":
    main()
