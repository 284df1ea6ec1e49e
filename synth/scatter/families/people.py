"""Relations between people and places: a chain of superiors, and a sum over the depots of a region."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..draw import Draw
from ..item import Fact, Item


def relation_chain(draw: Draw, size: int) -> Item:
    """Who stands at the end of a chain of command, and with which number. A second chain of the same form distracts."""
    people = draw.names(max(size, 3))
    others = draw.names(max(size // 2, 2))
    number, elsewhere, changed, passing = draw.numbers(4, 1000, 9999)
    hops = list(itertools.pairwise(people))
    clues = [draw.clue("reports", {"a": a, "b": b}, {"b": others[0]}) for a, b in hops]
    clues.append(draw.clue("keeps", {"a": people[-1], "n": number}, {"n": changed}))
    distractors = [draw.clue("reports", {"a": a, "b": b}) for a, b in itertools.pairwise(others)]
    distractors.append(draw.clue("keeps", {"a": others[-1], "n": elsewhere}))
    # The number of somebody half-way up: the answer of a reader who stops too early.
    distractors.append(draw.clue("keeps", {"a": people[len(people) // 2], "n": passing}))
    question, query = draw.question("ask_chain", {"a": people[0]})
    return Item("relation_chain", tuple(clues), tuple(distractors), question, query, str(number), False, 9000)


def solve_chain(facts: Sequence[Fact], query: Fact) -> str | None:
    """The number of the last one up the chain; None for two superiors, two numbers, or none at the end."""
    above: dict[str, set[str]] = {}
    numbers: dict[str, set[int]] = {}
    for kind, one, other in facts:
        (above if kind == "reports" else numbers).setdefault(one, set()).add(other)  # type: ignore[arg-type]
    person, seen = query[1], set()
    while person in above:
        if person in seen or len(above[person]) > 1:
            return None
        seen.add(person)
        person = next(iter(above[person]))
    found = numbers.get(person, set())
    return str(next(iter(found))) if len(found) == 1 and seen else None


def aggregate(draw: Draw, size: int) -> Item:
    """How much the depots of a region hold. Which depots belong to it, and what each holds, is said in other places."""
    count = max(size // 2, 2)
    region, elsewhere = draw.names(2)
    depots, foreign = draw.names(count), draw.names(max(count // 2, 2))
    stocks = draw.numbers(2 * count + len(foreign), 101, 999)
    clues = []
    for depot, stock, other in zip(depots, stocks, stocks[count:], strict=False):
        clues.append(draw.clue("member", {"a": depot, "b": region}, {"b": elsewhere}))
        clues.append(draw.clue("stock", {"a": depot, "n": stock}, {"n": other}))
    distractors = []
    for depot, stock in zip(foreign, stocks[2 * count :], strict=True):
        distractors.append(draw.clue("member", {"a": depot, "b": elsewhere}))
        distractors.append(draw.clue("stock", {"a": depot, "n": stock}))
    question, query = draw.question("ask_total", {"a": region})
    answer = str(sum(stocks[:count]))
    return Item("aggregate", tuple(clues), tuple(distractors), question, query, answer, False, 800 * count)


def solve_total(facts: Sequence[Fact], query: Fact) -> str | None:
    """The sum over the region's depots; None if there are none or one's stock is unknown or contradictory."""
    members = {one for kind, one, other in facts if kind == "member" and other == query[1]}
    stocks: dict[str, set[int]] = {}
    for kind, one, other in facts:
        if kind == "stock":
            stocks.setdefault(one, set()).add(other)
    if not members or any(len(stocks.get(one, ())) != 1 for one in members):
        return None
    return str(sum(next(iter(stocks[one])) for one in members))
