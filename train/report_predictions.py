"""Predictions beside the truth: the true picture and what the answer draws, both programs with their differences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any

from .report_answers import CONTROLS, TASKS
from .report_charts import short
from .report_rasters import raster
from .report_run import RunData, number
from .report_sheet import sheet

LIMIT = 24
_TEXT, _WORDS = 6_000, 1_500
"""Characters of a text that the page holds, and words up to which differences are sought word by word."""
_ASKED, _ASKED_LINES = 400, 6
"""Characters and lines of a prompt's end."""
_FRAME = re.compile(r"<\|media_begin\|>.*?<\|media_end\|>", re.DOTALL)
_PAD = re.compile(r"^.*?<\|media_end\|>", re.DOTALL)
_ROLES = re.compile(r"<\|open\|>\w*<\|sep\|>|<\|close\|>\w*<\|sep\|>|<\|[a-z_]{1,24}\|>")


def predictions(run: RunData) -> str:
    """What the newest ones draw at a glance, and cards of them: the first of each task and kind in turn."""
    if not run.predictions:
        return ""
    step, lines, items = newest(run)
    asked = [n for n, one in enumerate(lines) if not one.get("control")]
    chosen = sorted(_in_turn(asked, lines)[:LIMIT])
    under = defaultdict(list)
    for n, one in enumerate(lines):
        if one.get("control"):
            under[one.get("id"), one.get("task")].append(n)
    cards = [_card(run, lines, items, n, under[lines[n].get("id"), lines[n].get("task")]) for n in chosen]
    count = f"{len(chosen)} of {len(asked)}" if len(chosen) < len(asked) else f"all {len(asked)}"
    return (
        f'{_glance(run, lines, items)}<p class="about">Step {step:,}: {count} held-out questions.</p>{"".join(cards)}'
    )


