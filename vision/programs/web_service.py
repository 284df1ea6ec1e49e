"""Web templates: answers for customers (questions, contact, comparison)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Page, el
from .web_business import nav_links
from .web_parts import footer, header, look
from .web_pictures import picture


def questions(rng: random.Random, p: Palette) -> Page:
    s, brand, count = look(rng, p, narrow=rng.random() < 0.6), words.brand(rng), rng.randint(4, 9)
    top, top_css = header(rng, p, s, brand, nav_links(rng))
    boxed = rng.choice(("", f"background: {p.panel}; margin-bottom: 10px; padding-left: 1rem; border: 0;"))
    opened = sorted(rng.sample(range(count), rng.randint(1, 3)))
    items = []
    for k in range(count):
        ask = rng.choice(("How do I {} {}?", "Can I {} {} later?", "Why should we {} {}?", "Who will {} {}?")).format(
            rng.choice(words.VERBS), rng.choice(words.OBJECTS)
        )
        items.append(
            el(
                f"details#question-{k + 1}",
                el("summary", ask),
                el("p", words.paragraph(rng, rng.randint(1, 3))),
                open=k in opened,
            )
        )
    css = (
        s.css
        + top_css
        + f"""
    main {{ padding-top: {rng.randint(20, 70)}px; padding-bottom: 40px; }}
    details {{ border-bottom: 1px solid {p.line}; padding: {rng.uniform(0.5, 1.1):.2f}rem 0; {boxed} }}
    summary {{ font-weight: bold; font-size: 1.1rem; }}
    details p {{ margin: 0.7rem 0 0; }}
    #search {{ width: {rng.randint(50, 100)}%; padding: 0.7em 1em; font: inherit; border: 1px solid {p.muted};
      border-radius: {s.radius}px; margin-bottom: 1.2rem; background: {p.paper}; color: {p.ink}; }}
    """
    )
    search = (
        el("input#search", type="search", placeholder="Search the answers", aria_label="Search")
        if rng.random() < 0.6
        else None
    )
    caption = (
        f"A page of {words.plural(count, 'frequent question')} at {brand}, {words.number(len(opened))} of them opened."
    )
    return Page(
        f"Questions · {brand}",
        [top, el("main.wrap", el("h1", "Frequent questions"), search, items)],
        css,
        caption,
        {"questions": count, "opened": len(opened)},
    )


def contact(rng: random.Random, p: Palette) -> Page:
    s, brand, city = look(rng, p), words.brand(rng), rng.choice(words.CITIES)
    top, top_css = header(rng, p, s, brand, nav_links(rng))
    end, end_css = footer(rng, p, s, brand)
    fields = [
        ("Name", "text"),
        ("Email", "email"),
        *words_sample(rng, [("Phone", "tel"), ("Company", "text"), ("Date", "text"), ("Order number", "text")]),
    ]
    rows = [
        el("label", label, el(f"input#{label.lower().replace(' ', '-')}", type=kind, placeholder=label))
        for label, kind in fields
    ]
    form = el(
        "form#contact-form.card",
        el("h2", "Write to us"),
        rows,
        el("label", "Message", el("textarea#message", rows=rng.randint(4, 8), placeholder="How can we help?")),
        el("label.check", el("input#copy", type="checkbox", checked=rng.random() < 0.5), " Send me a copy"),
        el("button#send.button", "Send message"),
    )
    place = el(
        "aside#address",
        el("h2", f"Visit us in {city}"),
        el("p", f"{rng.randint(1, 240)} {words.word(rng)} Street, {city}"),
        el("p", f"+{rng.randint(10, 99)} {rng.randint(100, 999)} {rng.randint(1000, 9999)}"),
        el(
            "table",
            [
                el("tr", el("th", day), el("td", f"{rng.randint(7, 10)}:00 to {rng.randint(15, 20)}:00"))
                for day in words.DAYS[: rng.randint(3, 7)]
            ],
        ),
        picture(rng, p, 400, rng.randint(140, 260), f"Our house in {city}", "house-picture"),
    )
    css = (
        s.css
        + top_css
        + end_css
        + f"""
    main {{ display: grid; grid-template-columns: {rng.choice(("1fr 1fr", "3fr 2fr", "2fr 1fr"))};
      gap: {s.gap * 2}px; padding-top: {rng.randint(20, 50)}px; }}
    label {{ display: block; margin-bottom: 0.9rem; font-weight: bold; }}
    .check {{ font-weight: normal; }}
    input:not([type=checkbox]), textarea {{ display: block; width: 100%; padding: 0.55em 0.8em;
      margin-top: 0.25em; font: inherit; border: 1px solid {p.muted}; border-radius: {min(s.radius, 10)}px;
      background: {p.paper}; color: {p.ink}; }}
    th {{ text-align: left; padding-right: 2rem; }}
    """
    )
    caption = (
        f"A contact page of {brand} in {city} with a form of {words.plural(len(fields), 'text field')}, a "
        "message box and a button to send it."
    )
    return Page(
        f"Contact · {brand}",
        [top, el("main.wrap", [form, place] if rng.random() < 0.5 else [place, form]), end],
        css,
        caption,
        {"fields": len(fields), "city": city},
    )


def words_sample(rng: random.Random, options: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A few of the options, in random order."""
    return rng.sample(options, rng.randint(0, len(options)))


