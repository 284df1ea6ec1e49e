"""The part of a report about what a model wrote: answers beside their controls, predictions beside the truth, samples.

What a model answers as well without the picture, or with the text in disorder, it did not read there. So every share
stands beside those of its controls, and a sentence says where there is no gap.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from math import comb
from typing import Any

import numpy as np

from .report_charts import Axes, Series, figure, short
from .report_run import RunData, number

CONTROLS = {"blank": "a blank picture", "swapped": "another's picture", "shuffled": "the text shuffled"}
TASKS = {"to_code": "Picture to code", "grounding": "Finding places", "scatter": "Scattered facts", "other": "Others"}
_SAMPLES = 4
"""That are seen at once of a beginning."""
_VALUES = {
    "exact": ("exact", True),
    "parses": ("parses", True),
    "renders": ("draws", True),
    "pixel_distance": ("pixel distance", False),
    "ssim": ("SSIM", False),
    "elements": ("elements", False),
    "iou": ("IoU, pixels", False),
    "point": ("centre, pixels", True),
    "iou_normalised": ("IoU, 0–1", False),
    "point_normalised": ("centre, 0–1", True),
}


def answers(run: RunData) -> str:
    """Exact answers of the newest evaluation and their controls, their course, and the scores of what was drawn."""
    parts = []
    evaluations = [one for one in run.events["evaluation"] if one.get("answers")]
    if evaluations:
        # Scores pair each answer with its own control, which tells more than two counts do.
        parts.append(_counted(evaluations[-1], with_verdicts=evaluations[-1]["step"] not in run.scores))
    if run.scores:
        parts.append(_scored(run.scores[max(run.scores)]))
    elif evaluations and "to_code" in evaluations[-1]["answers"]:
        parts.append('<p class="about">No prediction is drawn yet: <code>k3data eval RUN</code> does that.</p>')
    return "".join(parts)


def courses(evaluations: Sequence[dict[str, Any]], scores: dict[int, dict[str, Any]]) -> str:
    """Figures of how the shares went, where there is more than one evaluation."""
    evaluations = [one for one in evaluations if one.get("answers")]
    figures = []
    if len(evaluations) > 1:
        x = np.array([one["step"] for one in evaluations], dtype=float)
        tasks = dict.fromkeys(task for one in evaluations for task in one["answers"])
        series = [
            Series(TASKS.get(task, task), x, np.array([_share(one["answers"].get(task)) for one in evaluations]), n)
            for n, task in enumerate(tasks)
        ]
        figures.append(figure("Exactly right", series, Axes(from_zero=True, percent=True)))
    if len(scores) > 1:
        x = np.array(list(scores), dtype=float)
        for name, title in (("renders", "Share that draws"), ("elements", "Elements"), ("ssim", "SSIM")):
            series = [
                Series("the picture" if not control else CONTROLS.get(control, control), x, values, n)
                for n, (control, values) in enumerate(_courses(scores, name).items())
            ]
            figures.append(figure(f"{title}, picture to code", series, Axes(from_zero=True, percent=name == "renders")))
    return "".join(figures)


def _courses(scores: dict[int, dict[str, Any]], name: str) -> dict[str, np.ndarray]:
    tables = [one["tasks"].get("to_code", {}) for one in scores.values()]
    controls = dict.fromkeys(control for table in tables for control in table)
    return {
        control: np.array([number(table.get(control, {}).get("all", {}).get(name)) for table in tables])
        for control in controls
    }


def _counted(evaluation: dict[str, Any], with_verdicts: bool) -> str:
    controls = [name for name, tasks in (evaluation.get("controls") or {}).items() if tasks]
    head = "".join(f"<th>with {escape(CONTROLS.get(name, name))}</th>" for name in controls)
    rows, said = [], []
    for task, own in evaluation["answers"].items():
        cells = [_bar(own)]
        without = []
        for name in controls:
            control = evaluation["controls"][name].get(task)
            cells.append(_bar(control) if control else "")
            if control and not above(own, control):
                without.append(CONTROLS.get(name, name))
        rows.append(f"<tr><th>{escape(TASKS.get(task, task))}</th>{''.join(f'<td>{one}</td>' for one in cells)}</tr>")
        if with_verdicts and any(cells[1:]):
            said.append(verdict(f"{TASKS.get(task, task)}, exactly right", without))
    return (
        f"<h3>Answered exactly, step {evaluation['step']:,}</h3>"
        f'<div class="wide"><table class="answers"><thead><tr><th></th><th>as asked</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{''.join(said)}"
    )


def verdict(what: str, without: Sequence[str]) -> str:
    """The sentence about a value and the controls over which it has no gap."""
    if not without:
        return f'<p class="verdict yes">{escape(what)}: better than under every control.</p>'
    return (
        f'<p class="verdict no">{escape(what)}: no gap over {escape(" or ".join(without))}. '
        "No gap over the control, no claim.</p>"
    )


def above(own: dict[str, Any], control: dict[str, Any]) -> bool:
    """Whether more is right than under the control: Fisher's exact test, one-sided, p ≤ 0.05."""
    n, hits, m, others = (int(number(one[key])) for one in (own, control) for key in ("asked", "exact"))
    ways = sum(comb(n, k) * comb(m, hits + others - k) for k in range(hits, min(n, hits + others) + 1))
    return ways / comb(n + m, hits + others) <= 0.05


