"""Fact pictures as small web pages: a table, cards, definitions, a list with dotted lines, a receipt, badges."""

from __future__ import annotations

import random

from . import fact_words, words
from .palette import Palette, legible, mix, on
from .web import Node, Page, el

_SIDE = 448


def table(rng: random.Random, p: Palette) -> Page:
    facts = fact_words.facts(rng, 4, 7)
    head = p.accents[0]
    css = f"""
    table {{ width: 100%; border-collapse: collapse; font-size: 17px; }}
    th {{ background: {head}; color: {on(head)}; font-size: 14px; }}
    th, td {{ text-align: left; padding: 7px 12px; border-bottom: 1px solid {p.line}; }}
    .number {{ text-align: right; font-weight: bold; }}
    """
    lines = [el("tr", el("td", label), el("td.number", str(value))) for label, value in facts.items()]
    heads = el("tr", el("th", "name of item"), el("th.number", rng.choice(("in stock", "sold so far", "last count"))))
    return _page(rng, p, facts, css, [el("table", heads, lines)], "A table")


def cards(rng: random.Random, p: Palette) -> Page:
    columns = rng.choice((2, 3))
    facts = fact_words.facts(rng, 4, 6, 8)
    radius = rng.choice((0, 8, 16))
    css = f"""
    .cards {{ display: grid; grid-template-columns: repeat({columns}, 1fr); gap: 12px; }}
    .card {{ background: {p.panel}; border-radius: {radius}px; border-top: 4px solid {p.accents[0]};
      padding: 12px 14px; }}
    .card h2 {{ font-size: 16px; margin: 0 0 4px; }}
    .card p {{ font-size: 24px; font-weight: bold; margin: 0; color: {legible(p.accents[1], p.panel)}; }}
    """
    made = [el("div.card", el("h2", label), el("p", str(value))) for label, value in facts.items()]
    return _page(rng, p, facts, css, [el("div.cards", made)], "Cards")


def definitions(rng: random.Random, p: Palette) -> Page:
    facts = fact_words.facts(rng, 3, 6)
    css = f"""
    dl {{ display: grid; grid-template-columns: 1fr auto; gap: 10px 24px; margin: 0; font-size: 18px; }}
    dt {{ font-weight: bold; color: {legible(p.accents[0], p.paper)}; }}
    dd {{ margin: 0; text-align: right; }}
    """
    pairs = [[el("dt", label), el("dd", str(value))] for label, value in facts.items()]
    return _page(rng, p, facts, css, [el("dl", pairs)], "A list of definitions")


def dotted(rng: random.Random, p: Palette) -> Page:
    facts = fact_words.facts(rng, 3, 8)
    css = f"""
    ul {{ list-style: none; margin: 0; padding: 0; font-size: 17px; }}
    li {{ display: flex; align-items: baseline; gap: 8px; padding: 5px 0; }}
    .dots {{ flex: 1; border-bottom: 2px dotted {p.muted}; }}
    b {{ color: {legible(p.accents[1], p.paper)}; }}
    """
    lines = [el("li", el("span", label), el("i.dots"), el("b", str(value))) for label, value in facts.items()]
    return _page(rng, p, facts, css, [el("ul", lines)], "A list")


def receipt(rng: random.Random, p: Palette) -> Page:
    facts = fact_words.facts(rng, 3, 7)
    css = f"""
    .slip {{ background: {p.panel}; border: 1px dashed {p.muted}; padding: 16px 20px; font-size: 16px;
      font-family: "DejaVu Sans Mono", monospace; max-width: {rng.randint(300, 390)}px; }}
    .line {{ display: flex; justify-content: space-between; padding: 4px 0; }}
    .line + .line {{ border-top: 1px solid {p.line}; }}
    """
    lines = [el("div.line", el("span", label), el("span", str(value))) for label, value in facts.items()]
    return _page(rng, p, facts, css, [el("div.slip", lines)], "A slip")


def badges(rng: random.Random, p: Palette) -> Page:
    facts = fact_words.facts(rng, 3, 6, 8)
    css = """
    .badges { display: grid; grid-template-columns: 1fr 1fr; gap: 14px 12px; }
    .badge { display: flex; border-radius: 6px; overflow: hidden; font-size: 16px; }
    .badge span, .badge strong { padding: 7px 12px; }
    .badge span { flex: 1; }
    """
    made: list[Node] = []
    for k, (label, value) in enumerate(facts.items()):
        colour = p.accents[k % len(p.accents)]
        name = el("span", label, style=f"background: {p.ink}; color: {p.paper}")
        made.append(el("div.badge", name, el("strong", str(value), style=f"background: {colour}; color: {on(colour)}")))
    return _page(rng, p, facts, css, [el("div.badges", made)], "Badges")


def _page(rng: random.Random, p: Palette, facts: dict[str, int], css: str, body: list[Node], what: str) -> Page:
    pad = rng.randint(18, 28)
    bar = rng.choice((f"border-bottom: 3px solid {p.accents[2]};", "", f"border-left: 6px solid {p.accents[2]};"))
    base = f"""
    * {{ box-sizing: border-box; }}
    body {{ margin: 0; padding: {pad}px; background: {p.paper}; color: {p.ink}; font-size: 16px; line-height: 1.3;
      font-family: {rng.choice(('"DejaVu Sans", sans-serif', '"DejaVu Serif", serif'))}; }}
    h1 {{ font-size: 21px; margin: 0 0 16px; padding: 2px 0 6px; {bar} color: {mix(p.ink, p.accents[0], 0.2)};
      {"padding-left: 10px;" if "left" in bar else ""} }}
    """
    title = f"{rng.choice(words.TOPICS)} at the {rng.choice(words.NOUNS)}"
    pairs = words.join([f"{label} {value}" for label, value in facts.items()])
    return Page(title, [el("h1", title), *body], base + css, f"{what} with the numbers {pairs}.", dict(facts))


TEMPLATES = {
    "table": table, "cards": cards, "definitions": definitions, "dotted": dotted, "receipt": receipt, "badges": badges,
}  # fmt: skip
