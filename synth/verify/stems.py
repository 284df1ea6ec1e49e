"""What a word's inflected forms have in common."""

from __future__ import annotations

import re

_FORMS = (
    "was:be were:be is:be are:be been:be being:be am:be has:have had:have having:have does:do did:do done:do "
    "given:give gave:give taken:take took:take made:make found:find kept:keep held:hold left:leave began:begin "
    "begun:begin became:become wrote:write written:write ran:run saw:see seen:see went:go gone:go said:say "
    "sent:send built:build chose:choose chosen:choose got:get led:lead lost:lose met:meet paid:pay read:read "
    "told:tell thought:think understood:understand won:win broke:break broken:break known:know knew:know "
    "grew:grow grown:grow shown:show drawn:draw drew:draw rose:rise risen:rise fell:fall fallen:fall "
    "children:child men:man women:woman feet:foot indices:index matrices:matrix vertices:vertex axes:axis "
    "data:data criteria:criterion analyses:analysis bases:basis better:good best:good worse:bad worst:bad"
)
_IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())
_DOUBLE = re.compile(r"([bdfgklmnprt])\1$")


def stem(word: str) -> str:
    """The common part of a word's inflected forms. Simple and steady rather than right: it is only compared."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if word.endswith("i"):
                return word[:-1] + "y"
            return _DOUBLE.sub(r"\1", word)
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    return _DOUBLE.sub(r"\1", word[:-1] if word.endswith("e") and len(word) > 4 else word)
