"""One excerpt rewritten: chunk after chunk, each call carrying title, outline and the end of what has been written.

A chunk that fails is asked for once more with the reasons. What fails for good is kept apart, and the rewrite begins
anew behind it, so that no text ever continues one that was not accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..chat.types import Message, Refused, Reply, Request
from ..verify.result import Check, Verdict
from ..verify.rules import Rules
from ..verify.sentences import estimate
from .assign import LENGTHS, PERSPECTIVES, Assignment
from .judging import Judge
from .layout import Layout, Part
from .prompts import Prompt
from .reasons import reasons
from .stitch import tail, without_repeat

_ROOM = 1.6
"""Tokens that a call may take for one that is expected: an answer that needs more is a loop or another text."""
_LEAST_ROOM = 64


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of one chunk.

    Attributes:
        part: the chunk's place in the document.
        text: the answer, also of one that failed; "" if there is none.
        verdict: None where there is no answer.
        code: why there is none: the layout's or the back end's reason.
        attempts: calls that were made for it.
        finish: why the answer ended.
    """

    part: Part
    text: str = ""
    verdict: Verdict | None = None
    code: str = ""
    attempts: int = 0
    finish: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.verdict == "pass"


class Rewriter:
    """Asks and judges.

    Args:
        ask: gives the reply to a request; raises `Refused`.
        judge: the verdict on an answer.
        rules: by style.
        temperature, top_p: of every call.
    """

    def __init__(
        self, ask: Callable[[Request], Reply], judge: Judge, prompts: dict[str, Prompt], rules: dict[str, Rules],
        temperature: float, top_p: float,
    ) -> None:  # fmt: skip
        self._ask, self._judge, self._prompts, self._rules = ask, judge, prompts, rules
        self._temperature, self._top_p = temperature, top_p

    def excerpt(self, text: str, layout: Layout, parts: tuple[Part, ...], assignment: Assignment) -> list[Asked]:
        """Rewrite the parts of one excerpt of the document `text`, in order."""
        found, before = [], ""
        for number, part in enumerate(parts):
            if part.skipped:
                asked = Asked(part, code=part.skipped)
            else:
                asked = self._chunk(text[part.start : part.end], layout, before, number, part, assignment)
            found.append(asked)
            before = f"{before}\n\n{asked.text}".strip() if asked.passed else ""
        return found

    def _chunk(
        self, source: str, layout: Layout, before: str, number: int, part: Part, assignment: Assignment
    ) -> Asked:  # fmt: skip
        prompt, rules = self._prompts[assignment.style], self._rules[assignment.style]
        instruction, share = LENGTHS[assignment.length]
        values = {
            "title": layout.title, "outline": layout.outline, "tail": tail(before), "chunk": source,
            "perspective": PERSPECTIVES.get(assignment.perspective, assignment.perspective), "length": instruction,
        }  # fmt: skip
        messages = first = prompt.messages(values)
        room = max(_LEAST_ROOM, round(_ROOM * share * max(estimate(source), len(source) // 4)))
        asked = Asked(part)
        for attempt in range(1, rules.attempts + 1):
            request = Request(messages, source, assignment.style, assignment.seed + number, attempt, room,
                              self._temperature, self._top_p)  # fmt: skip
            try:
                reply = self._ask(request)
            except Refused as error:
                # An answer that was given and failed says more than that there is no other.
                return asked if asked.text else Asked(part, code=error.code, attempts=attempt)
            answer = without_repeat(before, reply.text.strip())
            verdict = self._judge(source, answer, prompt, rules, before=before, finish=reply.finish, attempt=attempt)
            asked = Asked(part, answer, verdict, attempts=attempt, finish=reply.finish)
            if verdict.verdict != "repair":
                break
            again = _again(verdict.checks, source, answer)
            messages = (*first, Message("assistant", reply.text), again)
        return asked


def _again(checks: tuple[Check, ...], source: str, answer: str) -> Message:
    lines = "\n".join(f"- {line}" for line in reasons(checks, source, answer))
    return Message("user", f"This is wrong with your text:\n{lines}\nWrite it again, whole, without these faults.")
