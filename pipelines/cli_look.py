"""The verbs that show something: inspect, stats, view, card, stages, init, doctor, bench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import errors
from .cli_options import Job, Json, Out, print_json

if TYPE_CHECKING:
    from .reader import Dataset


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

                print_json(to_sample(record))
            else:
                print(sample_text(record))
            return
        chosen = columns.split(",") if columns else query.COLUMNS
        relation = query.where(dataset, where or "true", chosen)
    if json:
        print_json(relation.limit(count).to_arrow_table().to_pylist())
    else:
        relation.show(max_rows=count, max_width=200)


def stats(out: Out, job: Job = None, json: Json = False) -> None:
    """Counts by kind, split, licence and task, sizes, and what was left out at which stage."""
    from . import query
    from .look import stats_text
    from .reader import Dataset

    facts = query.stats(Dataset.open(out, job=job))
    print_json(facts) if json else print(stats_text(facts))


def view(
    out: Out,
    to: Annotated[
        Path | None, typer.Option("--to", help="The page's file. Default: gallery.html in the current folder.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only samples of this kind.")] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="At most so many samples. Default: 240; 12 sequences.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which samples are chosen.")] = 0,
    tokenizer: Annotated[
        Path | None, typer.Option("--tokenizer", help="For token ids, if the output holds no tokenizer.")
    ] = None,
    job: Job = None,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page: pictures beside their code and tasks, or sequences over their window."""
    from .reader import Dataset
    from .tokens import SIGNATURE

    page, dataset = to or Path("gallery.html"), Dataset.open(out, job=job)
    if kind is None and len(dataset) and dataset.shards["signature"][0].as_py() == SIGNATURE:
        shown = _view_sequences(out, job, dataset, page, count, seed, tokenizer)
    else:
        from .gallery import write_gallery

        shown = write_gallery(dataset, page, limit=count or 240, kind=kind, seed=seed)
    if json:
        print_json({"page": str(page), "samples": shown})
    else:
        print(f"{shown} samples: {page.resolve().as_uri()}")


def _view_sequences(
    out: str, job: str | None, dataset: Dataset, page: Path, count: int | None, seed: int, tokenizer: Path | None
) -> int:
    try:
        from ..curriculum import view
    except ModuleNotFoundError as error:
        from .table import needs

        raise errors.UserError(f"view of sequences: {needs(error)}") from None
    stages = view.packed_stages(out)
    return view.write_view(dataset, page, stages=stages, limit=count or view.LIMIT, seed=seed, tokenizer=tokenizer)


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


def stages(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this source or stage.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print a JSON schema of recipes, for editors.")] = False,
    json: Json = False,
) -> None:
    """List what a recipe can name, with parameters and defaults."""
    from .catalogue import catalogue, catalogue_text, recipe_schema

    if schema:
        print_json(recipe_schema())
        return
    found = catalogue(name)
    print_json(found) if json else print(catalogue_text(found))


def init(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="The recipe file to write.")] = Path("recipe.yaml"),
    like: Annotated[str, typer.Option("--like", help="The shipped recipe to begin from.")] = "code_render",
) -> None:
    """Write a recipe of your own to begin with, a copy of a shipped one under its own name."""
    from .shipped import copy_as

    copy_as(like, to)
    print(f"{to}: try `k3data run {to} --preview 3`, then `k3data run {to}`")


def doctor(json: Json = False) -> None:
    """Check this machine: packages, browser, fonts, isolation, disk; says what is missing and how to get it."""
    from .doctor import check, check_text

    found = check()
    print_json(found) if json else print(check_text(found))
    if any(one["needed"] and not one["ok"] for one in found):
        raise typer.Exit(errors.WORK_FAILED)


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
        print_json({key: one.summary for key, one in found.items()}) if json else print(
            "\n".join(f"{key:<12} {one.summary}" for key, one in found.items())
        )
        return
    result = harness.run(name, quick)
    print_json(result) if json else print(harness.text(result))
