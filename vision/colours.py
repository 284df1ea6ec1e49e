"""Colours as people name them: from a CSS colour to the nearest of a dozen and a half plain words."""

from __future__ import annotations

import colorsys
import re

from PIL import ImageColor

_FUNCTION = re.compile(r"rgba?\(\s*([\d.]+%?)[\s,]+([\d.]+%?)[\s,]+([\d.]+%?)(?:[\s,/]+([\d.]+%?))?\s*\)")
_HUES = [
    (14, "red"), (40, "orange"), (66, "yellow"), (85, "lime"), (160, "green"), (180, "teal"), (200, "cyan"),
    (252, "blue"), (290, "purple"), (320, "magenta"), (346, "pink"), (361, "red"),
]  # fmt: skip


def parse(css: str | None) -> tuple[int, int, int, float] | None:
    """(red, green, blue, alpha) of a CSS colour, or None for `none`, gradients and what is not a colour."""
    text = (css or "").strip().lower()
    if not text or text in ("none", "transparent"):
        return None
    function = _FUNCTION.fullmatch(text)
    if function:
        red, green, blue = (_channel(one) for one in function.groups()[:3])
        alpha = function[4]
        return red, green, blue, 1.0 if alpha is None else float(alpha.rstrip("%")) / (100 if "%" in alpha else 1)
    try:
        channels = ImageColor.getrgb(text)
    except ValueError:
        return None
    return channels[0], channels[1], channels[2], channels[3] / 255 if len(channels) == 4 else 1.0


def hex_of(css: str | None) -> str:
    """`#rrggbb` of a CSS colour, or ""."""
    colour = parse(css)
    return "#{:02x}{:02x}{:02x}".format(*colour[:3]) if colour else ""


def name_of(css: str | None) -> str:
    """A plain word for a CSS colour ("red", "dark blue"), or "" if it is not one plain visible colour."""
    colour = parse(css)
    if not colour or colour[3] < 0.3:
        return ""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in colour[:3]))
    chroma = (1 - abs(2 * lightness - 1)) * saturation
    if lightness > 0.955:
        return "white"
    if lightness < 0.08:
        return "black"
    if chroma < 0.09 or (saturation < 0.14 and chroma < 0.15):
        return "light gray" if lightness > 0.75 else "dark gray" if lightness < 0.35 else "gray"
    degrees = hue * 360
    word = next(name for end, name in _HUES if degrees < end)
    if word == "orange" and lightness < 0.42:
        return "brown"
    if word == "red" and lightness > 0.72:
        return "pink"
    if lightness > 0.8:
        return f"light {word}"
    return f"dark {word}" if lightness < 0.27 else word


def _channel(text: str) -> int:
    value = float(text.rstrip("%")) * (2.55 if "%" in text else 1)
    return max(0, min(255, round(value)))
