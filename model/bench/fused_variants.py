"""The fused kernels at the sizes of models: how long each takes, how many bytes a second that is, other launches.

    python -m k3data.model.bench.fused_variants [--seconds N]    prints one JSON; about two minutes on an H200

Of each case, first the kernels as the table launches them, in milliseconds and GB/s of what has to be moved at least;
then other launches, one after the other, each held against the results of the table's (`over` counts the tensors that
are not within 0.01 of them). What raises is written down as its message, and the rest goes on; nothing is started after
N seconds, `SECONDS` unless given. Each finding goes to stderr as it comes. (Whether the table's results are right is
for the tests and `bench.layers`.)

Without a GPU the same is rehearsed at tiny sizes, and times are zero.

Letters: N tokens, D channels of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..kernels.fused import (
    chained_mix,
    conv,
    conv_silu_each,
    gated,
    gated_norm,
    mix,
    mix_op,
    norm_op,
    rms_norm,
    situ,
    situ_glu,
)
from .oracles import relative_rms
from .study import DEVICE, GPU, Study, command_line, kernel_ms, patched

SECONDS = 150.0
DTYPE = torch.bfloat16 if GPU else torch.float32
TOKENS = 32768 if GPU else 12
LIMIT = 0.01


class Case(NamedTuple):
    run: Callable[..., Any]
    """Of the leaves: a tensor, or several."""

    leaves: list[Tensor]
    units: tuple[float, float]
    """Tensors like the first output that forward and backward read and write at least."""


def draw(*shape: int, dtype: torch.dtype = DTYPE) -> Tensor:
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def mix_case(D: int, sources: int, chained: bool = False) -> Case:
    weights = [D**-0.5 * draw(D, dtype=torch.float32), *(1 + 0.1 * draw(D, dtype=torch.float32) for _ in range(2))]
    streams = [draw(1, TOKENS, D) for _ in range(sources + 1)]

    def run(query: Tensor, norm: Tensor, out: Tensor, *streams: Tensor) -> Any:
        if not chained:
            return mix(query, norm, 1e-5, out, 1e-5, *streams)
        total, x, onward = chained_mix(query, norm, 1e-5, out, 1e-5, *streams)
        return total, x, *onward

    arriving = sources if chained else 1
    return Case(run, [*weights, *streams], (sources + 3, 2 * sources + 1 + arriving))


def norm_case(D: int) -> Case:
    return Case(lambda x, w: rms_norm(x, w, 1e-5), [draw(1, TOKENS, D), 1 + 0.1 * draw(D, dtype=torch.float32)], (2, 3))


def gated_case(heads: int, channels: int) -> Case:
    leaves = [draw(1, TOKENS, heads, channels), 1 + 0.1 * draw(channels), draw(1, TOKENS, heads * channels)]
    return Case(lambda o, weight, gate: gated_norm(o, weight, 1e-5, gate), leaves, (3, 5))


def conv_case(D: int) -> Case:
    places = torch.arange(TOKENS, device=DEVICE, dtype=torch.int32)[None] % 1000
    leaves = [*(draw(1, TOKENS, D) for _ in range(3)), *(draw(D, 1, 4, dtype=torch.float32) for _ in range(3))]
    return Case(lambda *given: conv_silu_each(given[:3], given[3:], places), leaves, (6, 9))


def situ_case(D: int) -> Case:
    return Case(situ_glu, [draw(1, TOKENS, D), draw(1, TOKENS, D)], (3, 5))


CASES: dict[str, Callable[[], Case]] = {
    "mix_1024x7": partial(mix_case, 1024, 7), "chained_1024x7": partial(mix_case, 1024, 7, True),
    "mix_1024x2": partial(mix_case, 1024, 2), "mix_512x5": partial(mix_case, 512, 5),
    "chained_512x5": partial(mix_case, 512, 5, True), "chained_192x4": partial(mix_case, 192, 4, True),
    "norm_1024": partial(norm_case, 1024), "norm_192": partial(norm_case, 192),
    "gated_12x128": partial(gated_case, 12, 128), "gated_4x64": partial(gated_case, 4, 64),
    "conv_1536": partial(conv_case, 1536), "conv_256": partial(conv_case, 256),
    "situ_4096": partial(situ_case, 4096), "situ_128": partial(situ_case, 128),
} if GPU else {
    "mix_40x3": partial(mix_case, 40, 3), "chained_40x3": partial(mix_case, 40, 3, True),
    "norm_40": partial(norm_case, 40), "gated_2x24": partial(gated_case, 2, 24), "conv_24": partial(conv_case, 24),
    "situ_24": partial(situ_case, 24),
}  # fmt: skip

_Ways = dict[str, dict[str, Any]]
_MIX: _Ways = {
    "held": {"held": True}, "read_again": {"held": False}, "held_free": {"held": True, "registers": None},
    "read_again_r128": {"held": False, "registers": 128},
}  # fmt: skip
_NORM: _Ways = {"rows_1": {"rows": 1}, "rows_4": {"rows": 4}, "rows_16": {"rows": 16}}
_HEADS: _Ways = {"rows_4": {"rows": 4}, "rows_8": {"rows": 8}, "rows_16": {"rows": 16}, "rows_32": {"rows": 32}}
_CONV: _Ways = {
    "rows_8": {"rows": 8},
    "rows_32": {"rows": 32},
    "8w": {"num_warps": 8},
    "2w": {"num_warps": 2, "rows": 8},
}
_CONV_BACK: _Ways = {
    "4w_r80": {"num_warps": 4, "registers": 80}, "2w_free": {"registers": None}, "2w_s32": {"rows": 32},
    "2w_s128": {"rows": 128},
}  # fmt: skip
_SITU = {"b1024": (1024, 4), "b4096": (4096, 8), "b1024_8w": (1024, 8), "b2048_8w": (2048, 8)}


def changed(table: Callable[..., Any], backward: bool, changes: dict[str, Any]) -> Callable[..., Any]:
    """The table of launches with another launch of one direction, and as many more or fewer programs as asked for."""

    def launch(*given: Any, **named: Any) -> Any:
        found = table(*given, **named)
        if (named.get("backward", given[-1] if len(given) > 1 else backward)) != backward:
            return found
        times = changes.get("times", 1)
        others = {key: value for key, value in changes.items() if key != "times"}
        return replace(found, **others, programs=int(found.programs * times))

    return launch


def variants(name: str) -> dict[str, Callable[[], Any]]:
    """By name, what puts another launch in the table's place while it lasts."""
    kind = name.split("_")[0]
    more: _Ways = {f"programs_x{times}": {"times": times} for times in (0.5, 1.5, 2)}
    found: dict[str, Callable[[], Any]] = {}
    if kind in ("mix", "chained", "norm"):
        module = norm_op if kind == "norm" else mix_op
        for way, changes in (({} if kind == "norm" else _MIX) | more).items():
            found[f"back_{way}"] = partial(patched, module, mix_launch=changed(module.mix_launch, True, changes))
        for way, changes in (_NORM if kind == "norm" else {"rows_2": {"rows": 2}, "rows_4": {"rows": 4}}).items():
            found[way] = partial(patched, module, mix_launch=changed(module.mix_launch, False, changes))
    elif kind == "gated":
        for backward, ways in ((False, _HEADS), (True, _HEADS | more)):
            for way, changes in ways.items():
                launch = changed(gated.head_launch, backward, changes)
                found[f"back_{way}" if backward else way] = partial(patched, gated, head_launch=launch)
    elif kind == "conv":
        for way, changes in _CONV.items():
            found[way] = partial(patched, conv, conv_launch=changed(conv.conv_launch, False, changes))
        for way, changes in _CONV_BACK.items():
            launch = changed(conv.conv_backward_launch, True, changes)
            found[f"back_{way}"] = partial(patched, conv, conv_backward_launch=launch)
        for times in (0.5, 1.5, 2):
            few = partial(_programs, conv.conv_programs, times)
            found[f"back_programs_x{times}"] = partial(patched, conv, conv_programs=few)
    elif kind == "situ":
        for way, (block, warps) in _SITU.items():
            found[way] = partial(patched, situ, BLOCK=block, WARPS=warps)
    return found


