"""Styles of question and answer: a FAQ, and a dialogue between a teacher and a student."""

from __future__ import annotations

import random
import re

from . import wording
from .parts import weak_start
from .passage import Passage, Statement, copied
from .prose import COPIED
from .questions import Exchange, asked
from .restate import sentence

_LEAST = 2  # exchanges of a FAQ or a dialogue


def faq(passage: Passage, rng: random.Random) -> str | None:
    """Questions with their answers, from the sentences that answer one by themselves."""
    pairs: list[Exchange] = []
    alike, statements = _alike(passage), passage.statements()
    seen: set[str] = set()
    for one in passage.paragraphs:
        for at, statement in enumerate(one.statements):
            found = asked(statement.body, rng) if statement.free else None
            if (
                found is None
                or not _clear(found, alike.get(statement.body, 0.0))
                or _contested(found, statement.body, statements)
            ):
                continue
            answer = found.answer
            if at + 1 < len(one.statements):
                following = one.statements[at + 1]
                if (
                    following.free
                    and weak_start(following.body)
                    and asked(following.body, rng) is None
                    and len(following.body) < 200
                ):
                    answer += " " + " ".join(sentence(following.body, rng))
            if _key(found) not in seen:
                seen.add(_key(found))
                pairs.append(found._replace(answer=answer))
    if len(pairs) < _LEAST:
        return None
    marks = rng.choice(wording.QUESTION_MARKS)
    text = "\n\n".join(f"{marks[0]}{pair.question}{marks[1]}\n{marks[2]}{pair.answer}" for pair in pairs)
    text = passage.mask.show(text)
    return text if copied(passage.source, text) <= COPIED else None


def dialogue(passage: Passage, rng: random.Random) -> str | None:
    """A student asks and a teacher answers; what answers no question the teacher adds."""
    student, teacher = rng.choice(wording.SPEAKERS)
    alike, statements = _alike(passage), passage.statements()
    turns: list[tuple[str, list[str]]] = []
    further = rng.sample(wording.ON, len(wording.ON))
    used: set[str] = set()
    questions = 0
    for one in passage.paragraphs:
        for at, statement in enumerate(one.statements):
            if not statement.free:
                continue
            found = asked(statement.body, rng, alone=not turns or not at)
            if (
                found is not None and _key(found) not in used and _clear(found, alike.get(statement.body, 0.0))
                and not _contested(found, statement.body, statements)
            ):  # fmt: skip
                used.add(_key(found))
                questions += 1
                turns += [(student, [found.question]), (teacher, [found.answer])]
                continue
            said = sentence(statement.body, rng)
            if turns and not at and further and len(turns[-1][1]) > 1:
                turns.append((student, [further.pop()]))
            if turns and turns[-1][0] == teacher:
                turns[-1][1].extend(said)
            else:
                turns.append((teacher, said))
    if questions < _LEAST or len(turns) < 4:
        return None
    text = "\n\n".join(f"{who} {' '.join(said)}" for who, said in turns)
    text = passage.mask.show(text)
    return text if copied(passage.source, text) <= COPIED else None


def _key(pair: Exchange) -> str:
    """What is asked for, however it is worded."""
    return f"{pair.kind} {pair.about}"


_CUE = re.compile(r"\b(?:not|cannot|no|never|without|if|when|unless|only|must|should|some|all|every)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_]{4,}")


def _contested(pair: Exchange, body: str, statements: list[Statement]) -> bool:
    """Whether another sentence, of a condition or a denial, has all words of the question: it might seem to answer
    it."""
    words = set(_WORD.findall(pair.question.lower())) - {
        "what",
        "does",
        "meant",
        "happens",
        "follows",
        "outcome",
        "purpose",
        "serve",
        "used",
    }
    return pair.kind != "case" and any(
        one.body != body and _CUE.search(one.body) and words <= set(_WORD.findall(one.body.lower()))
        for one in statements
    )


def _alike(passage: Passage) -> dict[str, float]:
    """Which share of its words each sentence has in common with the one most like it: how unsure it is what a
    question asks of."""
    bags = [(one.body, set(re.findall(r"\w{3,}", one.body.lower()))) for one in passage.statements()[:200]]
    found = {}
    for at, (body, bag) in enumerate(bags):
        shares = [
            len(bag & theirs) / max(1, min(len(bag), len(theirs)))
            for other, (_, theirs) in enumerate(bags)
            if other != at
        ]
        found[body] = max(shares, default=0.0)
    return found


def _clear(pair: Exchange, alike: float) -> bool:
    """Whether the sentence that a question is about can be told from the others; a case is the harder to tell."""
    return alike <= (0.35 if pair.kind == "case" else 0.65)
