"""Registers, spills and instructions of the kernels of the experts as launched, compiled for an H200 without one.

    python -m k3data.model.kernels.moe.registers [latent,inner,top k …]

Not with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import sys
from typing import Any

from ..launch import next_power_of_2
from ..registers import of_kernel
from . import combine, gradients, products
from .launch import ROWS, launches

SHAPES = ((256, 96, 4), (512, 192, 8), (384, 256, 8), (768, 2048, 8), (1024, 512, 16))
_TYPES = {
    "weights_ptr": "*fp32", "dweights_ptr": "*fp32", "dweight_parts_ptr": "*fp32", "inverse_ptr": "*fp32",
    "parts_ptr": "*fp32", "rows_ptr": "*i32", "ends_ptr": "*i32", "tiles_ptr": "*i32", "places_ptr": "*i32",
    "norm_weight_ptr": "*bf16", "beta_gate": "fp32", "beta_up": "fp32", "eps": "fp32",
}  # fmt: skip


def compiled(latent: int, inner: int, top_k: int) -> dict[str, dict[str, int]]:
    """Of each kernel, as `of_kernel` says."""
    table, sizes = launches(latent, inner), {"L": latent, "INNER": inner, "TOP_K": top_k, "ROWS": ROWS}
    found = {}
    for name, kernel in (
        ("up", products.up_kernel), ("down", products.down_kernel),
        ("inner", gradients.inner_kernel), ("back", products.back_kernel),
    ):  # fmt: skip
        launch = getattr(table, name)
        own = {"BLOCK": launch.block[0], "DEPTH": launch.depth, "SLICE": launch.block[-1], "TRAINING": True}
        found[name] = _of(kernel, {**sizes, **own}, launch.options())
    for name, height, width, split, left_is_of_tokens in (
        ("gate_and_up", 2 * inner, latent, inner, False), ("down_matrix", latent, inner, latent, True),
    ):  # fmt: skip
        launch = getattr(table, name)
        own = {
            "P": height, "Q": width, "SPLIT": split, "BLOCK_P": launch.block[0], "BLOCK_Q": launch.block[1],
            "DEPTH": launch.depth, "LEFT_IS_OF_TOKENS": left_is_of_tokens,
        }  # fmt: skip
        found[name] = _of(gradients.matrices_kernel, {**sizes, **own}, launch.options())
    own = {
        "WIDTH": next_power_of_2(latent), "TOKENS": table.tokens.block[0], "TRAINING": True,
        "PARTS": -(-inner // table.inner.block[0]),
    }  # fmt: skip
    for name in ("combine", "norm_back", "scatter_back"):
        found[name] = _of(getattr(combine, f"{name}_kernel"), {**sizes, **own}, table.tokens.options())
    return found


def _of(kernel: Any, constants: dict[str, Any], options: dict[str, int | None]) -> dict[str, int]:
    names = kernel.arg_names
    types = {name: _TYPES.get(name, "*bf16" if name.endswith("_ptr") else "i32") for name in names}
    if kernel in (combine.combine_kernel, combine.scatter_back_kernel):
        types["rows_ptr"] = "*bf16"  # there, rows are results and not where they come from
    return of_kernel(kernel, {name: constants[name] for name in names if name in constants}, types, options)


def main() -> None:
    shapes = [tuple(map(int, argument.split(","))) for argument in sys.argv[1:]] or SHAPES
    for latent, inner, top_k in shapes:
        for name, numbers in compiled(latent, inner, top_k).items():
            print(latent, inner, top_k, name, numbers)


if __name__ == "__main__":
    main()
