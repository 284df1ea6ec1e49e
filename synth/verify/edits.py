"""Edits that leave what a text says as it is: what the verifier must let pass.

Words for words of the same meaning, connectives, the order of clauses and sentences, the form of numbers, active and
passive voice, lists and prose. Each is made only where simple patterns say that it is safe.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from .number_style import numbers_paraphrased
from .sites import Edit, apply, cased, protected, sentence_sites

_SYNONYMS = {
    "use": "utilise|employ", "uses": "utilises|employs", "used": "utilised|employed", "using": "utilising|employing",
    "show": "display", "shows": "displays", "shown": "displayed", "begins": "starts", "begin": "start",
    "big": "large", "for example": "for instance", "allow": "permit|let", "allows": "permits|lets", "obtain": "get",
    "obtained": "gained", "contains": "holds|includes", "contain": "hold|include", "specifies": "indicates|states",
    "specified": "indicated|stated", "specify": "indicate|state", "ensure": "guarantee|make sure", "purpose": "aim",
    "ensures": "guarantees|makes sure", "currently": "at present", "various": "different|diverse", "occurs": "happens",
    "occur": "happen", "modify": "alter|change", "modified": "altered|changed", "remove": "delete",
    "removed": "deleted",
    "complete": "finish", "receive": "get", "receives": "gets", "determine": "establish|find out",
    "determines": "establishes|decides", "identify": "recognise|pinpoint", "information": "details|data",
    "helps": "aids|assists", "help": "aid|assist", "provides": "offers|supplies|gives", "provide": "offer|supply|give",
    "provided by": "offered by|supplied by", "similar to": "much like|akin to", "because": "since|as",
    "about": "regarding",
    "attempt": "try", "attempts": "tries", "choose": "select|pick", "select": "choose|pick", "describes": "explains",
    "describe": "explain", "consists of": "is made up of|comprises", "such as": "like", "perform": "carry out|execute",
    "performs": "carries out|executes", "performed": "carried out|executed", "in order to": "to|so as to",
    "quickly": "rapidly|fast", "important": "significant|crucial", "simple": "straightforward|plain", "easy": "simple",
    "difficult": "hard|tricky", "correct": "right|proper", "incorrect": "wrong", "also": "likewise",
    "associated with": "linked to|connected with", "corresponding": "matching|respective", "created": "made|produced",
    "creates": "makes|produces", "create": "make|produce", "returned": "given back|handed back",
    "returns": "gives back|yields",
    "return": "give back|yield", "method": "technique|procedure", "approach": "way|strategy",
    "calculate": "compute|work out",
    "calculated": "computed|worked out", "different": "distinct|differing", "large": "big|sizeable",
    "small": "little|tiny", "main": "principal|chief", "usual": "customary", "replaced": "substituted",
    "convert": "transform|turn", "converts": "transforms|turns", "details": "particulars",
    "supports": "handles|caters for",
    "available": "accessible|on hand", "existing": "present|current", "within": "inside",
    "therefore": "hence|thus", "however": "nevertheless|yet", "although": "though", "thus": "hence|so",
    "via": "through",
    "additional": "extra|further", "initial": "starting|first", "final": "last|closing",
    "common": "widespread|frequent",
    "represents": "stands for|denotes", "represent": "stand for|denote", "implemented": "realised|built",
    "raised": "thrown",
    "explicitly": "expressly", "implicitly": "tacitly", "automatically": "by itself",
    "typical": "characteristic", "list": "listing", "area": "region",
    "error": "fault", "update": "refresh|revise", "updates": "refreshes|revises", "store": "keep|save",
    "stored": "kept|saved", "stores": "keeps|saves", "build": "construct|assemble", "needed": "called for",
    "a new": "a fresh",
}  # fmt: skip
_SYNONYM = re.compile(
    rf"(?<![\w`.\-/$\\])({'|'.join(sorted(_SYNONYMS, key=len, reverse=True))})(?![\w`.(\-/=_'’]|[.:]\w)", re.IGNORECASE
)
_OPENERS = ("In addition, ", "Moreover, ", "Furthermore, ", "Also, ", "Besides, ", "In fact, ", "Note that ", "Here, ",
            "As it stands, ", "Put simply, ", "More precisely, ", "To be specific, ")  # fmt: skip
_OPENED = re.compile(
    r"(?:[A-Z][a-z]+ly|However|Also|In|For|If|When|Note|Thus|Hence|See|And|But|Or|Moreover|This means)\b"
)
_LOWERED = re.compile(
    r"(?:The|A|An|This|These|Each|Every|All|It|They|You|There|Some|Most|Its|Their|Your|We|No|Both|Any)\b"
)
_CLAUSE = re.compile(
    r"(?<![`\w])(?P<cue>If|When|Because|Since|While|Although|Before|After) (?P<x>[^,.;:()`\n]{8,120}), (?:then )?"
    r"(?P<y>(?:the|a|an|this|these|it|they|you|all|each|there|no) [^,.;:()`\n]{8,160})"
    r"(?<! only)(?<! not)(?<! even)(?P<end>\.)(?=\s|$)"
)
_PASSIVE = {
    "uses": "used", "calls": "called", "contains": "contained", "creates": "created", "defines": "defined",
    "reads": "read",
    "controls": "controlled", "describes": "described", "generates": "generated", "returns": "returned",
    "handles": "handled",
    "determines": "determined", "specifies": "specified", "computes": "computed", "overrides": "overridden",
    "represents": "represented", "provides": "provided", "stores": "stored", "replaces": "replaced", "wraps": "wrapped",
}  # fmt: skip
_ACTIVE = re.compile(
    rf"\b(?P<a>[Tt]he [a-z]{{4,}}) (?P<v>{'|'.join(_PASSIVE)}) (?P<b>(?:the|a|an) [a-z]{{4,}})(?=\.|,? "
    rf"(?:when|if|for)\b)"
)
_ANAPHOR = re.compile(r"(?:It|They|This|These|That|Those|Such|He|She|His|Her|Its|Their|However|But|Also|Thus|"
    r"Therefore|Hence|"
                      r"Otherwise|Instead|Then|For example|Moreover|In this|In that|Here|Similarly|Both|The "
                      r"(?:same|latter|"
                      r"former|other|second|first|following|above)|And|Or|So|As such|Note|See)\b")  # fmt: skip

Editor = Callable[[str, random.Random], str]


def synonyms(text: str, rng: random.Random, share: float = 0.7) -> str:
    """Words for others of the same meaning."""
    kept = protected(text)
    begins = {one.start for one in sentence_sites(text)}
    edits = [
        Edit(*one.span(), cased(one[0], rng.choice(_SYNONYMS[one[0].lower()].split("|"))))
        for one in _SYNONYM.finditer(text)
        # A capital elsewhere than at a beginning makes it a name or a heading.
        if rng.random() < share and (one[0].islower() or one.start() in begins) and not kept(one.start())
    ]
    text = apply(text, edits)
    text = re.sub(r"\b([Aa]) (?=(?:entity|item|extra|aim|accessible|additional|establish)\b)", r"\1n ", text)
    return re.sub(
        r"\b([Aa])n (?=(?:problem|fault|mistake|thing|query|region|technique|crucial|significant|thrown)\b)",
        r"\1 ",
        text,
    )


def connectives(text: str, rng: random.Random, share: float = 0.4) -> str:
    """Openers before sentences."""
    edits = []
    for one in sentence_sites(text):
        if rng.random() < share and _LOWERED.match(one.text) and not _OPENED.match(one.text):
            opener = rng.choice(_OPENERS)
            edits.append(Edit(one.start, one.start + 1, opener + one.text[0].lower()))
    return apply(text, edits)


def joined(text: str, rng: random.Random, share: float = 0.5) -> str:
    """Neighbouring sentences made one, and one with a semicolon made two."""
    edits = []
    for one in re.finditer(r"(?<=[a-z])\. (The|A|An|This|These|It|They|There) (?=[a-z])", text):
        if rng.random() < share:
            edits.append(Edit(*one.span(), f"; {one[1].lower()} "))
    text = apply(text, edits[::2])
    return re.sub(r"(?<=[a-z]); (the|a|an|this|it|they) (?=[a-z])", lambda one: f". {one[1].capitalize()} "
                  if rng.random() < 0.3 else one[0], text)  # fmt: skip


def clauses(text: str, rng: random.Random) -> str:
    """A leading clause moved behind the main one."""
    return _CLAUSE.sub(
        lambda one: f"{one['y'][0].upper()}{one['y'][1:]} {one['cue'].lower()} {one['x']}{one['end']}", text
    )


def reordered(text: str, rng: random.Random) -> str:
    """Two sentences that lean on no other change places."""
    sites = sentence_sites(text)
    free = [
        at for at, one in enumerate(sites)
        if not _ANAPHOR.match(one.text) and (at + 1 == len(sites) or not _ANAPHOR.match(sites[at + 1].text))
    ]  # fmt: skip
    if len(free) < 2:
        return text
    a, b = sorted(rng.sample(free, 2))
    return apply(text, [Edit(*sites[a][:2], sites[b].text), Edit(*sites[b][:2], sites[a].text)])


def voice(text: str, rng: random.Random) -> str:
    """The active voice made passive."""
    return _ACTIVE.sub(
        lambda one: cased(one["a"], f"{one['b']} is {_PASSIVE[one['v']]} by {one['a'][0].lower()}{one['a'][1:]}"), text
    )


def listed(text: str, rng: random.Random) -> str:
    """Prose made a list of its sentences; a list made prose."""
    if re.search(r"^[-*] ", text, re.MULTILINE):
        return re.sub(r"\s*^[-*] +", " ", text, flags=re.MULTILINE).strip()
    sites = [" ".join(one.text.split()) for one in sentence_sites(text)]
    if len(sites) < 2 or "".join(text.split()) != "".join("".join(sites).split()):
        return text
    return "\n".join(f"- {one}" for one in sites)


EDITORS: dict[str, Editor] = {
    "synonyms": synonyms,
    "connectives": connectives,
    "joined": joined,
    "clauses": clauses,
    "reordered": reordered,
    "voice": voice,
    "listed": listed,
    "numbers_paraphrased": numbers_paraphrased,
}


def rewritten(
    text: str, rng: random.Random, editors: tuple[str, ...] = ("synonyms", "connectives", "clauses", "joined")
) -> str:
    """Several edits one after another."""
    for name in editors:
        text = EDITORS[name](text, rng)
    return text
