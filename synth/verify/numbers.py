"""V2, numbers: none new, none lost, each with its own unit and among its own words; dates likewise."""

from __future__ import annotations

from .align import Source
from .concepts import concept
from .facts import FactSheet
from .places import BEST, MARGIN, fit, last_of, place_of
from .quantities import Key
from .result import Check, at_most
from .rules import Rules
from .wording import excused, marks, multiples, spelled, strange


def numbers(read: Source, rewrite: FactSheet, rules: Rules) -> list[Check]:
    """The checks of numbers, units and dates."""
    source, keys, plain, years = read.sheet, read.number_keys, read.plain_numbers, read.years
    free = rules.wording == "free"
    new: list[tuple[int, int]] = []
    unit: list[tuple[int, int]] = []
    for one in rewrite.numbers:
        if one.key in keys or (one.weak and one.plain not in plain) or one.key in years:
            continue
        if not free or not excused(one, rewrite):
            (unit if one.plain in plain else new).append((one.start, one.end))
    if free:
        values = frozenset(one.value for one in source.numbers)
        new += multiples(rewrite, frozenset(concept(word.stem) for word in set(source.words)), values)
        new += strange(rewrite, source.text)
    checks = []
    if rules.number_new is not None:
        checks.append(at_most("number_new", "num_new", new, rules.number_new))
    if rules.unit is not None:
        checks.append(at_most("unit", "unit", unit, rules.unit))
    if rules.recall and rules.number_lost is not None:
        said = {one.key for one in rewrite.numbers}
        written = {one.plain for one in rewrite.numbers} | {("", str(date.year)) for date in rewrite.dates}
        lost = [(one.start, one.end) for one in source.numbers
                if not one.weak and one.key not in said and one.plain not in written
                and not (free and (spelled(one, source) or one.start in marks(source.text)))]  # fmt: skip
        checks.append(at_most("number_lost", "num_lost", lost, rules.number_lost, of_source=True))
    if rules.number_context is not None:
        checks.append(at_most("number_context", "num_ctx", _displaced(read, rewrite, keys, free), rules.number_context))
    if rules.date is not None:
        checks += _dates(source, rewrite, rules)
    return checks


def _dates(source: FactSheet, rewrite: FactSheet, rules: Rules) -> list[Check]:
    assert rules.date is not None
    if not source.dates and not rewrite.dates:
        return [at_most("date", "date", (), rules.date)] + [
            at_most("date_lost", "date", (), rules.date, of_source=True)] * rules.recall
    years = {one.plain[1] for one in source.numbers}
    new = [
        (date.start, date.end)
        for date in rewrite.dates
        if not any(date.agrees(other) for other in source.dates) and not (str(date.year) in years and not date.month)
    ]
    checks = [at_most("date", "date", new, rules.date)]
    if rules.recall:
        lost = [
            (date.start, date.end)
            for date in source.dates
            if not any(date.agrees(other) for other in rewrite.dates)
            and ("", str(date.year)) not in {one.plain for one in rewrite.numbers}
        ]
        checks.append(at_most("date_lost", "date", lost, rules.date, of_source=True))
    return checks


def _displaced(source: Source, rewrite: FactSheet, keys: frozenset[Key], free: bool) -> list[tuple[int, int]]:
    """Numbers that stand among the words of another number of the source, and not among their own."""
    if len(keys) < 2 or not rewrite.numbers:
        return []
    found = []
    for one in rewrite.numbers:
        if one.key not in keys or (free and one.weak):
            continue
        here = place_of(rewrite, one.first, last_of(rewrite, one))
        own = max([fit(here, place) for key, place in source.number_places if key == one.key])
        if own + MARGIN > BEST:
            continue
        other = max([fit(here, place) for key, place in source.number_places if key != one.key])
        if other >= own + MARGIN:
            found.append((one.start, one.end))
    return found
