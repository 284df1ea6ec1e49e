"""What a sentence is made of, as far as words and punctuation tell: subject and verb, condition and consequence, order.

Everything here is cautious: where a pattern does not hold for sure the answer is None, and the sentence stays as it is.
Sentences come without their full stop and with code and formulas hidden (`masks`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .masks import HIDDEN, is_aside
from .verbs import ASKS, AUXILIARIES, BASES, CLAUSE_WORDS, DETERMINERS, OF_THIRD, PASSIVE, PREPOSITIONS, PRONOUNS, SMALL


class Clause(NamedTuple):
    """Subject, verb and the rest of a main clause, as they are written."""

    subject: str
    verb: str
    rest: str

    @property
    def plain(self) -> bool:
        """Whether the subject names something by itself, so that a question may be asked about it."""
        first = self.subject.split()[0].lower()
        return first not in PRONOUNS and first not in _LEANING and not _LEANS.search(self.subject)


class Condition(NamedTuple):
    """A clause with its conjunction in small letters, and the clause that it belongs to."""

    cue: str
    condition: str
    main: str


_LEANING = frozenset(str.split("another other such both either neither some most many each every any all several"))
_LEANS = re.compile(
    r"\b(?:same|former|latter|following|above|below|first|second|third|other|last|next|previous"
    r"|resulting)\b"
)
_NO_SUBJECT = (
    (CLAUSE_WORDS - PRONOUNS)
    | PREPOSITIONS
    | AUXILIARIES
    | frozenset(
        str.split(
            "there that who which what only also just not then thus here however otherwise instead "
            "sometimes always never less more most fewer rather "
            "note please therefore hence consequently moreover nevertheless "
            "accordingly still yet further along together besides"
        )
    )
)
_ENDS_SUBJECT = CLAUSE_WORDS - {"and", "or", "than", "as"}
_NO_END = (
    frozenset(str.split("only also then still always never now just often not"))
    | PREPOSITIONS
    | (DETERMINERS - {"this", "these", "that", "those", "all", "both", "each"})
)
_HIDDEN_ONLY = re.compile(f"{HIDDEN}$")
_OBJECT_NEXT = (
    frozenset(str.split("the a an this these its their your each every all any only both whether how that no to"))
    | DETERMINERS
)
# Third persons that are plurals of nouns just as often: verbs only before an object.
_PLURALS = frozenset(
    str.split(
        "accesses calls changes checks compares controls copies displays draws estimates extracts filters finds "
        "fits forms forwards groups handles holds hosts indexes inserts issues joins keeps labels limits lists "
        "loads locks logs maps marks matches measures models moves names needs offers opens orders owns packs "
        "parses passes permits places plays plots points prints processes produces projects queries ranges reads "
        "records reports requests resets results returns runs samples saves scales scans searches sets shares shows "
        "sorts splits starts stops stores strips sums supports swaps tests ties tracks transforms triggers turns "
        "types updates uses values visits waits wants works wraps writes yields looks touches covers causes means "
        "reverses"
    )
)
_SUBJECT_WORDS = 9
_FRONTED = re.compile(
    r"(?P<cue>If|When|Whenever|Unless|Because|Since|Although|Though|While|Once|Until|After|Before|As long as|Even "
    r"if|Even when|"
    r"Provided that) (?P<x>[^,;:]{6,150}), (?:then )?(?P<y>[^;:]{8,200})$"
)
_TRAILING = re.compile(
    r"(?P<y>[^;:,]{8,180}?)(?P<comma>,?) (?P<cue>if|when|whenever|unless|because|although|though|once|as long as"
    r"|provided that"
    r"|even if|even when) (?P<x>[^,;:]{6,150})$"
)
_AIMS = re.compile(rf" to (?:{'|'.join(sorted(BASES))})\b")
_SECOND = re.compile(
    r"\b(?:if|when|whenever|unless|because|although|though|while|once|until|whereas|that|which|who"
    r"|where|so)\b"
)
_WEAK_START = re.compile(
    r"(?:(?:it|they|this|these|that|those|he|she|such|them|its|their|then|so|otherwise|both)\b"
    r"|(?:each|one|all|none|some) (?:is|are|has|of)\b)",
    re.IGNORECASE,
)


def decapitalised(text: str) -> str | None:
    """The text with its first letter small, or None where the first word may be a name."""
    first = re.match(r"[\w'’-]+", text)
    if first is None:
        return None
    word = first[0]
    lower = word.lower()
    if not word[0].isupper():
        return text if word[0].islower() or _HIDDEN_ONLY.match(word[0]) else None
    if word == "I" or not (
        lower in SMALL or lower in BASES or lower in OF_THIRD or lower in AUXILIARIES or lower.endswith("ly")
    ):
        return None
    return text[0].lower() + text[1:]


def capitalised(text: str) -> str:
    """The text with a capital; what is hidden keeps its first letter."""
    return text[0].upper() + text[1:] if text else text


def clause(body: str) -> Clause | None:
    """Subject, verb and rest of a sentence that begins with its subject."""
    words = body.split(" ")
    first = words[0].lower()
    if not first or first in _NO_SUBJECT or first.endswith(("ly", ",", ";", ":")) or is_aside(first[0]):
        return None
    for at, word in enumerate(words[: _SUBJECT_WORDS + 1]):
        lower = word.lower()
        if at and lower in AUXILIARIES and word.islower():
            return _made(words, at)
        if at and lower in OF_THIRD and word.islower() and at + 1 < len(words) and _is_verb(words, at):
            return _made(words, at)
        if lower in ("be", "to") or (at and (lower in _ENDS_SUBJECT or word.endswith((",", ";", ":")))):
            return None
    return None


def _is_verb(words: list[str], at: int) -> bool:
    """Whether a form that ends in -s is the verb here."""
    following = words[at + 1].lower()
    if following in AUXILIARIES or (at == 1 and words[0].lower() in ("this", "the", "a", "an", "its")):
        return False
    if any(word.lower() in PREPOSITIONS for word in words[1:at]) and words[at] in _PLURALS:
        return following in ("the", "a", "an")
    if words[at] in _PLURALS:
        return following in _OBJECT_NEXT or bool(_HIDDEN_ONLY.match(following))
    return True


def _made(words: list[str], at: int) -> Clause | None:
    subject = words[:at]
    last = subject[-1].lower()
    if last in _NO_END or last.endswith("ly") or at + 1 >= len(words):
        return None
    if "and" in subject and OF_THIRD.keys() & set(subject[1:]):
        return None  # the second of two verbs
    first = subject[0].lower()
    if at == 1 and last not in PRONOUNS and not subject[0][0].isupper() and not _HIDDEN_ONLY.match(first):
        return None
    if at > 1 and (first in OF_THIRD or (first in BASES and subject[1].lower() in DETERMINERS | {"that"})):
        return None  # an order, or a statement without its subject
    return Clause(" ".join(subject), words[at], " ".join(words[at + 1 :]))


def is_clause(text: str) -> bool:
    """Whether a text is surely a main clause with a subject of its own."""
    return clause(capitalised(text)) is not None


def is_plural(clause_: Clause) -> bool:
    """Whether the verb says that there are several."""
    if clause_.verb in ("are", "were", "have", "do"):
        return True
    if clause_.verb in ("is", "was", "has", "does") or clause_.verb in OF_THIRD:
        return False
    words = clause_.subject.lower().split()
    head = next((words[at - 1] for at, word in enumerate(words) if at and word in PREPOSITIONS), words[-1])
    return (
        (head.endswith("s") and not head.endswith(("ss", "us", "is")))
        or words[0] in ("these", "those")
        or "and" in words
    )


def fronted(body: str) -> Condition | None:
    """Of "If x, y"."""
    found = _FRONTED.match(body)
    if found is None or _SECOND.search(found["y"]) or _SECOND.search(found["x"]) or " only " in found["y"]:
        return None
    if not (is_clause(found["x"]) or found["cue"] in ("When", "After", "Before", "While") or _bare(found["x"])):
        return None
    return Condition(found["cue"].lower(), found["x"], found["y"])


def trailing(body: str) -> Condition | None:
    """Of "y if x"."""
    found = _TRAILING.match(body)
    if found is None or ASKS.search(found["y"]) or _SECOND.search(found["x"]) or _SECOND.search(found["y"][5:]):
        return None
    if _AIMS.search(found["x"]) or " only " in found["y"]:
        return None  # to which of the two the aim belongs is not sure
    if found["cue"] in ("though", "once") and not is_clause(found["x"]):
        return None
    if not (is_clause(found["x"]) or (found["cue"] in ("if", "when", "unless") and _bare(found["x"]))):
        return None
    return Condition(found["cue"], found["x"], found["y"])


def _bare(text: str) -> bool:
    """Whether a condition lacks its subject and verb: "if given", "when reading a file"."""
    first = text.split()[0]
    return first.endswith(("ing", "ed")) or first in ("given", "set", "necessary", "possible", "true", "needed", "not")


def weak_start(text: str) -> bool:
    """Whether a clause begins with a word that points back."""
    return _WEAK_START.match(text) is not None


# What readers are told to do; the others, in documentation, say what a function does.
_ADVICE = frozenset(
    str.split(
        "Use Check Visit Read Test Invoke Call Run Pass Send Submit Keep Specify Select Choose Try Consider Enter Open "
        "Close Install Set Define Add Include Exclude Ignore Provide Describe Create Remove"
    )
)


def passive(body: str, whole: bool = False) -> str | None:
    """An order or a statement without its subject ("Return the sum", "Returns the sum") with its object as subject.

    Args:
        whole: all that follows the verb must be its object.

    Returns:
        None where it is not sure how far the object goes, or whether it is one or several.
    """
    verb, _, rest = body.partition(" ")
    done = PASSIVE.get(verb.lower())
    if done is None or not rest or not verb[0].isupper() or verb in _ADVICE or _ENDS.search(rest):
        return None
    words = rest.split(" ")
    if words[0].lower() not in ("the", "a", "an", "all", "each", "every") and not (
        _HIDDEN_ONLY.match(words[0]) and (whole or len(words) == 1 or words[1].lower() in PREPOSITIONS | {"if", "when"})
    ):
        return None
    end = _object_end(words, whole)
    if end is None or "and" in words[:end] or end > 12 or (end < 2 and not _HIDDEN_ONLY.match(words[0])):
        return None
    plural = _plural(words[:end])
    if plural is None:
        return None
    tail = " ".join(words[end:])
    return f"{capitalised(' '.join(words[:end]))} {'are' if plural else 'is'} {done}{' ' + tail if tail else ''}"


_ENDS = re.compile(r"[,;:]|\b(?:and|or) (?:then|\w+s|[a-z]+) (?:the|a|an|it|its|them)\b|[A-Z][a-z]+ (?:the|a|an)\b")


def _object_end(words: list[str], whole: bool) -> int | None:
    """How many of the words belong to the object that they begin with; None if that is not sure."""
    of = False
    for at, word in enumerate(words):
        lower = word.lower()
        if not at:
            continue
        if lower in CLAUSE_WORDS - {"and"} or lower == "to" or lower in AUXILIARIES or lower.endswith(("ing", "ly")):
            if whole or lower not in ("to", "when", "if", "whenever", "unless") or words[at - 1].endswith(("ed", "en")):
                return None
            if lower == "to" and (at + 1 == len(words) or words[at + 1].lower() not in BASES):
                return None  # "relative to", "equal to"
            return at if at > 1 or _HIDDEN_ONLY.match(words[0]) else None
        if lower in OF_THIRD and lower not in _PLURALS:
            return None
        if whole:
            if lower in ("via", "by", "to", "into", "from", "with", "using", "as") or (
                lower in ("in", "on", "at", "for") and not of
            ):
                return None
            of = of or lower == "of"
            continue
        if at < 2:
            continue
        if lower in PREPOSITIONS and words[at - 1].endswith(("ed", "en", "ing")):
            return None
        if lower in ("from", "into", "by", "as", "via", "onto"):  # others may belong to the object as well
            return at
    return len(words)


def _plural(words: list[str]) -> bool | None:
    """Whether the object is several things; None if that is not sure."""
    first = words[0].lower()
    head = next(
        (words[at - 1] for at in range(1, len(words)) if words[at].lower() in PREPOSITIONS or words[at].endswith("ed")),
        words[-1],
    )
    head = head.lower()
    if head in ("specific", "available", "necessary", "suitable", "such", "axis", "series") or head in DETERMINERS:
        return None
    if first in ("a", "an", "each", "every") or head in ("data", "information", "min", "max"):
        return False
    if first == "all" or head in ("indices", "vertices", "matrices"):
        return True
    return head.endswith("s") and not head.endswith(("ss", "us", "is"))
