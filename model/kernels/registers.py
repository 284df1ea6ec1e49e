"""Registers, spills and instructions of a kernel, compiled for an H200 without one.

Compiles by Triton and its own ptxas for sm_90, so it also finds what the interpreter lets pass: types that disagree,
shared memory that is not there. It runs nothing. What each package launches is in its own `registers.py`:

    python -m k3data.model.kernels.kda.registers          and of fused, and of moe; not with TRITON_INTERPRET=1
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import triton
import triton.backends.nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

_ALIGNED = [["tt.divisibility", 16]]
_SHARED = 227 * 1024


def of_kernel(
    kernel: Any, constants: Mapping[str, Any], types: Mapping[str, str | tuple[str | None, ...] | None],
    options: Mapping[str, int | None],
) -> dict[str, int]:  # fmt: skip
    """Registers and bytes of stack a thread, bytes of shared memory, instructions, spills.

    `types` are Triton's names of types, such as "*bf16" (aligned to 16 bytes) or "fp32"; None is what the kernel gets
    as None; an argument that is in neither is an int32. Raises what the compiler raises, and ValueError for more shared
    memory than an H200 has.
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
    wanted = {key: value for key, value in options.items() if value is not None}
    found = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=wanted)
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
