"""Pictures of runs for a text: curves of one or several, and held-out pictures beside what the model drew of them.

Each is one SVG that needs nothing beside it, in the colours of a report.

    python -m k3data.train.pictures curves runs/nano runs/small --to loss.svg
    python -m k3data.train.pictures sheet runs/nano --to sees.svg
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from ..pipelines.errors import UserError
from .report_charts import Axes, Marks, Series, line_chart, short
from .report_predictions import newest
from .report_run import RunData, read_run
from .report_sheet import COUNT, sheet

_CSS = Path(__file__).with_name("report.css")
_AXES = Axes(width=900, height=260, left=60, right=16)
_HEAD = 52
"""Pixels above a chart, for its title and legend."""
_TITLES = {"loss": "Loss, nats a token", "norm": "Norm of the gradients before clipping"}


def curves(runs: Sequence[RunData], column: str = "loss", log: bool = False) -> str:
    """A value of every step of each run, with the steps that a run skipped if it is one run alone.

    Raises UserError when a run has no such value.
    """
    series = []
    for tone, run in enumerate(runs):
        one = Series(_name(run), run.column("step"), run.column(column), tone)
        usable = one.y > 0 if log else np.isfinite(one.y)
        if not usable.any():
            raise UserError(f"{run.path} has no step with a {column} that could be drawn")
        series.append(one)
    skipped = [one["step"] for run in runs for one in run.steps if one.get("skipped")] if len(runs) == 1 else []
    axes = Axes(**{**vars(_AXES), "log_y": log})
    chart = line_chart(_TITLES.get(column, column), series, axes, [Marks("skip", skipped)], follows=False)
    chart = chart.replace("<svg ", f'<svg y="{_HEAD}" width="{axes.width}" height="{axes.height}" ', 1)
    legend = "".join(
        f'<rect class="dot t{one.tone}" x="{16 + 170 * n}" y="34" width="10" height="10" rx="3"/>'
        f'<text x="{31 + 170 * n}" y="43">{escape(one.name)}: {short(float(one.y[np.isfinite(one.y)][-1]))}</text>'
        for n, one in enumerate(series)
    )
    if skipped:
        at = 16 + 170 * len(series)
        legend += (
            f'<path class="mark skip" d="M{at + 4} 34v10"/><text x="{at + 12}" y="43">{len(skipped)} skipped</text>'
        )
    height, title = _HEAD + axes.height, escape(_TITLES.get(column, column))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {axes.width} {height}"><style>{_style()}</style>'
        f'<rect width="{axes.width}" height="{height}" fill="white"/>'
        f'<text class="title" x="16" y="22">{title}, by steps</text>{legend}{chart}</svg>\n'
    )


def predictions(run: RunData, count: int = COUNT) -> str:
    """Raises UserError when no answer to a picture has been drawn."""
    if run.predictions:
        _, lines, items = newest(run)
        if drawn := sheet(run.path, lines, items, count, alone=True):
            return f"{drawn}\n"
    raise UserError(f"{run.path} has no picture beside which an answer could be drawn; `k3data eval` draws answers")


def _name(run: RunData) -> str:
    return str((run.facts.get("config") or {}).get("name") or run.path.name)


def _style() -> str:
    """The colours by day of a report's curves, and what is drawn of its charts."""
    tones = dict(re.findall(r"--(t\d): (#\w+)", _CSS.read_text(encoding="utf-8").split("@media")[0]))
    rules = [f".line.{name}{{stroke:{one}}}.dot.{name},.band.{name}{{fill:{one}}}" for name, one in tones.items()]
    return "".join([
        "text{font:12px sans-serif;fill:#555}.title{font-size:15px;fill:#222}",
        ".y,.last{text-anchor:end}.x{text-anchor:middle}.x.last{text-anchor:end}.grid{stroke:#ddd;fill:none}",
        ".line{fill:none;stroke-width:1.6;stroke-linejoin:round}.band{opacity:.2}",
        ".mark{fill:none;stroke-width:1.4}.skip{stroke:#b3364b}",
        *rules,
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="k3data.train.pictures", description="Draw what runs have left behind.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    curve = kinds.add_parser("curves", help="a value of every step")
    curve.add_argument("runs", type=Path, nargs="+")
    curve.add_argument("--column", default="loss", help="loss, norm, or another value of a step in metrics.jsonl")
    curve.add_argument("--log", action="store_true", help="the value on a logarithmic scale")
    seen = kinds.add_parser("sheet", help="held-out pictures beside what the answers draw")
    seen.add_argument("runs", type=Path, nargs=1)
    seen.add_argument("--count", type=int, default=COUNT)
    for one in (curve, seen):
        one.add_argument("--to", type=Path, required=True, help="an SVG")
    options = parser.parse_args(arguments)
    try:
        runs = [read_run(path) for path in options.runs]
        if options.kind == "curves":
            drawn = curves(runs, options.column, options.log)
        else:
            drawn = predictions(runs[0], options.count)
    except UserError as error:
        print(f"pictures: {error}", file=sys.stderr)
        return 2
    options.to.parent.mkdir(parents=True, exist_ok=True)
    options.to.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
