"""Launches find what Triton compiles for their arguments: on a CPU, with a driver that writes launches down instead."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LAUNCHES = '''
import types
import pytest, torch, triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction
from k3data.model.kernels.jit import kernel

launched = []

class Driver:
    utils = types.SimpleNamespace(
        load_binary=lambda *_: (1, 2, 3, 4, 1024), get_device_properties=lambda _: {"max_shared_mem": 232448}
    )
    get_current_device = staticmethod(lambda: DEVICE[0])
    get_current_stream = staticmethod(lambda _: 7)
    get_current_target = staticmethod(lambda: GPUTarget("cuda", 90, 32))
    get_active_torch_device = staticmethod(lambda: torch.device("cpu"))

    @staticmethod
    def launcher_cls(source, metadata):
        return lambda x, y, z, stream, function, packed, *rest: launched.append(
            ((x, y, z), stream, source.signature, source.constants, source.attrs, metadata.num_warps, rest[3:])
        )

DEVICE = [-1]  # as a tensor of the CPU says
driver.set_active(Driver)

@kernel(do_not_specialize=["N", "scale"])
def copy_kernel(x_ptr, y_ptr, other_ptrs, N, scale, BLOCK: tl.constexpr, FLAG: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < N) + tl.load(other_ptrs[0] + place, mask=place < N)
    tl.store(y_ptr + place, x * scale, mask=place < N)

plain = JITFunction(copy_kernel.fn, do_not_specialize=["N", "scale"])

def addresses(value):
    if isinstance(value, tuple):
        return tuple(map(addresses, value))
    return value.data_ptr() if isinstance(value, torch.Tensor) else value

def same(*args, grid=(5,), **options):
    """Twice by ours, once by Triton's: the same launch, on the same addresses."""
    launched.clear()
    copy_kernel[grid](*args, **options)
    copy_kernel[grid](*args, **options)
    plain[grid](*args, **options)
    first, second, wanted = [(*launch[:-1], addresses(launch[-1])) for launch in launched]
    assert first == second == wanted, (first, second, wanted)

def of(dtype, skip=0):
    return torch.empty(64, dtype=dtype)[skip:]

fp32, bf16 = of(torch.float32), of(torch.bfloat16)
'''
_CASES = {
    "dtypes": """
same(fp32, fp32, (fp32,), 64, 1.0, 32, True, num_warps=4)
same(bf16, fp32, (fp32,), 64, 1.0, 32, True, num_warps=4)
same(fp32, fp32, (bf16,), 64, 1.0, 32, True, num_warps=4)
same(bf16, bf16, (bf16,), 64, 2, 32, True, num_warps=4)
""",
    "constants and options": """
same(fp32, fp32, (fp32,), 64, 1.0, 32, True, num_warps=4)
same(fp32, fp32, (fp32,), 64, 1.0, 64, True, num_warps=4)
same(fp32, fp32, (fp32,), 64, 1.0, 64, False, num_warps=4)
same(fp32, fp32, (fp32,), 64, 1.0, 64, False, num_warps=8, maxnreg=None)
same(fp32, fp32, (fp32,), 64, 1.0, FLAG=True, BLOCK=32, num_warps=4)
""",
    "grids": """
same(fp32, fp32, (fp32,), 64, 1.0, 32, True, grid=(3, 2), num_warps=4)
same(fp32, fp32, (fp32,), 64, 1.0, 32, True, grid=(3, 2, 2), num_warps=4)
""",
    "numbers": """
for number in (1, 2, 16, 2**31 - 1, 2**31, 2**40, 1):
    same(fp32, fp32, (fp32,), number, 1.0, 32, True, num_warps=4)
assert len(copy_kernel._found) == 1
""",
    "memory that is not aligned": """
same(fp32, fp32, (fp32,), 64, 1.0, 32, True, num_warps=4)
same(of(torch.float32, 1), fp32, (fp32,), 64, 1.0, 32, True, num_warps=4)
same(fp32, fp32, (of(torch.float32, 2),), 64, 1.0, 32, True, num_warps=4)
same(of(torch.float32, 4), fp32, (fp32,), 64, 1.0, 32, True, num_warps=4)
assert len(copy_kernel._found) == 1
""",
    "memory of another device is Triton's to refuse": """
DEVICE[0] = 0
same(fp32, fp32, (fp32,), 64, 1.0, 32, True, num_warps=4)
assert not copy_kernel._found
""",
    "parameters in another order": """
with pytest.raises(TypeError, match="wrong_kernel: parameters are tensors, then numbers, then constants"):
    @kernel()
    def wrong_kernel(x_ptr, BLOCK: tl.constexpr, y_ptr):
        pass
""",
}


@pytest.mark.parametrize("case", _CASES)
def test_a_launch_is_what_triton_makes_of_it(case, tmp_path, environment_without_interpreter):
    script = tmp_path / "launches.py"  # a file, since Triton reads the source of kernels
    script.write_text(_LAUNCHES + _CASES[case])
    done = subprocess.run(
        [sys.executable, script], env=environment_without_interpreter, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
