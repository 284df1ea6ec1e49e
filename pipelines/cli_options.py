"""Options that several verbs share, and how a verb prints."""

from __future__ import annotations

import logging
import sys
from typing import Annotated, Any

import typer

Recipe = Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe file, or the name of a shipped recipe.")]
Out = Annotated[str, typer.Argument(metavar="OUT", help="An output of `k3data run`: a folder or an fsspec URL.")]
Into = Annotated[
    str | None, typer.Option("--out", help="Where to write: a folder or an fsspec URL. Default: out/<recipe>.")
]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=VALUE", help="Change one value of the recipe.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log what the engine does.")]
Job = Annotated[str | None, typer.Option("--job", help="Which job's data set. Default: the last complete one.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Worker processes.")]
Replan = Annotated[bool, typer.Option("--replan", help="Accept inputs that changed since the plan was frozen.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only about so many items, in whole units.")]


def start_logging(verbose: bool) -> None:
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.ERROR, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr
    )
    for name in ("botocore", "aiobotocore", "s3fs", "fsspec", "asyncio", "urllib3", "PIL"):
        logging.getLogger(name).setLevel(logging.WARNING)


def print_json(values: Any) -> None:
    import orjson

    sys.stdout.write(orjson.dumps(values, option=orjson.OPT_INDENT_2, default=str).decode() + "\n")
