"""The learning rate: a straight line up, then half a cosine down, over the tokens of the whole plan.

Cosine with 1 % of warm-up is K3's (report, §3.3). It knows nothing of stages: one that begins with other lengths goes
on where the last one was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class CosinePlan:
    peak: float
    tokens: int
    """Of all stages together."""
    warmup: float = 0.01
    """Share of the tokens over which the rate rises from 0 to `peak`."""
    floor: float = 0.0
    """Share of the peak that is left at the end."""

    def __post_init__(self) -> None:
        if not 0 < self.peak < math.inf:
            raise ValueError(f"the peak of the learning rate is {self.peak}, and must be above 0")
        if self.tokens < 1:
            raise ValueError(f"the plan has {self.tokens} tokens, and must have at least one")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"the warm-up is {self.warmup} of the plan, and must be in [0, 1)")
        if not 0 <= self.floor <= 1:
            raise ValueError(f"the floor is {self.floor} of the peak, and must be in [0, 1]")


def learning_rate(plan: CosinePlan, tokens_seen: float) -> float:
    """At the middle of a step (those of all steps before, and half of its own) no step is idle, first and last too.

    Past the end of the plan it stays at the floor. Raises ValueError for less than no tokens.
    """
    if not tokens_seen >= 0:
        raise ValueError(f"{tokens_seen} tokens have been seen, and must be at least 0")
    progress = min(tokens_seen / plan.tokens, 1.0)
    if progress < plan.warmup:
        return plan.peak * progress / plan.warmup
    along = (progress - plan.warmup) / (1 - plan.warmup)
    return plan.peak * (plan.floor + (1 - plan.floor) * (1 + math.cos(math.pi * along)) / 2)
