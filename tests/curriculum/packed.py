"""A small run of the whole way: records with pictures and tasks, tokenised, and packed into two stages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from k3data.pipelines import recipe as recipes
from k3data.pipelines.record import OBJECT, image, licence, new_record
from k3data.pipelines.stage import Context, Item, Slice, Source
from k3data.tests.curriculum.texts import prose
from k3data.tests.pipelines.samples import picture
from k3data.tests.pipelines.toy import run

HERE = __name__
WORDS = (12, 40, 90, 300, 900, 4000)


class Mixed(Source):
    """Texts of several lengths, domains and licences; every fourth is a picture with a task."""

    count: int = 240

    def plan(self, context: Context, unit_items: int | None):
        for start in range(0, self.count, 60):
            yield Slice({"start": start}, min(60, self.count - start))

    def read(self, where: dict[str, Any], inputs: tuple, context: Context):
        for at in range(where["start"], min(where["start"] + 60, self.count)):
            yield Item(str(at), f"mixed-{at}", lambda at=at: make(at))


def make(at: int):
    shown = at % 4 == 0
    text = prose(at, WORDS[at % len(WORDS)])
    record = new_record(
        text, kind="svg" if shown else "text", domain="vision" if shown else ("code", "knowledge")[at % 2],
        uri="mixed", item=str(at), content=text,
        licence=licence("CC-BY-SA-4.0" if at % 7 == 0 else "MIT", f"Author {at % 3}"),
    )  # fmt: skip
    if shown:
        width, height = 60 + at, 50
        record.text = f"{OBJECT}\n{record.text}"
        record.media.append(image(picture(at, width, height), mime="image/png", width=width, height=height))
        record.metadata["tasks"] = [
            {"name": "caption", "prompt": f"What is in picture {at}?", "answer": "a disc", "boxes": [], "points": []}
        ]
    return record


def recipe_text(tokenizer: Path, **stages: Any) -> str:
    """A recipe that packs a stage a keyword, each after those before it."""
    jobs: list[dict[str, Any]] = [
        {
            "name": "tokens",
            "source": [{f"{HERE}:Mixed": {}}],
            "stages": [{"curriculum.tokenise": {"tokenizer": str(tokenizer)}}],
        }
    ]
    for name, stage in stages.items():
        pack = {
            "documents": [{"job": "tokens"}],
            "tokenizer": str(tokenizer),
            "stage": stage,
            "after": [job["name"] for job in jobs[1:]],
        }
        jobs.append({"name": name, "source": [{"curriculum.pack": pack}], "units": {"items": 16}})
    splits = {"val": 0.15, "test": 0.0}
    return json.dumps({"name": "small", "seed": 3, "jobs": jobs, "splits": splits})


def parsed(folder: Path, text: str):
    return recipes.parse(text, "recipe.yaml", folder)


SHORT = {
    "name": "short",
    "window": 512,
    "mixture": {"vision": 1, "text": {"domain": ["code", "knowledge"], "share": 3}},
    "tokens": "60%",
    "max_padding": 0.02,
}
LONG = {"name": "long", "window": 2048, "mixture": {"all": {"share": 1}}, "overflow": "split", "max_padding": 0.05}


def make_output(folder: Path, tokenizer: Path) -> Path:
    run(parsed(folder, recipe_text(tokenizer, short=SHORT, long=LONG)), folder / "out")
    return folder / "out"


def copied(out: Path, to: Path) -> Path:
    return Path(shutil.copytree(out, to / "copy"))
