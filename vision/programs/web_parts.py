"""What web templates share: the look of a site (fonts, spacing, corners, colours) and its recurring parts."""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import words
from .palette import Palette, legible, mix, on
from .web import Node, el

FONTS = (
    "'DejaVu Sans', sans-serif",
    "'Noto Sans', sans-serif",
    "'Noto Serif', serif",
    "'DejaVu Serif', serif",
    "'Noto Sans Display', sans-serif",
    "'DejaVu Sans Condensed', sans-serif",
)


@dataclass(frozen=True)
class Look:
    """How a site looks. Sizes are in CSS pixels."""

    base: float
    width: int
    radius: int
    gap: int
    font: str
    heading: str
    card: str
    header: str
    accent: str
    second: str
    css: str


def look(rng: random.Random, p: Palette, narrow: bool = False) -> Look:
    """Draw a look. Text scales with `base`, so that no two sites break their lines alike."""
    base, radius, gap = round(rng.uniform(14, 18.5), 1), rng.choice((0, 4, 8, 14, 20)), rng.randint(14, 30)
    width = rng.randint(680, 900) if narrow else rng.randint(940, 1220)
    font = rng.choice(FONTS)
    heading = rng.choice((font, font, *FONTS))
    surface = {
        "border": f"background: {p.paper}; border: 1px solid {p.line};",
        "flat": f"background: {p.panel};",
        "shadow": f"background: {mix(p.paper, '#ffffff', 0.5) if not p.dark else p.panel}; box-shadow: 0 2px "
        "10px rgba(0, 0, 0, 0.16);",
        "accent": f"background: {p.panel}; border-top: 4px solid {p.accents[0]};",
    }
    card = rng.choice(list(surface))
    accent, second = p.accents[0], p.accents[1]
    css = f"""
    * {{ box-sizing: border-box; }}
    html {{ font-size: {base}px; }}
    body {{ margin: 0; background: {p.paper}; color: {p.ink}; font-family: {font};
      line-height: {rng.choice((1.4, 1.5, 1.6))}; }}
    h1, h2, h3 {{ font-family: {heading}; line-height: 1.2; margin: 0 0 0.5em; }}
    h1 {{ font-size: {rng.choice((1.8, 2.1, 2.4))}rem; }}
    p {{ margin: 0 0 0.9em; }}
    a {{ color: {legible(accent, p.paper)}; text-decoration: none; }}
    small, .muted {{ color: {p.muted}; }}
    .wrap {{ max-width: {width}px; margin-left: auto; margin-right: auto; padding-left: {gap}px;
      padding-right: {gap}px; }}
    .card {{ {surface[card]} border-radius: {radius}px; padding: {gap}px; }}
    .grid {{ display: grid; gap: {gap}px; }}
    .row {{ display: flex; gap: {gap}px; align-items: center; }}
    .button {{ display: inline-block; background: {accent}; color: {on(accent)}; border: 0;
      border-radius: {radius}px; padding: 0.6em 1.3em; font: inherit; font-weight: bold; }}
    .button.plain {{ background: transparent; color: {p.ink}; border: 1px solid {p.muted}; }}
    .tag {{ background: {mix(second, p.paper, 0.75)}; color: {p.ink}; border-radius: 99px;
      padding: 0.1em 0.8em; font-size: 0.8rem; }}
    .avatar {{ display: inline-flex; align-items: center; justify-content: center; width: 2.6rem;
      height: 2.6rem; border-radius: 50%; font-weight: bold; flex: none; }}
    svg {{ display: block; }}
    """
    return Look(
        base,
        width,
        radius,
        gap,
        font,
        heading,
        card,
        rng.choice(("bar", "centred", "split", "dark", "slim")),
        accent,
        second,
        css,
    )


def header(rng: random.Random, p: Palette, s: Look, brand: str, links: list[str]) -> tuple[Node, str]:
    """A site header in one of five arrangements, and its style."""
    nav = el("nav#main-nav", [el("a", link, href=f"#{link.lower()}") for link in links])
    mark = el("span.mark", brand[0])
    name = el("a#brand.brand", mark, " " + brand, href="#home")
    action = el(
        "a#header-action.button", rng.choice(("Sign in", "Join us", "Contact", "Start free", "Donate")), href="#start"
    )
    parts = {
        "bar": [name, nav],
        "centred": [name, nav],
        "split": [nav, name, action],
        "dark": [name, nav, action],
        "slim": [name, nav],
    }
    inner = el("div.wrap.bar", parts[s.header])
    back, ink = (
        (p.ink, p.paper) if s.header == "dark" else (s.accent, on(s.accent)) if s.header == "slim" else (p.paper, p.ink)
    )
    pad = {"slim": 0.4, "centred": 1.4}.get(s.header, rng.choice((0.8, 1.1, 1.5)))
    css = f"""
    #top {{ background: {back}; color: {ink}; padding: {pad}rem 0; border-bottom: 1px solid {p.line}; }}
    #top .bar {{ display: flex; gap: 1.5rem; align-items: center; justify-content: space-between;
      {"flex-direction: column;" if s.header == "centred" else ""} }}
    #top a:not(.button) {{ color: {ink}; }}
    #main-nav {{ display: flex; gap: 1.4rem; }}
    .brand {{ font-weight: bold; font-size: 1.25rem; }}
    .mark {{ display: inline-block; background: {s.second}; color: {on(s.second)}; width: 1.7em;
      line-height: 1.7em; text-align: center; border-radius: {rng.choice((0, 6, 99))}px; }}
    """
    return el("header#top", inner), css


def footer(rng: random.Random, p: Palette, s: Look, brand: str) -> tuple[Node, str]:
    """A footer, either one line or columns of links."""
    line = el("p#imprint", f"© {rng.randint(2015, 2026)} {brand}, {rng.choice(words.CITIES)}")
    columns = rng.choice((0, 0, 3, 4))
    blocks = [
        el(
            "div",
            el("h3", head),
            [el("p", el("a", rng.choice(words.NOUNS).capitalize(), href="#")) for _ in range(rng.randint(2, 4))],
        )
        for head in words.some(rng, ["Company", "Help", "Learn", "Legal", "Visit", "Follow"], columns)
    ]
    css = f"""
    #bottom {{ background: {p.panel}; margin-top: {s.gap * 2}px; padding: 1.4rem 0; font-size: 0.9rem; }}
    #bottom .grid {{ grid-template-columns: repeat({max(columns, 1)}, 1fr); }}
    """
    return el("footer#bottom", el("div.wrap", el("div.grid", blocks) if blocks else None, line)), css


def avatar(p: Palette, name: str) -> Node:
    """A round picture with a person's initials."""
    colour = p.accents[sum(map(ord, name)) % len(p.accents)]
    initials = "".join(part[0] for part in name.split()[:2])
    return el("span.avatar", initials, style=f"background: {colour}; color: {on(colour)}", aria_hidden="true")


def bars(values: list[float], colour: str, height: int, labels: list[str] | None = None) -> Node:
    """A bar chart made of flex boxes; the tallest bar has the full height."""
    top = max(values)
    columns = [
        el(
            "div.column",
            el("div.bar-fill", style=f"height: {round(height * value / top)}px; background: {colour}"),
            el("small", labels[k]) if labels else None,
        )
        for k, value in enumerate(values)
    ]
    return el("div.bars", columns, style="display: flex; align-items: flex-end; gap: 6px")


BARS_CSS = """
.column { flex: 1; text-align: center; }
.bar-fill { border-radius: 3px 3px 0 0; }
"""
