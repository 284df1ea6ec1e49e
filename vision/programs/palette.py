"""Colours that go together.

A palette is paper, ink and five or six accents. Generators take all their colours from one palette, so that a picture
looks designed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colours as `#rrggbb`. `paper` is the background, `ink` reads well on it, `muted` and `line` lie between."""

    paper: str
    ink: str
    accents: tuple[str, ...]

    @property
    def dark(self) -> bool:
        return luminance(self.paper) < 0.4

    @property
    def muted(self) -> str:
        return mix(self.ink, self.paper, 0.45)

    @property
    def line(self) -> str:
        return mix(self.ink, self.paper, 0.82)

    @property
    def panel(self) -> str:
        """A surface that stands out a little from the paper."""
        return mix(self.paper, "#ffffff", 0.07) if self.dark else mix(self.paper, self.ink, 0.045)


_LIGHT = (
    ("#fdf6ec", "#2b2d42", "#ef476f #f78c6b #ffd166 #06d6a0 #118ab2 #073b4c"),
    ("#ffffff", "#1f2937", "#2563eb #7c3aed #db2777 #f59e0b #059669 #0891b2"),
    ("#f4f1de", "#3d405b", "#e07a5f #81b29a #f2cc8f #5f797b #3d405b #c8553d"),
    ("#f8f9fa", "#212529", "#e63946 #457b9d #1d3557 #a8dadc #f4a261 #2a9d8f"),
    ("#fefae0", "#283618", "#606c38 #dda15e #bc6c25 #a3b18a #588157 #344e41"),
    ("#fff8f0", "#2d1e2f", "#c08497 #f7af9d #b08968 #6d597a #355070 #e56b6f"),
    ("#eef4f8", "#102a43", "#0b7285 #3bc9db #f76707 #ffd43b #5f3dc4 #2f9e44"),
    ("#faf9f6", "#33272a", "#594a4e #ff8ba7 #ffc6c7 #c3f0ca #7f5af0 #2cb67d"),
    ("#f7f7ff", "#272640", "#495867 #577399 #fe5f55 #bdd5ea #f3a712 #29335c"),
    ("#fbf7f4", "#1b1b1e", "#373f51 #58a4b0 #a9bcd0 #daa49a #d8572a #8f2d56"),
    ("#f0f7ee", "#1e2d24", "#2d6a4f #52b788 #95d5b2 #d8a48f #bb8588 #a3a380"),
    ("#fffdf7", "#22223b", "#4a4e69 #9a8c98 #c9ada7 #f28482 #84a59d #f6bd60"),
    ("#f5f3ff", "#2e1065", "#6d28d9 #a78bfa #f472b6 #38bdf8 #facc15 #34d399"),
    ("#fff5f5", "#3b0d11", "#a4161a #e5383b #f48c06 #ffba08 #6a040f #370617"),
    ("#edf6f9", "#0f3d3e", "#006d77 #83c5be #e29578 #ffb4a2 #bc4b51 #5b8e7d"),
    ("#fcfcfc", "#111111", "#111111 #d62828 #f77f00 #fcbf49 #003049 #669bbc"),
)
_DARK = (
    ("#0f172a", "#e2e8f0", "#38bdf8 #a78bfa #f472b6 #facc15 #4ade80 #fb923c"),
    ("#1a1a2e", "#eaeaea", "#e94560 #f8b500 #00adb5 #9d65c9 #5dade2 #f67280"),
    ("#14213d", "#f1f5f9", "#fca311 #e5e5e5 #8ecae6 #ef476f #06d6a0 #b8c0ff"),
    ("#1b263b", "#e0e1dd", "#778da9 #f4d35e #ee964b #f95738 #83c5be #cdb4db"),
    ("#22181c", "#f6e7cb", "#e27d60 #e8a87c #c38d9e #41b3a3 #85dcb0 #f3c677"),
    ("#101f1a", "#e6f4ea", "#80ed99 #57cc99 #38a3a5 #ffd166 #ff9f80 #c7f9cc"),
)


def choose(rng: random.Random, dark: float = 0.25) -> Palette:
    """One palette, a dark one with probability `dark`, its accents in random order."""
    paper, ink, accents = rng.choice(_DARK if rng.random() < dark else _LIGHT)
    shuffled = accents.split()
    rng.shuffle(shuffled)
    return Palette(paper, ink, tuple(shuffled))


def rgb(colour: str) -> tuple[int, int, int]:
    """`#rrggbb` or `#rgb` as three integers."""
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def mix(first: str, second: str, share: float) -> str:
    """`first` with `share` (0 to 1) of `second` in it."""
    pairs = zip(rgb(first), rgb(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def luminance(colour: str) -> float:
    """Perceived lightness, 0 to 1."""
    red, green, blue = rgb(colour)
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


def on(colour: str) -> str:
    """Black or white, whichever reads better on `colour`."""
    return "#ffffff" if luminance(colour) < 0.6 else "#1a1a1a"


def legible(colour: str, paper: str) -> str:
    """`colour`, moved towards black or white until it stands out from `paper`."""
    target = "#000000" if luminance(paper) > 0.5 else "#ffffff"
    for step in range(6):
        shifted = mix(colour, target, step * 0.15)
        if abs(luminance(shifted) - luminance(paper)) > 0.32:
            return shifted
    return target
