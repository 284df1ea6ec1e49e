"""Registers, spills and instructions of KDA's kernels as launched, compiled for an H200 without one.

    python -m k3data.model.kernels.kda.registers [head size …]

Not with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import sys

from ..registers import of_kernel
from . import backward, forward, local, products, segments, step
from .launch import Launch, launches

KERNELS = {
    "prepare": forward.prepare_kernel, "scan": forward.scan_kernel, "rows": backward.rows_kernel,
    "reverse": backward.reverse_kernel, "pairs": local.pairs_kernel, "inner": products.inner_kernel,
    "gate": local.gate_kernel, "carry": segments.carry_kernel, "carry_back": segments.carry_back_kernel,
    "pass_on": segments.pass_on_kernel, "step": step.step_kernel,
}  # fmt: skip
_INTEGERS = {"table", "walks", "cuts"}
_WIDE = {"A_log", "dt_bias", "decay", "lengths", "initial", "passed", "final", "dfinal", "dinitial", "along", "dA_log",
         "ddt_bias", "carried", "across", "state"}  # fmt: skip


def compiled(name: str, head_dim: int, flags: dict[str, bool], launch: Launch | None = None) -> dict[str, int]:
    """Of one kernel of KDA, as `of_kernel` says. `flags` are constants of it such as PACKED, False unless given."""
    launch = launch or getattr(launches(head_dim, head_dim), name)
    kernel = KERNELS[name]
    sizes = {
        "K": head_dim, "V": head_dim, "SLICE": launch.slice, "WARPS": launch.num_warps, "STRIDE": 16 * head_dim,
        "BLOCK": launch.block, "STAGES": launch.num_stages, "AHEAD": launch.ahead, "PARTS": launch.parts,
    }  # fmt: skip
    arguments = {argument: argument.removesuffix("_ptr") for argument in kernel.arg_names}
    constants = {
        argument: launch.precision if argument == "PRECISION" else sizes.get(argument, flags.get(argument, False))
        for argument in arguments
        if argument.isupper() and argument not in "TH"
    }
    types = {
        argument: "*i32" if pointer in _INTEGERS else "*fp32" if pointer in _WIDE else "*bf16"
        for argument, pointer in arguments.items()
        if pointer != argument
    }
    return of_kernel(kernel, constants, {"scale": "fp32", "lower_bound": "fp32", **types}, launch.options())


def main() -> None:
    for head_dim in map(int, sys.argv[1:] or ["128"]):
        for name in KERNELS:
            for flags in (
                {"TRAINING": True},
                dict.fromkeys(("TRAINING", "PACKED", "TABLE", "CUT", "HAS_INITIAL"), True),
            ):
                print(head_dim, name, "packed, cut" if "CUT" in flags else "plain", compiled(name, head_dim, flags))
            if name == "pass_on":
                print(head_dim, name, "back", compiled(name, head_dim, {"BACK": True}))


if __name__ == "__main__":
    main()
