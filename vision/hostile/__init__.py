"""Inputs that try to break rendering, with sound ones among them: what a collection from the wild may hold, and worse.

Each input says what may become of it: `reject` with one of certain codes, `render`, or `either`. Whatever is rendered
must show known colours at known places, so that a blank, broken or stale picture is told from a true one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from . import cad, svg, web
from .types import HostileInput, Pixel, Recipe, Setting

__all__ = ["HostileInput", "Pixel", "Recipe", "Setting", "hostile_inputs", "recipes"]

_EXTENSIONS = {"svg": "svg", "web": "html", "cad": "py"}
_CONTROL_SHARE = 0.2
_SLOW_EACH = 2


def recipes() -> list[Recipe]:
    """Every class, hostile ones first."""
    found = [*svg.RECIPES, *web.RECIPES, *cad.RECIPES]
    return sorted(found, key=lambda one: one.control)


def hostile_inputs(count: int = 2000, seed: int = 0, beacon: str = "http://127.0.0.1:9/") -> Iterator[HostileInput]:
    """`count` inputs in a mixed order: every class at least once, a fifth sound, at most two of each slow class."""
    every = recipes()
    slow = [one for one in every if one.slow]
    sound = [one for one in every if one.control]
    rest = [one for one in every if not one.slow and not one.control]
    planned = [*rest, *sound, *slow * (_SLOW_EACH if count >= 1000 else 1)]
    if count < len(planned):
        raise ValueError(f"at least {len(planned)} inputs, so that every class occurs")
    missing = max(0, int(count * _CONTROL_SHARE) - len(sound))
    planned += _cycled(sound, min(missing, count - len(planned)))
    planned += _cycled(rest, count - len(planned))
    order = random.Random(f"{seed}/order")
    order.shuffle(planned)
    for index, recipe in enumerate(planned):
        yield _input(recipe, index, seed, beacon)


def _cycled(recipes_: list[Recipe], count: int) -> list[Recipe]:
    return [recipes_[index % len(recipes_)] for index in range(count)]


def _input(recipe: Recipe, index: int, seed: int, beacon: str) -> HostileInput:
    # Neighbours never share a colour, so the picture of one cannot pass for that of another.
    colour = (40 + index * 53 % 160, 30 + index * 31 % 170, 50 + index * 17 % 150)

    def make() -> bytes:
        made = recipe.make(Setting(random.Random(f"{seed}/{index}"), colour, beacon))
        return made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")

    return HostileInput(
        name=f"{index:05d}-{recipe.name}.{_EXTENSIONS[recipe.kind]}",
        class_=f"{recipe.kind}:{recipe.name}",
        kind=recipe.kind,
        expect=recipe.expect,
        codes=frozenset(recipe.codes),
        pixels=recipe.pixels(colour),
        slow=recipe.slow,
        control=recipe.control,
        make=make,
    )
