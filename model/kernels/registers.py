"""Registers, spills and instructions of every kernel as launched, compiled for an H200 without one.

    python -m k3data.model.kernels.registers [head size …]

Compiles by Triton and its own ptxas for sm_90, so it also finds what the interpreter lets pass: types that disagree,
shared memory that is not there. It runs nothing. Not with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import triton
import triton.backends.nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from .kda import backward, forward, local, segments, step
from .kda.launch import Launch, launches

KERNELS = {
    "prepare": forward.prepare_kernel, "scan": forward.scan_kernel, "rows": backward.rows_kernel,
    "reverse": backward.reverse_kernel, "pairs": local.pairs_kernel, "inner": local.inner_kernel,
    "gate": local.gate_kernel, "carry": segments.carry_kernel, "carry_back": segments.carry_back_kernel,
    "pass_on": segments.pass_on_kernel, "step": step.step_kernel,
}  # fmt: skip
_INTEGERS = {"table", "walks", "cuts"}
_WIDE = {"A_log", "dt_bias", "decay", "lengths", "initial", "passed", "final", "dfinal", "dinitial", "along", "dA_log",
         "ddt_bias", "carried", "across", "state"}  # fmt: skip
_SHARED = 227 * 1024


def compiled(name: str, head_dim: int, flags: dict[str, bool], launch: Launch | None = None) -> dict[str, int]:
    """Of one kernel of KDA, as `of_kernel` says. `flags` are constants of it such as PACKED, False unless given."""
    launch = launch or getattr(launches(head_dim, head_dim), name)
    sizes = {"K": head_dim, "V": head_dim, "SLICE": launch.slice, "WARPS": launch.num_warps}
    arguments = {argument: argument.removesuffix("_ptr") for argument in KERNELS[name].arg_names}
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
    return of_kernel(KERNELS[name], constants, {"scale": "fp32", "lower_bound": "fp32", **types}, launch.options())


def of_kernel(
    kernel: Any, constants: dict[str, Any], types: dict[str, str], options: dict[str, int | None]
) -> dict[str, int]:
    """Registers and bytes of stack a thread, bytes of shared memory, instructions, spills.

    `types` are Triton's names, such as "*bf16" (aligned to 16 bytes) or "fp32"; an argument that is in neither is an
    int32. Raises what the compiler raises, and ValueError for more shared memory than an H200 has.
    """
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in kernel.arg_names}
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(kernel.arg_names)
        if signature[name].startswith("*")
    }
    source = ASTSource(kernel, signature, constexprs=constants, attrs=aligned)
    options = {key: value for key, value in options.items() if value is not None}
    found = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    if found.metadata.shared > _SHARED:
        raise ValueError(f"{kernel.__name__} wants {found.metadata.shared} bytes of shared memory")
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(found.asm["cubin"])
        usage, code = _tool("cuobjdump", "-res-usage", cubin), _tool("nvdisasm", "-c", cubin)
    registers, stack = re.findall(r"REG:(\d+) STACK:(\d+)", usage)[0]
    instructions = re.findall(r"^\s+/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\d+ )?([A-Z0-9_]+)", code, re.MULTILINE)
    return {
        "registers": int(registers), "stack": int(stack), "shared": found.metadata.shared,
        "instructions": len(instructions), "spills": instructions.count("LDL") + instructions.count("STL"),
    }  # fmt: skip


def _tool(name: str, *arguments: str | Path) -> str:
    path = Path(triton.backends.nvidia.__file__).parent / "bin" / name
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout


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
