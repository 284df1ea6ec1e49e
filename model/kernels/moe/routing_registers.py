"""Registers, spills and instructions of the kernels of routing as launched, compiled for an H200 without one.

    python -m k3data.model.kernels.moe.routing_registers [experts,top k …]

Not with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import sys
from typing import Any

from ..registers import of_kernel
from . import counting, ordering, routing, selection

SHAPES = ((64, 4), (128, 8), (256, 8), (896, 16))
_INTEGERS = {"slots", "experts", "ends", "before", "tiles", "rows", "places"}
_OTHERS = {"histogram": "*i64", "load": "*i64", "counted": "*u8"}


def compiled(experts: int, top_k: int, bins: int = 1000) -> dict[str, dict[str, int]]:
    """Of each kernel, as `of_kernel` says."""
    choice, gradients = routing.settings(experts, top_k), [routing.gradient_settings(experts, top_k, p) for p in (1, 2)]
    bounds, tallies = counting.settings(experts, bins, top_k), ordering.settings(experts)
    sums = {"totals": "*i32"}
    return {
        "choose": _of(selection.choose_kernel, choice, routing.CHOOSE_OPTIONS),
        "gradient": _of(selection.logits_gradient_kernel, gradients[0], routing.GRADIENT_OPTIONS),
        "gradient in parts": _of(
            selection.logits_gradient_kernel, gradients[1], routing.GRADIENT_OPTIONS, {"dlogits": "*bf16"}
        ),
        "histogram": _of(counting.histogram_kernel, bounds, counting.HISTOGRAM_OPTIONS),
        "load": _of(counting.load_kernel, bounds, counting.LOAD_OPTIONS),
        "tally": _of(ordering.tally_kernel, tallies, ordering.OPTIONS),
        "before": _of(ordering.before_kernel, tallies, ordering.OPTIONS, sums),
        "tiles": _of(ordering.tiles_kernel, tallies, ordering.TILES_OPTIONS, sums),
        "place": _of(ordering.place_kernel, tallies, ordering.OPTIONS, sums),
    }


def _of(
    kernel: Any, constants: dict[str, int], options: dict[str, Any], special: dict[str, str] | None = None
) -> dict[str, int]:
    types = {}
    for name in kernel.arg_names:
        if name.endswith("_ptr"):
            pointer = name.removesuffix("_ptr")
            usual = "*i32" if pointer in _INTEGERS else _OTHERS.get(pointer, "*fp32")
            types[name] = (special or {}).get(pointer, usual)
    return of_kernel(kernel, {name: constants[name] for name in kernel.arg_names if name in constants}, types, options)


def main() -> None:
    shapes = [tuple(map(int, argument.split(","))) for argument in sys.argv[1:]] or SHAPES
    for experts, top_k in shapes:
        for name, numbers in compiled(experts, top_k).items():
            print(experts, top_k, name, numbers)


if __name__ == "__main__":
    main()
