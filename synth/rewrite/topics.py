"""What a chunk is about, and what kind of statement a sentence makes."""

from __future__ import annotations

import re
from collections import Counter

from ..verify.cues import CUES
from ..verify.stems import stem
from .parts import clause, decapitalised, fronted, trailing
from .passage import Passage
from .verbs import AUXILIARIES, BASES, CLAUSE_WORDS, DETERMINERS, OF_THIRD, PREPOSITIONS, PRONOUNS

_ARTICLED = re.compile(
    r"\b(?:the|a|an|this|that|these|those|each|every|any|its|their|your|our|no|some|another) "
    r"(?:[\w'-]+ ?){1,3}",
    re.IGNORECASE,
)
_COMMON = (
    BASES
    | frozenset(OF_THIRD)
    | PREPOSITIONS
    | CLAUSE_WORDS
    | PRONOUNS
    | DETERMINERS
    | AUXILIARIES
    | frozenset(
        str.split(
            "also then only more less same other using used given true false none case note such than very when will "
            "been being first second last example default here thus however therefore following above below provided "
            "needed specified these returned called based made done passed must method function value values"
        )
    )
)


def topics(passage: Passage, most: int = 3) -> list[str]:
    """The things that sentences are about, the most frequent first; of equals, in order.

    Common nouns with an article are left out: a heading that names them reads as if one in particular were meant.
    """
    counts: Counter[str] = Counter()
    everything = " ".join(one.body for one in passage.statements())
    articled = {stem(word) for one in _ARTICLED.finditer(everything) for word in one[0].lower().split()}
    for statement in passage.statements():
        found = clause(statement.body)
        name = found.subject if found and found.plain else ""
        words = name.lower().split()
        if (
            not name
            or len(words) > 3
            or "," in name
            or words[0].endswith("ing")
            or articled.intersection(map(stem, words))
        ):
            continue
        if any(word in _COMMON for word in words) or any(len(word) > 1 and word in CUES for word in words):
            continue
        shown = passage.mask.show(name)
        if "(" not in shown and shown not in ("True", "False", "None", "NaN", "NULL"):
            counts[
                decapitalised(name)
                or (name[0].lower() + name[1:] if name[1:].islower() and name.isalpha() and name[-1] == "s" else name)
            ] += 1
    return [name for name, _ in counts.most_common(most)]


def label(body: str) -> str:
    """definition, condition, rule, example, reason, option, note or statement."""
    if re.match(r"(?:For example|For instance)\b", body):
        return "example"
    if re.match(r"(?:Note|Keep in mind|Bear in mind|Beware)\b", body):
        return "note"
    if fronted(body) or trailing(body):
        return "condition"
    if re.search(r"\b(?:because|therefore|hence|thus|for this reason)\b", body, re.IGNORECASE):
        return "reason"
    found = clause(body)
    verb = found.verb if found else ""
    if verb in ("must", "should", "cannot") or (found and found.rest.startswith("to ") and verb in ("has", "have")):
        return "rule"
    if found and verb in ("is", "are") and re.match(r"(?:an?|the) ", found.rest):
        return "definition"
    if verb in ("can", "may", "might"):
        return "option"
    return "statement"
