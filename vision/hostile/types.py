"""What a class of hostile inputs is: how to make one, and what may become of it."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Expectation = Literal["reject", "render", "either"]
Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Pixel:
    """A colour that the first picture must show, at a place in fractions of its width and of its height, or, with
    `in_pixels`, in pixels."""

    x: float
    y: float
    colour: Colour
    in_pixels: bool = False


@dataclass(frozen=True)
class HostileInput:
    """One input.

    Attributes:
        name: file name, unique in the set.
        class_: what it tries.
        kind: `svg`, `web` or `cad`.
        expect: what may become of it.
        codes: failure kinds that a rejection may have.
        pixels: what a picture of it must show.
        slow: it runs into a limit of time or memory.
        control: it is sound.
    """

    name: str
    class_: str
    kind: str
    expect: Expectation
    codes: frozenset[str]
    pixels: tuple[Pixel, ...]
    slow: bool
    control: bool
    make: Callable[[], bytes] = field(repr=False)

    @property
    def data(self) -> bytes:
        """The bytes, made anew at each call: some are very large."""
        return self.make()


@dataclass(frozen=True)
class Setting:
    """What a recipe for an input may use.

    Attributes:
        rng: of this input alone.
        colour: a colour of this input alone, which its picture shows.
        beacon: URL of a listener that must never hear anything, ending in a slash.
    """

    rng: random.Random
    colour: Colour
    beacon: str

    @property
    def hex(self) -> str:
        return "#{:02x}{:02x}{:02x}".format(*self.colour)


@dataclass(frozen=True)
class Recipe:
    """How to make the inputs of one class."""

    kind: str
    name: str
    make: Callable[[Setting], str | bytes]
    expect: Expectation
    codes: tuple[str, ...] = ()
    pixels: Callable[[Colour], tuple[Pixel, ...]] = lambda colour: ()
    slow: bool = False
    control: bool = False


def png(width: int, height: int) -> bytes:
    """A PNG that claims this size and holds next to nothing."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")
