"""Small changes of form within a sentence: relative clauses and participles, genitives, adverbs, numerals."""

from __future__ import annotations

import random
import re

from .masks import HIDDEN
from .parts import capitalised
from .phrases import gerund
from .verbs import AUXILIARIES, CLAUSE_WORDS, DETERMINERS, OF_THIRD, PREPOSITIONS, PRONOUNS, participle

_NOUN = rf"(?P<noun>[a-z]{{3,}}|{HIDDEN})"
_ACTIVE = str.split(
    "returns contains holds represents describes specifies indicates defines computes uses provides takes maps creates "
    "handles wraps implements stores reads writes generates produces allows accepts supports controls determines "
    "performs converts includes identifies receives requires follows belongs corresponds lists stands displays manages "
    "yields matches gives consists depends refers ensures executes applies shows tracks exists satisfies minimizes "
    "maximizes"
)
_THAT_VERB = re.compile(
    rf"\b{_NOUN} (?:that|which) (?P<verb>{'|'.join(_ACTIVE)})(?= (?!to\b|not\b|been\b|had\b)[\w{HIDDEN[1:-1]}])"
)
# Their forms in -ing are nouns, prepositions or ambiguous.
_NO_GERUND = frozenset(str.split("uses takes follows includes allows matches maps lists supports"))
_GERUNDS = {gerund(OF_THIRD[verb]): verb for verb in _ACTIVE if verb not in _NO_GERUND}
_NOUN_GERUND = re.compile(
    rf"(?<!with )(?P<article>\b(?:a|an|each|every|the)) (?P<mid>(?:[\w-]+ ){{0,2}}){_NOUN} "
    rf"(?P<verb>{'|'.join(_GERUNDS)})(?= (?:the|a|an|all|each|its|this|{HIDDEN})\b)"
)
_SECOND_VERB = re.compile(rf" (?:and|or|but) (?:then |also )?(?:{'|'.join(sorted(OF_THIRD))}|is|are|has|can|will)\b")
_DONES = "[a-z]+ed|given|set|held|built|found|made|read|written|sent|taken|kept|run"
_THAT_DONE = re.compile(
    rf"\b{_NOUN} (?:that|which) (?:is|are) (?P<done>{_DONES})"
    r"(?= (?:to|by|in|for|from|with|as|on|at|into|when)\b|$|[,;])"
)
_MADE = str.split("use return create generate define specify provide pass contain call need produce describe compute")
_DONE = re.compile(
    r"(?P<article>\b(?:a|an|each|every|this)) (?P<mid>(?:[\w-]+ ){0,2})(?P<noun>[a-z]{3,}) "
    rf"(?P<done>{'|'.join(sorted(map(participle, _MADE)))})(?= (?:by|in|for|from|with|to)\b)"
)
_GENITIVE = re.compile(
    r"(?<!of )(?<!than )(?<!only )(?<!if )(?<!not )(?<!when )(?<!all )\b(?P<lead>the) (?P<what>[a-z]{3,}) of "
    r"(?P<article>the|this|each|a|an) (?P<owner>[a-z]{3,}[^s\W])"
    r"(?=$|[,;]| (?:is|are|was|can|must|may|should|will|if|when|and|to|by)\b)"
)
_NO_OWNED = frozenset(
    str.split(
        "number set list kind type use case rest sum product part lack sake presence absence first second last same "
        "one most collection sequence series group pair instance form amount majority array matrix tuple dict degree "
        "power range mean result end top bottom middle members effect purpose remainder beginning start exception "
        "union intersection remaining existing way subset all each any both front back help means side class version "
        "limit order"
    )
)
_NO_OWNER = frozenset(
    str.split(
        "following same above below maximum minimum other first second last given current latter former resulting "
        "previous"
    )
)
_HOW = (
    "automatically|explicitly|implicitly|directly|internally|silently|immediately|manually|separately|independently|"
    "properly|efficiently|correctly|randomly"
)
_BE = r"(?<!not )(?<!never )(?<!only )\b(?P<be>is|are|be|was|were)"
_AFTER = r"(?=$|[,;.]| (?:when|if|by|from|in|on|to|with|for)\b)"
_LATE = re.compile(rf"{_BE} (?P<how>{_HOW}) (?P<done>[a-z]+ed|set|run|read|sent){_AFTER}")
_EARLY = re.compile(rf"{_BE} (?P<done>[a-z]+ed|set|run|read|sent) (?P<how>{_HOW}){_AFTER}")
_SMALL = re.compile(
    r"(?P<before>\b(?:the|these|of|with|by|has|have|are|takes|least|most|than|into|between|all|its|only) )"
    r"(?P<n>[2-9]|1[0-2])(?= [a-z]{3,}s\b)"
)
_NUMERALS = str.split("zero one two three four five six seven eight nine ten eleven twelve")
_LONG = re.compile(r"(?<![\w.,#/=-])(?P<n>[1-9]\d{4,8})(?![\w,%/-]|\.\d)")
_PERCENT = re.compile(r"(?<=\d) ?%(?!\w)")


