"""The verb `synth` with its own: report, calibrate, prompts, calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import errors
from .cli_options import Job, Json, Out, print_json
from .cli_tokenizer import From

app = typer.Typer(
    help="Look into rewriting: what was accepted and why not, prompts, stored answers.", no_args_is_help=True
)

Calls_ = Annotated[str, typer.Argument(metavar="CALLS", help="Folder or URL of stored answers.")]


@app.command()
def report(
    out: Out,
    to: Annotated[Path | None, typer.Option("--to", help="Where to write it. Default: OUT.rewrites.html.")] = None,
    count: Annotated[int, typer.Option("--texts", min=1, help="How many rewrites to show beside their sources.")] = 20,
    job: Job = None,
    json: Json = False,
) -> None:
    """Pass rates by style and reason, templates, cost, and rewrites beside their sources, on one page."""
    from ..synth.rephrase.report import account_of, figures, open_rewrites, write_report

    dataset = open_rewrites(out, job)
    account = account_of(out, str(dataset.info["job"]))
    if json:
        print_json(figures(dataset, account)[1])
        return
    if to is None and "://" in out:
        raise errors.UserError("say with --to where on this machine the page is to be written")
    target = to or Path(f"{out.rstrip('/')}.rewrites.html")
    write_report(dataset, target, account, count)
    print(target)


@app.command()
def calibrate(
    places: From,
    style: Annotated[str, typer.Option("--style", help="Whose rules: a style of the verifier.")] = "paraphrase",
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="How many rewrites to judge, about.")] = 400,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    job: Job = None,
    json: Json = False,
) -> None:
    """Plant errors of every kind into your own texts, and see which of them the verifier finds; no call is made."""
    from ..synth.verify.calibrate import calibrate as plant_and_judge
    from ..synth.verify.calibrate import render
    from .corpus import read_texts

    texts = (text for _, text in read_texts(places, job=job, split=None))
    found = plant_and_judge(texts, style=style, pairs=pairs, seed=seed)
    print_json(found.as_json()) if json else print(render(found))


@app.command()
def prompts(
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="Your own. Default: those shipped.")] = None,
    show: Annotated[str | None, typer.Option("--show", help="Print one, as a model reads it.")] = None,
    lock: Annotated[bool, typer.Option("--lock", help="Write the folder's lock file.")] = False,
    json: Json = False,
) -> None:
    """List prompt families, check them against their lock file, or show one."""
    from ..synth.rephrase import prompts as families

    where = folder or families.FOLDER
    known = families.load_prompts(where)
    if show is not None:
        prompt = families.chosen([show], where)[show]
        values = {name: f"<{name}>" for name in families.VARIABLES}
        print("\n\n".join(f"[{one.role}]\n{one.content}" for one in prompt.messages(values)))
        return
    changes = families.write_lock(where) if lock else families.check_lock(where)
    facts = [one.model_dump(exclude={"system", "user"}) for one in known.values()]
    if json:
        print_json({"folder": str(where), "prompts": facts, "changes": changes})
    else:
        for one in known.values():
            print(f"{one.id:<22} v{one.version}  {one.family:<10} {one.summary}")
        for line in changes:
            print(f"{'locked' if lock else 'not as locked'}: {line}")
    if changes and not lock:
        raise typer.Exit(errors.WORK_FAILED)


@app.command("calls")
def calls_(
    calls: Calls_,
    verify: Annotated[bool, typer.Option("--verify", help="Read everything, and name what is damaged.")] = False,
    pack: Annotated[bool, typer.Option("--pack", help="Fold single answers into one file, which reads fast.")] = False,
    export: Annotated[Path | None, typer.Option("--export", help="Write all answers into a file for replay.")] = None,
    json: Json = False,
) -> None:
    """Stored answers: count them, check them, fold them into one file, export them."""
    from ..synth.chat.store import Calls

    if "://" not in calls and not Path(calls).is_dir():
        raise errors.UserError(f"{calls}: no such folder of answers")
    store = Calls(calls)
    facts: dict[str, Any] = {"calls": calls}
    try:
        if pack:
            facts["packed"] = store.pack(remove=True)
        if export is not None:
            facts["exported"] = store.export(export)
        if verify or not (pack or export):
            checked = store.verify()
            facts |= {"answers": checked.replies, "refusals": checked.refusals, "damage": list(checked.damage)}
    finally:
        store.close()
    if json:
        print_json(facts)
    else:
        print(", ".join(f"{value:,} {name}" for name, value in facts.items() if isinstance(value, int)))
        for line in facts.get("damage", []):
            print(f"damaged: {line}")
    if facts.get("damage"):
        raise typer.Exit(errors.WORK_FAILED)
