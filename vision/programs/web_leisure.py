"""Web templates: galleries, weather, quiz and games, signing in and paying."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .svg import Svg
from .svg_maps import weather_icon
from .web import Page, el
from .web_parts import look
from .web_pictures import art, picture


def gallery(rng: random.Random, p: Palette) -> Page:
    s, title, columns = look(rng, p), words.title(rng), rng.randint(2, 5)
    count, masonry = columns * rng.randint(1, 3), rng.random() < 0.5
    tall = rng.randint(120, 260)
    flow = f"columns: {columns}; column-gap: {s.gap}px;"
    grid = f"display: grid; grid-template-columns: repeat({columns}, 1fr); gap: {s.gap}px;"
    shots = [
        el(
            f"figure#picture-{k + 1}",
            picture(rng, p, 300, rng.randint(120, 380) if masonry else tall, words.title(rng)),
            el("figcaption", words.title(rng)) if rng.random() < 0.7 else None,
        )
        for k in range(count)
    ]
    css = (
        s.css
        + f"""
    body {{ background: {rng.choice((p.paper, p.ink, p.panel))}; padding: {rng.randint(16, 60)}px; }}
    h1 {{ color: {s.accent}; text-align: {rng.choice(("left", "center"))}; }}
    #pictures {{ {flow if masonry else grid} }}
    figure {{ margin: 0 0 {s.gap if masonry else 0}px; break-inside: avoid;
      {rng.choice(("", f"background: {p.paper}; padding: 10px;"))} }}
    figcaption {{ padding-top: 0.4rem; color: {p.muted}; font-size: 0.9rem; }}
    """
    )
    caption = f'A gallery titled "{title}" with {count} pictures in {words.plural(columns, "column")}.'
    return Page(
        title,
        [el("header", el("h1", title)), el("main#pictures", shots)],
        css,
        caption,
        {"pictures": count, "columns": columns},
    )


def weather(rng: random.Random, p: Palette) -> Page:
    s, city, days, now = look(rng, p), rng.choice(words.CITIES), rng.randint(4, 7), rng.randint(-12, 38)
    kinds = [rng.choice(("sun", "cloud", "rain", "snow", "storm")) for _ in range(days)]

    def icon(kind: str) -> Svg:
        svg = Svg(90, 90)
        with svg.group(transform="translate(45 42) scale(1.15)"):
            weather_icon(svg, kind)
        return svg

    cards = []
    for k, kind in enumerate(kinds):
        low = now + rng.randint(-9, 0)
        cards.append(
            el(
                f"div#day-{k + 1}.card",
                el("b", words.DAYS[k]),
                el("div.icon", art(icon(kind), kind)),
                el("p", f"{low + rng.randint(2, 9)}° / {low}°"),
            )
        )
    facts = [
        el("div", el("small", key), el("br"), el("b", value))
        for key, value in rng.sample(
            [
                ("Wind", f"{rng.randint(2, 80)} km/h"),
                ("Humidity", f"{rng.randint(20, 99)}%"),
                ("Sunrise", f"{rng.randint(4, 8)}:{rng.randint(10, 59)}"),
                ("Pressure", f"{rng.randint(980, 1040)} hPa"),
                ("UV index", str(rng.randint(0, 11))),
            ],
            rng.randint(2, 5),
        )
    ]
    sky = {
        "sun": ("#5aa9e6", "#ffe8a3"),
        "cloud": ("#8d99ae", "#dfe4ea"),
        "rain": ("#3f5878", "#8fa6bf"),
        "snow": ("#9fb8d3", "#f1f6fb"),
        "storm": ("#2b2d42", "#6d6f8a"),
    }[kinds[0]]
    sideways = rng.random() < 0.5
    css = (
        s.css
        + f"""
    body {{ background: linear-gradient({rng.randint(120, 200)}deg, {sky[0]}, {sky[1]}); min-height: 100vh;
      padding: {rng.randint(20, 80)}px; color: #14202e; }}
    #now {{ display: flex; gap: {s.gap}px; align-items: center;
      flex-direction: {"row" if sideways else "column"}; margin-bottom: {s.gap}px; }}
    #temperature {{ font-size: {rng.uniform(4, 8):.1f}rem; font-weight: bold; line-height: 1; }}
    #now .icon {{ width: {rng.randint(110, 230)}px; }}
    #facts {{ display: flex; gap: {s.gap * 2}px; margin-bottom: {s.gap}px;
      justify-content: {"flex-start" if sideways else "center"}; }}
    #days {{ grid-template-columns: repeat({days if rng.random() < 0.7 else 2}, 1fr); }}
    #days .card {{ background: rgba(255, 255, 255, 0.55); border: 0; text-align: center; color: #14202e; }}
    #days .icon {{ width: {rng.randint(54, 90)}px; margin: 0 auto; }}
    small {{ color: #2c3c4e; }}
    """
    )
    top = el(
        "section#now",
        el("div.icon", art(icon(kinds[0]), kinds[0], "icon-now")),
        el("div", el("h1", city), el("p#temperature", f"{now}°")),
    )
    caption = f"A weather page for {city}: {now}° now with a {kinds[0]} symbol, and a forecast of {days} days."
    return Page(
        f"Weather in {city}",
        [el("main.wrap", top, el("section#facts", facts), el("section#days.grid", cards))],
        css,
        caption,
        {"city": city, "degrees": now, "days": days},
    )


def login(rng: random.Random, p: Palette) -> Page:
    s, brand, split = look(rng, p), words.brand(rng), rng.choice(("none", "left", "right"))
    extra = words.some(
        rng, ["Continue with a passkey", "Send me a link", "Use a code", "Scan with the app"], rng.randint(0, 3)
    )
    fields = [("Email", "email"), ("Password", "password"), *([("Name", "text")] if rng.random() < 0.4 else [])]
    rows = [
        el(
            "label",
            name,
            el(
                f"input#{name.lower()}", type=kind, value="secret words" if kind == "password" else "", placeholder=name
            ),
        )
        for name, kind in fields
    ]
    form = el(
        "form#login.card",
        el("div.mark", brand[0]),
        el("h1", f"Welcome to {brand}"),
        rows,
        el("label.check", el("input#remember", type="checkbox", checked=rng.random() < 0.5), " Remember me"),
        el("button#sign-in.button", "Sign in"),
        [el(f"button#other-{k + 1}.button.plain", text) for k, text in enumerate(extra)],
        el("p", el("a#forgot", "Forgot the password?", href="#")),
    )
    tall = rng.randint(500, 900)
    visual = (
        el("div#visual", picture(rng, p, 600, tall, f"Picture of {brand}", "login-picture"))
        if split != "none"
        else None
    )
    width = rng.randint(340, 520)
    css = (
        s.css
        + f"""
    body {{ min-height: 100vh; display: flex; flex-direction: {"row-reverse" if split == "right" else "row"};
      align-items: center;
      justify-content: {rng.choice(("center", "flex-start")) if split == "none" else "center"};
      background: {rng.choice((p.panel, p.paper, mix(s.accent, p.paper, 0.6)))}; }}
    #visual {{ flex: {rng.uniform(0.7, 1.5):.2f}; height: 100vh; overflow: hidden; }}
    #login {{ width: {width}px; margin: {rng.randint(10, 80)}px auto; padding: {rng.randint(24, 50)}px; }}
    label {{ display: block; margin-bottom: 0.9rem; }}
    input:not([type=checkbox]) {{ display: block; width: 100%; font: inherit; padding: 0.6em 0.8em;
      margin-top: 0.25em; border: 1px solid {p.muted}; border-radius: {min(s.radius, 12)}px;
      background: {p.paper}; color: {p.ink}; }}
    #login .button {{ display: block; width: 100%; margin-bottom: 0.7rem; }}
    .mark {{ width: 3rem; line-height: 3rem; text-align: center; background: {s.second}; color: {on(s.second)};
      border-radius: {rng.choice((0, 10, 99))}px; font-weight: bold; margin-bottom: 1rem; }}
    """
    )
    caption = (
        f"A sign-in page of {brand} with {words.plural(len(fields), 'field')}, a check box and "
        f"{words.plural(1 + len(extra), 'button')}."
    )
    return Page(
        f"Sign in · {brand}",
        [one for one in (visual, form) if one],
        css,
        caption,
        {"fields": len(fields), "buttons": 1 + len(extra)},
    )


def quiz(rng: random.Random, p: Palette) -> Page:
    s, number, total, options = look(rng, p, narrow=True), rng.randint(1, 9), rng.randint(10, 20), rng.randint(3, 6)
    answers = words.some(rng, words.CITIES, options)
    picked, columns = rng.randrange(options), rng.choice((1, 2))
    choices = [
        el(
            f"label#answer-{k + 1}.card{'.picked' if k == picked else ''}",
            el("input", type="radio", name="answer", checked=k == picked),
            f" {answer}",
        )
        for k, answer in enumerate(answers)
    ]
    question = f"Which city is known for its {rng.choice(words.ADJECTIVES)} {rng.choice(words.NOUNS)}?"
    share = round(100 * number / total)
    shot = picture(rng, p, 600, rng.randint(140, 320), "Hint", "hint-picture") if rng.random() < 0.6 else None
    css = (
        s.css
        + f"""
    body {{ background: {rng.choice((p.paper, mix(s.accent, p.paper, 0.8), p.panel))};
      padding: {rng.randint(20, 90)}px 0; }}
    #track {{ height: {rng.randint(8, 18)}px; background: {p.line}; border-radius: 9px; margin-bottom: {s.gap}px; }}
    #track div {{ height: 100%; width: {share}%; background: {s.second}; border-radius: 9px; }}
    #answers {{ grid-template-columns: repeat({columns}, 1fr); margin: {s.gap}px 0; gap: {rng.randint(8, 22)}px; }}
    #answers label {{ padding: {rng.uniform(0.6, 1.3):.1f}rem; font-size: 1.1rem; }}
    .picked {{ outline: 3px solid {s.accent}; }}
    """
    )
    main = el(
        "main.wrap",
        el("p.muted", f"Question {number} of {total}"),
        el("div#track", el("div"), role="progressbar", aria_label="Progress"),
        el("h1#question", question),
        shot,
        el("form#answers.grid", choices),
        el("div.row", el("button#back.button.plain", "Back"), el("button#next.button", "Next")),
    )
    caption = (
        f'Question {number} of {total} in a quiz, "{question}", with {options} answers; "{answers[picked]}" is chosen.'
    )
    return Page(
        "Quiz", [main], css, caption, {"number": number, "of": total, "answers": options, "chosen": answers[picked]}
    )


def checkout(rng: random.Random, p: Palette) -> Page:
    s, brand, rows = look(rng, p), words.brand(rng), rng.randint(1, 5)
    prices, names = [words.price(rng) for _ in range(rows)], [words.good(rng) for _ in range(rows)]
    lines = [
        el(f"div#line-{k + 1}.line", picture(rng, p, 80, 60, name), el("span.name", name), el("b", f"€{price:.2f}"))
        for k, (name, price) in enumerate(zip(names, prices, strict=True))
    ]
    ship = rng.choice((0.0, 3.9, 4.95, 7.5))
    total = sum(prices) + ship
    basket = el(
        "aside#basket.card",
        el("h2", "Your basket"),
        lines,
        el("div.line", el("span.name", "Delivery"), el("span", f"€{ship:.2f}" if ship else "free")),
        el("div#total.line", el("span.name", "Total"), el("b", f"€{total:.2f}")),
    )
    groups = [("Delivery", ["Name", "Street", "City", "Postcode"]), ("Payment", ["Card number", "Expiry", "Code"])][
        : rng.randint(1, 2)
    ]
    blocks = [
        el(
            f"fieldset#{head.lower()}",
            el("legend", head),
            [el("label", name, el(f"input#{name.lower().replace(' ', '-')}", placeholder=name)) for name in fields],
        )
        for head, fields in groups
    ]
    form = el("form#checkout", el("h1", "Checkout"), blocks, el("button#pay.button", f"Pay €{total:.2f}"))
    css = (
        s.css
        + f"""
    main {{ display: grid; grid-template-columns: {rng.choice(("3fr 2fr", "1fr 1fr", "2fr 1fr"))};
      gap: {s.gap * 2}px; padding-top: {rng.randint(20, 60)}px; align-items: start; }}
    fieldset {{ border: {rng.choice(("0", f"1px solid {p.line}"))}; padding: {rng.choice((0, 16))}px;
      margin: 0 0 {s.gap}px; display: grid; grid-template-columns: {rng.choice(("1fr", "1fr 1fr"))};
      gap: {rng.randint(8, 20)}px; border-radius: {s.radius}px; }}
    legend {{ font-weight: bold; font-size: 1.2rem; padding: 0.3rem 0; }}
    input {{ display: block; width: 100%; font: inherit; padding: 0.55em 0.8em; border: 1px solid {p.muted};
      border-radius: {min(s.radius, 12)}px; background: {p.paper}; color: {p.ink}; }}
    .line {{ display: flex; gap: 1rem; align-items: center; padding: {rng.uniform(0.4, 0.9):.2f}rem 0;
      border-bottom: 1px solid {p.line}; }}
    .line svg {{ width: 80px; flex: none; }}
    .name {{ flex: 1; }}
    #total {{ font-size: 1.3rem; border: 0; }}
    """
    )
    order = [form, basket] if rng.random() < 0.65 else [basket, form]
    caption = (
        f"A checkout page of {brand} with {words.plural(rows, 'article')} in the basket and a total of €{total:.2f}."
    )
    return Page(
        f"Checkout · {brand}", [el("main.wrap", order)], css, caption, {"articles": rows, "total_eur": round(total, 2)}
    )


def memory_game(rng: random.Random, p: Palette) -> Page:
    s, columns, rows = look(rng, p), rng.randint(3, 7), rng.randint(2, 5)
    glyphs = "★●■▲◆♥♣♠☀☂☎✂✈✿❄♪☕⚑⚙✎"
    count = columns * rows
    up = sorted(rng.sample(range(count), rng.randint(2, min(count, 8))))
    size, gap = rng.randint(84, 150), rng.randint(6, 22)
    cells = [
        el(f"div#card-{k + 1}.card-face{'.up' if k in up else ''}", rng.choice(glyphs) if k in up else "?")
        for k in range(count)
    ]
    css = (
        s.css
        + f"""
    body {{ background: {mix(s.accent, p.paper, rng.uniform(0.2, 0.9))}; padding: {rng.randint(20, 70)}px;
      text-align: {rng.choice(("left", "center"))}; }}
    #table {{ display: inline-grid; grid-template-columns: repeat({columns}, {size}px); gap: {gap}px;
      margin-top: {s.gap}px; }}
    .card-face {{ height: {rng.randint(84, 170)}px; border-radius: {s.radius}px; background: {s.second};
      color: {on(s.second)}; display: flex; align-items: center; justify-content: center;
      font-size: {rng.uniform(1.8, 3.2):.1f}rem; }}
    .up {{ background: #ffffff; color: {mix(s.accent, "#000000", 0.3)}; }}
    """
    )
    moves = rng.randint(3, 60)
    caption = (
        f"A memory game of {columns} by {rows} cards, {words.number(len(up))} of them face up, after {moves} moves."
    )
    return Page(
        "Memory",
        [el("header", el("h1", "Memory"), el("p", f"{moves} moves")), el("main#table", cells)],
        css,
        caption,
        {"cards": count, "face_up": len(up), "moves": moves},
    )


TEMPLATES = {
    "gallery": gallery,
    "weather": weather,
    "login": login,
    "quiz": quiz,
    "checkout": checkout,
    "memory_game": memory_game,
}