def comparison(rng: random.Random, p: Palette) -> Page:
    s, brand, columns, rows = look(rng, p), words.brand(rng), rng.randint(3, 5), rng.randint(6, 12)
    names = [words.word(rng) for _ in range(columns)]
    top, top_css = header(rng, p, s, brand, nav_links(rng))
    ticks = [0] * columns
    lines = []
    for k in range(rows):
        cells = []
        for j in range(columns):
            value = rng.choice(("✓", "✓", "–", f"{rng.randint(2, 90)} GB"))
            ticks[j] += value == "✓"
            cells.append(el("td.yes" if value == "✓" else "td", value))
        lines.append(el(f"tr#row-{k + 1}", el("th", words.action(rng)), cells))
    table = el(
        "table#comparison",
        el("thead", el("tr", el("th", "Feature"), [el("th", name) for name in names])),
        el("tbody", lines),
    )
    zebra = (
        f"tbody tr:nth-child({rng.choice(('odd', 'even'))}) {{ background: {p.panel}; }}" if rng.random() < 0.6 else ""
    )
    css = (
        s.css
        + top_css
        + f"""
    main {{ padding-top: {rng.randint(20, 60)}px; padding-bottom: 40px; }}
    table {{ width: {rng.randint(80, 100)}%; border-collapse: collapse; }}
    th, td {{ padding: {rng.uniform(0.4, 0.95):.2f}em 0.9em; border-bottom: 1px solid {p.line}; text-align: center; }}
    th:first-child {{ text-align: left; width: {rng.randint(30, 48)}%; }}
    thead th {{
      {rng.choice((f"background: {s.accent}; color: {on(s.accent)};", f"border-bottom: 3px solid {s.accent};"))} }}
    .yes {{ color: {mix(s.second, p.ink, 0.3)}; font-weight: bold; }}
    {zebra}
    """
    )
    lead = [el("h1", f"Compare {words.join(names[:2])}"), el("p", words.sentence(rng))][: rng.randint(1, 2)]
    best = ticks.index(max(ticks))
    caption = (
        f"A comparison table of {words.join(names)} over {rows} features; {names[best]} has "
        f"{words.plural(ticks[best], 'tick')}, no other has more."
    )
    return Page(
        f"Compare · {brand}",
        [top, el("main.wrap", lead, table)],
        css,
        caption,
        {"columns": columns, "rows": rows, "ticks_of_best": ticks[best]},
    )


TEMPLATES = {
    "questions": questions,
    "contact": contact,
    "comparison": comparison,
}
