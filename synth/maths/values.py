"""What an expression can stand for, so that a set is never taken for a point, nor an equation for a number."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr


@dataclass(frozen=True)
class Number:
    """One value. `marks` are the units, % and ° that were written; `places` the decimals of a lone decimal number."""

    expr: Expr
    marks: frozenset[str] = frozenset()
    places: int | None = None
    approximate: bool = False  # written with ≈


@dataclass(frozen=True)
class Relation:
    """`sides[0] ops[0] sides[1] ops[1] …` of numbers; ops are = ≠ < ≤ > ≥ ≈."""

    sides: tuple[Number, ...]
    ops: tuple[str, ...]
    modulus: Expr | None = None


@dataclass(frozen=True)
class Sequence:
    """`kind`: tuple (…), bracket […], set {…}, or list for values with commas between them and nothing around."""

    kind: str
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Interval:
    """Only what cannot be a point: with a square bracket at one end at least, or an infinite end."""

    low: Expr
    high: Expr
    low_open: bool
    high_open: bool


@dataclass(frozen=True)
class SetExpr:
    """∪, ∩ and ∖ of two sets, or a named one (`R`, `∅`) without parts."""

    op: str
    parts: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Member:
    """`x ∈ …`"""

    name: Expr
    inside: Value


@dataclass(frozen=True)
class Either:
    """Values with `or` between them, or the two of a ±."""

    options: tuple[Value, ...]


@dataclass(frozen=True)
class Both:
    """Conditions with `and` between them."""

    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Text:
    """Words."""

    words: str


Value = Number | Relation | Sequence | Interval | SetExpr | Member | Either | Both | Text
