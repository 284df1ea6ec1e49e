"""The verbs around a training run.

`train` and `generate` are `k3data.train`'s own and are handed on as they were typed, since the same commands run on
machines that have torch and not this command's libraries. `eval` scores what a run has written, with the renderers of
this machine, and `report` shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import errors
from .cli_options import Json, print_json

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a training run.")]

HANDED_ON = {"add_help_option": False, "context_settings": {"ignore_unknown_options": True, "allow_extra_args": True}}


def train(context: typer.Context) -> None:
    """Train a K3 model on packed stages, and go on where it was stopped; `train export` writes its weights."""
    _hand_on("train", context)


def generate(context: typer.Context) -> None:
    """Write on from a prompt and pictures with a trained model."""
    _hand_on("generate", context)


def _hand_on(verb: str, context: typer.Context) -> None:
    try:
        from ..train.commands import main
    except ModuleNotFoundError as error:
        raise errors.UserError(
            f"`k3data {verb}` needs {error.name}, which is not installed: pip install 'k3data[train]'"
        ) from None
    try:
        code = main([verb, *context.args])
    except SystemExit as exit_:  # argparse, which has said why
        code = exit_.code if isinstance(exit_.code, int) else errors.WRONG_INPUT
    raise typer.Exit(code)


def eval_(
    run: Run,
    step: Annotated[int | None, typer.Option("--step", help="Of which step. Default: the last.")] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Renderers at once.")] = 1,
    json: Json = False,
) -> None:
    """Score a run's predictions: draw every predicted program and compare the pictures, count exact answers and hits,
    each beside its controls."""
    from ..vision.score import score_predictions

    scores = score_predictions(run, step, workers=workers)
    if json:
        print_json({"step": scores.step, "tasks": scores.tasks, "gaps": scores.gaps, "notes": scores.notes})
        return
    print(f"step {scores.step:,}")
    for task, controls in scores.tasks.items():
        for control, parts in controls.items():
            numbers = {name.replace("_", " "): v for name, v in parts["all"].items() if isinstance(v, (int, float))}
            values = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items())
            print(f"  {task:<10} {control or 'as it is':<10} {values}")
    for note in scores.notes:
        print(f"  note: {note}")
    print(scores.path)


def report(
    run: Run,
    to: Annotated[Path | None, typer.Option("--to", help="Where to write it. Default: RUN/report.html.")] = None,
) -> None:
    """Write one self-contained HTML page about a run: curves, what the model sees, predictions beside the truth."""
    from ..train.report import write_report

    target = to or run / "report.html"
    try:
        write_report(run, target)
    except (OSError, ValueError) as error:
        raise errors.UserError(f"{run}: no report of it: {error}") from None
    print(target)
