"""Programs in pieces: functions that call each other and are patched later, and variables that are set anew."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..draw import Draw
from ..item import Fact, Item

_MODULUS = 997
"""A prime: multiplying by a factor that is not zero loses nothing, so a change anywhere changes the result."""


def code(draw: Draw, size: int) -> Item:
    """What a call returns whose function is defined through others, here and there, some patched further on."""
    patches = size // 3
    names = [name.lower() for name in draw.names(max(size - patches, 2))]
    decoys = [name.lower() for name in draw.names(2)]
    factors = draw.numbers(len(names) + 2 * patches + 3, 2, 96)
    constants = draw.numbers(2 * len(names) + 3, 1, 990)
    clues = []
    for at, name in enumerate(names):
        fields: dict[str, str | int] = {"a": name, "b": names[at + 1]} if at + 1 < len(names) else {"a": name}
        kind = "def" if at + 1 < len(names) else "def_base"
        fields |= {"n": factors[at], "m": constants[at]}
        clues.append(draw.clue(kind, fields, {"m": constants[len(names) + at]}))
    draw.rng.shuffle(clues)
    later = factors[len(names) :]
    for at, name in enumerate(draw.rng.sample(names, min(patches, len(names)))):
        clues.append(draw.clue("patch", {"a": name, "n": later[2 * at]}, {"n": later[2 * at + 1]}))
    distractors = [
        draw.clue("def", {"a": decoys[0], "b": names[-1], "n": factors[-1], "m": constants[-1]}),
        draw.clue("def_base", {"a": decoys[1], "n": factors[-2], "m": constants[-2]}),
        draw.clue("patch", {"a": decoys[1], "n": factors[-3]}),
    ]
    question, query = draw.question("ask_call", {"a": names[0], "n": draw.rng.randrange(2, 90)})
    answer = solve_call([fact for clue in clues for fact in clue.facts], query) or ""
    return Item("code", tuple(clues), tuple(distractors), question, query, answer, True, _MODULUS)


def solve_call(facts: Sequence[Fact], query: Fact) -> str | None:
    """The value of the call; None if a function it needs is missing, defined twice, patched too early, or recursive."""
    functions: dict[str, tuple[str | None, int, int]] = {}
    broken: set[str] = set()
    for kind, changed, *rest in facts:
        if (kind == "patch") is not (changed in functions):
            broken.add(changed)
        elif kind == "patch":
            inner, _, constant = functions[changed]
            functions[changed] = (inner, rest[0], constant)
        else:
            inner, factor, constant = rest if kind == "def" else (None, *rest)
            functions[changed] = (inner, factor, constant)
    chain: list[tuple[str | None, int, int]] = []
    name: str | None = query[1]
    while name is not None:
        if name not in functions or name in broken or len(chain) > len(functions):
            return None
        chain.append(functions[name])
        name = chain[-1][0]
    value = query[2]
    for _, factor, constant in reversed(chain):
        value = (factor * value + constant) % _MODULUS
    return str(value)


def variables(draw: Draw, size: int) -> Item:
    """The value of a variable after steps in prose, in which names are reused and blocks shadow them."""
    rounds = max(size // 6, 1)
    names = draw.names(rounds + 1)
    block, spare = draw.names(2)
    numbers = iter(draw.numbers(8 * rounds + 4, 11, 989))
    clues = [draw.clue("let", {"a": names[0], "n": next(numbers)}, {"n": next(numbers)})]
    for one, other in itertools.pairwise(names):
        # The sum of both goes on under the other name; `one` gets a new value first, so that its old one is shadowed.
        clues += [
            draw.clue("let", {"a": other, "n": next(numbers)}, {"n": next(numbers)}),
            draw.clue("add", {"a": other, "b": one}, {"kind": "take"}),
            draw.clue("let", {"a": one, "n": next(numbers)}, {"n": next(numbers)}),
            draw.clue("take", {"a": other, "b": one}, {"kind": "add"}),
        ]
    final = draw.name()
    clues.append(draw.clue("copy", {"a": final, "b": names[-1]}, {"b": names[-2]}))
    distractors = [
        draw.clue("within", {"a": names[-1], "b": block, "n": next(numbers)}),
        draw.clue("let", {"a": spare, "n": next(numbers)}),
    ]
    question, query = draw.question("ask_value", {"a": final})
    answer = solve_value([fact for clue in clues for fact in clue.facts], query) or ""
    return Item("variables", tuple(clues), tuple(distractors), question, query, answer, True, 2000)


def solve_value(facts: Sequence[Fact], query: Fact) -> str | None:
    """The variable's value after all steps in order; None once a step uses a variable that has none."""
    values: dict[str, int] = {}
    for kind, name, *rest in facts:
        if kind == "within":
            continue
        if kind == "let":
            values[name] = rest[0]
            continue
        if rest[0] not in values or (kind != "copy" and name not in values):
            return None
        amount = values[rest[0]]
        values[name] = amount if kind == "copy" else values[name] + (amount if kind == "add" else -amount)
    value = values.get(query[1])
    return None if value is None else str(value)
