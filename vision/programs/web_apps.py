"""Web templates: applications (dashboard, mail, chat, boards, calendars, settings, players, editors)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Node, Page, el
from .web_parts import BARS_CSS, Look, avatar, bars, look, picture


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
        "section#recent.card", el("h3", "Recent orders"),
        el("table", el("tr", [el("th", head) for head in ("Order", "Customer", "Total")]),
           [el("tr", el("td", f"#{rng.randint(1000, 9999)}"), el("td", words.person(rng)), el("td", f"€{words.price(rng):.2f}")) for _ in range(rows)]),
    )  # fmt: skip
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
    reading = el(
        "article#reading", el("h2", words.action(rng)), el("p.muted", f"From {senders[picked]}"), [el("p", words.paragraph(rng, rng.randint(2, 4))) for _ in range(rng.randint(2, 4))],
        el("div.row", el("button#reply.button", "Reply"), el("button#forward.button.plain", "Forward")),
    ) if split else None  # fmt: skip
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


def chat(rng: random.Random, p: Palette) -> Page:
    s, people = look(rng, p), rng.randint(3, 8)
    names = [words.person(rng) for _ in range(people)]
    partner, count = names[0], rng.randint(5, 10)
    dark, right, width = rng.random() < 0.5, rng.random() < 0.3, rng.randint(230, 340)
    contacts = [
        el(
            f"div#contact-{k + 1}.contact",
            avatar(p, name),
            el("div", el("b", name), el("br"), el("small", words.action(rng))),
        )
        for k, name in enumerate(names)
    ]
    bubbles, mine = [], 0
    for k in range(count):
        own = rng.random() < 0.45
        mine += own
        bubbles.append(
            el(f"p#bubble-{k + 1}.bubble.{'mine' if own else 'theirs'}", words.paragraph(rng, rng.choice((1, 1, 2))))
        )
    css = (
        s.css
        + f"""
    body {{ display: grid; grid-template-columns: {"1fr " if right else ""}{width}px{"" if right else " 1fr"};
      height: 100vh; }}
    #contacts {{ background: {p.ink if dark else p.panel}; color: {p.paper if dark else p.ink}; }}
    .contact {{ display: flex; gap: 0.8rem; align-items: center; padding: {rng.uniform(0.5, 0.9):.2f}rem 1rem;
      border-bottom: 1px solid {mix(p.line, p.ink, 0.2)}; }}
    .contact small {{ color: inherit; opacity: 0.7; }}
    #talk {{ display: flex; flex-direction: column; padding: {s.gap}px; gap: {rng.randint(6, 16)}px; }}
    .bubble {{ margin: 0; padding: 0.6em 1em; border-radius: {max(s.radius, 6)}px; max-width: {rng.randint(48, 74)}%; }}
    .mine {{ align-self: flex-end; background: {s.accent}; color: {on(s.accent)}; }}
    .theirs {{ align-self: flex-start; background: {p.panel}; }}
    #compose {{ display: flex; gap: 10px; margin-top: auto; }}
    #compose input {{ flex: 1; padding: 0.7em; font: inherit; border: 1px solid {p.muted};
      border-radius: {s.radius}px; background: {p.paper}; color: {p.ink}; }}
    """
    )
    talk = el(
        "main#talk",
        el("h2#partner", partner),
        bubbles,
        el(
            "form#compose",
            el("input#draft", placeholder="Write a message", aria_label="Message"),
            el("button#send.button", "Send"),
        ),
    )
    side = el("aside#contacts", contacts)
    caption = (
        f"A chat with {partner}: {words.plural(count, 'message')}, {words.number(mine)} of them one's own, "
        f"beside a list of {words.plural(people, 'contact')}."
    )
    return Page(
        f"Chat with {partner}",
        [talk, side] if right else [side, talk],
        css,
        caption,
        {"messages": count, "own": mine, "contacts": people},
    )


def kanban(rng: random.Random, p: Palette) -> Page:
    s, columns = look(rng, p), rng.randint(3, 5)
    names = words.some(rng, ["Ideas", "To do", "Next", "Doing", "Review", "Waiting", "Done"], columns)
    counts, lanes, number = [rng.randint(1, 5) for _ in names], [], 0
    for name, count in zip(names, counts, strict=True):
        cards = []
        for _ in range(count):
            number += 1
            who = words.person(rng)
            foot = (
                el("div.row", el("span.tag", rng.choice(words.NOUNS)), avatar(p, who)) if rng.random() < 0.6 else None
            )
            cards.append(
                el(
                    f"article#card-{number}.card",
                    el("b", words.action(rng)),
                    el("p.muted", words.sentence(rng)) if rng.random() < 0.5 else None,
                    foot,
                )
            )
        lanes.append(el(f"section#lane-{name.lower().replace(' ', '-')}.lane", el("h3", f"{name} ({count})"), cards))
    title = words.title(rng)
    css = (
        s.css
        + f"""
    body {{ padding: {s.gap}px; }}
    #board {{ display: grid; grid-template-columns: repeat({columns}, 1fr); gap: {s.gap}px;
      align-items: {rng.choice(("start", "stretch"))}; }}
    .lane {{ background: {mix(p.panel, p.ink, 0.04)}; border-radius: {s.radius}px; padding: {s.gap * 2 // 3}px;
      {rng.choice(("", f"border-top: 5px solid {s.accent};"))} }}
    .lane .card {{ margin-bottom: {rng.randint(8, 18)}px; padding: {rng.randint(10, 18)}px; }}
    .lane .row {{ justify-content: space-between; margin-top: 0.6rem; }}
    .lane p {{ margin: 0.4rem 0 0; }}
    """
    )
    top = el("header.row", el("h1", title), el("button#add-card.button", "Add a card"))
    caption = (
        f'A board titled "{title}" with {words.plural(columns, "column")}: '
        + words.join([f"{name} ({count})" for name, count in zip(names, counts, strict=True)])
        + "."
    )
    return Page(f"{title} board", [top, el("main#board", lanes)], css, caption, {"columns": columns, "cards": number})


def week_planner(rng: random.Random, p: Palette) -> Page:
    s, days, first, hours = look(rng, p), rng.choice((5, 7)), rng.randint(7, 9), rng.randint(8, 11)
    tall = rng.randint(44, 78)
    events: list[tuple[int, int, int, str, str]] = []
    for k in range(rng.randint(6, 14)):
        start, length, day = rng.randrange(hours - 1), rng.randint(1, 3), rng.randrange(days)
        length = min(length, hours - start)
        if any(one[0] == day and one[1] < start + length and start < one[1] + one[2] for one in events):
            continue
        events.append((day, start, length, words.action(rng), p.accents[k % 5]))
    boxes = [
        el(
            f"div#event-{k + 1}.event",
            el("b", name),
            el("br"),
            f"{first + start}:00",
            style=(
                f"grid-column: {day + 2}; grid-row: {start + 2} / span {length}; background: {colour}; color: "
                f"{on(colour)}"
            ),
        )
        for k, (day, start, length, name, colour) in enumerate(events)
    ]
    date = rng.randint(1, 22)
    heads = [
        el("div.head", f"{name} {date + k}", style=f"grid-column: {k + 2}; grid-row: 1")
        for k, name in enumerate(words.DAYS[:days])
    ]
    clock = [el("div.hour", f"{first + k}:00", style=f"grid-column: 1; grid-row: {k + 2}") for k in range(hours)]
    lines = [el("div.line", style=f"grid-column: 2 / -1; grid-row: {k + 2}") for k in range(hours)]
    css = (
        s.css
        + f"""
    body {{ padding: {s.gap}px; }}
    #week {{ display: grid; grid-template-columns: 70px repeat({days}, 1fr);
      grid-template-rows: 40px repeat({hours}, {tall}px); column-gap: {rng.randint(3, 10)}px; }}
    .head {{ font-weight: bold; text-align: center; }}
    .hour {{ color: {p.muted}; }}
    .line {{ border-top: 1px solid {p.line}; }}
    .event {{ border-radius: {min(s.radius, 12)}px; padding: 0.4em 0.6em; margin: 2px 0; overflow: hidden;
      font-size: 0.85rem; }}
    """
    )
    month = rng.choice(words.MONTHS_LONG)
    caption = (
        f"A week planner for {month} with {days} days from {first}:00 to {first + hours}:00 and "
        f"{words.plural(len(events), 'event')}."
    )
    return Page(
        f"Week in {month}",
        [el("h1", f"{month} {rng.randint(2019, 2030)}"), el("main#week", lines, heads, clock, boxes)],
        css,
        caption,
        {"days": days, "events": len(events)},
    )


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


def music_player(rng: random.Random, p: Palette) -> Page:
    s, count, album, artist = look(rng, p), rng.randint(6, 11), words.title(rng), words.person(rng)
    playing, done, cover = rng.randrange(count), rng.randint(5, 95), rng.randint(220, 400)
    tracks = [
        el(
            f"li#track-{k + 1}{'.playing' if k == playing else ''}",
            el("span", str(k + 1)),
            el("span.name", words.title(rng)),
            el("small", f"{rng.randint(2, 6)}:{rng.randint(10, 59)}"),
        )
        for k in range(count)
    ]
    layout = rng.choice(("side", "reverse", "top"))
    css = (
        s.css
        + f"""
    body {{ background: {rng.choice((p.paper, mix(s.accent, p.paper, 0.75)))};
      padding: {rng.randint(20, 60)}px; padding-bottom: 130px; }}
    #album {{ display: grid; grid-template-columns: {f"{cover}px 1fr" if layout != "top" else "1fr"};
      gap: {s.gap * 2}px; max-width: {s.width}px; margin: 0 auto; }}
    #cover {{ width: {cover}px; {"order: 2;" if layout == "reverse" else ""} border-radius: {s.radius}px; }}
    ol {{ list-style: none; padding: 0; margin: 0; }}
    li {{ display: flex; gap: 1.2rem; padding: {rng.uniform(0.4, 0.75):.2f}rem 0.8rem;
      border-bottom: 1px solid {p.line}; }}
    .name {{ flex: 1; }}
    .playing {{ background: {s.accent}; color: {on(s.accent)}; border-radius: 6px; }}
    .playing small {{ color: inherit; }}
    #controls {{ position: fixed; left: 0; right: 0; bottom: 0; background: {p.ink}; color: {p.paper};
      padding: 1rem 2rem; display: flex; gap: 1.5rem; align-items: center; }}
    #progress {{ flex: 1; height: 8px; border-radius: 4px; background: {p.muted}; }}
    #progress div {{ width: {done}%; height: 100%; border-radius: 4px; background: {s.second}; }}
    """
    )
    head = el(
        "div",
        el("p.muted", "Album"),
        el("h1", album),
        el("p", f"{artist} · {count} tracks · {rng.randint(1965, 2026)}"),
        el("ol", tracks),
    )
    cover_art = picture(rng, p, 400, 400, f"Cover of {album}", "cover")
    controls = el(
        "footer#controls",
        el("span", "⏮"),
        el("span#play", "▶"),
        el("span", "⏭"),
        el("div#progress", el("div"), role="progressbar", aria_label="Progress"),
        el("small", f"{done}%"),
    )
    caption = (
        f'A music player with the album "{album}" by {artist}; track {playing + 1} of {count} is playing, {done}% done.'
    )
    return Page(
        f"{album}: {artist}",
        [el("main#album", cover_art, head), controls],
        css,
        caption,
        {"tracks": count, "playing": playing + 1, "percent": done},
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
    grid = f"display: grid; grid-template-columns: repeat({columns}, 1fr); gap: {s.gap}px;"
    css = (
        s.css
        + side_css
        + f"""
    #files {{ {grid if tiles else ""} }}
    .file {{ display: flex; gap: 0.9rem; align-items: center; padding: {rng.uniform(0.5, 1):.2f}rem; {f"flex-direction: column; background: {p.panel}; border-radius: {s.radius}px;" if tiles else f"border-bottom: 1px solid {p.line};"} }}
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


