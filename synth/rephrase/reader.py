"""Checks by a model that reads: V5, is a rewrite faithful; V6, does it still answer what its source answers; M3, is its
result found again.

They cost calls, so they look only at rewrites that passed everything else, and at shares of those, drawn by a hash.
Calls go through the same store and account as all others. A model's word is not taken for it: what a judge quotes must
stand in the source, an answer must hold the words that are asked for, a result must be mathematically equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ...pipelines.stage import seeded_rng
from ..chat.types import Refused, Reply, Request
from ..verify.result import Check, at_most
from .prompts import READERS, Prompt, load_prompts

if TYPE_CHECKING:
    from ..maths.worker import Worker  # which imports sympy

_JUDGED = re.compile(
    r"VERDICT:\s*(?P<verdict>faithful|unfaithful)\b.*?\n\s*WORDS:[ \t]*(?P<words>.*?)\n\s*EVIDENCE:[ \t]*"
    r"(?P<evidence>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PAIR = re.compile(r"^\s*Q:[ \t]*(?P<question>[^\n]+)\n\s*A:[ \t]*(?P<answer>[^\n]+)", re.MULTILINE)
_LOST = re.compile(r"\bnot (?:stated|mentioned|given|specified|said|in the text)\b", re.IGNORECASE)
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_EMPTY = frozenset(
    str.split("a an the of in on at to for by is are was were be it its and or with from as that this")
)
_DEMAND = re.compile(r"\W*(?:problem|exercise|find|compute|solve|determine|evaluate|show)\b", re.IGNORECASE)
READ = frozenset({"judge", "judge_quote", "questions_lost", "questions_wrong", "solved_again"})
"""Names of the checks of this file."""
_AGREES = 0.5
"""Share of the words of a known answer without numbers that an answer must hold."""


class ReaderOptions(BaseModel):
    """Which share of the rewrites a model reads.

    Attributes:
        judge: V5, one call each.
        questions: V6, up to four calls each.
        solve: M3, `votes` calls each, of texts of mathematics that pose a problem and give its result.
        votes: solutions, of which most must agree with each other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: float = Field(default=0.0, ge=0, le=1)
    questions: float = Field(default=0.0, ge=0, le=1)
    solve: float = Field(default=0.0, ge=0, le=1)
    votes: int = Field(default=3, ge=1)


class Judged(NamedTuple):
    """What a judge said: whether it is faithful, which words of the rewrite are not, and the evidence."""

    faithful: bool
    words: str
    evidence: str


