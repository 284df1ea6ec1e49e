"""A small writer of CadQuery sources: a title, named parameters in mm, then the steps that build `result`."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Part:
    """A parametric part.

    Attributes:
        title: one line that says what it is; becomes a comment.
        parameters: name → value, in the order they are written; lengths in mm, angles in degrees, counts whole.
        steps: CadQuery code that uses them and assigns `result`.
        caption: a true description with the main dimensions.
        facts: exact facts besides the parameters.
    """

    title: str
    parameters: dict[str, float | int]
    steps: str
    caption: str
    facts: dict[str, Any] = field(default_factory=dict)

    def source(self) -> str:
        """The program's text."""
        body = textwrap.dedent(self.steps).strip()
        imports = ["import math", "", "import cadquery as cq"] if "math." in body else ["import cadquery as cq"]
        values = [f"{name} = {value!r}" for name, value in self.parameters.items()]
        return "\n".join([*imports, "", f"# {self.title}; lengths in mm.", *values, "", body]) + "\n"


def mm(value: float) -> str:
    """A length for a caption: no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def half(value: float) -> float:
    """Rounded to half a millimetre, as a person would choose it."""
    return round(value * 2) / 2


def turned(rng: random.Random) -> str:
    """A last step that turns the part so that it lies or stands in one of six ways; the first leaves it as it is."""
    axis, angle = rng.choice(
        (("", 0), ("1, 0, 0", 90), ("0, 1, 0", 90), ("0, 0, 1", 90), ("1, 0, 0", -90), ("0, 0, 1", 180))
    )
    return f"result = result.rotate((0, 0, 0), ({axis}), {angle})\n" if angle else ""
