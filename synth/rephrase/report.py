"""The report on a job of `synth.rephrase`: one self-contained page, or its figures.

Pass rates by style, model and reason, what gives away a template, the cost, and rewrites drawn at random beside their
sources, with what differs and what a check objects to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...pipelines import page
from ...pipelines import recipe as recipes
from ...pipelines.errors import UserError
from ...pipelines.output import RECIPE_FILE, open_output
from ...pipelines.reader import Dataset
from ...pipelines.stage import Context
from . import backends
from .measures import Measures, differences, measure
from .reasons import REASONS, reasons
from .rephrase import Rephrase
from .rows import KIND, unpacked

_MOST_TEXT = 12_000


def open_rewrites(out: str, job: str | None = None) -> Dataset:
    """The data set to report on: that of the job named, or of the recipe's first whose samples are rewrites.

    Raises:
        UserError: there is none.
    """
    for name in [job] if job else open_output(out)[1].jobs:
        dataset = Dataset.open(out, job=name)
        if KIND in dataset.samples["kind"].unique().to_pylist():
            return dataset
    raise UserError(f"{out}: no job of it holds rewrites; this is a report on what `synth.rephrase` makes")


def account_of(out: str, job: str) -> dict[str, Any] | None:
    """What the job's answers have cost, from the account among the calls; None where nobody was paid.

    The recipe that the output holds says where the calls lie.
    """
    store, root = open_output(out)
    recipe = recipes.parse(store.read(RECIPE_FILE).decode(), f"{store.url}/{RECIPE_FILE}", Path(root.base))
    made = next(one for one in recipe.jobs if one.name == job)
    stage = next((step.build for step in made.stages if isinstance(step.build, Rephrase)), None)
    if stage is None:
        return None
    context = Context(recipe.seed, recipe.name, job, "", Path(), store.url, recipe.base)
    summary = stage.account(context)
    if summary is None:
        return None
    totals = summary.totals
    return {
        "usd": summary.usd, "calls": totals.calls, "cached": totals.cached, "prompt_tokens": totals.prompt_tokens,
        "completion_tokens": totals.completion_tokens, "each": summary.usd_per_accepted_million,
    }  # fmt: skip


def figures(dataset: Dataset, account: dict[str, Any] | None = None, shown: int = 0) -> tuple[Measures, dict[str, Any]]:
    """The measures of a data set, and as JSON with the run's account."""
    found = measure((dataset[at] for at in range(len(dataset))), shown=shown)
    if not found.answers:
        raise UserError(f"{dataset.store.url}: no rewrite in it")
    return found, {**found.as_json(), "account": account}


def write_report(dataset: Dataset, to: str | Path, account: dict[str, Any] | None = None, shown: int = 20) -> int:
    """Write the page. Returns how many texts it shows."""
    found, facts = figures(dataset, account, shown)
    Path(to).write_text(_page(dataset, found, facts), encoding="utf-8")
    return len(found.shown)


def _page(dataset: Dataset, found: Measures, facts: dict[str, Any]) -> str:
    models = sorted({model for _, model in found.styles})
    accepted = [one for one in facts["styles"] if one["passed"]]
    data = {
        **facts,
        "models": len(models), "by": ", ".join(models), "demo": any(map(backends.is_demo, models)),
        "copied": sum(one["copied"] * one["passed"] for one in accepted) / max(found.passed, 1),
        "opening": max((one["commonest_opening_share"] for one in accepted), default=0.0),
        "reasons": {code: told.rstrip(".") for code, told in REASONS.items()},
        "rows": [_row(one) for one in found.shown],
    }  # fmt: skip
    return page.render(
        page.read(__file__, "report.html"),
        title=f"{dataset.info.get('name') or 'rewrites'}: what was rewritten",
        style=page.SHARED_STYLE + page.read(__file__, "report.css"),
        script=page.SHARED_SCRIPT + page.read(__file__, "report.js"),
        data=data,
    )


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A rewrite for the page: its places are [start, end, class, what a check says]."""
    source, text = row["source"][:_MOST_TEXT], row["text"][:_MOST_TEXT]
    gone, new = differences(source, text)
    places: dict[bool, list[list[Any]]] = {
        True: [[*one, "gone", ""] for one in gone], False: [[*one, "new", ""] for one in new]
    }  # fmt: skip
    failed: list[str] = []
    for chunk in row["chunks"]:
        checks = [check for check in map(unpacked, chunk["checks"]) if not check.ok]
        own, said = row["source"][slice(*chunk["source"])], row["text"][slice(*chunk["text"])]
        failed += reasons(checks, own, said)
        for check in checks:
            shift = chunk["source" if check.of_source else "text"][0]
            told = REASONS.get(check.code, check.code)
            places[check.of_source] += [[low + shift, high + shift, "fault", told] for low, high in check.spans]
    inside = {of: [[low, min(high, _MOST_TEXT), *rest] for low, high, *rest in found if low < min(high, _MOST_TEXT)]
              for of, found in places.items()}  # fmt: skip
    return {
        "id": row["id"], "style": row["style"],
        # Rules know no perspective.
        "facts": [row["model"], *([] if row["backend"] == "rule" else [row["perspective"], row["length"]])],
        "source": source, "text": text, "failed": list(dict.fromkeys(failed)),
        "source_places": inside[True], "text_places": inside[False],
    }  # fmt: skip
