"""One self-contained HTML page about a run: what was trained, how it went, what the model can do and what it wrote.

Everything on the page is made here, as text: charts are SVG, pictures are pixels, whatever comes from the run is
escaped. The page loads nothing, a content security policy allows its one style and one script alone, and without the
script nothing is missing but the values under the pointer.

    write_report(Path("runs/nano"), Path("nano.html"))
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from . import report_answers, report_predictions
from .report_charts import Axes, Marks, Series, figure, line_chart, short
from .report_inside import inside
from .report_run import RunData, number, read_run

_BESIDE = Path(__file__).parent
_COLOURS = _BESIDE.parent / "pipelines" / "page.css"
"""Colours by day and by night, which all pages of the toolkit share."""
_BROAD, _NARROW = Axes(width=1200, height=330, left=52), Axes(width=400, height=250)
_VIEWS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("steps", {}),
    ("log steps", {"log_x": True}),
    ("log both", {"log_x": True, "log_y": True}),
    ("log loss", {"log_y": True}),
)


def write_report(run: Path, to: Path) -> None:
    """Write the page about the run's folder. Raises UserError when that is no run's."""
    page = render(read_run(run))
    partial = to.with_name(f"{to.name}.partial")
    partial.write_text(page, encoding="utf-8")
    partial.replace(to)


def render(run: RunData) -> str:
    """The page as HTML."""
    title = str(run.facts.get("config", {}).get("name") or run.path.name)
    sections = {
        "Learning": _learning(run),
        "Steps": _steps(run),
        "Inside": _wrapped(inside(run.events["diagnostics"])),
        "Held out": _held_out(run),
        "Predictions": report_predictions.predictions(run),
        "Samples": report_answers.samples(run),
    }
    shown = {name: text for name, text in sections.items() if text}
    contents = "".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in shown)
    body = _facts(run) + "".join(
        f'<section id="{_anchor(name)}"><h2>{name}</h2>{text}</section>' for name, text in shown.items()
    )
    return _page(title, contents, body + _footer(run))


def _page(title: str, contents: str, body: str) -> str:
    """The template filled once, from left to right: what is put in is never looked at again."""
    style = _COLOURS.read_text(encoding="utf-8") + (_BESIDE / "report.css").read_text(encoding="utf-8")
    script = (_BESIDE / "report.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": escape(policy), "title": escape(title), "contents": contents, "body": body,
        "style": style, "script": script,
    }  # fmt: skip
    template = (_BESIDE / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"{{(\w+)}}", lambda match: parts[match[1]], template)
    return page.encode("utf-8", "replace").decode()  # a lone surrogate of a prediction cannot be written


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _wrapped(figures: str) -> str:
    return f'<div class="charts">{figures}</div>' if figures else ""


# --- what was trained -----------------------------------------------------------------------------------------------


def _facts(run: RunData) -> str:
    facts = run.facts
    tiles = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(more)}</small></dd></div>"
        for name, value, more in _tiles(run)
        if value
    )
    settings = "".join(
        f"<li><span>{escape(name)}</span><b>{escape(value)}</b></li>" for name, value in _flat(facts.get("config", {}))
    )
    more = f'<details><summary>Configuration</summary><ul class="config">{settings}</ul></details>' if settings else ""
    return f'<section id="facts"><p class="lead">{_lead(run)}</p><dl class="tiles">{tiles}</dl>{more}</section>'


def _lead(run: RunData) -> str:
    done, planned = run.steps[-1]["step"] if run.steps else 0, run.facts.get("steps")
    if not run.steps:
        state = "no step is taken yet"
    elif run.end is None:
        state = "still going on, or ended without a word"
    else:
        state = "finished" if run.end.get("finished") else "stopped before its end"
    of = f" of {planned:,}" if isinstance(planned, int) else ""
    resumed = f" It was resumed {_times(len(run.resumed))}." if run.resumed else ""
    return (
        f"<b>{done:,}</b>{of} steps on <b>{escape(str(run.facts.get('data', '?')))}</b>, begun "
        f"{escape(_when(run.facts.get('started')))}: {state}.{resumed}"
    )


def _when(iso: object) -> str:
    return str(iso or "?").replace("T", " ").replace("+00:00", " UTC")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _tiles(run: RunData) -> Iterator[tuple[str, str, str]]:
    """Name, value, and a smaller line below."""
    facts, parameters = run.facts, run.facts.get("parameters") or {}
    if run.steps:
        loss, tokens, rate, mfu = (run.column(name) for name in ("loss", "tokens", "tokens_per_s", "mfu"))
        recent = loss[-max(1, min(20, len(loss) // 10)) :]
        yield (
            "Loss",
            _mean(recent),
            "nats a token, " + (f"mean of the last {len(recent)} steps" if len(recent) > 1 else "last step"),
        )
        last = next((one for one in reversed(run.events["evaluation"]) if "bits_per_byte_all" in one), None)
        if last:
            yield "Held out", short(number(last["bits_per_byte_all"])), f"bits per byte, step {last['step']:,}"
        planned = number(facts.get("tokens"))
        yield "Tokens", short(tokens[-1]), f"of {short(planned)}" if math.isfinite(planned) else "seen"
        usual = short(float(np.nanmedian(rate))) if np.isfinite(rate).any() else ""
        yield "Speed", usual, "tokens a second, median"
        if np.isfinite(mfu).any():
            yield "MFU", short(float(np.nanmedian(mfu)), percent=True), "of the dense bf16 peak, median"
        yield "Time", _duration(float(np.nansum(_seconds(run)))), "in steps"
        skipped = sum(bool(one.get("skipped")) for one in run.steps)
        yield "Skipped", f"{skipped:,}" if skipped else "", "steps, see the norm"
    active = number(parameters.get("active"))
    yield "Parameters", short(number(parameters.get("total"))), f"{short(active)} active for a token"
    ranks = facts.get("ranks")
    yield (
        "Device",
        str(facts.get("device", "")),
        f"{ranks} ranks, " * ((ranks or 1) > 1) + f"torch {facts.get('torch', '?')}",
    )


def _mean(values: np.ndarray) -> str:
    return short(float(np.nanmean(values))) if np.isfinite(values).any() else "–"


def _seconds(run: RunData) -> np.ndarray:
    """Of every step: as logged, or else its tokens over its speed."""
    tokens, rate = run.column("tokens"), run.column("tokens_per_s")
    with np.errstate(divide="ignore", invalid="ignore"):
        derived = np.diff(tokens, prepend=0) / rate
    seconds = run.column("seconds")
    return np.where(np.isfinite(seconds), seconds, derived)


def _duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if hours < 2 else f"{int(hours)} h {int(minutes % 60)} min"


def _flat(values: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Leaves of the configuration with dotted names; short lists on one line."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from _flat(value, f"{name}.{key}" if name else str(key))
    elif isinstance(values, list) and any(isinstance(one, (dict, list)) for one in values):
        for n, value in enumerate(values):
            yield from _flat(value, f"{name}.{n}")
    else:
        yield name, ", ".join(map(str, values)) if isinstance(values, list) else str(values)


# --- how it went ----------------------------------------------------------------------------------------------------


def _learning(run: RunData) -> str:
    if not run.steps:
        return ""
    step = run.column("step")
    series = [
        Series("next token", step, run.column("loss"), 0),
        Series("the one after", step, run.column("next_next_loss"), 1),
    ]
    whole = _loss([one for one in series if np.isfinite(one.y).any()], _marks(run))
    parts, alone = [], []
    for what, title in (("domain", "by domain"), ("kind", "by kind"), ("position", "by place in the document")):
        found = run.by(what)
        if len(found) == 1:
            alone.append(f"{what} {next(iter(found))}")
        elif found:
            curves = [Series(name, step, values, n) for n, (name, values) in enumerate(_order(what, found))]
            parts.append(figure(f"Loss {title}", curves, Axes(log_y=_wide(run.column("loss"), 3))))
    told = f'<p class="about">All tokens with a loss are of {escape(", ".join(alone))}.</p>' if alone else ""
    return whole + _wrapped("".join(parts)) + told


def _order(what: str, found: dict[str, np.ndarray]) -> list[tuple[str, np.ndarray]]:
    """Positions from the first on, the others by their name: a colour stays with its name."""
    if what == "position":
        return sorted(found.items(), key=lambda pair: int((re.match(r"\d+", pair[0]) or ["0"])[0]))
    return sorted(found.items())


def _loss(series: Sequence[Series], marks: Sequence[Marks]) -> str:
    """The great chart, seen in four ways and at two widths; which one is a matter of style, not of a script."""
    if not series:
        return '<p class="about">No step has a finite loss.</p>'
    keys = "".join(
        f'<li><i class="t{one.tone}"></i>{one.name} <b>{short(float(one.y[np.isfinite(one.y)][-1]))}</b></li>'
        for one in series
    )
    switches, views = [], []
    first = "log loss" if _wide(series[0].y, 30) else "steps"  # or most of the curve would lie on the axis
    for n, (name, scales) in enumerate(_VIEWS):
        checked = " checked" if name == first else ""
        switches.append(f'<input type="radio" name="view" id="view-{n}"{checked}><label for="view-{n}">{name}</label>')
        broad, narrow = (
            line_chart("Loss", series, Axes(**{**vars(axes), **scales}), marks) for axes in (_BROAD, _NARROW)
        )
        views.append(
            f'<div class="view view-{n}"><div class="broad">{broad}</div><div class="narrow">{narrow}</div></div>'
        )
    return (
        f'<figure class="card"><figcaption><h3>Loss, nats a token</h3><ul class="legend">{keys}</ul></figcaption>'
        f'<div class="views">{"".join(switches)}{"".join(views)}</div></figure>'
    )


def _marks(run: RunData) -> list[Marks]:
    """Where stages begin (but for the first, which begins the chart), steps were skipped, and the run was resumed."""
    stages = run.events["stage"][1:]
    return [
        Marks("stage", [one["step"] for one in stages], [str(one.get("stage")) for one in stages]),
        Marks("skip", [one["step"] for one in run.steps if one.get("skipped")]),
        Marks("resume", run.resumed),
    ]


def _steps(run: RunData) -> str:
    step = run.column("step")
    skipped = [mark for mark in _marks(run) if mark.kind == "skip"]

    def chart(title: str, columns: dict[str, str], marks: Sequence[Marks] = (), **scales: Any) -> str:
        curves = [Series(label, step, run.column(name), n) for n, (name, label) in enumerate(columns.items())]
        return figure(title, [one for one in curves if np.isfinite(one.y).any()], Axes(**scales), marks)

    norms = {"norm": "before clipping", "vision_norm": "of the vision tower"}
    return _wrapped("".join([
        chart("Learning rate", {"learning_rate": "of the step"}, from_zero=True),
        chart("Gradient norm", norms, skipped, log_y=_wide(run.column("norm"))),
        chart("Speed", {"tokens_per_s": "tokens a second"}, from_zero=True),
        chart("Model FLOPs utilisation", {"mfu": "MFU"}, from_zero=True, percent=True),
        chart("Standing still for data", {"waited": "share of the time"}, from_zero=True, percent=True),
        chart("Memory, GiB", {"memory_gib": "most in use so far"}, from_zero=True),
        chart("Busiest expert over the mean", {"load_excess": "max load / mean − 1"}, from_zero=True),
        chart("Experts without a token", {"dead_experts": "of all layers"}, from_zero=True),
        chart("Largest attention logit", {"largest_logit": "of the MLA heads"}),
    ]))  # fmt: skip


def _wide(values: np.ndarray, times: float = 12) -> bool:
    """Whether a few values are so large that the others would lie on the axis."""
    finite = values[np.isfinite(values) & (values > 0)]
    return bool(len(finite)) and float(finite.max()) > times * float(np.median(finite))


def _held_out(run: RunData) -> str:
    evaluations = run.events["evaluation"]
    figures = _bits(evaluations, _marks(run)[:1]) + report_answers.courses(evaluations, run.scores)
    return _wrapped(figures) + report_answers.answers(run)


def _bits(evaluations: Sequence[dict[str, Any]], marks: Sequence[Marks]) -> str:
    found = [one for one in evaluations if one.get("bits_per_byte")]
    if not found:
        return ""
    x = np.array([one["step"] for one in found], dtype=float)
    names = sorted({name for one in found for name in one["bits_per_byte"]})
    curves = [
        Series(name, x, np.array([number(one["bits_per_byte"].get(name)) for one in found]), n)
        for n, name in enumerate(names)
    ]
    if len(names) > 1:
        whole = np.array([number(one.get("bits_per_byte_all")) for one in found])
        curves.append(Series("all", x, whole, 7))
    return figure(f"Bits per byte of the split {found[-1].get('split', '')}", curves, Axes(from_zero=True), marks)


def _footer(run: RunData) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in run.notes)
    counts = [
        f"{len(run.events[name]):,} {words}"
        for name, words in (("evaluation", "evaluations"), ("checkpoint", "checkpoints"), ("skip", "skipped steps"))
        if run.events[name]
    ]
    digest = run.facts.get("digest")
    about = [*counts, f"data and configuration {digest}"] if digest else counts
    damaged = f'<ul class="notes">{notes}</ul>' if notes else ""
    return f"<footer>{escape(' · '.join(about))}{damaged}</footer>"