def code_review(rng: random.Random, p: Palette) -> Page:
    s, files = look(rng, p), rng.randint(1, 3)
    blocks, added, removed = [], 0, 0
    for k in range(files):
        lines, number = [], rng.randint(3, 180)
        for _ in range(rng.randint(6, 12)):
            kind = rng.choice(("", "", "+", "+", "-"))
            added, removed = added + (kind == "+"), removed + (kind == "-")
            indent = "    " * rng.randint(0, 2)
            code = indent + rng.choice(
                ("{} = {}({})", "return {}.{}[{}]", "if {} > {}.{}:", "for {} in {}({}):", "{}.{}({})")
            ).format(*words.some(rng, words.NOUNS, 3))
            lines.append(
                el(
                    f"div.line{'.added' if kind == '+' else '.removed' if kind == '-' else ''}",
                    el("span.number", str(number)),
                    el("code", f"{kind or ' '} {code}"),
                )
            )
            number += 1
        blocks.append(
            el(f"section#file-{k + 1}.diff", el("h3", f"{rng.choice(words.NOUNS)}/{rng.choice(words.NOUNS)}.py"), lines)
        )
    title, author = words.action(rng), words.person(rng)
    comments = [
        el(f"article#comment-{k + 1}.card.row", avatar(p, who), el("div", el("b", who), el("p", words.sentence(rng))))
        for k, who in enumerate(words.person(rng) for _ in range(rng.randint(0, 3)))
    ]
    green, red = ("#12351f", "#40161b") if p.dark else ("#dff5e3", "#fbe1e3")
    css = (
        s.css
        + f"""
    body {{ padding: {s.gap}px {rng.randint(20, 90)}px; }}
    .diff {{ border: 1px solid {p.line}; border-radius: {min(s.radius, 10)}px; margin-bottom: {s.gap}px;
      overflow: hidden; }}
    .diff h3 {{ background: {p.panel}; margin: 0; padding: 0.6rem 1rem; font-size: 1rem; }}
    .line {{ display: flex; font-family: 'DejaVu Sans Mono', monospace; font-size: 0.85rem;
      line-height: {rng.uniform(1.45, 1.95):.2f}; }}
    .line code {{ white-space: pre; font-family: inherit; }}
    .number {{ width: 60px; text-align: right; padding-right: 14px; color: {p.muted}; }}
    .added {{ background: {green}; }}
    .removed {{ background: {red}; }}
    .card {{ margin-bottom: 12px; }}
    """
    )
    top = el(
        "header",
        el("h1", title),
        el("p.muted", f"{author} wants to merge {rng.randint(1, 9)} commits"),
        el("div.row", el("button#approve.button", "Approve"), el("button#request.button.plain", "Request changes")),
    )
    caption = (
        f'A code review titled "{title}" by {author}: {words.plural(files, "file")}, {added} added and '
        f"{removed} removed lines, {words.plural(len(comments), 'comment')}."
    )
    body = (
        [top, el("main", blocks), el("section#comments", comments)]
        if rng.random() < 0.6
        else [top, el("section#comments", comments), el("main", blocks)]
    )
    return Page(
        title, body, css, caption, {"files": files, "added": added, "removed": removed, "comments": len(comments)}
    )


