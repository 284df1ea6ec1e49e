"""Moves, splits and joins the clauses of sentences, and turns active into passive and back.

Each rule takes a sentence without its full stop and gives the sentences that take its place, or None where it does not
apply for sure. None of them adds a statement or drops one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from .lexicon import OPENERS
from .masks import HIDDEN
from .parts import capitalised, clause, decapitalised, fronted, is_clause, is_plural, passive, trailing, weak_start
from .verbs import (
    AUXILIARIES,
    BASES,
    CLAUSE_WORDS,
    OF_THIRD,
    PASSIVE,
    PREPOSITIONS,
    PRONOUNS,
    TRANSITIVE,
    participle,
    third,
)

Rule = Callable[[str, random.Random], list[str] | None]

_BASE_OF = {participle(base): base for base in sorted(TRANSITIVE)}
_YOU = re.compile(
    r"(?P<lead>(?:[A-Z][^,;:]{3,60}, )?)(?P<you>[Yy]ou|[Oo]ne|[Ww]e) (?P<modal>can|may|must|should) "
    r"(?P<verb>[a-z]+) (?P<object>.+)$"
)
_OBJECT = re.compile(
    rf"(?P<np>(?:(?:the|a|an|this|these|any|all|multiple|several|other|different) )?(?:[\w'’-]+ "
    rf"){{0,3}}?(?:{HIDDEN}|[\w’'-]+))"
    r"(?P<tail>(?: (?:to|for|from|with|by|in|into|as|at|when|if|using|through|via|inside|within|instead) .+)?)$"
)
_PURPOSE = re.compile(r"To (?P<aim>[a-z]+ [^,;:]{4,90}), (?P<main>(?:use|call|pass|set|see|specify|add|apply|you "
    r"can|you must|one can|"
                      r"users can|create|run|define|choose|select|try)\b [^;:]{3,140})$")  # fmt: skip
_AIM = re.compile(r"(?P<main>(?:Use|Call|Pass|Set|Specify|Apply|Run|You can use|You can call|You can set|You can "
    r"pass|Users can use) "
                  r"[^,;:]{2,90}?) (?:in order )?to (?P<aim>[a-z]+ [^,;:]{4,110})$")  # fmt: skip
_BUT = re.compile(r"(?P<x>[^;:]{12,160}), but (?P<y>[^;:]{10,200})$")
_SO = re.compile(r"(?P<x>[^;:]{12,160}), so (?!that\b|as\b|long\b|far\b)(?P<y>[^;:]{10,200})$")
_AND = re.compile(r"(?P<x>[^;:,]{15,160}), and (?P<y>[^;:]{12,200})$")
_WHICH = re.compile(r"(?P<x>[^;:,]{15,160}), which (?P<v>[a-z]+) (?P<y>[^;:,]{4,160})$")
_LED = re.compile(
    r"(However|Therefore|In addition|For example|For instance|Consequently|Nevertheless|Moreover|Furthermore), (.+)$"
)
_HALVES = re.compile(r"(?P<x>[^;]{12,300}); (?P<y>[^;]{12,300})$")
_BECAUSE = re.compile(r"(?P<x>[^;:,]{10,140}?),? because (?!of\b)(?P<y>[^;:,]{8,160})$")
_AGENT = re.compile(
    rf"(?P<done>[a-z]+) by (?P<agent>(?:(?:the|a|an|this|each|every) )(?:[\w'’-]+ ){{0,3}}[\w'’-]+|{HIDDEN})$"
)
_HELD = re.compile(HIDDEN)
# Verbs that a fact can have for its subject.
_OF_FACTS = frozenset(str.split("causes means makes allows leads results ensures prevents enables implies"))


def front(body: str, rng: random.Random) -> list[str] | None:
    """y if x → If x, y."""
    found = trailing(body)
    if found is None or weak_start(found.condition):
        return None
    if " and " in found.main and found.cue not in ("if", "when", "unless"):
        return None
    main = _as_main(found.main)
    if weak_start(found.main) or " then " in found.condition:
        return None
    if main is None or (small := decapitalised(main)) is None or not _clear(found.main):
        return None
    return [f"{capitalised(found.cue)} {found.condition}, {small}"]


def back(body: str, rng: random.Random) -> list[str] | None:
    """If x, y → y if x."""
    found = fronted(body)
    if found is None or weak_start(found.main) or weak_start(found.condition) or "," in found.main:
        return None
    if found.cue in ("after", "before", "while", "until", "though") or re.search(r"\b(?:it|them)\b", found.main):
        return None
    if not _clear(found.main) or (" and " in found.main and clause(capitalised(found.main)) is None):
        return None
    main = _as_main(capitalised(found.main))
    if main is None:
        return None
    return [f"{main} {found.cue} {found.condition}"]


def _as_main(main: str) -> str | None:
    """A clause as it may stand behind a condition: with a subject, or an order about using something."""
    if clause(main) is not None:
        return main
    made = passive(main)
    if made is not None:
        return made
    return (
        main
        if main.split()[0] in ("Use", "Set", "Call", "Pass", "See", "Return", "Specify") and "," not in main
        else None
    )


def _clear(main: str) -> bool:
    """Whether a clause has one verb only, so that a condition can belong to no other."""
    words = main.split()
    verbs = [at for at, word in enumerate(words) if word in AUXILIARIES]
    verbs += [
        at for at, word in enumerate(words) if at and word in OF_THIRD and clause(" ".join(words[at - 1 :])) is not None
    ]
    return len(verbs) <= 1 or not re.search(r"\b(?:and|or|but|that)\b", main)


def impersonal(body: str, rng: random.Random) -> list[str] | None:
    """You can use x to y → x can be used to y."""
    found = _YOU.match(body)
    if (
        found is None
        or found["verb"] not in PASSIVE
        or re.search(r"\b(?:you|your|yourself|we|our|one)\b", found["object"])
    ):
        return None
    aim = _OBJECT.match(found["object"])
    if aim is None or any(word in AUXILIARIES | CLAUSE_WORDS | PREPOSITIONS
        for word in aim["np"].split()) or aim["np"] in (
        "it", "them", "this", "that", "these", "those"
    ) or aim["np"].endswith("such") or re.search(r"ly$|(?:^| )(?:more|less|also|instead)\b", aim["np"]):  # fmt: skip
        return None
    subject = aim["np"] if found["lead"] else capitalised(aim["np"])
    return [f"{found['lead']}{subject} {found['modal']} be {PASSIVE[found['verb']]}{aim['tail']}"]


def purpose_back(body: str, rng: random.Random) -> list[str] | None:
    """To x, use y → Use y to x."""
    found = _PURPOSE.match(body)
    if found is None or " to " in found["main"] or "," in found["main"] or found["aim"].split()[0] not in BASES:
        return None
    return [f"{capitalised(found['main'])} to {found['aim']}"]


def purpose_front(body: str, rng: random.Random) -> list[str] | None:
    """Use x to y → To y, use x."""
    found = _AIM.match(body)
    if (
        found is None
        or found["aim"].split()[0] not in BASES
        or re.search(r"\b(?:if|when|that|which|and)\b", found["main"])
    ):
        return None
    small = decapitalised(found["main"])
    return [f"To {found['aim']}, {small}"] if small else None


def order_to_passive(body: str, rng: random.Random) -> list[str] | None:
    """Return the sum of x → The sum of x is returned."""
    made = passive(body)
    return [made] if made else None


def to_passive(body: str, rng: random.Random) -> list[str] | None:
    """The function returns the sum → The sum is returned by the function."""
    found = clause(body)
    if found is None or OF_THIRD.get(found.verb) not in TRANSITIVE or found.verb not in PASSIVE:
        return None
    small = decapitalised(found.subject)
    if small is None or small in ("it", "this", "that") or len(small.split()) > 4:
        return None
    if "ly" in small or _HELD.search(small):
        return None
    made = passive(f"{capitalised(found.verb)} {found.rest}", whole=True)
    return [f"{made} by {small}"] if made and len(found.rest.split()) <= 9 and " between " not in made else None


def to_active(body: str, rng: random.Random) -> list[str] | None:
    """The sum is returned by the function → The function returns the sum."""
    found = clause(body)
    if found is None or found.verb not in ("is", "are") or not found.plain:
        return None
    agent = _AGENT.match(found.rest)
    if agent is None or agent["done"] not in _BASE_OF or (small := decapitalised(found.subject)) is None:
        return None
    words = agent["agent"].split()
    if words[-1].endswith(("ing", "ly", "ed")) or (words[-1].endswith("s")
        and words[0] == "the") or set(words) & PREPOSITIONS or (
        len(words) > 1 and _HELD.search(agent["agent"])
    ):  # fmt: skip
        return None
    return [f"{capitalised(agent['agent'])} {third(_BASE_OF[agent['done']])} {small}"]


def split_but(body: str, rng: random.Random) -> list[str] | None:
    """x, but y → Although x, y, or two sentences."""
    found = _BUT.match(body)
    if found is None or not is_clause(found["y"]) or clause(found["x"]) is None:
        return None
    small = decapitalised(found["x"])
    simple = small and not weak_start(found["x"]) and not re.search(r",|\b(?:if|when|that)\b", found["x"])
    if simple and rng.random() < 0.6:
        return [f"{rng.choice(('Although', 'Though', 'Even though'))} {small}, {found['y']}"]
    return [found["x"], f"{rng.choice(('Nevertheless', 'Even so', 'However'))}, {found['y']}"]


def split_so(body: str, rng: random.Random) -> list[str] | None:
    """x, so y → x. For this reason, y."""
    found = _SO.match(body)
    if found is None or not is_clause(found["y"]):
        return None
    return [found["x"], f"{rng.choice(('For this reason', 'Consequently', 'As a result', 'Therefore'))}, {found['y']}"]


def split_and(body: str, rng: random.Random) -> list[str] | None:
    """x, and y → x. y."""
    found = _AND.match(body)
    if found is None or not is_clause(found["y"]) or clause(found["x"]) is None or _SECOND_CLAUSE.search(found["x"]):
        return None
    return [found["x"], capitalised(found["y"])]


_SECOND_CLAUSE = re.compile(r"\b(?:if|when|because|that|which|where|both|either|whether|unless)\b")


def split_which(body: str, rng: random.Random) -> list[str] | None:
    """x, which is y → x. This is y."""
    found = _WHICH.match(body)
    if found is None or clause(found["x"]) is None or re.search(r"\b(?:which|and)\b", found["y"]):
        return None
    if (found["v"] in ("is", "was") and not found["y"].split()[0].endswith("ed")) or found["v"] in _OF_FACTS:
        return [found["x"], f"This {found['v']} {found['y']}"]
    return None


def halves(body: str, rng: random.Random) -> list[str] | None:
    """x; y → x. y."""
    found = _HALVES.match(body)
    if found is None or (found["y"].split(",")[0].lower() not in OPENERS and not is_clause(found["y"])):
        return None
    return [found["x"], capitalised(found["y"])]


def reason_front(body: str, rng: random.Random) -> list[str] | None:
    """x because y → Because y, x."""
    found = _BECAUSE.match(body)
    if found is None or clause(found["x"]) is None or not is_clause(found["y"]) or not _clear(found["x"]):
        return None
    if weak_start(found["y"]) or weak_start(found["x"]):
        return None
    small = decapitalised(found["x"])
    return [f"{rng.choice(('Because', 'Since', 'Given that'))} {found['y']}, {small}"] if small else None


def opener_inside(body: str, rng: random.Random) -> list[str] | None:
    """However, x is y → x, however, is y."""
    found = _LED.match(body)
    if found is None:
        return None
    inner = clause(capitalised(found[2]))
    if inner is None or inner.verb not in AUXILIARIES or len(inner.subject) > 50:
        return None
    if len(inner.subject.split()) == 1 and inner.subject.lower() in PRONOUNS:
        return None
    return [f"{capitalised(inner.subject)}, {found[1].lower()}, {inner.verb} {inner.rest}"]


def default_moved(body: str, rng: random.Random) -> list[str] | None:
    """By default, x is y → x is y by default, and back."""
    if body.startswith("By default, "):
        rest = body[12:]
        if is_clause(rest) and not re.search(r"[,;:]|\b(?:if|when|that|which|and|but|unless)\b", rest):
            return [f"{capitalised(rest)} by default"]
    elif body.endswith(" by default") and not re.search(r"[,;:]|\b(?:if|when|that|which|and|but|unless|not)\b", body):
        small = decapitalised(body[: -len(" by default")])
        if small and clause(body):
            return [f"By default, {small}"]
    return None


_PLACE = r"(?:(?:the|a|an|this|that|these|each|every|any|both|most|some|all|such) )?(?:[\w'’-]+ ){0,3}[\w'’-]+"
_ADJUNCT = re.compile(rf"(?P<pp>(?:In|For|At|On|During|Within|Under|With) {_PLACE}), (?P<y>[^,;:]{{10,160}})$")
_AT_END = re.compile(
    r"(?P<y>[^,;:]{12,150}) (?P<pp>(?:for|in|at|on|during|with) (?:each|every|this|these|that"
    r"|both) (?:[\w'’-]+ ){0,2}[\w'’-]+)$"
)


def adjunct_back(body: str, rng: random.Random) -> list[str] | None:
    """In the first step, x is done → x is done in the first step."""
    found = _ADJUNCT.match(body)
    if found is None or body.startswith(
        (
            "In addition",
            "For example",
            "For instance",
            "In particular",
            "In general",
            "In fact",
            "In contrast",
            "In other",
        )
    ):
        return None
    if (
        not is_clause(found["y"])
        or re.search(r"\b(?:if|when|that|which|and|but|unless|because|where|with|ing)\b", found["y"])
        or " to " in found["y"]
    ):
        return None
    return [f"{capitalised(found['y'])} {found['pp'][0].lower()}{found['pp'][1:]}"]


def adjunct_front(body: str, rng: random.Random) -> list[str] | None:
    """x is done for each node → For each node, x is done."""
    found = _AT_END.match(body)
    if (
        found is None
        or clause(body) is None
        or re.search(
            r"\b(?:if|when|that|which|and|or|but|unless|because|where"
            r"|as|than|to|of|from)\b",
            found["y"][8:],
        )
    ):
        return None
    words = found["pp"].split()
    if words[-1] in PREPOSITIONS or set(words) & AUXILIARIES or found["y"].split()[-1].endswith("ing"):
        return None
    small = decapitalised(found["y"])
    return [f"{capitalised(found['pp'])}, {small}"] if small else None


def present(body: str, rng: random.Random) -> list[str] | None:
    """x will be done → x is done."""
    lead, comma, main = body.rpartition(", ")
    if comma and not (fronted(body) or lead.lower() in OPENERS or lead.split()[0] in ("If", "When", "For", "In")):
        return None
    found = clause(capitalised(main))
    if (
        found is None
        or found.verb != "will"
        or not found.rest.startswith(("be ", "have "))
        or found.rest.startswith("be able")
    ):
        return None
    first = found.subject.split()[0].lower()
    if first in ("you", "we", "i"):
        return None
    plural = is_plural(found) or first == "they"
    verb = ("are" if plural else "is") if found.rest.startswith("be ") else ("have" if plural else "has")
    subject = main[: len(found.subject)]
    return [f"{lead}{comma}{subject} {verb} {found.rest.partition(' ')[2]}"]


MOVES: tuple[Rule, ...] = (
    front,
    back,
    reason_front,
    purpose_front,
    purpose_back,
    impersonal,
    to_passive,
    to_active,
    default_moved,
    opener_inside,
    adjunct_back,
    adjunct_front,
)
"""Rules that give one sentence for one."""
SPLITS: tuple[Rule, ...] = (halves, split_but, split_so, split_which, split_and)
"""Rules that may give two."""


def joined(first: str, second: str, rng: random.Random) -> str | None:
    """Two sentences as one, where the second says how it goes on from the first; None where none of the ways is
    sure."""
    if len(first) > 130 or len(second) > 150 or re.search(r"[;:]", first + second) or clause(first) is None:
        return None
    opener, comma, rest = second.partition(", ")
    if comma and opener in ("However", "Nevertheless", "But") and is_clause(rest):
        small = decapitalised(first)
        if small and "," not in first and not weak_start(first) and "," not in rest and rng.random() < 0.6:
            return f"{rng.choice(('Although', 'Though'))} {small}, {rest}"
        return f"{first}, but {rest}"
    if comma and opener in ("Therefore", "Thus", "Hence", "Consequently", "As a result") and is_clause(rest):
        small = decapitalised(first)
        if small and "," not in first and not weak_start(first):
            return f"{rng.choice(('Because', 'Since'))} {small}, {rest}"
        return f"{first}, and {rng.choice(('therefore', 'hence'))} {rest}"
    then = clause(second)
    if then is None or len(first) + len(second) > 190:
        return None
    if then.subject in ("It", "They") and is_plural(then) == is_plural(clause(first) or then) and "," not in first:
        if " not " in f" {second} " or re.search(r"\b(?:if|when|only|also|but|while|that)\b", first + second):
            return f"{first}; {second[0].lower()}{second[1:]}"
        return f"{first}, and {second[0].lower()}{second[1:]}"
    return None
