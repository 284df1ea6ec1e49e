"""Registers, spills and instructions of the fused kernels as launched, compiled for an H200 without one.

    python -m k3data.model.kernels.fused.registers

Not with TRITON_INTERPRET=1.
"""

from __future__ import annotations

from typing import Any

from ..registers import of_kernel
from . import conv_kernels, gated, mix_kernels, situ, sums
from .launch import Launch, conv_backward_launch, conv_launch, head_launch, mix_launch

Types = dict[str, str | tuple[str | None, ...] | None]


def of_launch(kernel: Any, constants: dict[str, Any], types: Types, launch: Launch) -> dict[str, int]:
    return of_kernel(kernel, constants, types, launch.options())


def of_mix(
    channels: int, sources: int, backward: bool, launch: Launch | None = None, chained: bool = False
) -> dict[str, int]:
    """With an `added` and the norm behind. A gradient arrives at the running sum; `chained`, at every source."""
    launch = launch or mix_launch(channels, sources, backward)
    constants = {"S": sources, "D": channels, "WIDTH": launch.width, "ROWS": launch.rows, "HELD": launch.held}
    mixing = "*fp32" if sources > 1 else None
    types: Types = {"query_ptr": mixing, "norm_weight_ptr": mixing, "out_weight_ptr": "*fp32", "stats_ptr": mixing}
    types |= {"sources": ("*bf16",) * sources, "eps": "fp32", "out_eps": "fp32"}
    if not backward:
        types |= dict.fromkeys(("added_ptr", "sum_ptr", "x_ptr"), "*bf16")
        return of_launch(mix_kernels.mix_kernel, constants, types, launch)
    types |= {"arriving": (*["*bf16" if chained else None] * (sources - 1), "*bf16"), "dsources": ("*bf16",) * sources}
    types |= {"dx_ptr": "*bf16", "partials_ptr": "*fp32"}
    return of_launch(mix_kernels.mix_backward_kernel, constants, types, launch)


def of_gated(channels: int, backward: bool, normed: bool = True) -> dict[str, int]:
    """Without a norm o has strides, as in MLA."""
    launch = head_launch(channels, backward)
    constants = {"STRIDED": not normed, "D": channels, "WIDTH": launch.width, "ROWS": launch.rows}
    pointers: Types = dict.fromkeys(("o_ptr", "gate_ptr", "y_ptr", "dy_ptr", "do_ptr", "dgate_ptr"), "*bf16")
    weights = dict.fromkeys(("weight_ptr", "partials_ptr"), "*fp32" if normed else None)
    types: Types = {**pointers, **weights, "eps": "fp32"}
    if not backward:
        return of_launch(gated.gated_kernel, constants, types, launch)
    return of_launch(gated.gated_backward_kernel, constants, types, launch)


def of_conv(channels: int, streams: int, backward: bool, launch: Launch | None = None) -> dict[str, int]:
    launch = launch or (conv_backward_launch(channels) if backward else conv_launch(channels))
    constants = {"STREAMS": streams, "P": channels, "WIDTH": launch.width}
    constants |= {"SEGMENT" if backward else "ROWS": launch.rows}
    types: Types = dict.fromkeys(("inputs", "outputs", "doutputs", "dinputs"), ("*bf16",) * streams)
    types |= {"weights": ("*fp32",) * streams, "places_ptr": "*i32", "partials_ptr": "*fp32"}
    return of_launch(
        conv_kernels.conv_backward_kernel if backward else conv_kernels.conv_kernel, constants, types, launch
    )


def of_situ(channels: int, backward: bool) -> dict[str, int]:
    types: Types = dict.fromkeys(("gate_ptr", "up_ptr", "y_ptr", "dy_ptr", "dgate_ptr", "dup_ptr"), "*bf16")
    types |= {"beta_gate": "fp32", "beta_up": "fp32"}
    kernel = situ.situ_backward_kernel if backward else situ.situ_kernel
    return of_launch(kernel, {"D": channels, "BLOCK": situ.BLOCK}, types, Launch(situ.BLOCK, 1, situ.WARPS))


def of_sums(mixed: bool) -> dict[str, int]:
    """Of a mix, or of the three kernels of a convolution."""
    launch, constants = Launch(16, 256, 4), {"W": 16, "STEPS": 256}
    pointers = ("partials_ptr", "query_ptr", "norm_weight_ptr", "dquery_ptr", "dnorm_weight_ptr", "dout_weight_ptr")
    if mixed:
        return of_launch(sums.mix_weights_kernel, {**constants, "D": 1024}, dict.fromkeys(pointers, "*fp32"), launch)
    types: Types = {"partials_ptr": "*fp32", "dweights": ("*fp32",) * 3}
    return of_launch(sums.weights_kernel, {**constants, "COUNT": 3, "C": 3072}, types, launch)


def main() -> None:
    """Forward, then backward, of each shape."""
    print("sums of a mix:", of_sums(True), flush=True)
    print("sums of conv_silu:", of_sums(False), flush=True)
    for backward in (False, True):
        way = "backward" if backward else "forward"
        for channels, most in ((192, 4), (512, 5), (1024, 7), (7168, 9)):  # as many sources as the models have
            for sources in (1, 2, most):
                print("mix", way, f"{channels} × {sources}:", of_mix(channels, sources, backward), flush=True)
            if backward:
                figures = of_mix(channels, most, backward, chained=True)
                print("mix", way, f"{channels} × {most}, chained:", figures, flush=True)
        for channels in (64, 128):
            print("gated_norm", way, f"{channels}:", of_gated(channels, backward), flush=True)
        print("gated_norm", way, "128, no norm:", of_gated(128, backward, normed=False), flush=True)
        for channels in (256, 768):
            print("conv_silu", way, f"{channels} × 3:", of_conv(channels, 3, backward), flush=True)
        for channels in (512, 3584):
            print("situ_glu", way, f"{channels}:", of_situ(channels, backward), flush=True)


if __name__ == "__main__":
    main()