class Reader:
    """Asks and checks.

    Args:
        ask: gives the reply to a request; raises `Refused`.
    """

    def __init__(self, ask: Callable[[Request], Reply], options: ReaderOptions) -> None:
        self._ask, self._options = ask, options
        self._prompts = load_prompts(READERS)

    def checks(self, source: str, text: str, maths: Worker | None) -> list[Check]:
        """The checks that this rewrite draws. `maths` compares results; without it none is found again."""
        rng = seeded_rng("reader", source, text)
        judge, questions, solve = rng.random(), rng.random(), rng.random()
        found: list[Check] = []
        if judge < self._options.judge:
            found += self._judge(source, text)
        if questions < self._options.questions:
            found += self._round_trip(source, text)
        if maths is not None and solve < self._options.solve:
            found += self._solve_again(text, maths)
        return found

    # ---- V5

    def _judge(self, source: str, text: str) -> list[Check]:
        said = parse_judgement(self._call("judge", {"source": source, "text": text}, 256))
        if said is None:  # no verdict is no evidence of a fault; that there was none is told
            return [Check("judge", 0.5, 1.0, True, "")]
        quoted = place(said.evidence, source) is not None
        wrong = place(said.words, text) if not said.faithful else None
        spans = (wrong or (0, len(text)),) if not said.faithful else ()
        return [
            Check("judge", float(said.faithful), 1.0, said.faithful, "" if said.faithful else "judge", spans),
            Check("judge_quote", float(quoted), 1.0, quoted, "" if quoted else "quote_missing", ()),
        ]

    # ---- V6

    def _round_trip(self, source: str, text: str) -> list[Check]:
        asked = parse_questions(self._call("questions", {"source": source}, 256), source)
        lost = wrong = 0
        for question, answer in asked:
            said = self._call("answer", {"text": text, "question": question}, 48)
            if _LOST.search(said):
                lost += 1
            elif not agrees(answer, said):
                wrong += 1
        if not asked:
            return []
        whole = ((0, len(text)),)
        return [
            at_most("questions_lost", "qa_lost", whole * lost, 0),
            at_most("questions_wrong", "qa_wrong", whole * wrong, 0),
        ]

    # ---- M3

    def _solve_again(self, text: str, maths: Worker) -> list[Check]:
        from ..maths.answers import Pair, final_answer

        told = final_answer(text)
        problem = posed(text)
        if told is None or problem is None:
            return []
        votes = [final_answer(self._call("solve", {"question": problem}, 1024, seed)) or ""
                 for seed in range(self._options.votes)]  # fmt: skip
        verdicts = Counter(maths.judge(Pair(told, vote)).verdict for vote in votes if vote)
        same, other = verdicts["equal"], verdicts["different"]
        # Solvers that disagree with each other settle nothing.
        ok = not (other > len(votes) / 2 and same == 0 and _agree(votes, maths))
        return [Check("solved_again", float(same), 0.0, ok, "" if ok else "ans_diff", () if ok else ((0, len(text)),))]

    def _call(self, name: str, values: dict[str, str], room: int, seed: int = 0) -> str:
        prompt: Prompt = self._prompts[name]
        temperature = 0.7 if name == "solve" else 0.0
        try:
            return self._ask(Request(prompt.messages(values), seed=seed, max_tokens=room, temperature=temperature)).text
        except Refused:
            return ""


def parse_judgement(text: str) -> Judged | None:
    """A judge's three lines; None where it did not keep to them."""
    found = _JUDGED.search(text)
    if found is None:
        return None
    words, evidence = (found[name].strip().strip("\"'“”`").strip() for name in ("words", "evidence"))
    return Judged(found["verdict"].lower() == "faithful", words, evidence)


def parse_questions(text: str, source: str, most: int = 3) -> list[tuple[str, str]]:
    """Questions with their answers; those whose answer does not stand in the source are no questions about it."""
    known = set(_words(source))
    pairs = [(one["question"].strip(), one["answer"].strip()) for one in _PAIR.finditer(text)]
    return [pair for pair in pairs if _words(pair[1]) and known.issuperset(_words(pair[1]))][:most]


def agrees(known: str, said: str) -> bool:
    """Whether an answer holds the known one: all of its numbers, and at least half of its words."""
    wanted, got = _words(known), set(_words(said))
    numbers = [one for one in wanted if one[0].isdigit()]
    words = [one for one in wanted if not one[0].isdigit()]
    if not got.issuperset(numbers):
        return False
    # "12" is an answer to a question whose answer is "12 pages".
    return bool(numbers) or sum(one in got for one in words) >= _AGREES * len(words)


def place(words: str, text: str) -> tuple[int, int] | None:
    """Where a quotation stands in a text, blanks aside; None where it does not, or is shorter than two words."""
    parts = words.split()
    if len(parts) < 2:
        return None
    found = re.search(r"\s+".join(map(re.escape, parts)), text, re.IGNORECASE)
    return found.span() if found else None


def posed(text: str) -> str | None:
    """The problem that a text states before it solves it: its first paragraph that asks or demands, if there is one."""
    from ..maths.answers import final_answer

    for paragraph in text.split("\n\n")[:3]:
        if "?" in paragraph or _DEMAND.match(paragraph):
            return paragraph.strip() if final_answer(paragraph) is None else None
    return None


def _agree(votes: list[str], maths: Worker) -> bool:
    """Whether most of the solutions have one result."""
    from ..maths.answers import Pair

    return any(
        sum(maths.judge(Pair(one, other)).verdict == "equal" for other in votes if other) > len(votes) / 2
        for one in votes
        if one
    )


def _words(text: str) -> list[str]:
    return [word for word in _TOKEN.findall(text.lower().replace(",", "")) if word not in _EMPTY]
