"""Registers, spills and instructions of the fused kernels as launched, compiled for an H200 without one.

    python -m k3data.model.kernels.fused.registers [name of a kernel …]

As `kernels/registers.py` does it for any kernel, but for arguments that are tuples of pointers as well.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ..registers import _SHARED, _tool
from . import mix_kernels
from .launch import PROGRAMS, Launch, mix_launch

_ALIGNED = [["tt.divisibility", 16]]
Types = dict[str, str | tuple[str | None, ...] | None]
"""Of arguments, Triton's names of types; None is what the kernel gets as None; an argument without one is an int32."""


def of_kernel(kernel: Any, constants: dict[str, Any], types: Types, launch: Launch) -> dict[str, int]:
    """Registers and bytes of stack a thread, bytes of shared memory, instructions, spills.

    Raises what the compiler raises, and ValueError for more shared memory than an H200 has.
    """
    signature: dict[str, Any] = {}
    fixed: dict[Any, Any] = dict(constants)
    aligned: dict[tuple[int, ...], Any] = {}
    for place, name in enumerate(kernel.arg_names):
        kind = "constexpr" if name in constants else types.get(name, "i32")
        parts = kind if isinstance(kind, tuple) else (kind,)
        for inner, part in enumerate(parts):
            at = (place, inner) if isinstance(kind, tuple) else (place,)
            if part is None:
                fixed[at] = None
            elif part.startswith("*"):
                aligned[at] = _ALIGNED
        named = tuple("constexpr" if part is None else part for part in parts)
        signature[name] = named if isinstance(kind, tuple) else named[0]
    source = ASTSource(kernel, signature, constexprs=fixed, attrs=aligned)
    options = {key: value for key, value in launch.options().items() if value is not None}
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


def of_mix(channels: int, sources: int, backward: bool, launch: Launch | None = None) -> dict[str, int]:
    """With an `added` and the norm behind; one gradient arrives beside that of x, as in training."""
    launch = launch or mix_launch(channels, sources, backward)
    constants = {"S": sources, "D": channels, "WIDTH": launch.width, "ROWS": launch.rows, "HELD": launch.held}
    mixing = "*fp32" if sources > 1 else None
    types: Types = {"query_ptr": mixing, "norm_weight_ptr": mixing, "out_weight_ptr": "*fp32", "stats_ptr": mixing}
    types |= {"sources": ("*bf16",) * sources, "eps": "fp32", "out_eps": "fp32"}
    if not backward:
        types |= dict.fromkeys(("added_ptr", "sum_ptr", "x_ptr"), "*bf16")
        return of_kernel(mix_kernels.mix_kernel, constants, types, launch)
    types |= {"arriving": (*[None] * (sources - 1), "*bf16"), "dsources": ("*bf16",) * sources}
    types |= {"dx_ptr": "*bf16", "partials_ptr": "*fp32"}
    return of_kernel(mix_kernels.mix_backward_kernel, {**constants, "PROGRAMS": PROGRAMS}, types, launch)


def main() -> None:
    for channels in (192, 512, 1024, 7168):
        for sources in (1, 2, 5, 9):
            for backward in (False, True):
                name = f"mix{' backward' if backward else ''}, {channels} channels, {sources} sources:"
                print(name, of_mix(channels, sources, backward), flush=True)


if __name__ == "__main__":
    main()
