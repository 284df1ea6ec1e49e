"""Web templates: pages to look things up in (documentation, encyclopedia, changelog, glossary, error page)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, on
from .web import Page, el
from .web_parts import footer, header, look
from .web_pictures import picture
from .web_reading import LINKS


def documentation(rng: random.Random, p: Palette) -> Page:
    s, name, right = look(rng, p), rng.choice(words.NOUNS), rng.random() < 0.25
    topics = [words.action(rng) for _ in range(rng.randint(5, 12))]
    current, width, toc = rng.randrange(len(topics)), rng.randint(200, 290), rng.random() < 0.5
    columns = (f"1fr {width}px" if right else f"{width}px 1fr") + (" 220px" if toc else "")
    links = [
        el(f"a#topic-{k + 1}{'.current' if k == current else ''}", topic, href="#") for k, topic in enumerate(topics)
    ]
    rows = rng.randint(3, 6)
    options = el(
        "table#options",
        el("tr", [el("th", head) for head in ("Option", "Type", "Default")]),
        [
            el(
                "tr",
                el("td", el("code", f"--{rng.choice(words.NOUNS)}")),
                el("td", rng.choice(("text", "number", "path", "flag"))),
                el("td", str(rng.randint(0, 64))),
            )
            for _ in range(rows)
        ],
    )
    code = [
        f"$ {name} {rng.choice(words.VERBS)} --{rng.choice(words.NOUNS)} {rng.randint(1, 64)}"
        for _ in range(rng.randint(1, 3))
    ]
    blocks = [
        el("pre#example", el("code", "\n".join(code))),
        options,
        el("p#note.card", el("b", "Note: "), words.sentence(rng)),
        el("p", words.paragraph(rng, 3)),
    ]
    rng.shuffle(blocks)
    side = el("nav#topics", el("h2", name), links)
    main = el(
        "main",
        el("h1", topics[current]),
        el("p", words.paragraph(rng, 2)),
        blocks,
        el("h2#more", words.title(rng)),
        el("p", words.paragraph(rng, 3)),
    )
    outline = (
        el(
            "aside#outline",
            el("b", "On this page"),
            [el("p", el("a", words.title(rng), href="#")) for _ in range(rng.randint(3, 6))],
        )
        if toc
        else None
    )
    css = (
        s.css
        + f"""
    body {{ display: grid; grid-template-columns: {columns}; min-height: 100vh; }}
    #topics {{ padding: {s.gap}px; border-{"left" if right else "right"}: 1px solid {p.line};
      background: {rng.choice((p.paper, p.panel))}; }}
    #topics a {{ display: block; padding: {rng.uniform(0.2, 0.5):.2f}rem 0.7rem; border-radius: 6px; }}
    #topics .current {{ background: {s.accent}; color: {on(s.accent)}; }}
    main {{ padding: {rng.randint(20, 50)}px {rng.randint(24, 70)}px; min-width: 0; }}
    #outline {{ padding: {s.gap * 2}px 10px; font-size: 0.9rem; }}
    pre {{ background: {p.ink}; color: {p.paper}; padding: 1rem; border-radius: {s.radius}px;
      font-family: 'DejaVu Sans Mono', monospace; }}
    table {{ border-collapse: collapse; width: 100%; margin-bottom: 1rem; }}
    th, td {{ text-align: left; padding: 0.45em 0.6em; border-bottom: 1px solid {p.line}; }}
    """
    )
    body = [main, side, outline] if right else [side, main, outline]
    caption = (
        f'A documentation page of {name} on "{topics[current]}" with a menu of {len(topics)} topics, a shell '
        f"example and a table of {words.plural(rows, 'option')}."
    )
    return Page(
        f"{topics[current]} · {name}",
        [one for one in body if one],
        css,
        caption,
        {"topics": len(topics), "options": rows},
    )


def encyclopedia(rng: random.Random, p: Palette) -> Page:
    s, name = look(rng, p), f"{words.word(rng)} {rng.choice(('Island', 'Valley', 'Lake', 'Tower', 'Bridge', 'Falls'))}"
    rows = [
        ("Country", words.word(rng)),
        ("Height", f"{rng.randint(20, 3000)} m"),
        ("Founded", str(rng.randint(1200, 1950))),
        ("Population", f"{rng.randint(200, 90000):,}"),
        ("Area", f"{rng.randint(2, 900)} km²"),
        ("Coordinates", f"{rng.randint(1, 80)}° N {rng.randint(1, 170)}° E"),
    ]
    rows = rng.sample(rows, rng.randint(3, 6))
    left = rng.random() < 0.25
    box = el(
        "aside#infobox.card",
        el("h3", name),
        picture(rng, p, 260, rng.randint(130, 220), name, "infobox-picture"),
        el("table", [el("tr", el("th", key), el("td", value)) for key, value in rows]),
    )
    heads = words.some(
        rng, ["History", "Geography", "Climate", "Culture", "Economy", "Transport", "Wildlife"], rng.randint(2, 4)
    )
    toc = el(
        "nav#contents.card",
        el("b", "Contents"),
        el("ol", [el("li", el("a", head, href=f"#{head.lower()}")) for head in heads]),
    )
    sections = [
        [
            el(f"h2#{head.lower()}", head),
            [el("p", words.paragraph(rng, rng.randint(3, 6))) for _ in range(rng.randint(1, 2))],
        ]
        for head in heads
    ]
    css = (
        s.css
        + f"""
    main {{ padding-top: {rng.randint(16, 40)}px; }}
    h1, h2 {{ border-bottom: 1px solid {p.line}; padding-bottom: 0.2em;
      font-weight: {rng.choice(("normal", "bold"))}; }}
    #infobox {{ float: {"left" if left else "right"}; width: {rng.randint(250, 340)}px;
      margin: 0 {"1.5rem 1rem 0" if left else "0 1rem 1.5rem"}; }}
    #infobox th {{ text-align: left; padding-right: 1rem; }}
    #contents {{ display: inline-block; margin-bottom: 1rem; }}
    #contents ol {{ margin: 0.4rem 0 0; padding-left: 1.4rem; }}
    """
    )
    lead = el(
        "p",
        el("b", name),
        " is known for its "
        + rng.choice(words.ADJECTIVES)
        + " "
        + rng.choice(words.NOUNS)
        + ". "
        + words.paragraph(rng, rng.randint(2, 4)),
    )
    main = el("main.wrap", el("h1", name), box, lead, toc if rng.random() < 0.7 else None, sections)
    caption = (
        f'An encyclopedia article on "{name}" with a fact box of {words.plural(len(rows), "row")} at the '
        f"{'left' if left else 'right'} and the sections {words.join(heads)}."
    )
    return Page(f"{name}: encyclopedia", [main], css, caption, {"sections": len(heads), "facts": len(rows)})


def changelog(rng: random.Random, p: Palette) -> Page:
    s, name, count = look(rng, p, narrow=True), words.word(rng), rng.randint(3, 5)
    major, minor, entries, total = rng.randint(1, 9), rng.randint(count, 14), [], 0
    for k in range(count):
        items = []
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(("Added", "Fixed", "Changed", "Removed"))
            items.append(
                el(
                    "li",
                    el(f"span.kind.{kind.lower()}", kind),
                    " " + rng.choice(words.OBJECTS) + " in " + rng.choice(words.NOUNS),
                )
            )
        total += len(items)
        entries.append(
            el(
                f"section#release-{k + 1}",
                el("h2", f"{major}.{minor - k}.0"),
                el("p.muted", f"{rng.randint(1, 28)} {rng.choice(words.MONTHS_LONG)} {2026 - k}"),
                el("ul", items),
            )
        )
    rail = rng.random() < 0.5
    railed = f"border-left: 4px solid {s.accent}; padding-left: {rng.randint(20, 40)}px;"
    ruled = f"border-top: 1px solid {p.line}; padding-top: 1rem;"
    kinds = "\n".join(
        f".{kind} {{ background: {colour}; color: #ffffff; }}"
        for kind, colour in (("added", "#24805a"), ("fixed", "#3a6ea5"), ("changed", "#a8660a"), ("removed", "#b03a2e"))
    )
    css = (
        s.css
        + kinds
        + f"""
    main {{ padding-top: {rng.randint(24, 70)}px; padding-bottom: 40px; }}
    section {{ {railed if rail else ruled} margin-bottom: {s.gap}px; }}
    ul {{ list-style: none; padding: 0; }}
    li {{ margin-bottom: {rng.uniform(0.3, 0.8):.2f}rem; }}
    .kind {{ display: inline-block; border-radius: {min(s.radius, 8)}px; padding: 0.05em 0.6em;
      min-width: {rng.uniform(4.6, 6.5):.1f}rem; text-align: center; font-size: 0.85rem; }}
    """
    )
    caption = (
        f"The changelog of {name} with {words.plural(count, 'release')}, the newest {major}.{minor}.0, and "
        f"{total} changes."
    )
    return Page(
        f"{name} changelog",
        [el("main.wrap", el("h1", f"What is new in {name}"), entries)],
        css,
        caption,
        {"releases": count, "changes": total, "newest": f"{major}.{minor}.0"},
    )


def glossary(rng: random.Random, p: Palette) -> Page:
    s, columns = look(rng, p), rng.randint(1, 3)
    terms = sorted(words.some(rng, words.NOUNS, rng.randint(6, 14) if columns > 1 else rng.randint(6, 9)))
    items = [el(f"div#term-{term}.term", el("dt", term.capitalize()), el("dd", words.sentence(rng))) for term in terms]
    letters = sorted({term[0].upper() for term in terms})
    css = (
        s.css
        + f"""
    main {{ padding-top: {rng.randint(20, 60)}px; }}
    #letters {{ display: flex; gap: {rng.uniform(0.4, 1.1):.1f}rem; margin-bottom: {s.gap}px; }}
    #letters a {{ background: {s.accent}; color: {on(s.accent)}; width: 2.1em; line-height: 2.1em;
      text-align: center; border-radius: {rng.choice((0, 6, 99))}px; }}
    dl {{ columns: {columns}; column-gap: {s.gap * 2}px; margin: 0; }}
    .term {{ break-inside: avoid; margin-bottom: {rng.uniform(0.8, 1.6):.1f}rem;
      {rng.choice(("", f"border-left: 3px solid {s.second}; padding-left: 1rem;"))} }}
    dt {{ font-weight: bold; font-size: 1.15rem; }}
    dd {{ margin: 0.2rem 0 0; }}
    """
    )
    caption = (
        f"A glossary with {len(terms)} terms in {words.plural(columns, 'column')}, from "
        f"{terms[0].capitalize()} to {terms[-1].capitalize()}."
    )
    lead = el("p", words.paragraph(rng, rng.randint(1, 3))) if rng.random() < 0.6 else None
    return Page(
        "Glossary",
        [
            el(
                "main.wrap",
                el("h1", f"{words.word(rng)} glossary"),
                lead,
                el("nav#letters", [el("a", letter, href="#") for letter in letters]),
                el("dl", items),
            )
        ],
        css,
        caption,
        {"terms": len(terms), "columns": columns},
    )


def not_found(rng: random.Random, p: Palette) -> Page:
    s, brand, code = look(rng, p), words.brand(rng), rng.choice((404, 404, 403, 500, 503))
    top, top_css = header(rng, p, s, brand, words.some(rng, LINKS, rng.randint(2, 4)))
    end, end_css = footer(rng, p, s, brand)
    reason = {404: "Page not found", 403: "No entry", 500: "Something broke", 503: "Back soon"}[code]
    shot = picture(rng, p, 460, rng.randint(180, 380), reason, "error-picture") if rng.random() < 0.75 else None
    text = el(
        "div",
        el("p#code", str(code)),
        el("h1", reason),
        el("p", words.paragraph(rng, rng.randint(1, 2))),
        el("a#go-home.button", "Back to the start", href="#"),
    )
    side = rng.choice(("row", "row-reverse", "column", "column-reverse"))
    css = (
        s.css
        + top_css
        + end_css
        + f"""
    main {{ display: flex; flex-direction: {side}; gap: {s.gap * 2}px;
      align-items: {rng.choice(("center", "flex-start"))}; padding-top: {rng.randint(30, 110)}px;
      padding-bottom: {rng.randint(20, 120)}px; }}
    main > * {{ flex: 1; {"width: 100%; max-width: 560px;" if side.startswith("column") else ""} }}
    #code {{ font-size: {rng.uniform(4, 9):.1f}rem; font-weight: bold; color: {s.accent}; line-height: 1; margin: 0; }}
    """
    )
    caption = f'An error page of {brand} with the number {code} and the words "{reason}".'
    return Page(
        f"{code} · {brand}", [top, el("main.wrap", shot, text), end], css, caption, {"code": code, "reason": reason}
    )


TEMPLATES = {
    "documentation": documentation,
    "encyclopedia": encyclopedia,
    "changelog": changelog,
    "glossary": glossary,
    "not_found": not_found,
}
