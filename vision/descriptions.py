"""Words that single out one element of a picture: its role, text and colour, and where that is not enough its place.

A description counts only if it fits exactly one element of the layout; everything else is left out of grounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .coordinates import area, iou
from .types import Element

_WORDS = 60
"""Longest text that a description quotes."""

_BARE = frozenset(["table", "image", "navigation", "header", "footer", "sidebar", "form", "textbox", "slider"])
"""Roles that name an element by themselves when it is the only one."""

_GAP = 12.0
"""Pixels by which the leftmost of several must lie further left than the next."""

_EXTREMES: tuple[tuple[str, Callable[[Element], float]], ...] = (
    ("leftmost", lambda one: one.box[0] + one.box[2]),
    ("rightmost", lambda one: -one.box[0] - one.box[2]),
    ("topmost", lambda one: one.box[1] + one.box[3]),
    ("bottommost", lambda one: -one.box[1] - one.box[3]),
)


def unambiguous(layout: Sequence[Element], ids_are_words: bool = False) -> list[tuple[str, Element]]:
    """(description, element) for every element of one picture that a description fits alone, in layout order.

    Args:
        layout: all elements of the picture.
        ids_are_words: ids were chosen to say what a thing is (`boat-2`), so that groups can be called by them.
    """
    named = [(describe(one) or (group_name(one) if ids_are_words else ""), one) for one in layout]
    groups: dict[str, list[Element]] = {}
    for words, one in named:
        if words:
            groups.setdefault(words, []).append(one)
    found: list[tuple[str, Element]] = []
    for words, members in groups.items():
        if len(members) == 1:
            if not _echoed(members[0], layout):
                found.append((words, members[0]))
        elif not _quotes(members[0]):
            found += _extremes(words, members)
    place = {id(one): index for index, one in enumerate(layout)}
    return sorted(found, key=lambda pair: place[id(pair[1])])


def describe(one: Element) -> str:
    """What a person would call the element, or "" if nothing short says it."""
    text = " ".join(one.text.split()).removeprefix("the ")
    if len(text) > _WORDS or '"' in text:
        return ""
    if _quotes(one):
        return f'the {one.role} "{text}"'
    if text:
        return f"the {text}"
    return f"the {one.role}" if one.role in _BARE else ""


def group_name(one: Element) -> str:
    """What a group is by its id: `boat-2` is "the boat", `icon-heart` is 'the icon "heart"'; "" for other elements."""
    if one.role != "group" or one.text:
        return ""
    parts = one.id.split("-")
    if len(parts) == 2 and parts[1].isalpha():
        return f'the {parts[0]} "{parts[1]}"'
    return "the " + " ".join(part for part in parts if part.isalpha()) if parts[0].isalpha() else ""


def _quotes(one: Element) -> bool:
    """Whether the element's text is words it shows, not a description of it ("red circle", "hole of 4 mm")."""
    return bool(one.text) and not one.text.endswith(one.role) and not one.text.startswith(f"{one.role} ")


def _echoed(one: Element, layout: Sequence[Element]) -> bool:
    """Whether the same words stand elsewhere too, so that a person might point there."""
    if not _quotes(one):
        return False
    return any(
        other is not one and other.text.strip() == one.text.strip() and iou(other.box, one.box) < 0.5
        for other in layout
    )


def _extremes(words: str, members: list[Element]) -> list[tuple[str, Element]]:
    """Those of several look-alikes that lie furthest to a side, by a clear margin, or are clearly the largest."""
    found: dict[int, tuple[str, Element]] = {}
    noun = words.removeprefix("the ")
    for word, key in _EXTREMES:
        first, second = sorted(members, key=key)[:2]
        if key(second) - key(first) >= 2 * _GAP:
            found.setdefault(id(first), (f"the {word} {noun}", first))
    first, second = sorted(members, key=lambda one: -area(one.box))[:2]
    if area(first.box) > 1.5 * area(second.box):
        found.setdefault(id(first), (f"the largest {noun}", first))
    return list(found.values())
