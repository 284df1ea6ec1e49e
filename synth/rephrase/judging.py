"""All that a rewrite of one chunk is judged by: levels V0 to V4, its seam, for mathematics M1 and M2, and what a model
says of those that passed.

The same judge serves when a rewrite is made and when what is stored is judged again under other rules.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..verify.result import Check, Verdict, judge
from ..verify.rules import Rules
from ..verify.verify import verify
from .prompts import Prompt
from .reader import Reader
from .stitch import seam

if TYPE_CHECKING:
    from ..maths.worker import Worker  # which imports sympy

_FINISHED = ("empty", "refusal", "length")


class Judge:
    """Judges rewrites; may be used by several threads. `close` it in the end.

    Args:
        maths: whether equations and results are checked; what they check runs in a process with a time limit.
        reader: a model that reads what passed everything else.
    """

    def __init__(self, maths: bool, reader: Reader | None = None) -> None:
        self._maths, self._reader = maths, reader
        self._local = threading.local()
        self._workers: list[Worker] = []
        self._lock = threading.Lock()

    def __call__(
        self, source: str, text: str, prompt: Prompt, rules: Rules, *, before: str = "", finish: str = "stop",
        attempt: int = 1,
    ) -> Verdict:  # fmt: skip
        """The verdict on the rewrite `text` of the chunk `source`; `before` is the rewrite so far that it continues."""
        told = verify(source, text, rules=rules, finish=finish, prompt=prompt.instruction(), attempt=attempt)
        checks: list[Check] = list(told.checks)
        if not any(check.code in _FINISHED for check in checks):
            checks += seam(before, source, text, prompt.headings)
            if self._maths:
                checks += self._equations(source, text)
        if self._reader is not None and all(check.ok for check in checks):
            checks += self._reader.checks(source, text, self._worker() if self._maths else None)
        return judge(checks, attempt, rules.attempts)

    def _equations(self, source: str, text: str) -> list[Check]:
        from ..maths.answers import Pair, final_answer

        worker = self._worker()
        # What the source says itself is not the rewrite's fault, also where the check is mistaken about it.
        known = {_bare(source[start:end]) for check in worker.check_chains(source) for start, end in check.spans}
        checks = []
        for check in worker.check_chains(text):
            new = tuple(span for span in check.spans if _bare(text[span[0] : span[1]]) not in known)
            checks.append(check if len(new) == len(check.spans) else _without(check, new))
        gold, answer = final_answer(source), final_answer(text)
        if gold and answer:
            checks.append(worker.check_answer(Pair(gold, answer)))
        return checks

    def _worker(self) -> Worker:
        from ..maths.worker import Worker

        worker: Worker | None = getattr(self._local, "worker", None)
        if worker is None:
            worker = self._local.worker = Worker()
            with self._lock:
                self._workers.append(worker)
        return worker

    def close(self) -> None:
        """Ends the processes."""
        for worker in self._workers:
            worker.close()


def _without(check: Check, spans: Sequence[tuple[int, int]]) -> Check:
    """The check of equations with fewer faults."""
    if check.name == "equations":
        return Check(check.name, len(spans), 0, not spans, "eq_false" if spans else "", tuple(spans))
    ok = check.ok or not spans
    return Check(check.name, check.value, check.threshold, ok, "" if ok else check.code, tuple(spans))


def _bare(text: str) -> str:
    return "".join(text.split())
