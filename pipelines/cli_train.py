"""The verbs that train and use models. They are `k3data.train`'s own and are handed on as they were typed, since the
same commands run on machines that have torch and not this command's libraries."""

from __future__ import annotations

import typer

from . import errors

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
