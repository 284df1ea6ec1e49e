"""Questions that sentences answer: what something is or does, what happens in a case, why, how, what for.

A question and its answer together say what the sentence says, once: a word that the logic turns on stands in one.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from .clauses import order_to_passive
from .parts import Clause, capitalised, clause, decapitalised, fronted, is_clause, trailing, weak_start
from .restate import condition_polished, polished
from .verbs import BASES, OF_THIRD, TRANSITIVE


class Exchange(NamedTuple):
    """A question and its answer. `kind`: definition, action, case, reason, way, purpose; `about`: what is
    asked of."""

    kind: str
    about: str
    question: str
    answer: str


_USED = re.compile(
    r"(?P<done>(?:mainly |primarily |often |usually |typically )?used) (?P<aim>(?:to [a-z]+|for "
    r"[a-z]+) .+)$"
)
_TO = re.compile(r"To (?P<aim>[a-z]+ [^,;:]{4,80}), (?P<main>[^;:]{6,160})$")
_AIM = re.compile(
    r"(?P<main>(?:Use|Call|Pass|Set|Specify|Apply|Run) [^,;:]{2,90}?) (?:in order )?to (?P<aim>[a-z]+ "
    r"[^,;:]{4,90})$"
)
_POINTS = re.compile(r"\b(?:it|them|this|that|these|instead|also|then)\b")
# Ends of an order behind which `to` opens no aim, and conditions that a question would tear apart.
_NO_WAY = re.compile(
    r"\b(?:need|want|wish|have|able|used|order|going|ought|how|what|where|whether|way|when|it|them)$|\bif\b"
)
_REASON = re.compile(r"(?P<x>[^;:,]{10,140}?),? (?P<cue>because|since) (?!of\b)(?P<y>[^;:]{8,160})$")
_YOUR = re.compile(r"\b(?:you|your|we|our|us)\b", re.IGNORECASE)
_LEANING = re.compile(
    r"(?:this|these|that|those|such|the (?:same|above|following|latter|former|other)|other"
    r"|another) ",
    re.IGNORECASE,
)


def asked(body: str, rng: random.Random, alone: bool = True) -> Exchange | None:
    """The question that a sentence (without its full stop) answers, or None.

    Args:
        alone: the question must be understood without the sentences before.
    """
    for ask in (_way, _case, _reason, _purpose, _definition, _action):
        found = ask(body, rng, alone)
        if found is not None:
            return found
    return None


def _named(found: Clause | None, alone: bool) -> str | None:
    """The subject as it stands in a question."""
    if found is None or not found.plain or (alone and _LEANING.match(found.subject)) or "," in found.subject:
        return None
    if found.subject.split()[0].endswith("ing"):
        return None
    first = found.subject.split()[0]
    return decapitalised(found.subject) or (found.subject if not first[1:].islower() else None)


def _definition(body: str, rng: random.Random, alone: bool) -> Exchange | None:
    """X is a y → What is X? It is a y."""
    found = clause(body)
    subject = _named(found, alone)
    if (
        found is None
        or subject is None
        or found.verb not in ("is", "are")
        or not re.match(r"(?:an?|the) [a-z]", found.rest)
        or len(found.rest) < 20
    ):
        return None
    pronoun = "They are" if found.verb == "are" else "It is"
    asks = (
        (f"What {found.verb} {subject}?", f"What is meant by {subject}?")
        if not subject.startswith(("each", "every"))
        else (f"What {found.verb} {subject}?",)
    )
    return Exchange("definition", subject, rng.choice(asks), f"{pronoun} {polished(found.rest, rng)}.")


def _action(body: str, rng: random.Random, alone: bool) -> Exchange | None:
    """X returns y → What does X return? It returns y."""
    found = clause(body)
    subject = _named(found, alone)
    if found is None or subject is None or found.verb not in OF_THIRD or len(found.rest) < 15:
        return None
    base, first = OF_THIRD[found.verb], found.rest.split()[0]
    takes = base in TRANSITIVE | _WITH_OBJECT and re.match(r"(?:an?|the|all|each|any|that|how|whether) ", found.rest)
    if first in _PARTICLES.get(base, ()):
        question = f"What does {subject} {base} {first}?"
    elif base in _STATES:
        if not takes:
            return None
        question = f"What does {subject} {base}?"
    else:
        question = (
            rng.choice((f"What does {subject} {base}?", f"What does {subject} do?"))
            if takes
            else f"What does {subject} do?"
        )
    return Exchange("action", subject, question, f"It {polished(f'{found.verb} {found.rest}', rng)}.")


_PARTICLES = {"depend": ("on",), "consist": ("of",), "refer": ("to",), "correspond": ("to",), "belong": ("to",),
    "rely": ("on",), "lead": ("to",),
              "result": ("in",), "apply": ("to",), "point": ("to",)}  # fmt: skip
_WITH_OBJECT = frozenset(
    str.split("mean require need indicate denote affect cover introduce imply assume expect allow support")
)
_STATES = frozenset(
    str.split(
        "have mean require need indicate denote contain hold represent depend consist refer correspond belong rely "
        "appear exist differ occur happen remain become stand seem lie result apply imply want assume expect live "
        "behave come go look begin follow work point do let tend cover"
    )
)


def _case(body: str, rng: random.Random, alone: bool) -> Exchange | None:
    """If x, y → What happens if x? y."""
    found = fronted(body) or trailing(body)
    if (
        found is None
        or found.cue not in ("if", "when", "whenever", "unless")
        or weak_start(found.condition)
        or _YOUR.search(body)
    ):
        return None
    if not is_clause(found.condition) or (alone and _LEANING.match(found.condition)):
        return None
    main = found.main
    if clause(capitalised(main)) is None:
        done = order_to_passive(capitalised(main), rng)
        if done is None:
            return None
        main = done[0]
    small = decapitalised(main)
    if small is None or (alone and _LEANING.match(small)) or len(small.split()) < 6:
        return None
    if re.search(r"\b(?:not|no|cannot|never|without)\b", found.condition):
        return None  # a denial in the question and what follows from it in the answer are easily read apart
    asks = ("What happens", "What follows", "What is the outcome" if alone else "And")
    question = f"{rng.choice(asks)} {found.cue} {condition_polished(found.condition, rng)}?"
    answer = f"{rng.choice(('In that case,', 'Then'))} {polished(small, rng)}."
    return Exchange("case", found.condition, question, answer)


def _reason(body: str, rng: random.Random, alone: bool) -> Exchange | None:
    """x is y because z → Why is x y? Because z."""
    found = _REASON.match(body)
    if (
        found is None
        or not is_clause(found["y"])
        or (found["cue"] == "since" and not re.search(r"\b(?:is|are|can|does|do|has|have)\b", found["y"]))
    ):
        return None
    inner = clause(found["x"])
    subject = _named(inner, alone)
    if inner is None or subject is None or re.search(r"\b(?:if|when|which|that)\b|,", inner.rest):
        return None
    if inner.verb in ("is", "are", "was", "were", "can", "must", "should", "will", "may", "cannot", "could"):
        question = f"Why {inner.verb} {subject} {polished(inner.rest, rng)}?"
    elif inner.verb in OF_THIRD:
        question = f"Why does {subject} {OF_THIRD[inner.verb]} {polished(inner.rest, rng)}?"
    else:
        return None
    return Exchange("reason", subject, question, f"Because {polished(found['y'], rng)}.")


def _way(body: str, rng: random.Random, alone: bool) -> Exchange | None:
    """To x, use y → How do you x? Use y."""
    for pattern in (_TO, _AIM):
        found = pattern.match(body)
        if found is None or found["aim"].split()[0] not in BASES or _POINTS.search(found["aim"]):
            continue
        main = capitalised(found["main"])
        if main.split()[0].lower() not in BASES and clause(main) is None:
            continue
        if _NO_WAY.search(main) or len(main.split()) < 5:
            continue
        asks = ("How do you", "How does one", "What is the way to")
        ask = "How do you" if re.search(r"\byour?\b", found["aim"]) else rng.choice(asks)
        return Exchange("way", found["aim"], f"{ask} {polished(found['aim'], rng)}?", f"{polished(main, rng)}.")
    return None


def _purpose(body: str, rng: random.Random, alone: bool) -> Exchange | None:
    """X is used to y → What is X used for? It is used to y."""
    found = clause(body)
    subject = _named(found, alone)
    if found is None or subject is None or found.verb not in ("is", "are"):
        return None
    used = _USED.match(found.rest)
    if used is None or re.search(r"\b(?:if|when)\b", body):
        return None
    question = rng.choice(
        (
            f"What {found.verb} {subject} used for?",
            f"What purpose {'do' if found.verb == 'are' else 'does'} {subject} serve?",
        )
    )
    plural = found.verb == "are"
    opening = rng.choice(("They are used", "They serve") if plural else ("It is used", "It serves"))
    return Exchange("purpose", subject, question, f"{opening} {polished(used['aim'], rng)}.")
