"""Web templates: tools one looks through (music player, code review, search results)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Page, el
from .web_parts import avatar, look
from .web_pictures import picture


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
    "music_player": music_player,
    "code_review": code_review,
    "search_results": search_results,
}
