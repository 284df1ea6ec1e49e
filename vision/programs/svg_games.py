"""SVG templates: boards, cards and puzzles."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, legible, mix
from .svg import Drawing, Svg, short


def board_game(rng: random.Random, p: Palette) -> Drawing:
    n, kind = rng.choice((4, 6, 8, 8, 9, 10)), rng.choice(("draughts", "discs in a row", "stones"))
    cell = 460 / n
    svg, light, dark = Svg(500, 500, p.paper), mix(p.accents[0], "#ffffff", 0.75), p.accents[0]
    counts = {"black": 0, "white": 0}
    if kind == "stones":
        svg.rect(20, 20, 460, 460, "#e0b870", id="board")
        with svg.group(id="lines", stroke="#5b4322"):
            for k in range(n):
                at = 20 + cell * (k + 0.5)
                svg.line((at, 20 + cell / 2), (at, 480 - cell / 2), "#5b4322", 1.5)
                svg.line((20 + cell / 2, at), (480 - cell / 2, at), "#5b4322", 1.5)
    else:
        with svg.group(id="board"):
            for row in range(n):
                for column in range(n):
                    fill = dark if kind == "discs in a row" or (row + column) % 2 else light
                    svg.rect(20 + cell * column, 20 + cell * row, cell, cell, fill)
    density = rng.uniform(0.15, 0.6)
    for row in range(n):
        for column in range(n):
            usable = kind != "draughts" or (row + column) % 2
            if not usable or rng.random() > density:
                if kind == "discs in a row":
                    svg.circle(20 + cell * (column + 0.5), 20 + cell * (row + 0.5), cell * 0.38, p.paper)
                continue
            side = rng.choice(("black", "white"))
            counts[side] += 1
            svg.circle(
                20 + cell * (column + 0.5),
                20 + cell * (row + 0.5),
                cell * 0.4,
                "#1c1c1c" if side == "black" else "#fafafa",
                id=f"{side}-{counts[side]}",
                stroke="#777777",
                stroke_width=1.5,
            )
    caption = (
        f"A {n} by {n} game board with {counts['black']} black and {counts['white']} white "
        f"{'stones' if kind == 'stones' else 'discs'}."
    )
    return Drawing(svg, caption, {"side": n, **counts})


def crossword(rng: random.Random, p: Palette) -> Drawing:
    n, blocks, number = rng.randint(8, 13), set(), 0
    cell = 440 / n
    svg = Svg(480, 530, "#ffffff")
    for _ in range(int(n * n * rng.uniform(0.08, 0.13))):
        x, y = rng.randrange(n), rng.randrange(n)
        blocks |= {(x, y), (n - 1 - x, n - 1 - y)}
    svg.text(
        20,
        38,
        f"Crossword no. {rng.randint(1, 900)}",
        20,
        "#111111",
        id="title",
        font_weight="bold",
        font_family="DejaVu Serif, serif",
    )
    filled = rng.random() < 0.5
    for y in range(n):
        for x in range(n):
            black = (x, y) in blocks
            svg.rect(
                20 + x * cell,
                64 + y * cell,
                cell,
                cell,
                "#111111" if black else "#ffffff",
                stroke="#111111",
                stroke_width=1.5,
            )
            if black:
                continue
            if x == 0 or y == 0 or (x - 1, y) in blocks or (x, y - 1) in blocks:
                number += 1
                svg.text(20 + x * cell + 3, 64 + y * cell + cell * 0.3, number, cell * 0.26, "#333333")
            if filled and rng.random() < 0.3:
                svg.text(
                    20 + (x + 0.5) * cell,
                    64 + (y + 0.82) * cell,
                    rng.choice("AEIOURSTLNDMC"),
                    cell * 0.55,
                    legible(p.accents[0], "#ffffff"),
                    "middle",
                )
    return Drawing(
        svg,
        f"A crossword grid of {n} by {n} cells with {len(blocks)} black cells and {number} numbered cells.",
        {"side": n, "black_cells": len(blocks), "numbered": number},
    )


def playing_cards(rng: random.Random, p: Palette) -> Drawing:
    count, names = rng.randint(2, 6), {"hearts": "♥", "spades": "♠", "diamonds": "♦", "clubs": "♣"}
    svg, hand = Svg(640, 420, rng.choice(("#1f6f4a", "#7a1f2b", "#1e3a5f", p.paper))), []
    fan, lift = rng.uniform(0, 14), rng.uniform(-10, 10)
    step, tall = min(110, 430 / count), rng.choice((210, 240, 270))
    wide = tall * 0.7
    for k in range(count):
        suit, rank = (
            rng.choice(list(names)),
            rng.choice(("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")),
        )
        hand.append(f"{rank} of {suit}")
        colour, turn = "#c1121f" if suit in ("hearts", "diamonds") else "#16181d", (k - (count - 1) / 2) * fan + lift
        cx = 320 + (k - (count - 1) / 2) * step
        cy = 210 + abs(k - (count - 1) / 2) * fan * 1.6
        with svg.group(id=f"card-{k + 1}", transform=f"translate({short(cx)} {short(cy)}) rotate({short(turn)})"):
            svg.rect(-wide / 2, -tall / 2, wide, tall, "#ffffff", rx=12, stroke="#b8bcc4", stroke_width=1.5)
            svg.text(-wide / 2 + 22, -tall / 2 + 36, rank, 26, colour, "middle", font_weight="bold")
            svg.text(-wide / 2 + 22, -tall / 2 + 62, names[suit], 24, colour, "middle")
            pips = int(rank) if rank.isdigit() else 1
            columns = 1 if pips < 4 else 2
            for j in range(pips):
                x = 0 if columns == 1 else (-0.13 if j % 2 == 0 else 0.23) * wide
                rows = (pips + columns - 1) // columns
                y = (j // columns - (rows - 1) / 2) * tall * 0.72 / max(rows, 2.4)
                size = tall * (0.34 if pips == 1 else 0.15)
                svg.text(x + (wide * 0.05 if columns == 1 else 0), y + size * 0.36, names[suit], size, colour, "middle")
    return Drawing(
        svg, f"A hand of {words.plural(count, 'playing card')}: {words.join(hand)}.", {"cards": count, "first": hand[0]}
    )


TEMPLATES = {
    "board_game": board_game,
    "crossword": crossword,
    "playing_cards": playing_cards,
}
