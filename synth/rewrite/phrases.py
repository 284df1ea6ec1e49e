"""Exchanges words and phrases for others that say the same, and contractions for what they are short for."""

from __future__ import annotations

import random
import re

from .lexicon import PHRASES
from .masks import HIDDEN
from .verbs import EXCHANGED, NO_PARTICIPLE, NOUNS_TOO, participle, third

_VERB_FOLLOWS = str.split("to can may must should will could would not they you we We")
_BEFORE_VERB = f"(?:{'|'.join(f'(?<={word} )' for word in _VERB_FOLLOWS)})"
_OBJECT = f"the|a|an|this|these|all|each|every|any|its|their|your|only|no|one|two|three|some|{HIDDEN}"
_BEFORE_OBJECT = rf"(?= (?:{_OBJECT})(?!\w))"


class Draw(random.Random):
    """What the wording of a rewrite is drawn from; it knows the source, in small letters."""

    source = ""


def gerund(base: str) -> str:
    """The form in -ing."""
    doubled = {
        "get": "getting",
        "run": "running",
        "permit": "permitting",
        "stop": "stopping",
        "set": "setting",
        "occur": "occurring",
        "control": "controlling",
        "wrap": "wrapping",
        "map": "mapping",
        "plot": "plotting",
        "refer": "referring",
        "swap": "swapping",
    }
    if base in doubled:
        return doubled[base]
    return base[:-1] + "ing" if base.endswith("e") and not base.endswith("ee") else base + "ing"


def _forms(phrase: str) -> tuple[str, str, str, str]:
    """Base, third person, participle and gerund of a verb that may have words behind it."""
    base, _, rest = phrase.partition(" ")
    participles = {"choose": "chosen", "deal": "dealt", "throw": "thrown", "give": "given", "hand": "handed"}
    rest = " " + rest if rest else ""
    return phrase, third(base) + rest, participles.get(base, participle(base)) + rest, gerund(base) + rest


def _table() -> list[tuple[str, str, list[str]]]:
    """(pattern, phrase in small letters, what may stand for it)."""
    found = []
    for line in PHRASES.strip().splitlines():
        phrase, _, others = line.partition(" = ")
        end = r"(?!\w)" if phrase[-1].isalnum() else ""
        found.append((re.escape(phrase) + end, phrase, others.split("|")))
    for line in EXCHANGED.strip().splitlines():
        base, _, others = line.partition(" = ")
        mine = _forms(base)
        theirs = [_forms(other) for other in others.split("|")]
        for number, form in enumerate(mine):
            if (number > 1 and base in NO_PARTICIPLE) or (number == 3 and base == "use"):
                continue
            alternatives = [one[number] for one in theirs if number < 2 or not one[0].startswith("make use")]
            if number == 0 and form == participle(base):
                continue
            ambiguous = base in NOUNS_TOO and number < 2
            before = _BEFORE_VERB if number == 0 else ""
            after = _BEFORE_OBJECT if ambiguous or number in (1, 3) else ""
            found.append((f"{before}{re.escape(form)}(?!\\w){after}", form, alternatives))
    return found


_TABLE = _table()
_OTHERS: dict[str, list[str]] = {}
for _pattern, _phrase, _alternatives in _TABLE:
    _OTHERS.setdefault(_phrase, [one for one in _alternatives if one != _phrase])


def _by_letter() -> str:
    """All patterns, the longest first, behind the letter they begin with: at most places few have to be tried."""
    buckets: dict[str, list[str]] = {}
    for pattern, phrase, _ in sorted(_TABLE, key=lambda one: -len(one[1])):
        buckets.setdefault(phrase[0], []).append(pattern)
    return "|".join(f"(?={letter})(?:{'|'.join(patterns)})" for letter, patterns in sorted(buckets.items()))


_ANY = re.compile(rf"(?<![\w.\-/])(?:(?P<article>an?) )?(?P<found>{_by_letter()})(?![\-/='’])", re.IGNORECASE)


def _stem(phrase: str) -> str:
    """The beginning of the phrase's longest word, which other forms of that word share."""
    word = max(phrase.split(), key=len)
    return word[: max(4, len(word) - 3)] if len(word) > 4 else f"\x00{word}"


_ARTICLE = re.compile(r"\b(?:the|an?|this|each|its|any|every|newly) $", re.IGNORECASE)
_BE = re.compile(r"\b(?:is|are|be|was|were|been|being) $")


def exchanged(sentence: str, rng: random.Random, share: float = 0.85) -> str:
    """The sentence with phrases of the table exchanged, each with the probability `share`."""

    small = sentence.lower()
    source = rng.source if isinstance(rng, Draw) else ""

    def other(one: re.Match[str]) -> str:
        written = one["found"]
        # Not by a word that the source has already: it would seem to mean the same thing there.
        rest = small[: one.start("found")] + small[one.end() :]
        alternatives = [
            new for new in _OTHERS.get(written.lower(), ())
            if (stem := _stem(new)) not in rest and (stem in written.lower() or stem not in source)
        ]  # fmt: skip
        article = one["article"] or ""
        if not alternatives or rng.random() > share or (written[0].isupper() and (article or one.start() > 0)):
            return one[0]
        new = rng.choice(alternatives)
        if (
            " " in new
            and written.endswith(("ed", "en"))
            and " " not in written
            and not _BE.search(sentence, 0, one.start("found"))
        ):
            return one[0]
        if written.endswith("ed") and _ARTICLE.search(sentence, 0, one.start("found")):
            return one[0]  # "the created tree", "a modified form": there it is an adjective
        if written.endswith(",") and not new.endswith(","):
            new += ","
        if article == "A" and one.start():
            return f"A {new}"  # a letter that names something
        if article:
            if new.split()[0] in ("the", "any"):
                return one[0]
            article = article[0] + ("n" if new[0] in "aeiou" and not new.startswith(("use", "uni", "one")) else "")
            return f"{article} {new}"
        return new[0].upper() + new[1:] if written[0].isupper() else new

    return _ANY.sub(other, sentence)


_SHORT = {
    phrase: others[0] for phrase, others in _OTHERS.items() if "'" in phrase or phrase.startswith(("e.g.", "i.e."))
}
_SHORTENED = re.compile(
    rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(_SHORT, key=len, reverse=True)))})(?!\w)", re.IGNORECASE
)


def opened(sentence: str) -> str:
    """Contractions and abbreviations written out."""

    def long(one: re.Match[str]) -> str:
        new = _SHORT[one[0].lower()]
        return new[0].upper() + new[1:] if one[0][0].isupper() else new

    if "'" not in sentence and "." not in sentence and "’" not in sentence:
        return sentence
    return _SHORTENED.sub(long, sentence.replace("’", "'"))
