"""`kernel`: `triton.jit` for what is launched, with a shorter way from the arguments to what was compiled for them.

    @kernel(do_not_specialize=["N"])
    def double_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr): ...

    double_kernel[(programs,)](x, y, N, 128, num_warps=4)

At each launch Triton binds the arguments to their names, describes every one of them, writes the options down as a
string, looks at every global that the kernel uses, and asks the driver whose memory each pointer is. That takes longer
than the launch itself and, for small models, than the kernel. Here a launch is found by what Triton compiles for:
dtypes, constants, options and the GPU. The first of its kind goes Triton's way, and so does whatever Triton would
compile another kernel for or refuse: memory that is not aligned to 16 bytes or another device's, numbers of over 32
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import triton
from torch import Tensor
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

_UNALIGNED = 15
_LARGEST = 2**31 - 1

_Memory = Tensor | None | tuple[Tensor | None, ...]


class Kernel(JITFunction):  # type: ignore[type-arg]
    """What `triton.jit` makes, but for its launches.

    Its parameters are tensors (None, or tuples of them), then numbers, which are not specialized, then constants: else
    TypeError.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, **options)
        kinds = [2 * param.is_constexpr + param.do_not_specialize for param in self.params]
        if kinds != sorted(kinds):
            raise TypeError(f"{function.__name__}: parameters are tensors, then numbers, then constants")
        self._tensors, self._constants = kinds.count(0), kinds.count(0) + kinds.count(1)
        self._found: dict[tuple[Any, ...], Any] = {}

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., Any]:
        return partial(self._launch, grid)

    def _launch(self, grid: tuple[int, ...], *args: Any, **options: Any) -> Any:
        args += tuple([options.pop(name) for name in self.arg_names[len(args) :]])
        numbers, constants = args[self._tensors : self._constants], args[self._constants :]
        device = driver.active.get_current_device()
        pointers, kinds = _described(args[: self._tensors], device)
        if pointers is None or max(numbers, default=0) > _LARGEST:
            return self.run(*args, grid=grid, warmup=False, **options)
        asked = (device, kinds, constants, *map(type, numbers), *options.items())
        compiled = self._found.get(asked)
        if compiled is None:
            compiled = self._found[asked] = self.run(*args, grid=grid, warmup=False, **options)
        else:
            stream = driver.active.get_current_stream(device)
            compiled[(*grid, 1, 1)[:3]](*pointers, *numbers, *constants, stream=stream)
        return compiled


def _described(memory: tuple[_Memory, ...], device: int) -> tuple[list[Any], tuple[Any, ...]] | tuple[None, None]:
    """Addresses and dtypes, if all of it is aligned and of this GPU."""
    addresses: list[Any] = []
    dtypes: list[Any] = []
    bits = 0
    for tensor in memory:
        if tensor is None:
            addresses.append(None)
            dtypes.append(None)
        elif isinstance(tensor, tuple):
            inner_addresses, inner_dtypes = _described(tensor, device)
            if inner_addresses is None:
                return None, None
            addresses.append(tuple(inner_addresses))
            dtypes.append(inner_dtypes)
        else:
            if tensor.get_device() != device:
                return None, None
            address = tensor.data_ptr()
            bits |= address
            addresses.append(address)
            dtypes.append(tensor.dtype)
    return (None, None) if bits & _UNALIGNED else (addresses, tuple(dtypes))


def kernel(*, do_not_specialize: Iterable[str] = ()) -> Callable[[Callable[..., Any]], Any]:
    """`triton.jit` of a kernel. With TRITON_INTERPRET=1 that is all."""

    def decorate(function: Callable[..., Any]) -> Any:
        given = list(do_not_specialize)
        if triton.knobs.runtime.interpret:
            return triton.jit(function, do_not_specialize=given)
        return Kernel(function, do_not_specialize=given)

    return decorate
