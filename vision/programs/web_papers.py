"""Web templates: documents one prints (invoice, receipt, résumé, menu)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .web import Page, el
from .web_parts import look


def invoice(rng: random.Random, p: Palette) -> Page:
    s, brand, client, rows = look(rng, p, narrow=True), words.brand(rng), words.person(rng), rng.randint(3, 9)
    number, rate, total, lines = rng.randint(1000, 9999), rng.choice((7, 10, 19, 21, 25)), 0.0, []
    for k in range(rows):
        amount, price = rng.randint(1, 12), words.price(rng)
        total += amount * price
        lines.append(
            el(
                f"tr#line-{k + 1}",
                el("td", words.good(rng)),
                el("td", str(amount)),
                el("td", f"€{price:.2f}"),
                el("td", f"€{amount * price:.2f}"),
            )
        )
    tax = total * rate / 100
    sums = [("Subtotal", total), (f"Tax {rate}%", tax), ("Total", total + tax)]
    foot = [
        el(f"tr#sum-{k + 1}", el("th", name, colspan=3), el("td", f"€{value:.2f}"))
        for k, (name, value) in enumerate(sums)
    ]
    table = el(
        "table#lines",
        el("thead", el("tr", [el("th", head) for head in ("Item", "Amount", "Price", "Sum")])),
        el("tbody", lines),
        el("tfoot", foot),
    )
    sender = el(
        "div#sender",
        el("b", brand),
        el("br"),
        f"{rng.randint(1, 99)} {words.word(rng)} Road",
        el("br"),
        rng.choice(words.CITIES),
    )
    receiver = el(
        "div#receiver",
        el("b", client),
        el("br"),
        f"{rng.randint(1, 99)} {words.word(rng)} Street",
        el("br"),
        rng.choice(words.CITIES),
    )
    style = rng.choice(("band", "plain", "boxed"))
    band = f"background: {s.accent}; color: {on(s.accent)}; padding: 1.2rem;"
    ruled = f"border-bottom: 3px solid {s.accent};"
    css = (
        s.css
        + f"""
    body {{ background: {mix(p.paper, p.ink, 0.1)}; padding: {rng.randint(10, 50)}px 0; }}
    main {{ background: {"#ffffff" if not p.dark else p.panel}; padding-top: {s.gap}px;
      padding-bottom: {s.gap * 2}px; }}
    #head {{ display: flex; justify-content: space-between; align-items: center;
      {band if style == "band" else ruled} margin-bottom: {s.gap}px; }}
    #head h1 {{ margin: 0; }}
    #parties {{ display: flex; justify-content: space-between; margin-bottom: {rng.randint(20, 60)}px;
      flex-direction: {rng.choice(("row", "row-reverse"))}; }}
    table {{ width: 100%; border-collapse: collapse; }}
    th, td {{ padding: {rng.uniform(0.35, 0.8):.2f}em 0.6em; text-align: right;
      {f"border: 1px solid {p.line};" if style == "boxed" else f"border-bottom: 1px solid {p.line};"} }}
    th:first-child, td:first-child {{ text-align: left; }}
    #sum-3 {{ font-size: 1.2rem; font-weight: bold; }}
    """
    )
    pay = el("p#terms.muted", f"Please pay within {rng.choice((7, 14, 30))} days. " + words.sentence(rng))
    head = el(
        "header#head",
        [
            el("h1", "Invoice"),
            el("div", el("b", f"No. {number}"), el("br"), f"{rng.randint(1, 28)} {rng.choice(words.MONTHS_LONG)}"),
        ][:: rng.choice((1, -1))],
    )
    caption = (
        f"Invoice no. {number} from {brand} to {client} with {words.plural(rows, 'line')} and a total of "
        f"€{total + tax:.2f}, {rate}% tax included."
    )
    return Page(
        f"Invoice {number}",
        [el("main.wrap", head, el("section#parties", sender, receiver), table, pay)],
        css,
        caption,
        {"invoice": number, "lines": rows, "total_eur": round(total + tax, 2), "tax_percent": rate},
    )


def receipt(rng: random.Random, p: Palette) -> Page:
    s, shop, rows = look(rng, p), words.brand(rng), rng.randint(4, 14)
    width, lines, total = rng.randint(330, 520), [], 0.0
    for _ in range(rows):
        price = words.price(rng, 1, 40)
        total += price
        lines.append(el("div.line", el("span", words.good(rng)), el("span", f"{price:.2f}")))
    paid = rng.choice(("Card", "Cash", "Voucher"))
    thin, wide = rng.randint(2, 4), rng.randint(6, 9)
    stripes = f"repeating-linear-gradient(90deg, #222222 0 {thin}px, #fffefa {thin + 1}px {wide}px)"
    css = (
        s.css
        + f"""
    body {{ background: {mix(s.accent, p.paper, rng.uniform(0.3, 0.8))}; padding: {rng.randint(20, 90)}px; }}
    main {{ width: {width}px; margin: 0 {rng.choice(("auto", "auto", "8%"))}; background: #fffefa;
      color: #222222; padding: {rng.randint(20, 44)}px; font-family: 'DejaVu Sans Mono', monospace;
      font-size: {rng.uniform(0.78, 1):.2f}rem; transform: rotate({rng.uniform(-2.5, 2.5):.1f}deg);
      box-shadow: 0 6px 24px rgba(0, 0, 0, 0.25); }}
    h1, #thanks {{ text-align: center; }}
    h1 {{ font-size: 1.5rem; }}
    .line {{ display: flex; justify-content: space-between; gap: 1rem; }}
    #total {{ border-top: 2px dashed #222222; margin-top: 0.8rem; padding-top: 0.8rem; font-weight: bold;
      font-size: 1.25em; }}
    #barcode {{ height: {rng.randint(34, 70)}px; margin-top: 1.2rem; background: {stripes}; }}
    """
    )
    main = el(
        "main",
        el("h1", shop),
        el("p", f"{rng.choice(words.CITIES)}, {rng.randint(1, 28)}.{rng.randint(1, 12)}.{rng.randint(2018, 2026)}"),
        lines,
        el("div#total.line", el("span", "Total"), el("span", f"€{total:.2f}")),
        el("p", f"Paid by {paid.lower()}"),
        el("div#barcode", role="img", aria_label="Barcode"),
        el("p#thanks", rng.choice(("Thank you!", "Come again", "Have a good day"))),
    )
    return Page(
        f"Receipt of {shop}",
        [main],
        css,
        f"A till receipt of {shop} with {words.plural(rows, 'item')} and a total of €{total:.2f}, paid by "
        f"{paid.lower()}.",
        {"items": rows, "total_eur": round(total, 2)},
    )


def resume(rng: random.Random, p: Palette) -> Page:
    s, name, role = look(rng, p), words.person(rng), rng.choice(words.ROLES)
    side, width = rng.choice(("left", "right", "top")), rng.randint(230, 360)
    skills = [(rng.choice(words.VERBS).capitalize(), rng.randint(30, 100)) for _ in range(rng.randint(3, 7))]
    year, posts = 2026, []
    for k in range(rng.randint(2, 5)):
        start = year - rng.randint(1, 6)
        posts.append(
            el(
                f"article#post-{k + 1}",
                el("h3", f"{rng.choice(words.ROLES)}, {words.brand(rng)}"),
                el("p.muted", f"{start} to {year}"),
                el("p", words.paragraph(rng, rng.randint(1, 3))),
            )
        )
        year = start
    meters = [
        el(
            "div.skill",
            el("span", skill),
            el("div.track", el("div", style=f"width: {level}%"), role="meter", aria_label=skill),
        )
        for skill, level in skills
    ]
    contact = el(
        "p#contact",
        f"{rng.choice(words.CITIES)}",
        el("br"),
        f"{name.split()[0].lower()}@{rng.choice(words.NOUNS)}.example",
    )
    panel = el("aside#panel", el("h1", name), el("p", role), contact, el("h2", "Skills"), meters)
    columns = {"left": f"{width}px 1fr", "right": f"1fr {width}px", "top": "1fr"}[side]
    main = el("main", el("h2", "Profile"), el("p", words.paragraph(rng, 2)), el("h2", "Work"), posts)
    css = (
        s.css
        + f"""
    body {{ display: grid; grid-template-columns: {columns}; max-width: {rng.randint(860, 1180)}px; margin: 0 auto; }}
    #panel {{ background: {s.accent}; color: {on(s.accent)}; padding: {s.gap + 8}px;
      {"order: 2;" if side == "right" else ""} }}
    main {{ padding: {s.gap + 8}px; }}
    h2 {{ font-size: 1.15rem; text-transform: {rng.choice(("none", "uppercase"))}; letter-spacing: 0.06em; }}
    .skill {{ margin-bottom: {rng.uniform(0.4, 0.9):.2f}rem; }}
    .track {{ height: {rng.randint(6, 14)}px; background: {mix(s.accent, on(s.accent), 0.3)};
      border-radius: {s.radius}px; }}
    .track div {{ height: 100%; background: {on(s.accent)}; border-radius: {s.radius}px; }}
    article {{ margin-bottom: {s.gap}px;
      {rng.choice(("", f"border-left: 3px solid {s.second}; padding-left: 1rem;"))} }}
    article h3, article p {{ margin: 0 0 0.3em; }}
    """
    )
    caption = (
        f"The résumé of {name}, {role.lower()}, with {words.plural(len(posts), 'post')} and "
        f"{words.plural(len(skills), 'skill bar')}."
    )
    return Page(
        f"{name}: résumé", [panel, main], css, caption, {"posts": len(posts), "skills": len(skills), "name": name}
    )


COOKED = ("Roast", "Grilled", "Warm", "House", "Spiced", "Smoked")


FOODS = ("beetroot", "trout", "pumpkin", "chicory", "lentils", "plums", "barley", "fennel", "apples", "chestnuts")


def menu(rng: random.Random, p: Palette) -> Page:
    s, place, columns = look(rng, p), f"Café {words.word(rng)}", rng.randint(1, 3)
    groups = words.some(
        rng, ["Breakfast", "Starters", "Soups", "Mains", "Salads", "Desserts", "Drinks"], rng.randint(2, 5)
    )
    dear, total, blocks = (0.0, ""), 0, []
    for group in groups:
        items = []
        for _ in range(rng.randint(2, 5)):
            name = f"{rng.choice(COOKED)} {rng.choice(FOODS)}"
            price = rng.randint(3, 28) + rng.choice((0, 0.5))
            dear, total = max(dear, (price, name)), total + 1
            note = (
                el("p.muted", f"with {rng.choice(('herbs', 'butter', 'walnuts', 'sea salt', 'lemon', 'honey'))}")
                if rng.random() < 0.5
                else None
            )
            items.append(
                el("div.dish", el("div.line", el("b", name), el("span.dots"), el("span", f"{price:.2f}")), note)
            )
        blocks.append(el(f"section#{group.lower()}", el("h2", group), items))
    css = (
        s.css
        + f"""
    body {{ background: {rng.choice((p.paper, p.ink))}; color: {p.ink}; padding: {rng.randint(10, 50)}px; }}
    main {{ background: {p.paper}; padding: {rng.randint(24, 60)}px;
      border: {rng.choice((0, 2, 6))}px {rng.choice(("solid", "double"))} {s.accent}; }}
    h1, h2 {{ text-align: {rng.choice(("center", "left"))}; }}
    h2 {{ color: {mix(s.accent, p.ink, 0.3)}; }}
    #groups {{ columns: {columns}; column-gap: {s.gap * 2}px; }}
    section {{ break-inside: avoid; margin-bottom: {s.gap}px; }}
    .line {{ display: flex; gap: 0.6rem; align-items: baseline; }}
    .dots {{ flex: 1; border-bottom: 2px dotted {p.line}; }}
    .dish {{ margin-bottom: {rng.uniform(0.3, 0.9):.2f}rem; }}
    .dish p {{ margin: 0; }}
    """
    )
    caption = (
        f"The menu of {place} with {total} dishes in the groups {words.join(groups)}; the dearest costs {dear[0]:.2f}."
    )
    return Page(
        f"{place}: menu",
        [el("main.wrap", el("h1", place), el("div#groups", blocks))],
        css,
        caption,
        {"dishes": total, "groups": len(groups), "dearest": dear[0]},
    )


TEMPLATES = {
    "invoice": invoice,
    "receipt": receipt,
    "resume": resume,
    "menu": menu,
}
