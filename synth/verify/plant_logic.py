"""Planted errors of logic: polarity, modality, quantity, comparison, roles, references, scope."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from .sites import AUXILIARY, NOUN, Edit, cased, sentence_of

_NEGATIONS = [
    (re.compile(r"\b(is|are|was|were|can|could|should|must|will|would|may|does|do|did|has|have|need) not "
        r"(?!only\b)", re.I), r"\1 "),
    (re.compile(r"\b(is|are|was|were|could|should|would|does|do|did|has|have)n['’]t ", re.I), r"\1 "),
    (re.compile(r"\bcannot ", re.I), "can "),
    (re.compile(r"\bcan['’]t ", re.I), "can "),
    (re.compile(r"\bnever ", re.I), ""),
    (re.compile(r"\bwithout (?=[a-z])", re.I), "with "),
    (re.compile(r"\bno (?=(?!longer|more|less|fewer|later|earlier|matter)[a-z]{3})", re.I), "a "),
]  # fmt: skip
_QUANTIFIERS = {
    "all": ("some", "few"), "every": ("some",), "each": ("some",), "always": ("sometimes", "rarely"), "most": ("few",),
    "usually": ("rarely", "always"), "often": ("rarely",), "some": ("all", "most"), "sometimes": ("always",),
    "several": ("all",), "many": ("few",), "few": ("many", "most"), "rarely": ("often",), "typically": ("always",
    "rarely"),
    "generally": ("rarely", "always"), "both": ("neither of",), "only": ("",), "commonly": ("rarely",),
    "normally": ("always",),
}  # fmt: skip
_MODALS = {
    "must": ("may", "should", "can"), "should": ("must", "may"), "may": ("must", "will", ""), "might": ("will", "must"),
    "can": ("must", "should"), "could": ("must", "will"), "shall": ("may",), "has to": ("may",), "have to": ("may",),
    "need to": ("may",), "needs to": ("may",), "required to": ("allowed to",),
}  # fmt: skip
_COMPARATORS = [
    ("at least", "at most"), ("more than", "less than"), ("greater than", "less than"), ("larger than", "smaller than"),
    ("higher than", "lower than"), ("longer than", "shorter than"), ("larger", "smaller"), ("higher", "lower"),
    ("greater", "smaller"), ("faster", "slower"), ("before", "after"), ("maximum", "minimum"), ("increase", "decrease"),
    ("increases", "decreases"), ("largest", "smallest"), ("highest", "lowest"), ("longest", "shortest"),
    ("newer", "older"), ("up to", "at least"), ("no more than", "no less than"),
    ("earlier than", "later than"), ("fewer", "more"),
]  # fmt: skip
_REVERSED = {b: a for a, b in reversed(_COMPARATORS)} | dict(_COMPARATORS)
_NP = (
    r"((?:the |a |an |this |its )?(?:[A-Za-z_`][\w`.()]*)(?: (?!to|with|of|in|into|is|are|and|or|by|for|from|the|a|"
    r"that|which|has|can|will|must)[a-z]{3,})?)"
)
_END = r"(?=[.,;:)]| (?:in|for|and|or|by|if|when|using|is|are|on|at|that|which|with|to|as|must|can|will|has)\b)"
_VERBS = (
    "contains|returns|calls|uses|reads|writes|creates|defines|replaces|overrides|controls|describes|represents|"
    "includes|follows|precedes|determines|generates|specifies|identifies|receives|sends|produces|extends|modifies|"
    "inherits|invokes|wraps|stores|raises|accepts|triggers|handles|manages|matches|computes|holds|implements"
)  # fmt: skip
_ROLES = [
    re.compile(rf"\b(?P<v>from) {_NP} (?P<w>to|into) {_NP}{_END}"),
    re.compile(
        rf"\b(?P<v>converts?|transforms?|maps?|adds?|binds?|attach(?:es)?|assigns?|compares?) {_NP} "
        rf"(?P<w>to|into) {_NP}{_END}"
    ),
    re.compile(rf"\b(?P<v>replaces?|overwrites?|combines?) {_NP} (?P<w>with|by) {_NP}{_END}"),
    re.compile(rf"\b(?P<v>)(?:(?<=the )|(?<=The )){_NP} (?P<w>{_VERBS}) {_NP}{_END}"),
    re.compile(rf"\b(?P<v>)(?:(?<=the )|(?<=The ))([a-z]{{4,}}) (?P<w>of the|of an?|of each) ([a-z]{{4,}}){_END}"),
]  # fmt: skip
_PRONOUNS = frozenset(
    {"it", "them", "this", "that", "one", "another", "other", "each", "which", "itself", "both", "you"}
)
_PRONOUN = re.compile(
    r"(?<=[.!?] )(It|They|This)(?= (?:is|are|was|were|has|have|can|will|must|may|should|does|do|[a-z]+s)\b)"
)
_SUBJECT = re.compile(
    r"\b([Tt]he|[Tt]his) ((?!same|first|last|other|following|next|above|given|default)[a-z]{4,})(?= (?:is|are|"
    r"was|were|has|can|must|will|may|should|does|of)\b)"
)
_CONDITION = re.compile(r",? (?:if|when|unless|except|provided that|as long as) (?!not\b)[^,.;:()\n]{8,120}(?=[.;])")
_LEADING = re.compile(r"(?:(?<=[.!?]\s)|^)(?:If|When|Unless) [^,.;:()\n]{8,120}, (?:then )?(?=[a-z])", re.MULTILINE)
_ONLY = re.compile(r"\b(only) (?=[a-z])")
_MOVE = re.compile(r" (?=(?:in|for|to|with|by|on|from|when|if|at) [a-z])")
_NOT_ALL = re.compile(r"\b([Nn]ot) (all|every|each) ([\w ]{3,30}?) (is|are|can|will|have|has|support|supports)\b")


def _one(text: str, table: dict[str, tuple[str, ...]], rng: random.Random, skip: str = "") -> list[Edit]:
    words = "|".join(sorted(table, key=len, reverse=True))
    sites = list(re.finditer(rf"(?<![\w-])({words})(?![\w-]){skip}", text, re.IGNORECASE))
    if not sites:
        return []
    site = rng.choice(sites)
    other = rng.choice(table[site[0].lower()])
    return [
        Edit(site.start(), site.end() + (not other and text[site.end() : site.end() + 1] == " "), cased(site[0], other))
    ]


def negation_added(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = list(AUXILIARY.finditer(text))
    sites = [one for one in sites if not text.startswith(("n't", "n’t"), one.end())]
    if not sites:
        return []
    site = rng.choice(sites)
    at = site.start() + len(site[1].split()[0])
    return [Edit(at, at, " not")]


def negation_removed(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = [(one, becomes) for pattern, becomes in _NEGATIONS for one in pattern.finditer(text)]
    if not sites:
        return []
    site, becomes = rng.choice(sites)
    return [Edit(*site.span(), cased(site[0], site.expand(becomes)))]


def quantifier_changed(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    return _one(text, _QUANTIFIERS, rng, r"(?! (?:one|recent|recently|important|as|the same|other)\b)")


def modal_changed(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    return _one(text, _MODALS, rng, r"(?= [a-z])")


def comparator_reversed(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    return _one(text, {a: (b,) for a, b in _REVERSED.items()}, rng, r"(?! information|(?<=before) and after)")


def roles_swapped(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = [
        one for pattern in _ROLES for one in pattern.finditer(text)
        # A pronoun cannot change places with what it stands for.
        if _core(one[2]) != _core(one[4]) and not {_core(one[2]), _core(one[4])} & _PRONOUNS
    ]  # fmt: skip
    if not sites:
        return []
    site = rng.choice(sites)
    return [Edit(*site.span(2), site[4]), Edit(*site.span(4), site[2])]


def _core(phrase: str) -> str:
    return phrase.split()[-1].lower().strip("`()").removesuffix("s")


def coreference(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    """A pronoun, or a noun with the article, made to mean something else that the text speaks of."""
    nouns = sorted({one[1] for one in NOUN.finditer(text)})
    sites = [*_PRONOUN.finditer(text), *_SUBJECT.finditer(text)]
    rng.shuffle(sites)
    for site in sites:
        start, end = sentence_of(text, site.start())
        place = 1 if site.lastindex == 1 else 2
        told = text[start:end].lower()
        if place == 1:  # what the sentence before speaks of, the pronoun could well mean
            told = text[sentence_of(text, max(0, start - 2))[0] : end].lower()
        pool = [noun for noun in nouns if noun.removesuffix("s") not in told]
        if pool:
            return [Edit(*site.span(place), "The " * (place == 1) + rng.choice(pool))]
    return []


def scope_shift(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    """A condition dropped, *only* moved to another phrase, or *not all* made *all … not*."""
    options: list[list[Edit]] = [[Edit(*one.span(), "")] for one in _CONDITION.finditer(text)]
    for one in _LEADING.finditer(text):
        options.append([Edit(one.start(), one.end() + 1, text[one.end()].upper())])
    for one in _ONLY.finditer(text):
        _, end = sentence_of(text, one.start())
        later = list(_MOVE.finditer(text, one.end() + 1, end))
        if later:
            move = rng.choice(later)
            options.append([Edit(*one.span(), ""), Edit(move.start(), move.start(), " only")])
    for one in _NOT_ALL.finditer(text):
        options.append([Edit(*one.span(), f"{cased(one[1], one[2])} {one[3]} {one[4]} not")])
    return rng.choice(options) if options else []