def relative(body: str, rng: random.Random, share: float = 0.8) -> str:
    """A function that returns x → a function returning x, and back; x that is used → x used."""

    def shorter(one: re.Match[str]) -> str:
        if rng.random() > share or not _is_noun(one["noun"]) or _SECOND_VERB.search(body, one.end()):
            return one[0]
        return f"{one['noun']} {gerund(OF_THIRD[one['verb']])}"

    def longer(one: re.Match[str]) -> str:
        words = [*one["mid"].split(), one["noun"]]
        if (
            rng.random() > share
            or not all(map(_is_noun, words))
            or (one["noun"].endswith("s") and one["article"] == "the")
        ):
            return one[0]
        return f"{one['article']} {one['mid']}{one['noun']} that {_GERUNDS[one['verb']]}"

    def done(one: re.Match[str]) -> str:
        return f"{one['noun']} {one['done']}" if rng.random() < share and _is_noun(one["noun"]) else one[0]

    def spelled(one: re.Match[str]) -> str:
        words = [*one["mid"].split(), one["noun"]]
        if rng.random() > share or not all(map(_is_noun, words)):
            return one[0]
        return f"{one['article']} {one['mid']}{one['noun']} that is {one['done']}"

    if _THAT_VERB.search(body):
        return _THAT_VERB.sub(shorter, body)
    if _THAT_DONE.search(body):
        return _THAT_DONE.sub(done, body)
    changed = _NOUN_GERUND.sub(longer, body, count=1)
    return changed if changed != body else _DONE.sub(spelled, body, count=1)


def genitive(body: str, rng: random.Random, share: float = 0.6) -> str:
    """The size of the array → the array's size."""

    def owned(one: re.Match[str]) -> str:
        what, owner = one["what"], one["owner"]
        if rng.random() > share or what in _NO_OWNED or owner in _NO_OWNER | DETERMINERS or what.endswith("ing"):
            return one[0]
        return f"{one['article']} {owner}'s {what}"

    return _GENITIVE.sub(owned, body)


def adverbs(body: str, rng: random.Random, share: float = 0.8) -> str:
    """Is automatically removed → is removed automatically, and back."""
    if _LATE.search(body):
        return _LATE.sub(
            lambda one: f"{one['be']} {one['done']} {one['how']}" if rng.random() < share else one[0], body
        )
    return _EARLY.sub(lambda one: f"{one['be']} {one['how']} {one['done']}" if rng.random() < share else one[0], body)


_BEFORE_NOUN = re.compile(
    r"(?<!if )(?<!If )(?<!When )(?<!when )(?<!while )(?<!only )(?<!not )(?<!from )(?<!all )\bthe "
    r"(?P<how>given|returned|specified|supplied|provided|requested|selected|resulting) "
    rf"(?P<noun>[a-z]{{3,}}|{HIDDEN})"
    r"(?=$|[,;]| (?:is|are|was|has|have|will|can|must|should|may|if|when|to|by|with|from|in)\b)"
)
_USING = re.compile(rf"(?<=[a-z]ed) using (?=(?:the|a|an) |{HIDDEN})")
_NONE = re.compile(r"\b(?P<there>[Tt]here) (?P<be>is|are) (?P<what>(?:no|a|an) (?:[a-z-]+ ){0,2}[a-z]{3,})(?=$|[,;])")


def forms(body: str, rng: random.Random, share: float = 0.5) -> str:
    """The given node → the node given; computed using x → computed with x; there is no x → no x exists."""

    def behind(one: re.Match[str]) -> str:
        how = "that results" if one["how"] == "resulting" else one["how"]
        if rng.random() > share or not _is_noun(one["noun"]) or (how == "that results" and one["noun"].endswith("s")):
            return one[0]
        return f"the {one['noun']} {how}"

    def exists(one: re.Match[str]) -> str:
        last = one["what"].split()[-1]
        if rng.random() > share or not _is_noun(last) or last.endswith(("ed", "able", "ary", "ible")):
            return one[0]
        what = capitalised(one["what"]) if one["there"][0] == "T" else one["what"]
        return f"{what} {'exists' if one['be'] == 'is' else 'exist'}"

    body = _BEFORE_NOUN.sub(behind, body)
    body = _USING.sub(lambda one: rng.choice((" with the help of ", " through ", " using ", " with ")), body)
    return _NONE.sub(exists, body)


def numerals(body: str, rng: random.Random) -> str:
    """Small counts in words, large ones in groups of three, and percent spelled out."""
    body = _SMALL.sub(lambda one: one["before"] + _NUMERALS[int(one["n"])], body)
    body = _LONG.sub(lambda one: f"{int(one['n']):,}", body)
    return _PERCENT.sub(" percent", body)


def _is_noun(word: str) -> bool:
    return not (
        word in PREPOSITIONS
        or word in CLAUSE_WORDS
        or word in PRONOUNS
        or word in AUXILIARIES
        or word in DETERMINERS
        or word.endswith(("ly", "ing"))
        or word
        in (
            "be",
            "been",
            "not",
            "it",
            "so",
            "when",
            "such",
            "only",
            "note",
            "true",
            "false",
            "ensure",
            "assume",
            "show",
            "sure",
            "mean",
        )
    )
