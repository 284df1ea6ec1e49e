"""Words and phrases on which the logic of a sentence turns, by kind and class.

Classes hold what rewriting may exchange: *must* for *has to*, *at most* for *no more than*. A change from one class to
another is a change of meaning. Phrases win over words, so that the *no* of *no more than* negates nothing.
"""

from __future__ import annotations

from .stems import stem

_WORDS = {
    ("neg", "not"): "not cannot never no none neither nor nobody nothing nowhere without",
    ("modal", "must"): "must shall required mandatory obligatory",
    ("modal", "should"): "should ought recommended advisable",
    ("modal", "may"): "may might could possibly perhaps maybe",
    ("modal", "can"): "can",
    ("modal", "will"): "will would",
    ("quant", "all"): "all every each always everything everyone everybody everywhere entire entirely",
    ("quant", "most"): "most mostly usually generally typically often frequently commonly normally many",
    ("quant", "some"): "some sometimes several occasionally partly partially somewhat",
    ("quant", "few"): "few rarely seldom hardly barely",
    ("quant", "only"): "only solely exclusively",
    ("quant", "both"): "both",
    ("quant", "either"): "either",
    ("comp", "up"): "greater larger higher longer bigger faster newer later exceeds exceed maximum increase "
    "increases increased increasing after > >= ≥ largest highest longest greatest fastest latest upper superset",
    ("comp", "down"): "fewer smaller lower shorter slower older earlier minimum decrease decreases decreased "
    "decreasing before < <= ≤ smallest lowest shortest least fewest slowest earliest subset",
    ("cond", "if"): "if when whenever once while until",
    ("cond", "unless"): "unless",
    ("cond", "except"): "except excluding",
}
# A bound is told by which side it leaves open: at least = no less than = or more.
_PHRASES = {
    ("comp", "up"): "at least|no less than|no fewer than|not less than|or more|or greater|or higher|or later|more than|"
    "greater than|larger than|higher than|a minimum of|no earlier than",
    ("comp", "down"): "at most|no more than|not more than|no greater than|no larger than|up to|or less|or fewer|"
    "or lower|or earlier|less than|fewer than|smaller than|lower than|a maximum of|no later than",
    ("neg", "not"): "no longer|not only|instead of|rather than",
    ("modal", "must"): "have to|has to|had to|need to|needs to|is required to|are required to|must be",
    ("modal", "can"): "able to",
    ("quant", "some"): "a few|in some cases|a number of",
    ("quant", "most"): "in most cases|in general|for the most part|the majority of",
    ("quant", "all"): "in all cases|in every case|at all times",
    ("cond", "if"): "as long as|provided that|even if|in case|in the case",
    ("cond", "only if"): "only when|only if|if and only if|only once|only after|only while",
    ("none", "none"): "as well|as soon as|not only|no one|after all|at all|if any|if possible|if not|above all|"
    "for more|once again|at once|all right|more or less|many times over|longer than|before and after|for more "
    "information|"
    "the following|shorter than|earlier than|later than",
}
CUES: dict[str, tuple[str, str]] = {word: cue for cue, words in _WORDS.items() for word in words.split()}
PHRASES: dict[str, dict[str, list[tuple[tuple[str, ...], tuple[str, str]]]]] = {}
"""By first and second word, the phrases that begin so, longest first."""
for _cue, _phrases in _PHRASES.items():
    for _phrase in _phrases.split("|"):
        _first, _second, *_ = _parts = tuple(_phrase.split())
        PHRASES.setdefault(_first, {}).setdefault(_second, []).append((_parts, _cue))
for _begun in PHRASES.values():
    for _listed in _begun.values():
        _listed.sort(key=lambda one: -len(one[0]))

FUNCTION_WORDS = frozenset(
    str.split(
        "a an the this that these those it its they them their theirs he him his she her hers we us our ours "
        "you your yours "
        "i me my mine who whom whose which what where why how and or but so yet for of to in on at by with "
        "from into onto "
        "as than then also there here be is are was were been being am do does did done doing have has had "
        "having about "
        "over under between among through during out off up down again further such same own too very just any other "
        "another upon within per via because since although though however therefore thus hence moreover furthermore "
        "additionally besides consequently nevertheless nonetheless meanwhile otherwise instead indeed still "
        "even e.g i.e "
        "etc vs one ones itself themselves himself herself oneself addition words simply put precisely fact "
        "note specific specifically particular particularly indeed "
        "more less much importantly notably accordingly similarly likewise rather quite instead stands"
    )
)
ARTICLES = frozenset(
    str.split("a an the this that these those its their his her your our my any another every each some no")
)
PRONOUNS = frozenset(str.split("it they them this these those he she him her its their his which that"))
CLAUSE_WORDS = frozenset(str.split("because since although though but so therefore which who whose where while"))
ENGLISH = frozenset(
    str.split(
        "the and that with this from which when are should must these their not you if then because there been have "
        "would could other than into they only each between through"
    )
)
"""Frequent words of English that no other language has."""
_SHELLS = (
    "method technique procedure approach way process", "information data detail particular", "type kind sort class",
    "item element object entry entity", "area region zone", "part section portion piece", "error fault problem issue",
    "list listing sequence series", "change modification alteration update", "request call query message",
    "result outcome output", "function routine operation", "purpose aim goal", "start beginning", "end conclusion",
    "parameter argument", "action step activity", "name identifier", "field attribute property",
)  # fmt: skip
SHELL_NOUNS: dict[str, set[str]] = {}
"""By stem, the nouns that may stand in its place without another thing being meant."""
for _shell in _SHELLS:
    for _noun in _shell.split():
        SHELL_NOUNS.setdefault(stem(_noun), set()).update(map(stem, _shell.split()))
