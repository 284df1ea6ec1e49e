"""The `k3data` command. Each verb reads its arguments, calls one function of the engine, and prints what it gave.

Imports are inside the verbs, so that `k3data --help` answers at once. Exit codes: 0 done, 1 some work failed (and is
named), 2 the input is wrong, 130 interrupted.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import traceback
from contextlib import suppress
from typing import Any

import typer

from . import cli_look, cli_make, cli_synth, cli_tokenizer, cli_train, errors

app = typer.Typer(
    help="Make verified, sharded multimodal training data from a recipe, look at it, and train on it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _verb in (
    cli_make.run,
    cli_make.plan,
    cli_make.status,
    cli_make.resume,
    cli_make.verify,
    cli_make.gc,
    cli_look.inspect,
    cli_look.stats,
    cli_look.view,
    cli_look.card,
    cli_look.stages,
    cli_look.init,
    cli_look.doctor,
    cli_look.bench,
):
    app.command()(_verb)
for _handed_on in (cli_train.train, cli_train.generate):
    app.command(**cli_train.HANDED_ON)(_handed_on)  # type: ignore[arg-type]
app.command("eval")(cli_train.eval_)
app.command()(cli_train.report)
app.add_typer(cli_tokenizer.app, name="tokenizer")
app.add_typer(cli_synth.app, name="synth")


def main() -> None:
    """Entry point: turns our errors into one line and the right exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    _leave(_run())


def _run() -> int:
    try:
        code = app(standalone_mode=False)  # verbs return nothing; typer returns the code of an Exit
    except errors.K3DataError as error:
        return _told(str(error), error.exit_code)
    except BrokenPipeError:
        return errors.DONE  # whoever read our output has had enough
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own: unknown verb, option or argument
            error.show()  # type: ignore[attr-defined]
            return errors.WRONG_INPUT
        traceback.print_exc()
        return errors.WORK_FAILED
    if code == errors.INTERRUPTED:
        return _told("interrupted; what is done is kept, and the same command goes on from there", code)
    return code or errors.DONE


def _leave(code: int) -> None:
    """End the process at once, exit handlers run and output written.

    At an ordinary exit the threads of native libraries (Arrow, DuckDB) are torn down in an order that now and then
    aborts the process, after all its work is done: the exit code would say that it had failed.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(code)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _told(message: str, code: int) -> int:
    print(f"k3data: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
