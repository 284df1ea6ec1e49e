"""Parameters of every size by formula, checked against the sizes that the K3 report and its shapes give.

The report says 2.78T in all, 104.2B active and 401M in the vision tower; summing the released shapes gives one more
digit. Smaller sizes have nothing outside to be checked against: tests build them and count.
"""

from __future__ import annotations

from typing import Any

from ..config import PRESETS, preset
from ..counts import cache_bytes_per_sequence, cache_bytes_per_token, count_parameters, forward_flops

NAME = "model_size"
SUMMARY = "parameters of every size, total and active, by formula"

RELEASED = {"total": 2.77948e12, "active": 104.19e9, "vision": 401.2e6}


def run(quick: bool) -> dict[str, Any]:
    figures: dict[str, float] = {}
    for name in PRESETS:
        counts = count_parameters(preset(name))
        figures[f"{name}_total"] = counts.total
        figures[f"{name}_active"] = counts.active
    k3 = preset("k3")
    figures["k3_vision"] = count_parameters(k3).vision
    figures["k3_gflops_per_token_at_8k"] = round(forward_flops(k3, 8192) / 1e9, 2)
    figures["k3_cache_mb_per_sequence"] = round(cache_bytes_per_sequence(k3) / 1e6, 1)
    figures["k3_cache_kb_per_token"] = round(cache_bytes_per_token(k3) / 1e3, 1)
    for what, released in RELEASED.items():
        if abs(figures[f"k3_{what}"] / released - 1) > 1e-4:
            raise AssertionError(f"k3 has {figures[f'k3_{what}']} {what} parameters, and the release {released:.6g}")
    return {"figures": figures, "peers": {}}
