"""Web templates: pages of people together (profile, events, leaderboard, poll, forum, history)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Page, el
from .web_parts import avatar, footer, header, look
from .web_pictures import picture


def profile(rng: random.Random, p: Palette) -> Page:
    s, name, posts = look(rng, p, narrow=rng.random() < 0.5), words.person(rng), rng.randint(2, 6)
    counts = [("posts", rng.randint(1, 900)), ("followers", rng.randint(10, 9000)), ("following", rng.randint(5, 900))]
    cover, place = rng.randint(110, 260), rng.choice(("left", "center"))
    feed = [
        el(
            f"article#post-{k + 1}.card",
            el("p", words.paragraph(rng, rng.randint(1, 3))),
            picture(rng, p, 500, rng.randint(120, 240), "Shared picture") if rng.random() < 0.4 else None,
            el("small", f"{rng.randint(1, 23)} hours ago"),
        )
        for k in range(posts)
    ]
    head = el(
        "section#about",
        avatar(p, name),
        el("h1", name),
        el("p", f"{rng.choice(words.ROLES)} in {rng.choice(words.CITIES)}. " + words.sentence(rng)),
        el("div#counts.row", [el("div", el("b", f"{value:,}"), " ", el("small", key)) for key, value in counts]),
        el("a#follow.button", "Follow", href="#"),
    )
    css = (
        s.css
        + f"""
    #cover {{ height: {cover}px; overflow: hidden; }}
    #about {{ text-align: {place}; margin-bottom: {s.gap}px; }}
    #about .avatar {{ width: {rng.randint(84, 150)}px; height: {rng.randint(84, 150)}px; font-size: 2rem;
      border: 5px solid {p.paper}; margin-top: -{rng.randint(30, 70)}px; }}
    #counts {{ justify-content: {"center" if place == "center" else "flex-start"}; margin-bottom: 1rem; }}
    #feed {{ grid-template-columns: repeat({rng.choice((1, 1, 2, 3))}, 1fr); align-items: start; }}
    """
    )
    shown = words.join([f"{value:,} {key}" for key, value in counts])
    return Page(
        f"{name} · profile",
        [el("div#cover", picture(rng, p, 1280, cover, "Cover")), el("main.wrap", head, el("section#feed.grid", feed))],
        css,
        f"The profile of {name} with {shown} and a feed of {words.plural(posts, 'entry')}.",
        {"name": name, "followers": counts[1][1], "entries": posts},
    )


def events(rng: random.Random, p: Palette) -> Page:
    s, count, month = look(rng, p), rng.randint(3, 7), rng.choice(words.MONTHS_LONG)
    top, top_css = header(rng, p, s, words.brand(rng), ["Events", "Tickets", "Venues"])
    days, columns = sorted(rng.sample(range(1, 29), count)), rng.choice((1, 1, 2, 3))
    names = [words.title(rng) for _ in days]
    items = [
        el(
            f"article#event-{k + 1}.card",
            el("div.date", el("b", str(day)), el("br"), month[:3]),
            el("div.what", el("h3", name), el("p.muted", f"{rng.choice(words.CITIES)}, {rng.randint(9, 21)}:00")),
            el(f"a#ticket-{k + 1}.button", f"€{rng.randint(5, 90)}", href="#"),
        )
        for k, (day, name) in enumerate(zip(days, names, strict=True))
    ]
    css = (
        s.css
        + top_css
        + f"""
    main {{ padding-top: {rng.randint(20, 60)}px; }}
    #list {{ grid-template-columns: repeat({columns}, 1fr); }}
    #list .card {{ display: flex; gap: {s.gap}px; align-items: center;
      {"flex-direction: column; text-align: center;" if columns == 3 else ""} }}
    .date {{ background: {s.accent}; color: {on(s.accent)}; text-align: center;
      padding: {rng.uniform(0.4, 1):.1f}rem 1rem; border-radius: {s.radius}px; line-height: 1.2; }}
    .date b {{ font-size: {rng.uniform(1.3, 2.2):.1f}rem; }}
    .what {{ flex: 1; }}
    .what h3, .what p {{ margin: 0; }}
    """
    )
    caption = f'A list of {count} events in {month}; the first, "{names[0]}", is on {days[0]} {month}.'
    lead = el("p", words.paragraph(rng, rng.randint(1, 2))) if rng.random() < 0.5 else None
    return Page(
        f"Events in {month}",
        [top, el("main.wrap", el("h1", f"{month} events"), lead, el("section#list.grid", items))],
        css,
        caption,
        {"events": count, "month": month, "first_day": days[0]},
    )


def leaderboard(rng: random.Random, p: Palette) -> Page:
    s, count, title = look(rng, p), rng.randint(5, 10), words.title(rng)
    names, scores = (
        [words.person(rng) for _ in range(count)],
        sorted((rng.randint(100, 9999) for _ in range(count)), reverse=True),
    )
    ruled = f"border-bottom: 1px solid {p.line};"
    boxed = f"background: {p.panel}; margin-bottom: 8px; border-radius: {s.radius}px;"
    podium = rng.random() < 0.6 and count >= 5
    rows = [
        el(f"li#rank-{k + 1}", el("b.rank", str(k + 1)), avatar(p, name), el("span.name", name), el("b", f"{score:,}"))
        for k, (name, score) in enumerate(zip(names, scores, strict=True))
        if not podium or k > 2
    ]
    steps = (
        el(
            "div#podium",
            [
                el(
                    f"div#step-{k + 1}.step",
                    avatar(p, names[k]),
                    el("b", names[k]),
                    el("span", f"{scores[k]:,}"),
                    style=f"height: {230 - 45 * k}px; background: {p.accents[k]}; color: {on(p.accents[k])}",
                )
                for k in (1, 0, 2)
            ],
        )
        if podium
        else None
    )
    css = (
        s.css
        + f"""
    main {{ padding-top: {rng.randint(20, 60)}px; max-width: {rng.randint(560, 980)}px; }}
    #podium {{ display: flex; gap: {rng.randint(4, 24)}px; align-items: flex-end; margin-bottom: {s.gap}px; }}
    .step {{ flex: 1; display: flex; flex-direction: column; align-items: center; gap: 0.4rem;
      padding-top: 1rem; border-radius: {s.radius}px {s.radius}px 0 0; }}
    ol {{ list-style: none; margin: 0; padding: 0; }}
    li {{ display: flex; gap: 1rem; align-items: center; padding: {rng.uniform(0.35, 0.85):.2f}rem 1rem;
      {rng.choice((ruled, boxed))} }}
    .rank {{ width: 2rem; color: {p.muted}; }}
    .name {{ flex: 1; }}
    """
    )
    caption = f'A leaderboard "{title}" of {count} people led by {names[0]} with {scores[0]:,} points' + (
        ", the first three on a podium." if podium else "."
    )
    return Page(
        title,
        [el("main.wrap", el("h1", title), steps, el("ol", rows))],
        css,
        caption,
        {"people": count, "leader": names[0], "points": scores[0]},
    )


def poll(rng: random.Random, p: Palette) -> Page:
    s, count, question = (
        look(rng, p, narrow=True),
        rng.randint(3, 7),
        f"Which {rng.choice(words.NOUNS)} should we choose?",
    )
    options, votes = words.some(rng, words.ADJECTIVES, count), [rng.randint(2, 400) for _ in range(count)]
    total, best = sum(votes), votes.index(max(votes))
    tall = rng.randint(16, 40)
    rows = [
        el(
            f"div#option-{k + 1}.option",
            el("div.label", el("span", option.capitalize()), el("b", f"{round(100 * vote / total)}%")),
            el(
                "div.track",
                el(
                    "div",
                    style=(
                        f"width: {100 * vote / total:.1f}%; background: "
                        f"{p.accents[k % 5] if rng.random() < 0.5 else s.accent}"
                    ),
                ),
            ),
        )
        for k, (option, vote) in enumerate(zip(options, votes, strict=True))
    ]
    css = (
        s.css
        + f"""
    body {{ background: {rng.choice((p.paper, p.panel, mix(s.second, p.paper, 0.8)))};
      padding: {rng.randint(30, 120)}px 0; }}
    .option {{ margin-bottom: {rng.uniform(0.7, 1.6):.1f}rem; }}
    .label {{ display: flex; justify-content: space-between; margin-bottom: 0.3rem; }}
    .track {{ background: {p.line}; border-radius: {s.radius}px; }}
    .track div {{ height: {tall}px; border-radius: {s.radius}px; }}
    """
    )
    inner = [
        el("h1#question", question),
        rows,
        el("p.muted", f"{total:,} votes, {rng.randint(1, 20)} days left"),
        el("a#vote.button", "Vote", href="#"),
    ]
    main = el("main.wrap", el("section.card", inner) if rng.random() < 0.6 else inner)
    caption = (
        f'A poll "{question}" with {words.plural(count, "option")} and {total:,} votes; '
        f"{options[best].capitalize()} leads with {round(100 * votes[best] / total)}%."
    )
    return Page("Poll", [main], css, caption, {"options": count, "votes": total, "leader": options[best].capitalize()})


def story_timeline(rng: random.Random, p: Palette) -> Page:
    s, brand, count, year = look(rng, p), words.brand(rng), rng.randint(4, 6), rng.randint(1880, 1990)
    end, end_css = footer(rng, p, s, brand)
    side, years, items = rng.choice(("left", "both", "right")), [], []
    for k in range(count):
        years.append(year)
        shot = picture(rng, p, 300, rng.randint(80, 140), str(year)) if rng.random() < 0.3 else None
        items.append(
            el(
                f"li#year-{year}{'.other' if side == 'both' and k % 2 else ''}",
                el("div.card", el("h3", str(year)), el("p", words.paragraph(rng, rng.randint(1, 2))), shot),
            )
        )
        year += rng.randint(2, 20)
    css = (
        s.css
        + end_css
        + f"""
    main {{ padding-top: {rng.randint(20, 60)}px; max-width: {rng.randint(760, 1100)}px; }}
    ol {{ list-style: none; margin: 0; padding: 0; position: relative; }}
    ol::before {{ content: ""; position: absolute; top: 0; bottom: 0; width: {rng.randint(3, 8)}px;
      background: {s.accent}; left: {"50%" if side == "both" else "20px" if side == "left" else "calc(100% - 20px)"}; }}
    li {{ margin-bottom: {rng.randint(10, 30)}px;
      {"width: 46%;" if side == "both" else "padding-left: 60px;" if side == "left" else "padding-right: 60px;"} }}
    .other {{ margin-left: 54%; }}
    """
    )
    caption = f"The history of {brand} as a timeline of {count} entries from {years[0]} to {years[-1]}."
    return Page(
        f"History of {brand}",
        [el("main.wrap", el("h1", f"The story of {brand}"), el("ol", items)), end],
        css,
        caption,
        {"entries": count, "first_year": years[0], "last_year": years[-1]},
    )


def forum(rng: random.Random, p: Palette) -> Page:
    s, title, count = look(rng, p), words.sentence(rng).rstrip("."), rng.randint(3, 6)
    replies, deep = [], 0
    for k in range(count):
        who, level = words.person(rng), rng.choice((0, 0, 1, 2)) if k else 0
        deep += level > 0
        replies.append(
            el(
                f"article#reply-{k + 1}.card",
                el(
                    "div.row",
                    avatar(p, who),
                    el("div", el("b", who), el("br"), el("small", f"{rng.randint(2, 59)} minutes ago")),
                ),
                el("p", words.paragraph(rng, rng.randint(1, 4))),
                el("small", f"▲ {rng.randint(0, 99)}   Reply"),
                style=f"margin-left: {level * rng.randint(30, 60)}px",
            )
        )
    tags = [el("span.tag", noun) for noun in words.some(rng, words.NOUNS, rng.randint(1, 4))]
    side = (
        el(
            "aside#related",
            el("h3", "Related"),
            [el("p", el("a", words.title(rng), href="#")) for _ in range(rng.randint(3, 7))],
        )
        if rng.random() < 0.55
        else None
    )
    css = (
        s.css
        + f"""
    main {{ display: grid; grid-template-columns: {f"1fr {rng.randint(200, 320)}px" if side else "1fr"};
      gap: {s.gap * 2}px; padding-top: {rng.randint(16, 50)}px; }}
    article {{ margin-bottom: {rng.randint(8, 24)}px; }}
    article p {{ margin: 0.7rem 0; }}
    #tags {{ margin-bottom: {s.gap}px; display: flex; gap: 8px; }}
    """
    )
    thread = el("section#thread", el("h1#topic", title), el("div#tags", tags), replies)
    caption = (
        f'A forum thread "{title}" with {words.plural(count, "post")}, {words.number(deep)} of them indented replies.'
    )
    return Page(
        title,
        [el("main.wrap", [thread, side] if rng.random() < 0.8 else [side, thread])],
        css,
        caption,
        {"posts": count, "indented": deep},
    )


TEMPLATES = {
    "profile": profile,
    "events": events,
    "leaderboard": leaderboard,
    "poll": poll,
    "story_timeline": story_timeline,
    "forum": forum,
}
