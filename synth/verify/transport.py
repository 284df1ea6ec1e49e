"""V0: whether what came back is an answer at all, before anyone reads it."""

from __future__ import annotations

import re

from .result import Check, at_most

# What models say instead of the text, or around it. Matched at the beginning and the end only: in the middle of a text
# about language models the same words may be its subject.
_REFUSAL = re.compile(
    r"(?:i(?:['’]m| am) (?:sorry|unable|afraid)|(?:sorry|apologies|unfortunately),? (?:but )?i |i (?:can(?:no|"
    r"['’])t|cannot) "
    r"(?:help|assist|comply|provide|rewrite|fulfil|do that)|as an? (?:ai|artificial|(?:large )?language)\b|"
    r"i (?:do not|don['’]t) have (?:access|enough information|the ability))",
    re.IGNORECASE,
)
_META = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely|okay|ok|great)[!,.:]|here(?:['’]s| is| are) (?:the|a|an|your|my) |"
    r"(?:below|the following) is (?:the|a|my) (?:re|para|summ)|(?:the )?rewritten (?:text|version|passage)\b|"
    r"(?:paraphrased|rephrased|revised) (?:text|version|passage)\b|let me |i(?:['’]ve| have) (?:re|para|summ))",
    re.IGNORECASE,
)
_META_END = re.compile(
    r"(?:let me know|(?:i )?hope this helps|feel free to|would you like|if you(?:['’]d| would) like|note: "
    r"(?:i|the above)|"
    r"is there anything else|this (?:rewrite|version|paraphrase) (?:keeps|preserves|maintains|retains))[^\n]*$",
    re.IGNORECASE,
)
# One of these stands in whatever `_META_END` finds: most texts have none and need no pattern.
_META_HINTS = ("let me know", "this helps", "feel free", "would you like", "if you", "note: ", "anything else",
               "this re", "this ve", "this pa")  # fmt: skip
_BROKEN = re.compile("[\ufffd\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]|Ã[\x80-\xbf©¨¼¶¤]|â€[™œ\x9d“”˜]")
_TAGS = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|</?(?:think|answer|assistant|user|system)>", re.IGNORECASE)
_FINISHED = frozenset({"stop", "eos", "end_turn", "stop_sequence", ""})
_ECHOED = 60  # characters in a row of the instruction that do not come by chance


def transport(source: str, rewrite: str, finish: str = "stop", prompt: str = "") -> list[Check]:
    """The checks of this level.

    Args:
        finish: the reason that the server gave for stopping; "" if none was given.
        prompt: the instruction without the source text, to notice its echo.
    """
    text = rewrite.strip()
    begin = len(rewrite) - len(rewrite.lstrip(" \n\t\"'*#>“"))
    refusal = _REFUSAL.match(rewrite, begin) if not _REFUSAL.match(source.lstrip()) else None
    meta = [one.span() for one in (_META.match(rewrite, begin), _closing(rewrite)) if one]
    if meta and (_META.match(source.lstrip()) or _closing(source)):
        meta = []  # the source itself speaks so
    tags = [one.span() for one in _TAGS.finditer(rewrite) if one[0] not in source] if "<" in text or "[" in text else []
    broken = [] if rewrite.isascii() and rewrite.replace("\n", "").isprintable() else _broken(source, rewrite)
    return [
        at_most("finish", "length", [] if finish in _FINISHED else [(len(rewrite), len(rewrite))], 0),
        at_most("empty", "empty", [] if any(map(str.isalnum, text[:200])) else [(0, len(rewrite))], 0),
        at_most("encoding", "encoding", broken, 0),
        at_most("refusal", "refusal", [refusal.span()] if refusal else [], 0),
        at_most("meta", "meta", meta + tags, 0),
        at_most("echo", "echo", _echo(source, rewrite, prompt), 0),
    ]


def _closing(text: str) -> re.Match[str] | None:
    """What a model says to its user behind the text."""
    end = text[-300:].lower()
    return _META_END.search(text, max(0, len(text) - 300)) if any(hint in end for hint in _META_HINTS) else None


def _broken(source: str, rewrite: str) -> list[tuple[int, int]]:
    return [one.span() for one in _BROKEN.finditer(rewrite) if one[0] not in source]


def _echo(source: str, rewrite: str, prompt: str) -> list[tuple[int, int]]:
    """Where the rewrite repeats the instruction."""
    for at in range(0, len(prompt) - _ECHOED + 1, _ECHOED // 2):
        piece = prompt[at : at + _ECHOED]
        found = rewrite.find(piece)
        if found >= 0 and piece not in source:
            return [(found, found + _ECHOED)]
    return []
