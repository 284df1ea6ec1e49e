"""Web templates: tools one plans and talks with (chat, board, week planner)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Page, el
from .web_parts import avatar, look


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


TEMPLATES = {
    "chat": chat,
    "kanban": kanban,
    "week_planner": week_planner,
}
