"""Answers questions from facts, one function a family: (facts in the window's order, query) → answer or None.

A question whose facts are missing or contradict each other has no answer. `shown` facts come from pictures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .grammar import Fact


def _table(facts: Iterable[Fact], kind: str) -> dict[Any, set[Any]]:
    """key → values of all facts `(kind, key, value…)`."""
    found: dict[Any, set[Any]] = defaultdict(set)
    for one in facts:
        if one[0] == kind:
            found[one[1]].add(one[2] if len(one) == 3 else one[2:])
    return found


class _NoAnswer(Exception):
    pass


def _only(values: set[Any]) -> Any:
    if len(values) != 1:
        raise _NoAnswer
    return next(iter(values))


def _relation_chain(facts: list[Fact], query: Fact) -> str:
    above, numbers = _table(facts, "reports"), _table(facts, "keeps")
    trail = [query[0]]
    while above[trail[-1]]:
        trail.append(_only(above[trail[-1]]))
        if len(set(trail)) < len(trail):
            raise _NoAnswer
    if len(trail) == 1:
        raise _NoAnswer
    return str(_only(numbers[trail[-1]]))


def _aggregate(facts: list[Fact], query: Fact) -> str:
    stocks = _table(facts, "stock")
    members = {one[1] for one in facts if one[0] == "member" and one[2] == query[0]}
    if not members:
        raise _NoAnswer
    return str(sum(_only(stocks[one]) for one in members))


def _ledger(facts: list[Fact], query: Fact) -> str:
    lines: dict[int, list[int]] = {}  # line → [direction, amount, times]
    for kind, account, line, *amount in facts:
        if account != query[0]:
            continue
        if (kind in ("credit", "debit")) is (line in lines):
            raise _NoAnswer
        if kind in ("credit", "debit"):
            lines[line] = [1 if kind == "credit" else -1, amount[0], 1]
        elif kind == "amend":
            # A correction states the amount of the line as it stands, doubled or not.
            lines[line] = [lines[line][0], amount[0], 1]
        else:
            lines[line][2] *= 2
    if not lines:
        raise _NoAnswer
    return str(sum(direction * amount * times for direction, amount, times in lines.values()))


def _table_join(facts: list[Fact], query: Fact) -> str:
    tables: dict[str, dict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for _, column, key, value in facts:
        tables[column][key].add(value)
    total = 0
    for product in query:
        supplier = _only(tables["supplier"][product])
        total += _only(tables["tariff"][_only(tables["port"][supplier])])
    return str(total)


def _timeline(facts: list[Fact], query: Fact) -> str:
    events: dict[str, set[tuple[Any, str]]] = defaultdict(set)
    clocks: dict[str, dict[str, float]] = defaultdict(dict)
    for one in facts:
        if one[0] == "event":
            events[one[3]].add((one[1], one[2]))
        else:
            for here, there, seconds in ((one[1], one[2], -one[3]), (one[2], one[1], one[3])):
                if clocks[here].setdefault(there, seconds) != seconds:
                    raise _NoAnswer
    (begin, first), (end, last) = _only(events[query[0]]), _only(events[query[1]])
    ahead = {first: 0.0}
    frontier = {first}
    while frontier:
        reached: dict[str, float] = {}
        for here in frontier:
            for there, seconds in clocks[here].items():
                if ahead.get(there, reached.get(there, ahead[here] + seconds)) != ahead[here] + seconds:
                    raise _NoAnswer
                if there not in ahead:
                    reached[there] = ahead[here] + seconds
        ahead |= reached
        frontier = set(reached)
    if last not in ahead:
        raise _NoAnswer
    return str(round((end - begin).total_seconds() - ahead[last]))


def _code(facts: list[Fact], query: Fact) -> str:
    def value(name: str, argument: int, depth: int) -> int:
        mine = [one for one in facts if one[1] == name]
        definitions = [one for one in mine if one[0] == "def"]
        if len(definitions) != 1 or mine[0][0] != "def" or depth > len(facts):
            raise _NoAnswer
        _, _, inner, factor, constant = definitions[0]
        factor = mine[-1][2] if mine[-1][0] == "patch" else factor
        return (factor * (value(inner, argument, depth + 1) if inner else argument) + constant) % 997

    return str(value(query[0], query[1], 0))


def _variables(facts: list[Fact], query: Fact) -> str:
    state: dict[str, int] = {}
    for one in facts:
        if one[0] == "within":
            continue
        needed = {"let": [], "copy": [one[2]], "add": one[1:], "take": one[1:]}[one[0]]
        if any(name not in state for name in needed):
            raise _NoAnswer
        if one[0] == "let":
            state[one[1]] = one[2]
        elif one[0] == "copy":
            state[one[1]] = state[one[2]]
        else:
            state[one[1]] += state[one[2]] * (1 if one[0] == "add" else -1)
    if query[0] not in state:
        raise _NoAnswer
    return str(state[query[0]])


def _book_order(facts: list[Fact], query: Fact) -> str:
    chapters = [one for one in facts if one[1] == query[0]]
    followers = _table([("after", one[3], (one[2], one[4])) for one in chapters if one[0] == "chapter"], "after")
    title, mark = _only({(one[2], one[3]) for one in chapters if one[0] == "chapter_first"})
    marks = [mark]
    while followers[title]:
        title, mark = _only(followers[title])
        marks.append(mark)
        if len(marks) > len(chapters):
            raise _NoAnswer
    if len(marks) < len(chapters):
        raise _NoAnswer
    return "-".join(map(str, marks))


def _sources(facts: list[Fact], query: Fact) -> str:
    forged = {one[1] for one in facts if one[0] == "withdrawn"}
    years = _table(facts, "written")
    told = _table([("said", one[2], one[3]) for one in facts if one[0] == "report" and one[1] == query[0]], "said")
    dated = {}
    for source in told.keys() - forged:
        year = _only(years[source])
        if year in dated:
            raise _NoAnswer
        dated[year] = _only(told[source])
    if not dated:
        raise _NoAnswer
    return "-".join(str(dated[year]) for year in sorted(dated))


def _many_shot(facts: list[Fact], query: Fact) -> str:
    signs: dict[str, set[str]] = defaultdict(set)
    for _, script, plain, coded in facts:
        if script == query[0] and len(plain) == len(coded):
            for letter, sign in zip(plain, coded, strict=True):
                signs[letter].add(sign)
    return "".join(_only(signs[letter]) for letter in query[1])


def _needles(facts: list[Fact], query: Fact) -> str:
    words = [one[2] for one in facts if one[1] == query[0]]
    if not words:
        raise _NoAnswer
    return ", ".join(words)


def _lemma_use(facts: list[Fact], query: Fact) -> str:
    # All label sequences that reach each formula, by length; a second one to the goal means there is no answer.
    goal = query[1]
    paths: list[tuple[str, tuple[str, ...], frozenset[str]]] = [(query[0], (), frozenset({query[0]}))]
    found = set()
    while paths:
        formula, labels, seen = paths.pop()
        if formula == goal:
            found.add(labels)
            continue
        for _, label, one, to in set(facts):
            if one == formula and to not in seen:
                paths.append((to, (*labels, label), seen | {to}))
    return " ".join(_only(found))


def _picture_sum(facts: list[Fact], query: Fact) -> str:
    worth, shown = _table(facts, "worth"), _table(facts, "shown")
    mine = {one[2] for one in facts if one[0] == "owns" and one[1] == query[0]}
    if not mine:
        raise _NoAnswer
    total = 0
    for asset in mine:
        label, factor = _only(worth[asset])
        total += factor * _only(shown[label])
    return str(total)


def _picture_trail(facts: list[Fact], query: Fact) -> str:
    shown, badges = _table(facts, "shown"), _table(facts, "badge")
    keepers = _table([("of", one[2], one[1]) for one in facts if one[0] == "locker"], "of")
    labels = [query[0]]
    while len(set(labels)) == len(labels):
        number = _only(shown[labels[-1]])
        if not keepers[number]:
            return str(number)
        labels.append(_only(badges[_only(keepers[number])]))
    raise _NoAnswer


_SOLVERS: dict[str, Callable[[list[Fact], Fact], str]] = {
    "relation_chain": _relation_chain,
    "aggregate": _aggregate,
    "ledger": _ledger,
    "table_join": _table_join,
    "timeline": _timeline,
    "code": _code,
    "variables": _variables,
    "book_order": _book_order,
    "sources": _sources,
    "many_shot": _many_shot,
    "needles": _needles,
    "lemma_use": _lemma_use,
    "picture_sum": _picture_sum,
    "picture_trail": _picture_trail,
}


def solve(family: str, facts: list[Fact], query: Fact) -> str | None:
    """The answer, or None where the facts determine none."""
    try:
        return _SOLVERS[family](facts, query)
    except _NoAnswer:
        return None