def _bar(counts: dict[str, Any]) -> str:
    share = _share(counts)
    return (
        '<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" '
        f'width="100" height="8"/><rect class="part" width="{100 * share if share == share else 0:.1f}" height="8"/>'
        f"</svg> <b>{short(share, percent=True)}</b> <small>{counts['exact']:,} of {counts['asked']:,}</small>"
    )


def _share(counts: dict[str, Any] | None) -> float:
    return counts["exact"] / counts["asked"] if counts and counts["asked"] else float("nan")


def _scored(scores: dict[str, Any]) -> str:
    parts = [f'<p class="about">{escape(note)}</p>' for note in scores.get("notes", ())]
    for task in sorted(scores["tasks"], key=lambda name: list(TASKS).index(name) if name in TASKS else len(TASKS)):
        table = scores["tasks"][task]
        cells = [cell for control in table.values() for cell in control.values()]
        names = [name for name in _VALUES if any(name in cell for cell in cells)]
        parts.append(
            f"<h3>{escape(TASKS.get(task, task))}, step {scores['step']:,}</h3>"
            f'<div class="wide">{_valued(table, names) if names != ["exact"] else _exact_alone(table)}</div>'
            f"{_gaps(scores.get('gaps', {}).get(task, {}))}"
        )
    return "".join(parts)


def _valued(table: dict[str, dict[str, Any]], names: Sequence[str]) -> str:
    """Parts and controls downwards, values across."""
    rows = []
    for part in _parts(table):
        there = [control for control in table if part in table[control]]
        rows += [
            _row(part if n == 0 else "", CONTROLS.get(control, control) or "as asked", table[control][part], names)
            for n, control in enumerate(there)
        ]
    sheet = table.get("", {}).get("all", {})
    if "sheet_ssim" in sheet:
        values = {"pixel_distance": sheet["sheet_distance"], "ssim": sheet["sheet_ssim"]}
        rows.append(_row("for comparison", "an empty sheet", values, names))
    head = "".join(f"<th>{_VALUES[name][0]}</th>" for name in names)
    return (
        f'<table class="scores"><thead><tr><th></th><th></th><th>asked</th>{head}<th></th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _exact_alone(table: dict[str, dict[str, Any]]) -> str:
    """Parts downwards, controls across."""
    head = "".join(f"<th>{escape(f'with {CONTROLS.get(one, one)}' if one else 'as asked')}</th>" for one in table)
    rows = []
    for part in _parts(table):
        cells = [table[control].get(part) for control in table]
        bars = (
            _bar({"asked": one["asked"], "exact": round(one["exact"] * one["asked"])}) if one else "" for one in cells
        )
        rows.append(f"<tr><th>{escape(part)}</th>{''.join(f'<td>{bar}</td>' for bar in bars)}</tr>")
    return f'<table class="answers"><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _parts(table: dict[str, dict[str, Any]]) -> list[str]:
    """All together, and the parts where there are several: by name, and buckets of tokens by size."""
    found = {part for control in table.values() for part in control}
    return sorted(found, key=_order) if len(found) > 2 else ["all"]


def _order(part: str) -> tuple[bool, str, int, str]:
    match = re.fullmatch(r"(distance|length) (\d+)([KM]?)\D.*", part)
    if match is None:
        return part != "all", "", 0, part
    return True, match[1], int(match[2]) << {"": 0, "K": 10, "M": 20}[match[3]], part


def _row(part: str, who: str, cell: dict[str, Any], names: Sequence[str]) -> str:
    values = "".join(
        f"<td>{short(round(number(cell[name]), 3), _VALUES[name][1]) if name in cell else ''}</td>" for name in names
    )
    reasons = [f"{count} {name}" for key in ("failures", "unjudged") for name, count in cell.get(key, {}).items()]
    asked = f"{cell['asked']:,}" if "asked" in cell else ""
    classes = "own" * (who == "as asked") + " part" * bool(part)
    return (
        f'<tr class="{classes}"><th>{escape(part)}</th><th>{escape(who)}</th><td>{asked}</td>{values}'
        f"<td><small>{escape(', '.join(reasons))}</small></td></tr>"
    )


def _gaps(gaps: dict[str, dict[str, Any]]) -> str:
    """A sentence for each value that a claim would rest on."""
    said: list[str] = []
    for name, words in (("exact", "Exactly right"), ("elements", "Elements"), ("ssim", "SSIM"), ("iou", "IoU")):
        cells = {control: values[name] for control, values in gaps.items() if name in values}
        if cells:
            said.append(verdict(words, [CONTROLS.get(one, one) for one, cell in cells.items() if not cell["gap"]]))
    return "".join(said)


def samples(run: RunData) -> str:
    """What was written on from each fixed beginning: a few spread over the run, the newest first, and then all."""
    by_prompt: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for step, lines in run.samples.items():
        for one in lines:
            by_prompt[str(one.get("prompt"))].append((step, str(one.get("text"))))
    parts = []
    for prompt, written in by_prompt.items():
        rows = [
            f'<li><span class="when">step {step:,}</span><p><span class="given">{escape(prompt)}</span>'
            f"{escape(text)}</p></li>"
            for step, text in reversed(written)
        ]
        spread = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLES)).round().astype(int))
        shown = "".join(rows[n] for n in spread)
        every = f"<details><summary>all {len(rows)}</summary><ol>{''.join(rows)}</ol></details>"
        parts.append(f'<div class="card sample"><ol>{shown}</ol>{every if len(rows) > len(spread) else ""}</div>')
    return "".join(parts)
