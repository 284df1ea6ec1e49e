"""Facts that only pictures show: a sum over pictured figures, and a trail through pictures and text in turn."""

from __future__ import annotations

from collections.abc import Sequence

from ....pipelines.record import OBJECT
from ..draw import Draw
from ..item import Clue, Edit, Fact, Item, Picture

_CAPTIONS = ("The following picture was found here.", "A picture from the files:", "Enclosed:", "See the picture.")


def picture_sum(draw: Draw, size: int) -> Item:
    """What somebody owns is worth multiples of figures that pictures show."""
    count = max(size // 3, 2)
    owner, stranger = draw.names(2)
    assets, foreign = draw.names(count), draw.name()
    pictures = [draw.picture() for _ in range(count)]
    factors = draw.numbers(2 * count + 1, 2, 49)
    clues, total = [], 0
    for at, (asset, picture) in enumerate(zip(assets, pictures, strict=True)):
        label = draw.rng.choice(sorted(picture.facts))
        total += factors[at] * picture.facts[label]
        fields = {"a": asset, "b": label, "n": factors[at]}
        clues += [
            draw.clue("owns", {"a": owner, "b": asset}, {"a": stranger}),
            draw.clue("worth", fields, {"n": factors[count + at]}),
            _shown(draw, picture, label),
        ]
    elsewhere = draw.rng.choice(sorted(pictures[0].facts))
    distractors = [
        draw.clue("owns", {"a": stranger, "b": foreign}),
        draw.clue("worth", {"a": foreign, "b": elsewhere, "n": factors[-1]}),
    ]
    question, query = draw.question("ask_estate", {"a": owner})
    return Item("picture_sum", tuple(clues), tuple(distractors), question, query, str(total), False, 10**4)


def _shown(draw: Draw, picture: Picture, label: str) -> Clue:
    """The picture as a clue; in its edit the label's value is another that the picture does not show elsewhere."""
    value = picture.facts[label]
    other = value + draw.rng.choice([step for step in range(1, 60) if value + step not in picture.facts.values()])
    text = f"{draw.rng.choice(_CAPTIONS)}\n{OBJECT}"
    facts = tuple(("shown", one, number) for one, number in picture.facts.items())
    edited = tuple(("shown", one, other if one == label else number) for one, number in picture.facts.items())
    return Clue(text, facts, Edit(text, edited, (label, other)), picture)


def solve_estate(facts: Sequence[Fact], query: Fact) -> str | None:
    """The worth of all that the owner has; None if a worth or a pictured figure is unknown or contradictory."""
    assets = {fact[2] for fact in facts if fact[0] == "owns" and fact[1] == query[1]}
    worth: dict[str, set[tuple[str, int]]] = {}
    shown: dict[str, set[int]] = {}
    for kind, *rest in facts:
        if kind == "worth":
            worth.setdefault(rest[0], set()).add((rest[1], rest[2]))
        elif kind == "shown":
            shown.setdefault(rest[0], set()).add(rest[1])
    total = 0
    for asset in assets:
        if len(worth.get(asset, ())) != 1:
            return None
        label, factor = next(iter(worth[asset]))
        if len(shown.get(label, ())) != 1:
            return None
        total += factor * next(iter(shown[label]))
    return str(total) if assets else None


def picture_trail(draw: Draw, size: int) -> Item:
    """A pictured number opens a locker, its owner wears a badge, the badge stands in another picture, and so on."""
    count = max(size // 3, 1)
    pictures = [draw.picture() for _ in range(count + 1)]
    people, decoys = draw.names(count), draw.names(count)
    labels = _labels(draw, pictures)
    clues, distractors = [], []
    for at, person in enumerate(people):
        picture, following = pictures[at], pictures[at + 1]
        lure = draw.rng.choice([one for one in sorted(following.facts) if one != labels[at + 1]])
        clues += [
            _shown(draw, picture, labels[at]),
            draw.clue("locker", {"a": person, "n": picture.facts[labels[at]]}, {"a": decoys[at]}),
            draw.clue("badge", {"a": person, "b": labels[at + 1]}, {"b": lure}),
        ]
        distractors.append(draw.clue("badge", {"a": decoys[at], "b": lure}))
    clues.append(_shown(draw, pictures[-1], labels[-1]))
    question, query = draw.question("ask_trail", {"a": labels[0]})
    answer = str(pictures[-1].facts[labels[-1]])
    return Item("picture_trail", tuple(clues), tuple(distractors), question, query, answer, False, 10**3)


def _labels(draw: Draw, pictures: Sequence[Picture]) -> list[str]:
    """One label of each picture, all with different numbers: a number that came twice would send the trail two ways."""
    labels: list[str] = []
    numbers: set[int] = set()
    for picture in pictures:
        labels.append(draw.rng.choice([one for one in sorted(picture.facts) if picture.facts[one] not in numbers]))
        numbers.add(picture.facts[labels[-1]])
    return labels


def solve_trail(facts: Sequence[Fact], query: Fact) -> str | None:
    """The number at the end of the trail; None where it breaks off, branches or runs in a circle."""
    shown: dict[str, set[int]] = {}
    people: dict[int, set[str]] = {}
    badges: dict[str, set[str]] = {}
    for kind, one, other in facts:
        if kind == "shown":
            shown.setdefault(one, set()).add(other)
        elif kind == "locker":
            people.setdefault(other, set()).add(one)
        else:
            badges.setdefault(one, set()).add(other)
    label, seen = query[1], set()
    while True:
        if label in seen or len(shown.get(label, ())) != 1:
            return None
        seen.add(label)
        number = next(iter(shown[label]))
        if number not in people:
            return str(number)
        if len(people[number]) != 1:
            return None
        person = next(iter(people[number]))
        if len(badges.get(person, ())) != 1:
            return None
        label = next(iter(badges[person]))
