"""Web templates: applications with a navigation column (dashboard, mail, settings, files)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Node, Page, el
from .web_parts import BARS_CSS, Look, avatar, bars, look


def _sidebar(rng: random.Random, p: Palette, s: Look, brand: str, items: list[str]) -> tuple[Node, str, bool]:
    """A navigation column; returns it with its style and whether it stands at the right."""
    dark, right, width = rng.random() < 0.5, rng.random() < 0.25, rng.randint(150, 270)
    back, ink = (p.ink, p.paper) if dark else (p.panel, p.ink)
    active = rng.randrange(len(items))
    links = [
        el(f"a#nav-{item.lower().replace(' ', '-')}{'.active' if k == active else ''}", item, href="#")
        for k, item in enumerate(items)
    ]
    css = f"""
    body {{ display: grid; grid-template-columns: {"1fr " if right else ""}{width}px{"" if right else " 1fr"};
      min-height: 100vh; }}
    #sidebar {{ background: {back}; color: {ink}; padding: {s.gap}px 0; }}
    #sidebar h2 {{ padding: 0 {s.gap}px; }}
    #sidebar a {{ display: block; padding: {rng.uniform(0.4, 0.9):.2f}rem {s.gap}px; color: {ink}; }}
    #sidebar .active {{ background: {s.accent}; color: {on(s.accent)}; }}
    main {{ padding: {s.gap}px {s.gap + 8}px; min-width: 0; }}
    """
    return el("nav#sidebar", el("h2", brand), links), css, right


def _page(side: Node, main: Node, right: bool) -> list[Node]:
    return [main, side] if right else [side, main]


_SECTIONS = ["Overview", "Reports", "Orders", "People", "Projects", "Billing", "Settings", "Help", "Archive", "Devices"]


def dashboard(rng: random.Random, p: Palette) -> Page:
    s, brand, tiles = look(rng, p), words.brand(rng), rng.randint(3, 5)
    side, side_css, right = _sidebar(rng, p, s, brand, words.some(rng, _SECTIONS, rng.randint(4, 8)))
    names, values = words.some(rng, words.TOPICS, tiles), [rng.randint(10, 9900) for _ in range(tiles)]
    cards = [
        el(
            f"section#tile-{k + 1}.card",
            el("p.muted", name),
            el("p.figure", f"{value:,}"),
            el("small", f"{rng.choice('▲▼')} {rng.randint(1, 40)}% this week"),
        )
        for k, (name, value) in enumerate(zip(names, values, strict=True))
    ]
    count = rng.randint(6, 14)
    chart = el(
        "section#chart.card",
        el("h3", f"{names[0]} by day"),
        bars([rng.randint(10, 100) for _ in range(count)], s.accent, rng.randint(120, 240)),
    )
    rows = rng.randint(4, 8)
    table = el(
        "section#recent.card",
        el("h3", "Recent orders"),
        el(
            "table",
            el("tr", [el("th", head) for head in ("Order", "Customer", "Total")]),
            [
                el(
                    "tr",
                    el("td", f"#{rng.randint(1000, 9999)}"),
                    el("td", words.person(rng)),
                    el("td", f"€{words.price(rng):.2f}"),
                )
                for _ in range(rows)
            ],
        ),
    )
    lower = [chart, table] if rng.random() < 0.5 else [table, chart]
    css = (
        s.css
        + side_css
        + BARS_CSS
        + f"""
    #tiles {{ grid-template-columns: repeat({tiles if rng.random() < 0.7 else 2}, 1fr); margin-bottom: {s.gap}px; }}
    .figure {{ font-size: {rng.choice((1.7, 2.1, 2.5))}rem; font-weight: bold; margin: 0; }}
    #lower {{ grid-template-columns: {rng.choice(("1fr 1fr", "2fr 1fr", "1fr 2fr", "1fr"))}; align-items: start; }}
    table {{ width: 100%; border-collapse: collapse; }}
    th, td {{ text-align: left; padding: 0.45em 0; border-bottom: 1px solid {p.line}; }}
    """
    )
    blocks = [el("div#tiles.grid", cards), el("div#lower.grid", lower)]
    main = el("main", el("h1", f"{brand} overview"), blocks if rng.random() < 0.75 else blocks[::-1])
    shown = words.join([f"{name} {value:,}" for name, value in zip(names, values, strict=True)])
    caption = (
        f"A dashboard of {brand} with {words.plural(tiles, 'figure')} ({shown}), a bar chart of {count} bars "
        f"and a table of {rows} orders."
    )
    return Page(
        f"{brand} dashboard", _page(side, main, right), css, caption, {"tiles": tiles, "bars": count, "orders": rows}
    )


def mail(rng: random.Random, p: Palette) -> Page:
    s, count = look(rng, p), rng.randint(6, 11)
    folders = [
        "Inbox",
        "Starred",
        "Sent",
        "Drafts",
        *words.some(rng, ["Travel", "Receipts", "Family", "Work", "Spam"], rng.randint(1, 4)),
    ]
    side, side_css, right = _sidebar(rng, p, s, "Mail", folders)
    unread, split, picked = rng.randint(1, count), rng.random() < 0.5, rng.randrange(count)
    fresh = set(rng.sample(range(count), unread))
    senders, rows = [words.person(rng) for _ in range(count)], []
    for k, sender in enumerate(senders):
        text = el("div.text", el("b" if k in fresh else "span", sender), el("p.subject", words.action(rng)))
        rows.append(
            el(
                f"li#message-{k + 1}{'.picked' if k == picked and split else ''}",
                avatar(p, sender),
                text,
                el("small", f"{rng.randint(7, 21)}:{rng.randint(10, 59)}"),
            )
        )
    listing = el("ul#messages", rows)
    reading = (
        el(
            "article#reading",
            el("h2", words.action(rng)),
            el("p.muted", f"From {senders[picked]}"),
            [el("p", words.paragraph(rng, rng.randint(2, 4))) for _ in range(rng.randint(2, 4))],
            el("div.row", el("button#reply.button", "Reply"), el("button#forward.button.plain", "Forward")),
        )
        if split
        else None
    )
    css = (
        s.css
        + side_css
        + f"""
    #columns {{ display: grid; grid-template-columns: {f"{rng.randint(34, 46)}% 1fr" if split else "1fr"};
      gap: {s.gap}px; }}
    ul {{ list-style: none; margin: 0; padding: 0; }}
    li {{ display: flex; gap: 0.9rem; align-items: center; padding: {rng.uniform(0.45, 0.9):.2f}rem;
      border-bottom: 1px solid {p.line}; }}
    .text {{ flex: 1; min-width: 0; }}
    .subject {{ margin: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }}
    .picked {{ background: {mix(s.accent, p.paper, 0.8)}; }}
    #reading {{ padding: 0 {s.gap}px; border-left: 1px solid {p.line}; }}
    """
    )
    main = el(
        "main",
        el(
            "div.row",
            el("h1", "Inbox"),
            el("span#unread.tag", f"{unread} unread"),
            el("button#compose.button", "Compose"),
        ),
        el("div#columns", listing, reading),
    )
    caption = f"A mail inbox with {words.plural(count, 'message')}, {words.number(unread)} of them unread" + (
        f", and an opened message from {senders[picked]}." if split else "."
    )
    return Page("Inbox", _page(side, main, right), css, caption, {"messages": count, "unread": unread, "split": split})


def settings(rng: random.Random, p: Palette) -> Page:
    s, groups = look(rng, p), rng.randint(2, 4)
    side, side_css, right = _sidebar(
        rng,
        p,
        s,
        "Settings",
        words.some(
            rng,
            ["Profile", "Privacy", "Display", "Sound", "Sharing", "Storage", "Language", "Keyboard"],
            rng.randint(4, 8),
        ),
    )
    blocks, switches, on_count = [], 0, 0
    for k in range(groups):
        rows = []
        for _ in range(rng.randint(2, 5)):
            kind = rng.choice(("switch", "switch", "select", "text", "range"))
            label = rng.choice(words.VERBS).capitalize() + " " + rng.choice(words.OBJECTS)
            if kind == "switch":
                switches, state = switches + 1, rng.random() < 0.5
                on_count += state
                control = el(
                    f"span#switch-{switches}.switch{'.on' if state else ''}",
                    role="switch",
                    aria_checked=str(state).lower(),
                    aria_label=label,
                )
            elif kind == "select":
                control = el(
                    "select", [el("option", option) for option in words.some(rng, words.CITIES, 3)], aria_label=label
                )
            elif kind == "text":
                control = el("input", type="text", value=words.word(rng), aria_label=label)
            else:
                control = el("input", type="range", value=rng.randint(0, 100), aria_label=label)
            rows.append(
                el("div.setting", el("div", el("b", label), el("br"), el("small", words.sentence(rng))), control)
            )
        blocks.append(el(f"section#group-{k + 1}.card", el("h3", words.word(rng)), rows))
    css = (
        s.css
        + side_css
        + f"""
    section {{ margin-bottom: {s.gap}px; max-width: {rng.randint(560, 900)}px; }}
    .setting {{ display: flex; justify-content: space-between; align-items: center; gap: 2rem;
      padding: {rng.uniform(0.4, 0.8):.2f}rem 0; border-top: 1px solid {p.line}; }}
    .switch {{ display: inline-block; width: 46px; height: 26px; border-radius: 13px; background: {p.muted};
      position: relative; flex: none; }}
    .switch::after {{ content: ""; position: absolute; left: 3px; top: 3px; width: 20px; height: 20px;
      border-radius: 50%; background: #ffffff; }}
    .on {{ background: {s.accent}; }}
    .on::after {{ left: 23px; }}
    select, input[type=text] {{ font: inherit; padding: 0.35em 0.6em; background: {p.paper}; color: {p.ink};
      border: 1px solid {p.muted}; border-radius: 6px; }}
    """
    )
    main = el(
        "main",
        el("h1", "Settings"),
        blocks,
        el("div.row", el("button#save.button", "Save changes"), el("button#reset.button.plain", "Reset")),
    )
    caption = (
        f"A settings page with {words.plural(groups, 'group')} and {words.plural(switches, 'switch')}, "
        f"{words.number(on_count)} of them on, and buttons to save or reset."
    )
    return Page(
        "Settings",
        _page(side, main, right),
        css,
        caption,
        {"groups": groups, "switches": switches, "switches_on": on_count},
    )


def file_manager(rng: random.Random, p: Palette) -> Page:
    s, columns = look(rng, p), rng.randint(3, 6)
    side, side_css, right = _sidebar(
        rng,
        p,
        s,
        "Files",
        words.some(
            rng,
            ["Home", "Documents", "Pictures", "Music", "Shared", "Trash", "Downloads", "Projects"],
            rng.randint(4, 7),
        ),
    )
    count, tiles, folders = rng.randint(6, 15), rng.random() < 0.55, 0
    rows = []
    for k in range(count):
        folder = rng.random() < 0.35
        folders += folder
        name = (
            words.word(rng)
            if folder
            else f"{rng.choice(words.NOUNS)}.{rng.choice(('txt', 'pdf', 'csv', 'png', 'svg'))}"
        )
        icon = el(
            "span.icon",
            style=(
                f"background: {p.accents[0] if folder else p.line}; "
                f"{'border-radius: 4px 12px 4px 4px' if folder else ''}"
            ),
        )
        size = f"{rng.randint(1, 40)} items" if folder else f"{rng.randint(2, 900)} kB"
        rows.append(el(f"div#file-{k + 1}.file", icon, el("span.name", name), el("small", size)))
    tile = f"flex-direction: column; background: {p.panel}; border-radius: {s.radius}px;"
    line = f"border-bottom: 1px solid {p.line};"
    grid = f"display: grid; grid-template-columns: repeat({columns}, 1fr); gap: {s.gap}px;"
    css = (
        s.css
        + side_css
        + f"""
    #files {{ {grid if tiles else ""} }}
    .file {{ display: flex; gap: 0.9rem; align-items: center; padding: {rng.uniform(0.5, 1):.2f}rem;
      {tile if tiles else line} }}
    .icon {{ width: {56 if tiles else 26}px; height: {46 if tiles else 22}px; display: block; }}
    .name {{ {"" if tiles else "flex: 1;"} }}
    #path {{ background: {p.panel}; padding: 0.5rem 1rem; border-radius: {s.radius}px; margin-bottom: {s.gap}px; }}
    """
    )
    where = f"Home / {words.word(rng)} / {words.word(rng)}"
    main = el("main", el("p#path", where), el("div#files", rows))
    caption = (
        f"A file manager in {where} with {words.plural(folders, 'folder')} and "
        f"{words.plural(count - folders, 'file')} shown as {'tiles' if tiles else 'a list'}."
    )
    return Page("Files", _page(side, main, right), css, caption, {"folders": folders, "files": count - folders})


TEMPLATES = {
    "app_dashboard": dashboard,
    "mail": mail,
    "settings": settings,
    "file_manager": file_manager,
}
