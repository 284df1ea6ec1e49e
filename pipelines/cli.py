"""The `k3data` command. Each verb reads its arguments, calls one function of the engine, and prints what it gave.

Imports are inside the verbs, so that `k3data --help` answers at once. Exit codes: 0 done, 1 some work failed (and is
named), 2 the input is wrong, 130 interrupted.
"""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from . import errors

app = typer.Typer(
    help="Make verified, sharded multimodal training data from a recipe, look at it, and train on it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

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


def main() -> None:
    """Entry point: turns our errors into one line and the right exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = app(standalone_mode=False)  # verbs return nothing; typer returns the code of an Exit
    except errors.K3DataError as error:
        _fail(str(error), error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own: unknown verb, option or argument
            error.show()  # type: ignore[attr-defined]
            sys.exit(errors.WRONG_INPUT)
        raise
    if code == errors.INTERRUPTED:
        _fail("interrupted; what is done is kept, and the same command goes on from there", code)
    sys.exit(code or errors.DONE)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> None:
    print(f"k3data: {message}", file=sys.stderr)
    sys.exit(code)


def _logging(verbose: bool) -> None:
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.ERROR, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr
    )
    for name in ("botocore", "aiobotocore", "s3fs", "fsspec", "asyncio", "urllib3", "PIL"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _print(values: Any) -> None:
    import orjson

    sys.stdout.write(orjson.dumps(values, option=orjson.OPT_INDENT_2, default=str).decode() + "\n")


def _load(recipe: str, overrides: list[str] | None) -> tuple[Any, str]:
    """The recipe, and the name that messages use for it."""
    from . import recipe as recipes
    from .shipped import find

    path = find(recipe)
    return recipes.load(path, tuple(overrides or ())), str(path)


@app.command()
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
    _logging(verbose)
    loaded, file = _load(recipe, set_)
    if preview:
        from .look import described, preview_results, preview_text

        for job, result in preview_results(loaded, out or f"out/{loaded.name}", preview):
            _print(described(job, result)) if json else print(preview_text(job, result), end="\n\n")
        return
    _run(loaded, out or f"out/{loaded.name}", file, limit, workers, replan, json, quiet)


@app.command()
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
    _logging(verbose)
    from . import recipe as recipes
    from .output import RECIPE_FILE, open_output

    store, root = open_output(out)
    file = f"{store.url}/{RECIPE_FILE}"
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
        _print({"out": out, "jobs": [{**vars(one), "files": len(one.files)} for one in datasets]})
    elif not quiet:
        last = datasets[-1]
        rest = {name: count for name, count in last.outcomes.items() if count and name != "published"}
        print(f"{last.samples:,} samples in {last.shards} shards, {last.bytes / 1e6:,.1f} MB: {out}/{last.job}")
        if rest:
            print("not published: " + ", ".join(f"{count:,} {name}" for name, count in rest.items()))
        print(f"look at it: k3data view {out}")


@app.command()
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

    _logging(False)
    loaded, _ = _load(recipe, set_)
    facts = plan_facts(loaded, out or f"out/{loaded.name}", limit, pilot)
    _print(facts) if json else print(plan_text(facts))


@app.command()
def status(out: Out, json: Json = False) -> None:
    """Show how far an output is: per job its units, items and outcomes, and whether a run is at work."""
    from .look import status_facts, status_text

    facts = status_facts(out)
    _print(facts) if json else print(status_text(facts))


@app.command()
def verify(out: Out, job: Job = None, json: Json = False) -> None:
    """Recount an output from the bytes of its shards, and name everything that is lost, doubled or damaged."""
    from .verify import verify as verify_output

    report = verify_output(out, job)
    if json:
        _print(report.as_dict())
    else:
        print(report.text())
    if report.problems:
        raise typer.Exit(errors.WORK_FAILED)


@app.command()
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
        _print({"removed": yes, "files": [{"path": one.path, "bytes": one.size} for one in found]})
        return
    for one in found:
        print(f"{one.size:>12,}  {one.path}")
    total = sum(one.size for one in found)
    print(f"{len(found)} files, {total:,} bytes" + (" removed" if yes else "; give --yes to remove them"))


@app.command()
def inspect(
    out: Out,
    sample: Annotated[str | None, typer.Argument(metavar="[ID]", help="A sample's id, or the beginning of it.")] = None,
    where: Annotated[str | None, typer.Option("--where", metavar="SQL", help="\"kind='svg' and width>400\"")] = None,
    rejects: Annotated[bool, typer.Option("--rejects", help="What was not published, and why.")] = False,
    columns: Annotated[str | None, typer.Option("--columns", help="Columns of the index, joined by commas.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="At most so many rows.")] = 20,
    job: Job = None,
    json: Json = False,
) -> None:
    """Look at samples: one by its id, those that a condition selects, or what was left out."""
    from . import query
    from .look import find_sample, rejects_relation, sample_text
    from .reader import Dataset

    if rejects:
        relation = rejects_relation(out, job, where)
    else:
        dataset = Dataset.open(out, job=job)
        if sample:
            record = find_sample(dataset, sample)
            if json:
                from .record import to_sample

                _print(to_sample(record))
            else:
                print(sample_text(record))
            return
        chosen = columns.split(",") if columns else query.COLUMNS
        relation = query.where(dataset, where or "true", chosen)
    if json:
        _print(relation.limit(count).to_arrow_table().to_pylist())
    else:
        relation.show(max_rows=count, max_width=200)


@app.command()
def stats(out: Out, job: Job = None, json: Json = False) -> None:
    """Counts by kind, split, licence and task, sizes, and what was left out at which stage."""
    from . import query
    from .look import stats_text
    from .reader import Dataset

    facts = query.stats(Dataset.open(out, job=job))
    _print(facts) if json else print(stats_text(facts))


@app.command()
def view(
    out: Out,
    to: Annotated[
        Path | None, typer.Option("--to", help="The page's file. Default: gallery.html in the current folder.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only samples of this kind.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="At most so many samples.")] = 240,
    seed: Annotated[int, typer.Option("--seed", help="Which samples are chosen.")] = 0,
    job: Job = None,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page of pictures beside their code and tasks; it opens from disk."""
    from .gallery import write_gallery
    from .reader import Dataset

    page = to or Path("gallery.html")
    shown = write_gallery(Dataset.open(out, job=job), page, limit=count, kind=kind, seed=seed)
    if json:
        _print({"page": str(page), "samples": shown})
    else:
        print(f"{shown} samples: {page.resolve().as_uri()}")


@app.command()
def card(
    out: Out,
    to: Annotated[Path | None, typer.Option("--to", help="Folder to write it into; else it is printed.")] = None,
    job: Job = None,
) -> None:
    """Print an output's dataset card, or write it with its pictures."""
    from .look import card_files

    files = card_files(out, job)
    if to is None:
        sys.stdout.write(files["README.md"].decode())
        return
    for path, data in files.items():
        target = to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    print(f"{len(files)} files in {to}")


@app.command()
def stages(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this source or stage.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print a JSON schema of recipes, for editors.")] = False,
    json: Json = False,
) -> None:
    """List what a recipe can name, with parameters and defaults."""
    from .catalogue import catalogue, catalogue_text, recipe_schema

    if schema:
        _print(recipe_schema())
        return
    found = catalogue(name)
    _print(found) if json else print(catalogue_text(found))


@app.command()
def init(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="The recipe file to write.")] = Path("recipe.yaml"),
    like: Annotated[str, typer.Option("--like", help="The shipped recipe to begin from.")] = "code_render",
) -> None:
    """Write a recipe of your own to begin with, a copy of a shipped one under its own name."""
    from .shipped import copy_as

    copy_as(like, to)
    print(f"{to}: try `k3data run {to} --preview 3`, then `k3data run {to}`")


@app.command()
def doctor(json: Json = False) -> None:
    """Check this machine: packages, browser, fonts, isolation, disk; says what is missing and how to get it."""
    from .doctor import check, check_text

    found = check()
    _print(found) if json else print(check_text(found))
    if any(one["needed"] and not one["ok"] for one in found):
        raise typer.Exit(errors.WORK_FAILED)


@app.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which benchmark; without it they are listed.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small form that ends within 50 s.")] = False,
    json: Json = False,
) -> None:
    """Measure this installation against its peers, side by side."""
    from .bench import harness

    if name is None:
        found = harness.discover()
        _print({key: one.summary for key, one in found.items()}) if json else print(
            "\n".join(f"{key:<12} {one.summary}" for key, one in found.items())
        )
        return
    result = harness.run(name, quick)
    _print(result) if json else print(harness.text(result))


if __name__ == "__main__":
    main()
