"""Records: a ledger with revisions, tables that must be joined, and events stamped by clocks that disagree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta

from ..draw import Draw
from ..item import Clue, Edit, Fact, Item


def ledger(draw: Draw, size: int) -> Item:
    """The balance of a ledger whose lines are later corrected or doubled."""
    account, decoy = draw.names(2)
    entries = max(size - size // 3, 2)
    amended = size // 3
    amounts = draw.numbers(2 * entries + 2 * amended + 3, 11, 989)
    lines = draw.numbers(entries, 1, 99)
    clues = []
    for at, line in enumerate(lines):
        kind, other = ("credit", "debit") if draw.rng.random() < 0.6 else ("debit", "credit")
        # Another amount would not matter where a correction follows, another direction does.
        clues.append(draw.clue(kind, {"a": account, "n": line, "m": amounts[at]}, {"kind": other}))
    later = amounts[2 * entries :]
    for at, line in enumerate(draw.rng.sample(lines, min(amended, entries))):
        if at % 3 == 2:
            target = next(one for one in lines if one != line)
            clues.append(draw.clue("double", {"a": account, "n": line}, {"n": target}))
        else:
            fields = {"a": account, "n": line, "m": later[2 * at]}
            clues.append(draw.clue("amend", fields, {"m": later[2 * at + 1]}))
    distractors = [
        draw.clue("credit", {"a": decoy, "n": line, "m": amount})
        for line, amount in zip(lines[:3], amounts[entries:], strict=False)
    ]
    distractors.append(draw.clue("amend", {"a": decoy, "n": lines[0], "m": amounts[-1]}))
    question, query = draw.question("ask_balance", {"a": account})
    answer = solve_balance([fact for clue in clues for fact in clue.facts], query) or ""
    return Item("ledger", tuple(clues), tuple(distractors), question, query, answer, True, 1000)


def solve_balance(facts: Sequence[Fact], query: Fact) -> str | None:
    """The balance after all lines in order; None if a line is booked twice or revised before it is there."""
    booked: dict[int, int] = {}
    for kind, account, line, *amount in facts:
        if account != query[1]:
            continue
        if kind in ("credit", "debit"):
            if line in booked:
                return None
            booked[line] = amount[0] if kind == "credit" else -amount[0]
        elif line not in booked:
            return None
        elif kind == "amend":
            booked[line] = amount[0] if booked[line] > 0 else -amount[0]
        else:
            booked[line] *= 2
    return str(sum(booked.values())) if booked else None


_COLUMNS = (("product", "supplier"), ("supplier", "port"), ("port", "tariff"))


def table_join(draw: Draw, size: int) -> Item:
    """The tariffs of several products, three joins away. A clue is a piece of a table, with rows beside the point."""
    count = max(size // 3, 1)
    products, suppliers, ports = draw.names(count), draw.names(count + 1), draw.names(count + 1)
    tariffs = draw.numbers(2 * count + 1, 11, 989)
    clues = []
    for at in range(count):
        clues.append(_fragment(draw, 0, products[at], suppliers[at], suppliers[count]))
        clues.append(_fragment(draw, 1, suppliers[at], ports[at], ports[count]))
        clues.append(_fragment(draw, 2, ports[at], tariffs[at], tariffs[count + 1 + at]))
    distractors = [
        _fragment(draw, 1, suppliers[count], ports[count]),
        _fragment(draw, 2, ports[count], tariffs[count]),
    ]
    question, query = draw.question("ask_tariff", {"a": ", ".join(products)})
    answer = str(sum(tariffs[:count]))
    query = ("ask_tariff", *products)
    return Item("table_join", tuple(clues), tuple(distractors), question, query, answer, False, 900 * count)


def _fragment(draw: Draw, table: int, key: str, value: str | int, other: str | int | None = None) -> Clue:
    """A piece of a table with the row (key, value) among rows of fresh names; its edit gives the row another value."""
    rows: list[tuple[str, str | int]] = [(key, value)]
    for _ in range(draw.rng.randrange(1, 3)):
        rows.append((draw.name(), draw.name() if table < 2 else draw.rng.randrange(11, 990)))
    draw.rng.shuffle(rows)
    columns, layout = _COLUMNS[table], draw.rng.choice((_markdown, _comma_separated, _tab_separated, _colons))

    def facts(lines: list[tuple[str, str | int]]) -> tuple[Fact, ...]:
        return tuple(("row", columns[1], one, value) for one, value in lines)

    edit = None
    if other is not None:
        changed = [(one, other if one == key else value) for one, value in rows]
        edit = Edit(layout(columns, changed), facts(changed))
    return Clue(layout(columns, rows), facts(rows), edit)


def _markdown(columns: tuple[str, str], rows: list[tuple[str, str | int]]) -> str:
    head = [f"| {columns[0]} | {columns[1]} |", "|---|---|"]
    return "\n".join([*head, *(f"| {one} | {other} |" for one, other in rows)])


def _comma_separated(columns: tuple[str, str], rows: list[tuple[str, str | int]]) -> str:
    return "\n".join([",".join(columns), *(f"{one},{other}" for one, other in rows)])


def _tab_separated(columns: tuple[str, str], rows: list[tuple[str, str | int]]) -> str:
    return "\n".join(["\t".join(columns), *(f"{one}\t{other}" for one, other in rows)])


def _colons(columns: tuple[str, str], rows: list[tuple[str, str | int]]) -> str:
    return "\n".join(f"{columns[0]}: {one}; {columns[1]}: {other}" for one, other in rows)


def solve_tariff(facts: Sequence[Fact], query: Fact) -> str | None:
    """The sum of the products' tariffs; None where a join finds no row, or rows that disagree."""
    tables: dict[str, dict[str, set[str | int]]] = {}
    for _, column, key, value in facts:
        tables.setdefault(column, {}).setdefault(key, set()).add(value)
    total = 0
    for product in query[1:]:
        key = product
        for _, column in _COLUMNS:
            values = tables.get(column, {}).get(key, set())
            if len(values) != 1:
                return None
            key = next(iter(values))
        total += key
    return str(total)


