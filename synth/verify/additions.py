"""Words of praise and of generality that a free rewrite added: no synonym of anything that its source says."""

from __future__ import annotations

import re

from .concepts import concept
from .stems import stem
from .views import Span, View

_CLAIMS = frozenset(
    str.split(
        "faster fastest cheaper cheapest safer safest superior famous popular powerful oldest newest "
        "revolutionary unique cause causes caused proves proven guarantee guarantees guaranteed ideal perfect"
    )
)
_ALWAYS = re.compile(
    r"\b(?:in (?:any|every) case|in all cases|at all times|under (?:any|all) circumstances|without exception)\b",
    re.IGNORECASE,
)
_ALWAYSISH = re.compile(
    r"\b(?:any|every|all|always|even|each|regardless|whatever|never|no matter|whether)\b", re.IGNORECASE
)


def added(view: View) -> list[Span]:
    """Where the rewrite praises, or makes general, what the source does not. `view`: the rewrite's."""
    known = set(view.others.concepts)
    found = [
        (view.sheet.starts[at], view.sheet.ends[at])
        for at, word in enumerate(view.sheet.words)
        if word.lower in _CLAIMS and concept(stem(word.lower)) not in known and concept(word.stem) not in known
    ]
    if not _ALWAYSISH.search(view.other.text):
        found += [one.span() for one in _ALWAYS.finditer(view.sheet.text)]
    return found
