"""Books and sources: a book whose chapters were shuffled, and witnesses that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from ..draw import Draw
from ..item import Fact, Item


def book_order(draw: Draw, size: int) -> Item:
    """The marks of a shuffled book's chapters in their true order; each chapter names only the one before it."""
    book, decoy = draw.names(2)
    titles, foreign = draw.names(max(size, 2)), draw.names(2)
    marks = draw.numbers(2 * len(titles) + 2, 101, 999)
    clues = [draw.clue("chapter_first", {"a": book, "b": titles[0], "n": marks[0]}, {"n": marks[len(titles)]})]
    for at in range(1, len(titles)):
        fields = {"a": book, "b": titles[at], "c": titles[at - 1], "n": marks[at]}
        clues.append(draw.clue("chapter", fields, {"n": marks[len(titles) + at]}))
    draw.rng.shuffle(clues)
    distractors = [
        draw.clue("chapter_first", {"a": decoy, "b": foreign[0], "n": marks[-1]}),
        draw.clue("chapter", {"a": decoy, "b": foreign[1], "c": foreign[0], "n": marks[-2]}),
    ]
    question, query = draw.question("ask_marks", {"a": book})
    answer = "-".join(str(mark) for mark in marks[: len(titles)])
    return Item("book_order", tuple(clues), tuple(distractors), question, query, answer, False, 899 ** len(titles))


def solve_marks(facts: Sequence[Fact], query: Fact) -> str | None:
    """The marks in reading order; None if the chapters do not form one unbroken sequence."""
    first: list[tuple[str, int]] = []
    after: dict[str, tuple[str, int]] = {}
    total = 0
    for kind, book, *rest in facts:
        if book != query[1]:
            continue
        total += 1
        if kind == "chapter_first":
            first.append((rest[0], rest[1]))
        elif after.setdefault(rest[1], (rest[0], rest[2])) != (rest[0], rest[2]):
            return None
    if len(first) != 1:
        return None
    title, mark = first[0]
    marks = [mark]
    while title in after and len(marks) < total:
        title, mark = after[title]
        marks.append(mark)
    return "-".join(map(str, marks)) if len(marks) == total else None


def sources(draw: Draw, size: int) -> Item:
    """What witnesses say of an event, the oldest first. Their dates are told elsewhere, and so is which are forged."""
    event, other_event = draw.names(2)
    forged = max(size // 5, 1)
    count = max((size - forged) // 2, 2)
    true, false = draw.names(count), draw.names(forged)
    figures = draw.numbers(2 * count + forged + 1, 101, 999)
    years = draw.numbers(count + forged, 1101, 1899)
    clues = []
    for at, source in enumerate(true):
        clues.append(draw.clue("report", {"a": event, "b": source, "n": figures[at]}, {"n": figures[count + at]}))
        # Older than all, or younger where it is the oldest already.
        moved = 1001 if years[at] != min(years[:count]) else 1999
        clues.append(draw.clue("written", {"a": source, "n": years[at]}, {"n": moved}))
    clues += [draw.clue("withdrawn", {"a": source}, {"a": true[0]}) for source in false]
    distractors = []
    for at, source in enumerate(false):
        distractors.append(draw.clue("report", {"a": event, "b": source, "n": figures[2 * count + at]}))
        distractors.append(draw.clue("written", {"a": source, "n": years[count + at]}))
    distractors.append(draw.clue("report", {"a": other_event, "b": true[0], "n": figures[-1]}))
    question, query = draw.question("ask_by_year", {"a": event})
    answer = solve_by_year([fact for clue in (*clues, *distractors) for fact in clue.facts], query) or ""
    return Item("sources", tuple(clues), tuple(distractors), question, query, answer, False, 899**count)


def solve_by_year(facts: Sequence[Fact], query: Fact) -> str | None:
    """The figures of sources that stand, by year; None if one's year or figure is unknown or contradictory."""
    figures: dict[str, set[int]] = {}
    years: dict[str, set[int]] = {}
    withdrawn = set()
    for kind, *rest in facts:
        if kind == "withdrawn":
            withdrawn.add(rest[0])
        elif kind == "written":
            years.setdefault(rest[0], set()).add(rest[1])
        elif rest[0] == query[1]:
            figures.setdefault(rest[1], set()).add(rest[2])
    told = [source for source in figures if source not in withdrawn]
    if not told or any(len(years.get(one, ())) != 1 or len(figures[one]) != 1 for one in told):
        return None
    dated = sorted((next(iter(years[one])), next(iter(figures[one]))) for one in told)
    if len({year for year, _ in dated}) < len(dated):
        return None
    return "-".join(str(figure) for _, figure in dated)
