"""Web templates: pages to read (blog, news, recipe, poem)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix
from .web import Node, Page, el
from .web_parts import avatar, header, look
from .web_pictures import picture

LINKS = ["Articles", "Archive", "About", "Topics", "Authors", "Letters"]


def blog_post(rng: random.Random, p: Palette) -> Page:
    s, title, author = look(rng, p, narrow=True), words.title(rng), words.person(rng)
    top, top_css = header(rng, p, s, words.brand(rng), words.some(rng, LINKS, rng.randint(2, 5)))
    parts: list[Node] = []
    headings = rng.randint(1, 3)
    for k in range(headings):
        parts.append(el(f"h2#part-{k + 1}", words.title(rng)))
        parts += [el("p", words.paragraph(rng, rng.randint(2, 5))) for _ in range(rng.randint(1, 3))]
        extra = rng.choice(("quote", "list", "picture", "none"))
        if extra == "quote":
            parts.append(el("blockquote", words.sentence(rng)))
        elif extra == "list":
            parts.append(el("ul", [el("li", words.action(rng)) for _ in range(rng.randint(2, 4))]))
        elif extra == "picture":
            parts.append(
                el(
                    "figure",
                    picture(rng, p, 600, rng.randint(140, 260), words.title(rng)),
                    el("figcaption", words.sentence(rng)),
                )
            )
    day, month = rng.randint(1, 28), rng.choice(words.MONTHS_LONG)
    byline = el(
        "div#byline.row",
        avatar(p, author),
        el("div", el("b", author), el("br"), el("small", f"{day} {month}, {rng.randint(3, 20)} minutes")),
    )
    lead = (
        picture(rng, p, 800, rng.randint(180, 380), f"Opening picture of {title}", "lead-picture")
        if rng.random() < 0.6
        else None
    )
    css = (
        s.css
        + top_css
        + f"""
    article {{ padding-top: {rng.randint(20, 70)}px; padding-bottom: 60px; }}
    article h1 {{
      {rng.choice(("", "text-align: center;", f"border-bottom: 4px solid {s.accent}; padding-bottom: 0.3em;"))} }}
    #byline {{ margin-bottom: {s.gap}px; {rng.choice(("", "justify-content: center;"))} }}
    #lead-picture {{ border-radius: {s.radius}px; margin-bottom: {s.gap}px; }}
    blockquote {{ margin: 1.2rem 0; padding: 0.4rem 1.2rem; border-left: 5px solid {s.second}; font-size: 1.15rem; }}
    figure {{ margin: 1.4rem 0; }}
    figcaption {{ color: {p.muted}; font-size: 0.85rem; padding-top: 0.4rem; }}
    """
    )
    order = [el("h1#title", title), byline, lead] if rng.random() < 0.6 else [lead, el("h1#title", title), byline]
    caption = f'A blog post "{title}" by {author} of {day} {month} with {words.plural(headings, "section")}.'
    return Page(
        title,
        [top, el("article.wrap", order, parts)],
        css,
        caption,
        {"title": title, "author": author, "sections": headings},
    )


def news_front(rng: random.Random, p: Palette) -> Page:
    s, paper, columns = (
        look(rng, p),
        f"The {rng.choice(words.CITIES)} {rng.choice(('Courier', 'Herald', 'Post', 'Gazette', 'Observer'))}",
        rng.randint(2, 4),
    )
    lead_title, count = words.sentence(rng).rstrip("."), columns * rng.randint(1, 2)
    stories = []
    for k in range(count):
        image = picture(rng, p, 300, rng.randint(100, 180), words.title(rng)) if rng.random() < 0.4 else None
        stories.append(
            el(
                f"article#story-{k + 1}",
                el("span.tag", rng.choice(words.TOPICS)),
                image,
                el("h3", words.sentence(rng).rstrip(".")),
                el("p", words.paragraph(rng, rng.randint(1, 3))),
            )
        )
    beside = rng.random() < 0.6
    lead_text = el(
        "div",
        el("h1#lead-title", lead_title),
        el("p.muted", f"By {words.person(rng)}"),
        el("p", words.paragraph(rng, rng.randint(2, 5))),
    )
    lead = [picture(rng, p, 700, rng.randint(220, 420), "Picture of the day", "lead-picture"), lead_text]
    css = (
        s.css
        + f"""
    #masthead {{ text-align: {rng.choice(("center", "left"))};
      border-bottom: {rng.choice((1, 3, 6))}px {rng.choice(("solid", "double"))} {p.ink};
      padding: {rng.randint(12, 36)}px 0; margin-bottom: {s.gap}px; }}
    #masthead h2 {{ font-size: {rng.uniform(2.2, 3.4):.1f}rem; margin: 0;
      font-family: {rng.choice(("'DejaVu Serif'", "'Noto Serif'"))}, serif; }}
    #lead {{ display: {"grid" if beside else "block"};
      grid-template-columns: {rng.choice(("3fr 2fr", "1fr 1fr", "2fr 3fr"))}; gap: {s.gap}px;
      margin-bottom: {s.gap}px; }}
    #stories {{ grid-template-columns: repeat({columns}, 1fr); border-top: 1px solid {p.line};
      padding-top: {s.gap}px; }}
    #stories h3 {{ margin: 0.5em 0 0.3em; }}
    """
    )
    body = [
        el(
            "header#masthead.wrap",
            el("h2", paper),
            el("small", f"{rng.choice(words.DAYS)} {rng.randint(1, 28)} {rng.choice(words.MONTHS_LONG)}"),
        ),
        el(
            "main.wrap",
            el("section#lead", lead if rng.random() < 0.6 else lead[::-1]),
            el("section#stories.grid", stories),
        ),
    ]
    caption = (
        f'The front page of {paper} with the lead story "{lead_title}" and '
        f"{words.plural(count, 'further story')} in {words.plural(columns, 'column')}."
    )
    return Page(paper, body, css, caption, {"stories": count, "columns": columns, "lead": lead_title})


def recipe(rng: random.Random, p: Palette) -> Page:
    s, dish = (
        look(rng, p),
        rng.choice(
            (
                "Lentil soup",
                "Carrot cake",
                "Herb bread",
                "Plum tart",
                "Rice salad",
                "Bean stew",
                "Apple pie",
                "Onion soup",
                "Barley risotto",
                "Fig jam",
            )
        ),
    )
    dish = f"{rng.choice(words.FIRST)}'s {dish.lower()}"
    n, steps, serves, minutes = rng.randint(5, 10), rng.randint(3, 7), rng.randint(2, 8), rng.randint(3, 24) * 5
    foods = words.some(
        rng,
        [
            "flour",
            "butter",
            "sugar",
            "carrots",
            "lentils",
            "onions",
            "rice",
            "apples",
            "plums",
            "thyme",
            "cream",
            "barley",
            "oats",
            "honey",
            "salt",
            "lemon",
        ],
        n,
    )
    listing = el(
        "section#ingredients.card",
        el("h2", "Ingredients"),
        el("ul", [el("li", f"{rng.choice((5, 10, 20, 50, 100, 150, 200, 250))} g {food}") for food in foods]),
    )
    acts = (
        "Wash and slice the {}.",
        "Melt the {} in a pan.",
        "Stir in the {} and wait five minutes.",
        "Season with {}.",
        "Fold in the {} gently.",
        "Bake with the {} until golden.",
    )
    method = el(
        "section#method",
        el("h2", "Method"),
        el("ol", [el("li", rng.choice(acts).format(rng.choice(foods))) for _ in range(steps)]),
    )
    facts = el(
        "div#facts.row",
        [
            el("div.card", el("b", value), el("br"), el("small", key))
            for key, value in (("minutes", str(minutes)), ("servings", str(serves)), ("steps", str(steps)))
        ],
    )
    shot = picture(rng, p, 700, rng.randint(220, 420), dish, "dish-picture")
    order = [[el("h1", dish), shot, facts], [shot, el("h1", dish), facts], [el("h1", dish), facts, shot]][
        rng.randrange(3)
    ]
    columns = rng.choice(("1fr 2fr", "2fr 3fr", "1fr 1fr", "1fr"))
    css = (
        s.css
        + f"""
    main {{ padding-top: {rng.randint(20, 50)}px; padding-bottom: 40px; }}
    #dish-picture {{ border-radius: {s.radius}px; max-width: {rng.randint(480, 900)}px; margin-bottom: {s.gap}px; }}
    #facts {{ margin-bottom: {s.gap}px; }}
    #facts .card {{ text-align: center; min-width: 7rem; }}
    #columns {{ display: grid; grid-template-columns: {columns}; gap: {s.gap * 2}px; align-items: start; }}
    li {{ margin-bottom: {rng.uniform(0.2, 0.7):.2f}rem; }}
    """
    )
    caption = (
        f"A recipe page for {dish}: {n} ingredients, {words.plural(steps, 'step')}, "
        f"{words.plural(serves, 'serving')}, {minutes} minutes."
    )
    return Page(
        dish,
        [el("main.wrap", order, el("div#columns", [listing, method] if rng.random() < 0.7 else [method, listing]))],
        css,
        caption,
        {"ingredients": n, "steps": steps, "servings": serves, "minutes": minutes},
    )


def poem(rng: random.Random, p: Palette) -> Page:
    s, title, stanzas, lines = look(rng, p, narrow=True), words.title(rng), rng.randint(2, 5), rng.randint(3, 5)

    def line() -> str:
        return rng.choice(
            (
                "the {a} {n} waits for the {m}",
                "over {n} and {m}, {a} and slow",
                "no {n} remembers the {a} {m}",
                "{a} {n}, {a2} {m}",
                "and the {m} keeps its {a} {n}",
                "a {a} light along the {n}",
            )
        ).format(
            a=rng.choice(words.ADJECTIVES),
            a2=rng.choice(words.ADJECTIVES),
            n=rng.choice(words.NOUNS),
            m=rng.choice(words.NOUNS),
        )

    verses = []
    for k in range(stanzas):
        content: list[object] = []
        for j in range(lines):
            content += [line(), el("br")] if j < lines - 1 else [line()]
        verses.append(el(f"p#stanza-{k + 1}", content))
    author, align, indent = words.person(rng), rng.choice(("left", "center", "right")), rng.randint(0, 240)
    css = (
        s.css
        + f"""
    body {{ background: {rng.choice((p.paper, p.panel, mix(s.accent, p.paper, 0.88)))}; }}
    main {{ padding-top: {rng.randint(40, 140)}px; padding-bottom: 80px; text-align: {align};
      padding-left: {indent}px; }}
    h1 {{ font-size: {rng.uniform(1.8, 3.2):.1f}rem;
      {rng.choice(("font-style: italic;", "letter-spacing: 0.1em;", ""))} }}
    p {{ font-size: {rng.uniform(1.05, 1.4):.2f}rem; margin-bottom: {rng.uniform(1, 2.2):.1f}rem; }}
    #ornament {{ height: {rng.randint(3, 14)}px; width: {rng.randint(60, 300)}px; background: {s.accent};
      margin: {rng.randint(10, 40)}px {"auto" if align == "center" else "0"}; }}
    """
    )
    order = [el("h1", title), el("div#ornament"), verses, el("p#author", el("small", author))]
    caption = f'A poem "{title}" by {author} in {words.plural(stanzas, "stanza")} of {words.number(lines)} lines.'
    return Page(title, [el("main.wrap", order)], css, caption, {"stanzas": stanzas, "lines_a_stanza": lines})


TEMPLATES = {
    "blog_post": blog_post,
    "news_front": news_front,
    "recipe": recipe,
    "poem": poem,
}
