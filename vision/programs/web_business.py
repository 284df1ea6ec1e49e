"""Web templates: sites of companies (landing, pricing, product, team)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix
from .web import Page, el
from .web_parts import avatar, footer, header, look
from .web_pictures import picture


def nav_links(rng: random.Random) -> list[str]:
    return words.some(
        rng, ["Products", "Pricing", "About", "Blog", "Team", "Work", "Contact", "Docs", "Shop"], rng.randint(3, 5)
    )


def landing(rng: random.Random, p: Palette) -> Page:
    s, brand, head = look(rng, p), words.brand(rng), words.title(rng)
    top, top_css = header(rng, p, s, brand, nav_links(rng))
    end, end_css = footer(rng, p, s, brand)
    side, tall, count = rng.choice(("left", "right", "below", "none")), rng.randint(200, 360), rng.randint(2, 4)
    text = el(
        "div.pitch",
        el("h1#headline", head),
        el("p#pitch", words.paragraph(rng, rng.randint(1, 3))),
        el(
            "a#call-to-action.button",
            rng.choice(("Get started", "Try it free", "See how", "Book a visit")),
            href="#start",
        ),
    )
    image = el("div.visual", picture(rng, p, 480, tall, f"Illustration for {head}", "hero-picture"))
    parts = {"left": [image, text], "right": [text, image], "below": [text, image], "none": [text]}[side]
    features = [
        el(f"article#feature-{k + 1}.card", el("h3", words.title(rng)), el("p", words.sentence(rng)))
        for k in range(count)
    ]
    quote = (
        el("blockquote#quote", el("p", words.sentence(rng)), el("small", words.person(rng)))
        if rng.random() < 0.5
        else None
    )
    css = (
        s.css
        + top_css
        + end_css
        + f"""
    #hero {{ background: {rng.choice((p.panel, p.paper, mix(s.accent, p.paper, 0.85)))};
      padding: {rng.randint(24, 90)}px 0; }}
    #hero .wrap {{ display: {"flex" if side in ("left", "right") else "block"}; gap: {s.gap * 2}px;
      align-items: center; {"text-align: center;" if side in ("below", "none") else ""} }}
    #hero .pitch, #hero .visual {{ flex: 1; }}
    #hero .visual {{ {"max-width: 640px; margin: 1.5rem auto 0;" if side == "below" else ""} }}
    #features {{ grid-template-columns: repeat({count if rng.random() < 0.7 else 2}, 1fr);
      margin-top: {s.gap * 1.5:.0f}px; margin-bottom: {s.gap}px; }}
    #quote {{ border-left: 5px solid {s.second}; padding-left: 1rem; max-width: 40rem; margin: 1.5rem auto;
      font-size: 1.2rem; }}
    """
    )
    body = [top, el("section#hero", el("div.wrap", parts)), el("section#features.wrap.grid", features), quote, end]
    caption = f'The landing page of {brand} with the headline "{head}" and {words.plural(count, "feature card")}.'
    return Page(f"{brand}: {head}", [one for one in body if one], css, caption, {"features": count, "headline": head})


def pricing(rng: random.Random, p: Palette) -> Page:
    s, brand, count = look(rng, p), words.brand(rng), rng.randint(2, 4)
    top, top_css = header(rng, p, s, brand, nav_links(rng))
    end, end_css = footer(rng, p, s, brand)
    names = words.some(rng, ["Starter", "Basic", "Team", "Studio", "Pro", "Business", "Campus", "Enterprise"], count)
    prices = sorted(rng.sample(range(0, 120, 3), count))
    best, rows, cards = rng.randrange(count), rng.randint(3, 6), []
    for k, (name, price) in enumerate(zip(names, prices, strict=True)):
        items = [el("li", words.action(rng)) for _ in range(rows + rng.randint(-1, 1))]
        badge = el("span.tag", "Most popular") if k == best else None
        buy = el(f"a#choose-{name.lower()}.button{'' if k == best else '.plain'}", f"Choose {name}", href="#buy")
        amount = el("p.price", f"€{price}", el("small", " / month"))
        inner = (
            [badge, el("h2", name), amount, el("ul", items), buy]
            if rng.random() < 0.8
            else [el("h2", name), badge, amount, buy, el("ul", items)]
        )
        cards.append(el(f"section#plan-{name.lower()}.card{'.best' if k == best else ''}", inner))
    css = (
        s.css
        + top_css
        + end_css
        + f"""
    main {{ padding-top: {rng.randint(20, 70)}px; }}
    #intro {{ text-align: {rng.choice(("center", "left"))}; margin-bottom: {s.gap}px; }}
    #plans {{ grid-template-columns: repeat({count}, 1fr); align-items: {rng.choice(("start", "stretch", "center"))}; }}
    .price {{ font-size: {rng.choice((2, 2.4, 3))}rem; font-weight: bold; margin: 0.2em 0; }}
    .price small {{ font-size: 0.9rem; font-weight: normal; }}
    .card ul {{ padding-left: 1.2em; margin: 0 0 1.2em; }}
    .best {{ outline: 3px solid {s.accent}; {rng.choice(("", "padding-top: 44px; padding-bottom: 44px;"))} }}
    """
    )
    lead = el(
        "header#intro",
        el("h1", rng.choice(("Plans and prices", "Simple pricing", "Choose a plan"))),
        el("p.muted", words.sentence(rng)),
    )
    caption = (
        f"A pricing page of {brand} with {words.plural(count, 'plan')}: {words.join(names)}; {names[best]} is "
        f"marked as most popular and costs €{prices[best]} a month."
    )
    return Page(
        f"Pricing · {brand}",
        [top, el("main.wrap", lead, el("div#plans.grid", cards)), end],
        css,
        caption,
        {"plans": count, "popular": names[best], "popular_price_eur": prices[best]},
    )


def product(rng: random.Random, p: Palette) -> Page:
    s, brand, name, price = look(rng, p), words.brand(rng), words.good(rng), words.price(rng)
    top, top_css = header(rng, p, s, brand, nav_links(rng))
    end, end_css = footer(rng, p, s, brand)
    stars, reviews, thumbs, flip = rng.randint(3, 5), rng.randint(4, 900), rng.randint(0, 4), rng.random() < 0.5
    shots = el(
        "div#gallery",
        picture(rng, p, 520, rng.randint(320, 520), name, "main-picture"),
        el("div.thumbs.grid", [picture(rng, p, 120, 90, f"View {k + 2}") for k in range(thumbs)]) if thumbs else None,
    )
    sizes = words.some(rng, ["XS", "S", "M", "L", "XL", "30 cm", "45 cm", "60 cm"], rng.randint(2, 4))
    buy = el(
        "div#details",
        el("p.muted", f"Home / {rng.choice(words.NOUNS).capitalize()} / {name}"),
        el("h1#product-name", name),
        el("p#rating", "★" * stars + "☆" * (5 - stars), el("small", f" {reviews} reviews")),
        el("p#price.price", f"€{price:.2f}"),
        el("p", words.paragraph(rng, rng.randint(1, 3))),
        el(
            "fieldset#sizes",
            el("legend", "Size"),
            [
                el("label", el("input", type="radio", name="size", checked=k == 0), f" {size}")
                for k, size in enumerate(sizes)
            ],
        ),
        el(
            "div.row",
            el("input#quantity", type="number", value=rng.randint(1, 4), aria_label="Quantity"),
            el("button#add-to-basket.button", "Add to basket"),
        ),
        el("table#facts", [el("tr", el("th", key), el("td", value)) for key, value in words_facts(rng)])
        if rng.random() < 0.6
        else None,
    )
    css = (
        s.css
        + top_css
        + end_css
        + f"""
    main {{ display: grid; grid-template-columns: {rng.choice(("1fr 1fr", "3fr 2fr", "2fr 3fr"))};
      gap: {s.gap * 2}px; padding-top: {s.gap * 1.5:.0f}px; }}
    .thumbs {{ grid-template-columns: repeat({max(thumbs, 1)}, 1fr); margin-top: {s.gap // 2}px; }}
    .price {{ font-size: 1.9rem; font-weight: bold; }}
    #rating {{ color: {rng.choice(("#d99100", s.second))}; }}
    fieldset {{ border: 1px solid {p.line}; border-radius: {s.radius}px; margin: 0 0 1rem; display: flex;
      gap: 1.2rem; }}
    #quantity {{ width: 5rem; padding: 0.55em; font: inherit; }}
    #facts {{ margin-top: 1.2rem; border-collapse: collapse; width: 100%; }}
    #facts th, #facts td {{ text-align: left; padding: 0.35em 0; border-bottom: 1px solid {p.line}; }}
    """
    )
    caption = (
        f"A product page of {brand} for “{name}” at €{price:.2f}, rated {stars} of 5 stars by {reviews} "
        f"reviews, with {words.plural(len(sizes), 'size')}."
    )
    return Page(
        f"{name} · {brand}",
        [top, el("main.wrap", [buy, shots] if flip else [shots, buy]), end],
        css,
        caption,
        {"product": name, "price_eur": price, "stars": stars, "reviews": reviews},
    )


def words_facts(rng: random.Random) -> list[tuple[str, str]]:
    """Rows for a table of a product's properties."""
    options = [
        ("Weight", f"{rng.randint(2, 90) * 50} g"),
        ("Height", f"{rng.randint(4, 90)} cm"),
        ("Made in", rng.choice(words.CITIES)),
        ("Material", rng.choice(("Oak", "Steel", "Linen", "Wool", "Glass", "Clay", "Cork"))),
        ("Warranty", f"{rng.randint(1, 10)} years"),
        ("Colour", rng.choice(words.ADJECTIVES).capitalize()),
    ]
    return rng.sample(options, rng.randint(2, 5))


def team(rng: random.Random, p: Palette) -> Page:
    s, brand, columns = look(rng, p), words.brand(rng), rng.randint(2, 4)
    top, top_css = header(rng, p, s, brand, nav_links(rng))
    end, end_css = footer(rng, p, s, brand)
    count, sideways = columns * rng.randint(1, 3), rng.random() < 0.4
    size = rng.choice((3, 4.5, 6))
    names = [words.person(rng) for _ in range(count)]
    people = []
    for k, name in enumerate(names):
        text = el(
            "div",
            el("h3", name),
            el("p.muted", rng.choice(words.ROLES)),
            el("p", words.sentence(rng)) if columns < 4 else None,
        )
        people.append(el(f"article#person-{k + 1}.card", avatar(p, name), text))
    css = (
        s.css
        + top_css
        + end_css
        + f"""
    main {{ padding-top: {rng.randint(24, 60)}px; }}
    #people {{ grid-template-columns: repeat({columns}, 1fr); }}
    #people .card {{ display: flex; gap: 1rem;
      {"" if sideways else "flex-direction: column; align-items: center; text-align: center;"} }}
    #people .avatar {{ width: {size}rem; height: {size}rem;
      font-size: 1.3rem; border-radius: {rng.choice((50, 12))}%; }}
    """
    )
    lead = el(
        "div#lead",
        el("h1", rng.choice(("Meet the team", "Our people", "Who we are"))),
        el("p", words.paragraph(rng, rng.randint(1, 3))),
    )
    caption = (
        f"A team page of {brand} that presents {words.plural(count, 'person', 'people')} in "
        f"{words.plural(columns, 'column')}, {names[0]} first."
    )
    return Page(
        f"Team · {brand}",
        [top, el("main.wrap", lead, el("div#people.grid", people)), end],
        css,
        caption,
        {"people": count, "columns": columns},
    )


TEMPLATES = {
    "landing": landing,
    "pricing": pricing,
    "product": product,
    "team": team,
}