def timeline(draw: Draw, size: int) -> Item:
    """The true time between two log lines of machines whose clocks differ, and by how much is told clock by clock."""
    hosts = draw.names(max(size - 1, 2))
    begin, end = draw.names(2)
    stranger, noise = draw.names(2)
    offsets = draw.numbers(2 * len(hosts), 3, 899)
    start = datetime(2031, 1, 1) + timedelta(seconds=draw.rng.randrange(300 * 86400))
    gap, gap_edit, other = draw.numbers(3, 60, 86000)
    at_begin, at_end = start, start + timedelta(seconds=gap)
    clues = [
        draw.clue("event", {"t": at_begin, "a": hosts[0], "b": begin}, {"t": at_begin + timedelta(seconds=gap_edit)}),
        draw.clue("event", {"t": at_end, "a": hosts[-1], "b": end}, {"t": at_end + timedelta(seconds=other)}),
    ]
    for at, (one, two) in enumerate(itertools.pairwise(hosts)):
        fields = {"a": one, "b": two, "n": offsets[2 * at]}
        if draw.rng.random() < 0.5:
            fields = {"a": two, "b": one, "n": offsets[2 * at]}
        clues.append(draw.clue("ahead", fields, {"n": offsets[2 * at + 1]}))
    clues = [_dated(clue) for clue in clues]
    distractors = [
        draw.clue("ahead", {"a": stranger, "b": hosts[0], "n": offsets[-1]}),
        _dated(draw.clue("event", {"t": at_begin + timedelta(seconds=other), "a": stranger, "b": noise})),
    ]
    question, query = draw.question("ask_elapsed", {"a": begin, "b": end})
    answer = solve_elapsed([fact for clue in clues for fact in clue.facts], query) or ""
    return Item("timeline", tuple(clues), tuple(distractors), question, query, answer, False, 86000)


def _dated(clue: Clue) -> Clue:
    """Times in facts as seconds since 1970, as a reader of the log line has them."""

    def plain(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
        return tuple(
            (fact[0], int((fact[1] - datetime(1970, 1, 1)).total_seconds()), *fact[2:]) if fact[0] == "event" else fact
            for fact in facts
        )

    edit = clue.edit and Edit(clue.edit.text, plain(clue.edit.facts))
    return Clue(clue.text, plain(clue.facts), edit)


def solve_elapsed(facts: Sequence[Fact], query: Fact) -> str | None:
    """True seconds between two events; None unless both are logged once and their clocks are linked in one way."""
    events: dict[str, tuple[int, str]] = {}
    links: dict[str, list[tuple[str, int]]] = {}
    for kind, *rest in facts:
        if kind == "event":
            time, host, label = rest
            if events.setdefault(label, (time, host)) != (time, host):
                return None
        else:
            one, other, seconds = rest
            links.setdefault(one, []).append((other, -seconds))
            links.setdefault(other, []).append((one, seconds))
    if query[1] not in events or query[2] not in events:
        return None
    (begin, first), (end, last) = events[query[1]], events[query[2]]
    ahead, queue = {first: 0}, [first]  # by how many seconds each clock is ahead of the first machine's
    while queue:
        host = queue.pop()
        for other, seconds in links.get(host, ()):
            if other not in ahead:
                ahead[other] = ahead[host] + seconds
                queue.append(other)
            elif ahead[other] != ahead[host] + seconds:
                return None
    return str((end - ahead[last]) - begin) if last in ahead else None