def newest(run: RunData) -> tuple[int, list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """The step of the newest predictions, their lines, and number of a line → its scores, where they are of these very
    lines. There must be predictions."""
    ((step, lines),) = run.predictions.items()
    found = {one["n"]: one for one in run.scores.get(step, {}).get("items", ())}
    if any(n >= len(lines) or one["id"] != lines[n].get("id") for n, one in found.items()):
        run.notes.append(f"the scores of step {step} are of other predictions; score them again")
        return step, lines, {}
    return step, lines, found


def _glance(run: RunData, lines: Sequence[dict[str, Any]], items: dict[int, dict[str, Any]]) -> str:
    drawn = sheet(run.path, lines, items)
    if not drawn:
        return ""
    title = (
        '<figcaption><h3>At a glance</h3><p class="about">The first held-out pictures, what the answers draw, and what '
        "the same questions give without the right picture.</p></figcaption>"
    )
    return f'<figure class="card">{title}<div class="wide">{drawn}</div></figure>'


def _in_turn(numbers: Sequence[int], lines: Sequence[dict[str, Any]]) -> list[int]:
    turns: dict[tuple[Any, ...], int] = defaultdict(int)
    order = []
    for n in numbers:
        group = lines[n].get("task"), lines[n].get("kind")
        order.append((turns[group], n))
        turns[group] += 1
    return [n for _, n in sorted(order)]


def _card(
    run: RunData, lines: Sequence[dict[str, Any]], items: dict[int, dict[str, Any]], n: int, under: Sequence[int]
) -> str:
    one, item = lines[n], items.get(n, {})
    truth, answer = (str(one.get(side, ""))[:_TEXT] for side in ("truth", "prediction"))
    gone, new = differences(truth, answer)
    pictures = _pictures(run, one, item)
    controls = "".join(_control(run, lines[m], items.get(m, {})) for m in under)
    beside = f'<details><summary>under controls</summary><ul class="controls">{controls}</ul></details>'
    task = TASKS.get(str(one.get("task")), str(one.get("task")))
    return (
        f'<article class="card prediction"><header><b>{escape(str(one.get("kind")))}</b> <span>{escape(task)}</span>'
        f'{_badges(one, item)}</header><p class="asked">{escape(asked_for(str(one.get("prompt", ""))))}</p>'
        f'<div class="sides{" drawn" if pictures else ""}">{pictures}'
        f'<div class="text"><h4>truth</h4><pre>{gone}</pre></div>'
        f'<div class="text"><h4>answer</h4><pre>{new}</pre></div></div>{beside if controls else ""}</article>'
    )


def _badges(one: dict[str, Any], item: dict[str, Any]) -> str:
    exact = item.get("exact", one.get("exact"))
    badges = ['<i class="badge yes">exact</i>'] if exact else ['<i class="badge">not exact</i>']
    if "reason" in item:
        badges.append(f'<i class="badge no">fails: {escape(str(item["reason"]))}</i>')
    if "unjudged" in item:
        badges.append(f'<i class="badge">not judged: {escape(str(item["unjudged"]))}</i>')
    if one.get("finish") == "length":
        badges.append('<i class="badge">cut off</i>')
    values = (
        ("ssim", "SSIM"), ("pixel_distance", "distance"), ("elements", "elements"), ("iou", "IoU"),
        ("family", "family"), ("distance", "distance"), ("length", "length"),
    )  # fmt: skip
    for name, word in values:
        value = item.get(name)
        if value is not None and item.get("renders") is not False:
            shown = short(round(number(value), 3)) if isinstance(value, (int, float)) else escape(str(value))
            badges.append(f"<small>{word} <b>{shown}</b></small>")
    return f'<span class="badges">{"".join(badges)}</span>'


def _pictures(run: RunData, one: dict[str, Any], item: dict[str, Any]) -> str:
    image = one.get("image")
    if not image:
        return ""
    shown = raster(run.path, str(image.get("png")))
    if item.get("places") is not None:
        boxes = "".join(_box(kind, box) for kind in ("true", "given") for box in item["places"][kind])
        shown = _over(shown, int(image["width"]), int(image["height"]), boxes)
        legend = "green: the true places; dashed: those of the answer"
        return f'<figure class="look">{shown}<figcaption>{legend}</figcaption></figure>'
    parts = [f'<figure class="look">{shown}<figcaption>truth</figcaption></figure>']
    if "png" in item:
        drawn = raster(run.path, str(item["png"]))
        parts.append(f'<figure class="look">{drawn}<figcaption>the answer, drawn</figcaption></figure>')
    elif item.get("renders") is False:
        parts.append(
            f'<figure class="look"><p class="nothing">{escape(str(item.get("detail", "")))}</p>'
            "<figcaption>the answer does not draw</figcaption></figure>"
        )
    return "".join(parts)


def _box(kind: str, box: Sequence[object]) -> str:
    x1, y1, x2, y2 = (number(side) for side in box)
    return f'<rect class="{kind}" x="{x1:g}" y="{y1:g}" width="{x2 - x1:g}" height="{y2 - y1:g}"/>'


def _over(picture: str, width: int, height: int, boxes: str) -> str:
    return f'<span class="over">{picture}<svg viewBox="0 0 {width} {height}" aria-hidden="true">{boxes}</svg></span>'


def _control(run: RunData, one: dict[str, Any], item: dict[str, Any]) -> str:
    name = CONTROLS.get(str(one.get("control")), str(one.get("control")))
    drawn = raster(run.path, str(item["png"])) if "png" in item else ""
    answer = escape(str(one.get("prediction", ""))[:_TEXT])
    return f"<li><span>with {escape(name)}</span>{drawn}<pre>{answer}</pre>{_badges(one, item)}</li>"


def asked_for(prompt: str) -> str:
    """What a person would have asked, without the marks of the conversation and with [picture] for a picture.

    Of a long text the last lines: that is where the question stands.
    """
    text = _FRAME.sub("[picture] ", prompt)
    if "<|media_end|>" in text:  # the prompt's beginning, and that of its picture, was cut off
        text = _PAD.sub("[picture] ", text)
    text = _ROLES.sub(" ", text).strip()
    if len(text) <= _ASKED and text.count("\n") < _ASKED_LINES:
        return text
    lines = [line for line in text[-_ASKED:].splitlines() if line.strip()]
    return "… " + "\n".join(lines[-_ASKED_LINES:])


def differences(truth: str, answer: str) -> tuple[str, str]:
    """Both as markup: what is only in the truth is marked gone, what is only in the answer new."""
    some, others = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (truth, answer))
    if max(len(some), len(others)) > _WORDS:
        some, others = truth.splitlines(keepends=True), answer.splitlines(keepends=True)
    parts: tuple[list[str], list[str]] = ([], [])
    for what, a, b, c, d in SequenceMatcher(None, some, others, autojunk=False).get_opcodes():
        for side, pieces, mark in ((0, some[a:b], "gone"), (1, others[c:d], "new")):
            text = escape("".join(pieces))
            parts[side].append(text if what == "equal" or not text else f'<mark class="{mark}">{text}</mark>')
    return "".join(parts[0]), "".join(parts[1])
