"""The families of scattered tasks: each a generator and an exact solver; counterfactuals are part of every clue.

A generator takes what it draws from and about how many clues it should make, and returns an item. A solver takes facts
in the order in which the window states them and a query, and returns the answer or None: it must not guess, so a
contradiction or a gap gives None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..draw import Draw
from ..item import Item, Solver
from . import books, people, pictures, programs, records, rules


@dataclass(frozen=True)
class Family:
    """One family: its generator `(draw, size) → item`, its solver, and whether it needs pictures."""

    name: str
    generate: Callable[[Draw, int], Item]
    solve: Solver
    pictures: bool = False


FAMILIES: dict[str, Family] = {
    one.name: one
    for one in (
        Family("relation_chain", people.relation_chain, people.solve_chain),
        Family("aggregate", people.aggregate, people.solve_total),
        Family("ledger", records.ledger, records.solve_balance),
        Family("table_join", records.table_join, records.solve_tariff),
        Family("timeline", records.timeline, records.solve_elapsed),
        Family("code", programs.code, programs.solve_call),
        Family("variables", programs.variables, programs.solve_value),
        Family("book_order", books.book_order, books.solve_marks),
        Family("sources", books.sources, books.solve_by_year),
        Family("many_shot", rules.many_shot, rules.solve_spelling),
        Family("needles", rules.needles, rules.solve_notes),
        Family("lemma_use", rules.lemma_use, rules.solve_proof),
        Family("picture_sum", pictures.picture_sum, pictures.solve_estate, pictures=True),
        Family("picture_trail", pictures.picture_trail, pictures.solve_trail, pictures=True),
    )
}
