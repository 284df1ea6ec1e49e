"""Steps that would do harm are skipped: no number, or a gradient far larger than those of late and alone in that.

The verdict is one on all ranks: what it rests on is added up over them first, in one collective that no rank can miss,
and the rest is arithmetic on the sums.

A norm is far too large beyond mean + 6 standard deviations of the last ones (as in OLMo, arXiv:2501.00656), once there
are enough of them. An outlier is skipped, and remembered as no more than that bound or twice the mean, so that a spike
hardly makes room for the next. But a skipped step changes nothing, so the next one, on other data, sees the same
weights: a norm that is as large for several steps in a row is where the model is and not what was in a batch, and no
skipping leads away from there. It is taken, clipped as every step is, and remembered as it is. So norms that have
risen for good cost a few steps, and so does a step that led astray, from where the next one taken leads back; what is
no number is never taken, and ends the run.

The loss is not judged, beyond that it is a number. It tells of what is in a batch as much as of the model, so that a
rare kind of document would be skipped for being rare; and where it spikes with usual gradients the step is a usual one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

_LARGEST_SHARE = 2.0
"""Of the mean of the last norms, as which a larger one is remembered if its bound is not larger still."""


class Verdict(NamedTuple):
    skip: bool
    reason: str
    """Empty when the step is taken."""
    loss: float
    """Mean over all weights of all ranks."""
    norm: float


class TooManySkips(RuntimeError):
    """Training does not come out of it by itself."""


class SkipStepGuard:
    def __init__(
        self, *, window: int = 128, warmup: int = 32, sigmas: float = 6.0, outliers: int = 3, patience: int = 16
    ) -> None:
        """
        Args:
            window: norms that are remembered.
            warmup: fewer than these are not judged by; what is not finite is skipped from the first step on.
            sigmas: standard deviations above the mean that are let through.
            outliers: steps in a row that are skipped for a norm that is too large; from the next on they are taken.
            patience: skipped steps in a row, for whatever reason, that are borne; one more is an error.

        Raises:
            ValueError: not 2 ≤ warmup ≤ window, or sigmas, outliers or patience not above 0.
        """
        if not 2 <= warmup <= window:
            raise ValueError(f"the guard's warm-up is {warmup} and its window {window}; 2 <= warm-up <= window must be")
        if not sigmas > 0 or outliers < 1 or patience < 1:
            raise ValueError(
                f"the guard has {sigmas} sigmas, {outliers} outliers and a patience of {patience}; all must be above 0"
            )
        self.window, self.warmup, self.sigmas = window, warmup, sigmas
        self.outliers, self.patience = outliers, patience
        self.norms: list[float] = []
        self.large_in_row = 0
        self.skipped_in_row = 0
        self.skipped = 0

    def judge(
        self, loss_sum: Tensor, weight_sum: Tensor, norm: Tensor, all_reduce: Callable[[Tensor], None] | None = None
    ) -> Verdict:
        """Call it once a step, on every rank, before anything that a rank may leave the step by.

        Args:
            loss_sum: of this rank's tokens, each times its weight.
            weight_sum: of this rank.
            norm: of the gradients of all ranks, as `clip_gradients` returns it.
            all_reduce: adds a tensor up over the data-parallel ranks, in place.

        Raises:
            TooManySkips: on all ranks, when more than `patience` steps in a row were skipped.
        """
        one = torch.ones_like(norm)
        sums = torch.stack([part.detach().double().reshape(()) for part in (loss_sum, weight_sum, norm, one)])
        if all_reduce is not None:
            all_reduce(sums)
        total_loss, weight, total_norm, ranks = sums.tolist()
        # The norm is one on all ranks already. Its mean over them is, to the last bit, even if it should not be.
        loss, norm_of_all = total_loss / weight if weight else math.nan, total_norm / ranks
        reason = _unfit(loss, norm_of_all, weight)
        if reason:
            self.large_in_row = 0
        else:
            reason = self._outlier(norm_of_all)
        self.skipped_in_row = self.skipped_in_row + 1 if reason else 0
        self.skipped += bool(reason)
        if self.skipped_in_row > self.patience:
            raise TooManySkips(f"{self.skipped_in_row} steps in a row were skipped, the last because {reason}")
        return Verdict(bool(reason), reason, loss, norm_of_all)

    def bound(self) -> float:
        """The largest norm that is let through; infinite while there are too few to judge by."""
        if len(self.norms) < self.warmup:
            return math.inf
        mean = math.fsum(self.norms) / len(self.norms)
        variance = math.fsum((norm - mean) ** 2 for norm in self.norms) / (len(self.norms) - 1)
        return mean + self.sigmas * math.sqrt(variance)

    def state_dict(self) -> dict[str, Any]:
        return {
            "norms": list(self.norms),
            "large_in_row": self.large_in_row,
            "skipped_in_row": self.skipped_in_row,
            "skipped": self.skipped,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """A state from before norms that come back were taken has no `large_in_row`, which is then 0."""
        self.norms = [float(norm) for norm in state["norms"]][-self.window :]
        self.large_in_row = int(state.get("large_in_row", 0))
        self.skipped_in_row, self.skipped = int(state["skipped_in_row"]), int(state["skipped"])

    def _outlier(self, norm: float) -> str:
        """Why the step is skipped, if it is; the norm is remembered."""
        bound = self.bound()
        self.large_in_row = self.large_in_row + 1 if norm > bound else 0
        if not 0 < self.large_in_row <= self.outliers:
            self.norms = [*self.norms, norm][-self.window :]
            return ""
        most = max(bound, _LARGEST_SHARE * math.fsum(self.norms) / len(self.norms))
        self.norms = [*self.norms, min(norm, most)][-self.window :]
        return f"the gradients' norm is {norm:.4g}, beyond {bound:.4g}"


def _unfit(loss: float, norm: float, weight: float) -> str:
    """Why no norm can be told from the step, if so; it is skipped then and leaves no trace among the norms."""
    if not weight:
        return "no token of the step has a weight"
    if not math.isfinite(loss):
        return f"the loss is {loss}"
    return "" if math.isfinite(norm) else f"the gradients' norm is {norm}"
