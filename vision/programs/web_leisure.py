"""Web templates: galleries, profiles, weather, events, login, quiz, polls, games and other everyday pages."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .svg import Svg
from .svg_maps import weather_icon
from .web import Page, el
from .web_parts import art, avatar, footer, header, look, picture


def gallery(rng: random.Random, p: Palette) -> Page:
    s, title, columns = look(rng, p), words.title(rng), rng.randint(2, 5)
    count, masonry = columns * rng.randint(1, 3), rng.random() < 0.5
    tall = rng.randint(120, 260)
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
    #pictures {{ {f"columns: {columns}; column-gap: {s.gap}px;" if masonry else f"display: grid; grid-template-columns: repeat({columns}, 1fr); gap: {s.gap}px;"} }}
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
        "section#about", avatar(p, name), el("h1", name), el("p", f"{rng.choice(words.ROLES)} in {rng.choice(words.CITIES)}. " + words.sentence(rng)),
        el("div#counts.row", [el("div", el("b", f"{value:,}"), " ", el("small", key)) for key, value in counts]), el("a#follow.button", "Follow", href="#"),
    )  # fmt: skip
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
        "form#login.card", el("div.mark", brand[0]), el("h1", f"Welcome to {brand}"), rows, el("label.check", el("input#remember", type="checkbox", checked=rng.random() < 0.5), " Remember me"),
        el("button#sign-in.button", "Sign in"), [el(f"button#other-{k + 1}.button.plain", text) for k, text in enumerate(extra)], el("p", el("a#forgot", "Forgot the password?", href="#")),
    )  # fmt: skip
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


def leaderboard(rng: random.Random, p: Palette) -> Page:
    s, count, title = look(rng, p), rng.randint(5, 10), words.title(rng)
    names, scores = (
        [words.person(rng) for _ in range(count)],
        sorted((rng.randint(100, 9999) for _ in range(count)), reverse=True),
    )
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
    li {{ display: flex; gap: 1rem; align-items: center; padding: {rng.uniform(0.35, 0.85):.2f}rem 1rem; {rng.choice((f"border-bottom: 1px solid {p.line};", f"background: {p.panel}; margin-bottom: 8px; border-radius: {s.radius}px;"))} }}
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
    "gallery": gallery,
    "profile": profile,
    "weather": weather,
    "login": login,
    "events": events,
    "quiz": quiz,
    "leaderboard": leaderboard,
    "poll": poll,
    "story_timeline": story_timeline,
    "checkout": checkout,
    "memory_game": memory_game,
    "forum": forum,
}