def search_results(rng: random.Random, p: Palette) -> Page:
    s, query, count = (
        look(rng, p, narrow=True),
        f"{rng.choice(words.ADJECTIVES)} {rng.choice(words.NOUNS)}",
        rng.randint(5, 9),
    )
    results = [
        el(
            f"article#result-{k + 1}",
            el("small", f"{rng.choice(words.NOUNS)}.example / {rng.choice(words.NOUNS)}"),
            el("h3", el("a", words.title(rng), href="#")),
            el("p", words.paragraph(rng, rng.randint(1, 2))),
        )
        for k in range(count)
    ]
    panel = (
        el(
            "aside#panel.card",
            picture(rng, p, 300, rng.randint(130, 240), query, "panel-picture"),
            el("h2", query.title()),
            el("p", words.paragraph(rng, rng.randint(2, 4))),
        )
        if rng.random() < 0.6
        else None
    )
    left = rng.randint(20, 160)
    css = (
        s.css
        + f"""
    header {{ border-bottom: 1px solid {p.line}; padding: {rng.randint(14, 34)}px {left}px; display: flex;
      gap: 24px; align-items: center; }}
    #query {{ flex: 0 1 {rng.randint(380, 620)}px; padding: 0.7em 1.2em; font: inherit;
      border-radius: {rng.choice((6, 30))}px; border: 1px solid {p.muted}; background: {p.paper}; color: {p.ink}; }}
    #results {{ display: grid; grid-template-columns: {rng.randint(560, 720)}px {"320px" if panel else ""};
      gap: 50px; padding: 20px {left}px; }}
    article {{ margin-bottom: {rng.randint(14, 32)}px; }}
    article h3, article p {{ margin: 0.15em 0; }}
    """
    )
    name = words.word(rng)
    top = el(
        "header",
        el("b#engine", name, style=f"font-size: 1.6rem; color: {s.accent}"),
        el("input#query", type="search", value=query, aria_label="Search"),
    )
    found = f"About {rng.randint(2, 900) * 100:,} results"
    caption = f'A results page of the search engine {name} for "{query}" with {words.plural(count, "result")}' + (
        " and a side panel." if panel else "."
    )
    return Page(
        f"{query} · {name}",
        [top, el("main#results", el("section", el("p.muted", found), results), panel)],
        css,
        caption,
        {"query": query, "results": count},
    )


TEMPLATES = {
    "app_dashboard": dashboard,
    "mail": mail,
    "chat": chat,
    "kanban": kanban,
    "week_planner": week_planner,
    "settings": settings,
    "music_player": music_player,
    "file_manager": file_manager,
    "code_review": code_review,
    "search_results": search_results,
}