def _programs(table: Callable[[int], int], times: float, columns: int) -> int:
    return max(1, int(table(columns) * times))


def study(seconds: float) -> dict[str, Any]:
    findings = Study(seconds)
    note = findings.note
    for name in CASES:
        note(name, partial(_measured, name))
    for name in CASES:
        for way, launched in variants(name).items():
            note(f"{name}.{way}", partial(_variant, name, way.startswith("back_"), launched))
    return findings.done()


class Given(NamedTuple):
    case: Case
    outgoing: list[Tensor]
    results: list[Tensor]
    """By the table's launches."""

    def both(self) -> list[Tensor]:
        outputs = self.case.run(*self.case.leaves)
        outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        return [*outputs, *torch.autograd.grad(outputs, self.case.leaves, self.outgoing)]


@lru_cache(maxsize=1)
def _given(name: str) -> Given:
    torch.manual_seed(0)
    case = CASES[name]()
    for leaf in case.leaves:
        leaf.requires_grad_()
    outputs = case.run(*case.leaves)
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    given = Given(case, [torch.randn_like(one) for one in outputs], [])
    return given._replace(results=[one.detach() for one in given.both()])


def _measured(name: str) -> dict[str, Any]:
    given = _given(name)
    found: dict[str, Any] = dict(kernel_ms(given.both))
    like = given.results[0]
    for key, ms in list(found.items()):
        if ms and "weights" not in key:
            moved = given.case.units["backward" in key] * like.numel() * like.element_size()
            found[key.replace("_ms", "_gb_s")] = round(moved / ms / 1e6)
    return found


def _variant(name: str, backward: bool, launched: Callable[[], Any]) -> dict[str, Any]:
    """Milliseconds of the kernel that is launched otherwise, and how many tensors it gets wrong."""
    given = _given(name)
    with launched():
        pairs = zip(given.both(), given.results, strict=True)
        over = sum(not (torch.equal(one, other) or relative_rms(one, other) <= LIMIT) for one, other in pairs)
        times = kernel_ms(given.both)
    own = {key: ms for key, ms in times.items() if ("backward" in key) == backward or not GPU or name[:4] == "situ"}
    return {"over": over, **own}


if __name__ == "__main__":
    command_line(study, SECONDS)
