"""Web templates: tables and figures (timetable, report, tracking, data table)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Page, el
from .web_parts import BARS_CSS, bars, look
from .web_pictures import picture


def timetable(rng: random.Random, p: Palette) -> Page:
    s, rows, board = look(rng, p), rng.randint(6, 14), rng.random() < 0.5
    kind, place = rng.choice(("Departures", "Arrivals")), rng.choice(words.CITIES)
    minute, late, lines = rng.randint(300, 900), 0, []
    for k in range(rows):
        minute += rng.randint(2, 40)
        state = rng.choice(("On time", "On time", "Delayed", "Boarding", "Cancelled"))
        late += state == "Delayed"
        lines.append(
            el(
                f"tr#trip-{k + 1}",
                el("td", f"{minute // 60:02d}:{minute % 60:02d}"),
                el("td", f"{rng.choice('ABCKRS')}{rng.randint(1, 990)}"),
                el("td", el("b", rng.choice(words.CITIES))),
                el("td", str(rng.randint(1, 24))),
                el(f"td.{state.lower().replace(' ', '-')}", state),
            )
        )
    back, ink, glow = ("#111418", "#f2e9c9", "#ffc53d") if board else (p.paper, p.ink, s.accent)
    css = (
        s.css
        + f"""
    body {{ background: {back}; color: {ink}; padding: {rng.randint(16, 60)}px;
      {"font-family: 'DejaVu Sans Mono', monospace;" if board else ""} }}
    header {{ display: flex; justify-content: space-between; align-items: baseline;
      flex-direction: {rng.choice(("row", "row-reverse"))}; }}
    h1 {{ color: {glow}; font-size: {rng.uniform(2, 3.4):.1f}rem; }}
    table {{ width: {rng.randint(75, 100)}%; border-collapse: collapse; font-size: {rng.uniform(1, 1.35):.2f}rem; }}
    th, td {{ text-align: left; padding: {rng.uniform(0.25, 0.7):.2f}em 0.7em;
      border-bottom: 1px solid {mix(back, ink, 0.25)}; }}
    th {{ color: {glow}; }}
    .delayed, .cancelled {{ color: #ff6b57; }}
    """
    )
    table = el(
        "table",
        el(
            "tr",
            [el("th", head) for head in ("Time", "Line", "To" if kind == "Departures" else "From", "Gate", "Status")],
        ),
        lines,
    )
    header = el("header", el("h1", kind), el("span#clock", f"{place} {minute // 60:02d}:{rng.randint(0, 59):02d}"))
    return Page(
        f"{kind} {place}",
        [header, table],
        css,
        f"A board of {kind.lower()} in {place} with {words.plural(rows, 'line')}, {words.number(late)} of them "
        "delayed.",
        {"rows": rows, "delayed": late},
    )


def report(rng: random.Random, p: Palette) -> Page:
    s, topic, year = look(rng, p), rng.choice(words.TOPICS), rng.randint(2005, 2026)
    count, rows = rng.randint(4, 12), rng.randint(3, 7)
    values = [rng.randint(15, 100) for _ in range(count)]
    best = values.index(max(values))
    chart = el(
        "section#chart.card",
        el("h3", f"{topic} by month"),
        bars([float(v) for v in values], s.accent, rng.randint(110, 260), list(words.MONTHS[:count])),
    )
    lines = [
        el(
            "div.meter",
            el("span", city),
            el("div.track", el("div", style=f"width: {rng.randint(8, 100)}%; background: {p.accents[k % 5]}")),
        )
        for k, city in enumerate(words.some(rng, words.CITIES, rows))
    ]
    across = el("section#cities.card", el("h3", "By city"), lines)
    share = rng.randint(10, 90)
    ring = el(
        "section#share.card",
        el("h3", "Share reached"),
        el("div#ring", el("b", f"{share}%"), role="img", aria_label=f"{share} percent"),
    )
    text = el("section#text", el("h2", words.title(rng)), el("p", words.paragraph(rng, rng.randint(2, 5))))
    blocks = [chart, across, ring, text]
    rng.shuffle(blocks)
    css = (
        s.css
        + BARS_CSS
        + f"""
    main {{ padding-top: {rng.randint(20, 50)}px; padding-bottom: 40px; }}
    #blocks {{ grid-template-columns: {rng.choice(("1fr 1fr", "2fr 1fr", "1fr 2fr", "1fr"))}; align-items: start; }}
    .meter {{ display: grid; grid-template-columns: 8rem 1fr; gap: 1rem; align-items: center;
      margin-bottom: {rng.uniform(0.3, 0.9):.2f}rem; }}
    .track {{ background: {p.line}; border-radius: 4px; }}
    .track div {{ height: {rng.randint(10, 22)}px; border-radius: 4px; }}
    #ring {{ width: {rng.randint(120, 190)}px; aspect-ratio: 1; border-radius: 50%; display: flex;
      align-items: center; justify-content: center; margin: 0 auto; background: radial-gradient({p.paper}
      56%, transparent 57%), conic-gradient({s.second} 0 {share}%, {p.line} {share}% 100%); font-size: 1.5rem; }}
    """
    )
    caption = (
        f"A yearly report on {topic.lower()} for {year} with a chart of {count} bars (the highest is "
        f"{words.MONTHS[best]}), {rows} meters by city and a ring at {share}%."
    )
    return Page(
        f"{topic} {year}",
        [el("main.wrap", el("h1", f"{topic} in {year}"), el("div#blocks.grid", blocks))],
        css,
        caption,
        {"bars": count, "meters": rows, "percent": share},
    )


def tracking(rng: random.Random, p: Palette) -> Page:
    s, number, steps = look(rng, p), f"{rng.choice('ABCDEF')}{rng.randint(100000, 999999)}", rng.randint(4, 6)
    names = ["Ordered", "Packed", "Sent", "In the depot", "On the van", "Delivered"][:steps]
    done, upright = rng.randint(1, steps), rng.random() < 0.5
    stops = [
        el(
            f"li#step-{k + 1}{'.done' if k < done else ''}",
            el("span.dot", str(k + 1)),
            el(
                "div",
                el("b", name),
                el("br"),
                el(
                    "small",
                    f"{rng.choice(words.DAYS)} {rng.randint(6, 21)}:{rng.randint(10, 59)}, {rng.choice(words.CITIES)}",
                ),
            ),
        )
        for k, name in enumerate(names)
    ]
    items = [
        el(
            "div.row.item",
            picture(rng, p, 90, 70, "Item"),
            el("div", el("b", words.good(rng)), el("p.muted", words.plural(rng.randint(1, 4), "piece"))),
        )
        for _ in range(rng.randint(1, 4))
    ]
    css = (
        s.css
        + f"""
    main {{ padding-top: {rng.randint(20, 70)}px; }}
    ol {{ list-style: none; padding: 0; display: flex; flex-direction: {"column" if upright else "row"};
      gap: {rng.randint(14, 34)}px; }}
    ol li {{ flex: 1; display: flex; gap: 0.8rem; align-items: center;
      {"" if upright else "flex-direction: column; text-align: center;"} color: {p.muted}; }}
    .dot {{ width: {rng.uniform(2, 3.2):.1f}rem; aspect-ratio: 1; border-radius: {rng.choice((50, 50, 20))}%;
      background: {p.line}; display: flex; align-items: center; justify-content: center; font-weight: bold; }}
    ol .done {{ color: {p.ink}; }}
    .done .dot {{ background: {s.accent}; color: {on(s.accent)}; }}
    #columns {{ display: grid;
      grid-template-columns: {rng.choice(("2fr 1fr", "1fr 1fr", "1fr 2fr", "1fr")) if upright else "1fr"};
      gap: {s.gap * 2}px; }}
    .item {{ border-top: 1px solid {p.line}; padding: 0.8rem 0; }}
    .item svg {{ width: 90px; flex: none; }}
    """
    )
    blocks = [el("section#steps.card", el("ol", stops)), el("section#items", el("h2", "In this parcel"), items)]
    caption = (
        f"A tracking page for parcel {number}: {words.number(done)} of {steps} steps are done, the last of "
        f"them {names[done - 1]}; it holds {words.plural(len(items), 'item')}."
    )
    return Page(
        f"Parcel {number}",
        [
            el(
                "main.wrap",
                el("h1", f"Parcel {number}"),
                el("p", words.sentence(rng)) if rng.random() < 0.5 else None,
                el("div#columns", blocks),
            )
        ],
        css,
        caption,
        {"steps": steps, "done": done, "items": len(items)},
    )


def data_table(rng: random.Random, p: Palette) -> Page:
    s, rows, columns = look(rng, p), rng.randint(6, 16), rng.randint(3, 6)
    heads, topic = words.some(rng, words.UNITS, columns), rng.choice(words.TOPICS)
    cities = words.some(rng, words.CITIES, rows)
    table = [[rng.randint(1, 9999) for _ in range(columns)] for _ in range(rows)]
    low, high = min(map(min, table)), max(map(max, table))
    heat, zebra = rng.random() < 0.4, rng.random() < 0.5
    lines = [
        el(
            f"tr#row-{k + 1}",
            el("th", city),
            [
                el(
                    "td",
                    f"{value:,}",
                    style=f"background: {mix(p.paper, s.accent, 0.6 * (value - low) / (high - low))}" if heat else None,
                )
                for value in row
            ],
        )
        for k, (city, row) in enumerate(zip(cities, table, strict=True))
    ]
    filters = (
        el(
            "div#filters.row",
            el("input#filter", type="search", placeholder="Filter", aria_label="Filter"),
            el("select#unit", [el("option", head) for head in heads], aria_label="Unit"),
            el("button#apply.button", "Apply"),
        )
        if rng.random() < 0.6
        else None
    )
    css = (
        s.css
        + f"""
    main {{ padding-top: {rng.randint(16, 50)}px; padding-bottom: 30px; }}
    #filters {{ margin-bottom: {s.gap}px; }}
    #filters input, #filters select {{ font: inherit; padding: 0.5em 0.8em; background: {p.paper};
      color: {p.ink}; border: 1px solid {p.muted}; border-radius: 6px; }}
    table {{ border-collapse: collapse; width: {rng.randint(70, 100)}%; }}
    caption {{ text-align: left; font-weight: bold; font-size: 1.1rem; padding-bottom: 0.6rem; }}
    th, td {{ padding: {rng.uniform(0.25, 0.75):.2f}em 0.8em; text-align: right;
      {rng.choice((f"border: 1px solid {p.line};", f"border-bottom: 1px solid {p.line};"))} }}
    th:first-child {{ text-align: left; }}
    thead th {{ background: {rng.choice((p.panel, s.accent if not heat else p.panel))}; }}
    {f"tbody tr:nth-child(even) {{ background: {p.panel}; }}" if zebra and not heat else ""}
    """
    )
    body = el(
        "table#data",
        el("caption", f"{topic} by city"),
        el("thead", el("tr", el("th", "City"), [el("th", head) for head in heads])),
        el("tbody", lines),
    )
    first = max(range(rows), key=lambda k: table[k][0])
    caption = (
        f"A data table on {topic.lower()} with {rows} cities and {columns} columns ({words.join(heads)}); "
        f"{cities[first]} has the most {heads[0]}, {table[first][0]:,}."
    )
    return Page(
        f"{topic} data",
        [el("main.wrap", el("h1", topic), filters, body)],
        css,
        caption,
        {"rows": rows, "columns": columns, "leader": cities[first], "leader_value": table[first][0]},
    )


TEMPLATES = {
    "timetable": timetable,
    "report": report,
    "tracking": tracking,
    "data_table": data_table,
}
