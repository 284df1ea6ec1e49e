"""Web templates: pages in other languages and scripts, right-to-left ones among them."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .scripts import LANGUAGES, Language
from .web import Page, el
from .web_parts import look
from .web_pictures import picture

ALIGNED = [one for one in LANGUAGES if one.direction == "ltr"]
"""Languages whose sentences are translations of one another, in the same order."""


def _text(rng: random.Random, language: Language, sentences: int) -> str:
    return ("" if language.code in ("ja", "zh") else " ").join(rng.choice(language.sentences) for _ in range(sentences))


def world_article(rng: random.Random, p: Palette) -> Page:
    s, one = look(rng, p, narrow=True), rng.choice(LANGUAGES)
    title, author, count = " · ".join(words.some(rng, one.nouns, 2)), rng.choice(one.people), rng.randint(2, 4)
    nav = el("nav#main-nav", [el("a", word, href="#") for word in (one.home, one.news, one.search)])
    parts = [
        [el(f"h2#part-{k + 1}", rng.choice(one.nouns)), el("p", _text(rng, one, rng.randint(3, 7)))]
        for k in range(count)
    ]
    lead = picture(rng, p, 700, rng.randint(160, 340), title, "lead-picture") if rng.random() < 0.7 else None
    dark = rng.random() < 0.5
    css = (
        s.css
        + f"""
    body {{ font-family: {one.font}; }}
    h1, h2 {{ font-family: {one.font}; }}
    #main-nav {{ display: flex; gap: 1.6rem; padding: {rng.uniform(0.7, 1.5):.1f}rem 2rem;
      background: {p.ink if dark else p.panel};
      justify-content: {rng.choice(("flex-start", "center", "space-between"))}; }}
    #main-nav a {{ color: {p.paper if dark else p.ink}; }}
    article {{ padding-top: {rng.randint(16, 60)}px; }}
    article p {{ line-height: {rng.uniform(1.6, 2.1):.2f}; }}
    h2 {{ border-inline-start: 6px solid {s.accent}; padding-inline-start: 0.6rem; }}
    """
    )
    order = (
        [el("h1#title", title), el("p.muted", author), lead]
        if rng.random() < 0.5
        else [lead, el("h1#title", title), el("p.muted", author)]
    )
    way = ", set from right to left," if one.direction == "rtl" else ""
    caption = f"An article in {one.name}{way} with {words.plural(count, 'section')}."
    return Page(
        title,
        [nav, el("article.wrap", order, parts)],
        css,
        caption,
        {"language": one.name, "sections": count},
        one.code,
        one.direction,
    )


def world_shop(rng: random.Random, p: Palette) -> Page:
    s, one, columns = look(rng, p), rng.choice(LANGUAGES), rng.randint(2, 4)
    count = columns * rng.randint(1, 2)
    sign = rng.choice(("€", "$", "£"))
    prices = [rng.randint(5, 300) for _ in range(count)]
    goods = [
        el(
            f"article#item-{k + 1}.card",
            picture(rng, p, 260, rng.randint(110, 200), one.nouns[k % len(one.nouns)]),
            el("h3", one.nouns[k % len(one.nouns)]),
            el("p", rng.choice(one.sentences)) if rng.random() < 0.6 else None,
            el("div.row", el("b", f"{sign}{price}"), el(f"a#buy-{k + 1}.button", one.buy, href="#")),
        )
        for k, price in enumerate(prices)
    ]
    top = el(
        "header#top",
        el("b", rng.choice(one.nouns)),
        el("input#search", type="search", placeholder=one.search, aria_label=one.search),
        el("a", one.home, href="#"),
    )
    css = (
        s.css
        + f"""
    body {{ font-family: {one.font}; }}
    h1, h3 {{ font-family: {one.font}; }}
    #top {{ display: flex; gap: 2rem; align-items: center; background: {s.accent}; color: {on(s.accent)};
      padding: {rng.uniform(0.8, 1.6):.1f}rem 2rem; }}
    #top a {{ color: {on(s.accent)}; }}
    #search {{ flex: 1; max-width: {rng.randint(280, 640)}px; padding: 0.55em 1em; font: inherit; border: 0;
      border-radius: {s.radius}px; }}
    #goods {{ grid-template-columns: repeat({columns}, 1fr); padding-top: {s.gap}px; }}
    .card .row {{ justify-content: space-between; }}
    """
    )
    caption = (
        f"A shop in {one.name} with {words.plural(count, 'product')} in {words.plural(columns, 'column')}; the "
        f"first costs {sign}{prices[0]}."
    )
    return Page(
        one.home,
        [top, el("main#goods.wrap.grid", goods)],
        css,
        caption,
        {"language": one.name, "products": count, "columns": columns},
        one.code,
        one.direction,
    )


def phrasebook(rng: random.Random, p: Palette) -> Page:
    s, usable, rows = look(rng, p), rng.sample(ALIGNED, rng.randint(2, 4)), rng.randint(4, 7)
    english = [
        "The market opens at dawn.",
        "We plant trees every spring.",
        "The old town is quiet in the evening.",
        "The train arrived on time today.",
        "The children play by the river.",
        "Tea is on the table.",
        "The road to the mountain is long and beautiful.",
    ]
    picks = sorted(rng.sample(range(7), rows))
    lines = [
        el(
            f"tr#phrase-{k + 1}",
            el("th", english[pick]),
            [el("td", one.sentences[pick], lang=one.code, style=f"font-family: {one.font}") for one in usable],
        )
        for k, pick in enumerate(picks)
    ]
    table = el(
        "table#phrases",
        el("thead", el("tr", el("th", "English"), [el("th", one.name) for one in usable])),
        el("tbody", lines),
    )
    css = (
        s.css
        + f"""
    main {{ padding-top: {rng.randint(20, 70)}px; padding-bottom: 40px; }}
    table {{ border-collapse: collapse; width: 100%; }}
    th, td {{ text-align: left; padding: {rng.uniform(0.5, 1.2):.2f}em 0.9em; border-bottom: 1px solid {p.line}; }}
    thead th {{ border-bottom: 4px solid {s.accent}; }}
    """
    )
    names = words.join([one.name for one in usable])
    caption = f"A phrasebook page with {rows} English sentences and their translations into {names}."
    return Page(
        "Phrasebook",
        [
            el(
                "main.wrap",
                el("h1", rng.choice(("Phrasebook", "Useful sentences", "First words"))),
                el("p", words.paragraph(rng, rng.randint(1, 3))),
                table,
            )
        ],
        css,
        caption,
        {"phrases": rows, "languages": len(usable)},
    )


def world_form(rng: random.Random, p: Palette) -> Page:
    s, one, count = look(rng, p), rng.choice(LANGUAGES), rng.randint(4, 7)
    fields = words.some(rng, one.nouns, count)
    rows = [
        el("label", field, el(f"input#field-{k + 1}", type="text", value=rng.choice((*one.people, ""))))
        for k, field in enumerate(fields)
    ]
    width, place = rng.randint(460, 760), rng.choice(("0 auto", "0 8%", "0 0 0 auto"))
    css = (
        s.css
        + f"""
    body {{ font-family: {one.font}; background: {rng.choice((p.panel, mix(s.accent, p.paper, 0.7), p.paper))};
      padding: {rng.randint(20, 90)}px; }}
    h1, h2 {{ font-family: {one.font}; }}
    form {{ max-width: {width}px; margin: {place}; }}
    #fields {{ display: grid; grid-template-columns: {rng.choice(("1fr", "1fr 1fr"))}; gap: {s.gap}px;
      margin-bottom: {s.gap}px; }}
    label {{ display: block; }}
    input {{ display: block; width: 100%; font: inherit; padding: 0.6em 0.8em; margin-top: 0.3em;
      border: 1px solid {p.muted}; border-radius: {min(s.radius, 12)}px; background: {p.paper}; color: {p.ink}; }}
    """
    )
    form = el(
        "form#form.card",
        el("h1", one.news),
        el("p", _text(rng, one, rng.randint(1, 3))),
        el("div#fields", rows),
        el("div.row", el("button#send.button", one.buy), el("button#more.button.plain", one.read)),
    )
    caption = f"A form in {one.name} with {words.plural(count, 'text field')} and two buttons."
    return Page(one.news, [form], css, caption, {"language": one.name, "fields": count}, one.code, one.direction)


TEMPLATES = {
    "world_article": world_article,
    "world_shop": world_shop,
    "phrasebook": phrasebook,
    "world_form": world_form,
}
