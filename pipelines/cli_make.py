"""The verbs that make data and look after it: run, resume, plan, status, verify, gc."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import errors
from .cli_options import (
    Into,
    Job,
    Json,
    Limit,
    Out,
    Quiet,
    Recipe,
    Replan,
    Set,
    Verbose,
    Workers,
    print_json,
    start_logging,
)


def _load(recipe: str, overrides: list[str] | None) -> tuple[Any, str]:
    """The recipe, and the name that messages use for it."""
    from . import recipe as recipes
    from .shipped import find

    path = find(recipe)
    return recipes.load(path, tuple(overrides or ())), str(path)


def run(
    recipe: Recipe,
    out: Into = None,
    set_: Set = None,
    limit: Limit = None,
    workers: Workers = None,
    preview: Annotated[int | None, typer.Option("--preview", min=1, help="Print N results and write nothing.")] = None,
    replan: Replan = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run a recipe: make its data sets, or go on where an earlier run ended."""
    start_logging(verbose)
    loaded, file = _load(recipe, set_)
    if preview:
        from .look import described, preview_results, preview_text

        for job, result in preview_results(loaded, out or f"out/{loaded.name}", preview):
            print_json(described(job, result)) if json else print(preview_text(job, result), end="\n\n")
        return
    _run(loaded, out or f"out/{loaded.name}", file, limit, workers, replan, json, quiet)


def resume(
    out: Out,
    set_: Set = None,
    workers: Workers = None,
    replan: Replan = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Go on with the recipe that is stored in an output."""
    start_logging(verbose)
    from . import recipe as recipes
    from .output import RECIPE_FILE, open_output

    store, root = open_output(out)
    file = f"{store.url}/{RECIPE_FILE}"
    if not store.exists(RECIPE_FILE):
        raise errors.UserError(f"{store.url} was claimed by recipe {root.recipe!r} and never begun; use `k3data run`")
    loaded = recipes.parse(store.read(RECIPE_FILE).decode(), file, Path(root.base), tuple(set_ or ()))
    _run(loaded, out, file, root.limit, workers, replan, json, quiet)


def _run(
    recipe: Any, out: str, file: str, limit: int | None, workers: int | None, replan: bool, json: bool, quiet: bool
) -> None:
    from . import screen as screens
    from .run import Options
    from .run import run as run_recipe

    screen = screens.choose(quiet, json)
    try:
        datasets = run_recipe(recipe, out, Options(file, limit, workers, replan), screen)
    finally:
        screen.close()
    if json:
        print_json({"out": out, "jobs": [{**vars(one), "files": len(one.files)} for one in datasets]})
    elif not quiet:
        last = datasets[-1]
        rest = {name: count for name, count in last.outcomes.items() if count and name != "published"}
        print(f"{last.samples:,} samples in {last.shards} shards, {last.bytes / 1e6:,.1f} MB: {out}/{last.job}")
        if rest:
            print("not published: " + ", ".join(f"{count:,} {name}" for name, count in rest.items()))
        print(f"look at it: k3data view {out}")


def plan(
    recipe: Recipe,
    set_: Set = None,
    out: Into = None,
    limit: Limit = None,
    pilot: Annotated[int, typer.Option("--pilot", min=0, help="Items to try for the estimate; 0 for none.")] = 6,
    json: Json = False,
) -> None:
    """Show what a recipe would do: jobs, units, items, and an estimate of time and space. Writes nothing."""
    from .look import plan_facts, plan_text

    start_logging(False)
    loaded, _ = _load(recipe, set_)
    facts = plan_facts(loaded, out or f"out/{loaded.name}", limit, pilot)
    print_json(facts) if json else print(plan_text(facts))


def status(out: Out, json: Json = False) -> None:
    """Show how far an output is: per job its units, items and outcomes, and whether a run is at work."""
    from .look import status_facts, status_text

    facts = status_facts(out)
    print_json(facts) if json else print(status_text(facts))


def verify(
    out: Out,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Instead, re-derive the proofs of scattered items.")
    ] = False,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="The tokenizer's file or folder. Default: the one in the output.")
    ] = None,
    job: Job = None,
    json: Json = False,
) -> None:
    """Recount an output from the bytes of its shards, and name everything that is lost, doubled or damaged."""
    from .verify import verify as verify_output

    if proofs:
        from .proofs import verify_proofs

        report: Any = verify_proofs(out, job, tokenizer)
    else:
        report = verify_output(out, job)
    if json:
        print_json(report.as_dict())
    else:
        print(report.text())
    if report.problems:
        raise typer.Exit(errors.WORK_FAILED)


def gc(
    out: Out,
    yes: Annotated[bool, typer.Option("--yes", help="Remove; without it the files are only listed.")] = False,
    min_age: Annotated[float, typer.Option("--min-age", help="Spare files younger than so many minutes.")] = 60,
    json: Json = False,
) -> None:
    """List, and with --yes remove, files that no ledger record names: leftovers of killed runs and dropped units."""
    from .gc import collect

    found = collect(out, min_age_s=min_age * 60, remove=yes)
    if json:
        print_json({"removed": yes, "files": [{"path": one.path, "bytes": one.size} for one in found]})
        return
    for one in found:
        print(f"{one.size:>12,}  {one.path}")
    total = sum(one.size for one in found)
    print(f"{len(found)} files, {total:,} bytes" + (" removed" if yes else "; give --yes to remove them"))
