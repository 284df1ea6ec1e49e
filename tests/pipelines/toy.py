"""Small stages for recipes under test, each misbehaving in one way, and a recipe to put them in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from datatrove.data import Document
from k3data.pipelines import recipe as recipes
from k3data.pipelines.output import DatasetFile
from k3data.pipelines.recipe import Recipe
from k3data.pipelines.run import Options
from k3data.pipelines.run import run as run_recipe
from k3data.pipelines.screen import Quiet
from k3data.pipelines.stage import Context, Failed, Filtered, InvalidInput, Stage

HERE = __name__


def number(record: Document) -> int:
    return int(record.text.split()[1])


class Sieve(Stage):
    """Filters, refuses and fails on chosen numbers."""

    filtered: list[int] = []
    invalid: list[int] = []
    raised: list[int] = []
    timed_out: list[int] = []
    delay_s: float = 0.0
    secret: str = ""

    def process(self, record: Document) -> Document:
        time.sleep(self.delay_s)
        at = number(record)
        if at in self.filtered:
            raise Filtered("chosen", f"number {at}")
        if at in self.invalid:
            raise InvalidInput("refused", f"number {at}")
        if at in self.raised:
            raise ValueError(f"cannot do {at}")
        if at in self.timed_out:
            raise Failed("timeout", f"took {time.time()} s", fickle=True)
        return record


class Double(Stage):
    """Gives two records for one."""

    def process(self, record: Document) -> list[Document]:
        second = Document(f"{record.text} again", "", [], {**record.metadata})
        return [record, second]


class Wait(Sieve):
    """Waits for each record, the less the later it comes, and so many at once."""

    at_once: int = 1

    @property
    def concurrency(self) -> int:
        return self.at_once

    def status(self, context: Context) -> str:
        return f"{self.at_once} at once in {context.job}"

    def process(self, record: Document) -> Document:
        time.sleep(0.02 * (10 - number(record) % 10))
        return super().process(record)


class Die(Stage):
    """Takes its whole process with it."""

    at: int
    code: int | None = None

    def process(self, record: Document) -> Document:
        if number(record) == self.at:
            if self.code is not None:
                os._exit(self.code)
            os.kill(os.getpid(), 9)
        return record


class DieOnce(Stage):
    """Takes its process with it the first times: an accident, not the item's doing."""

    at: int
    marks: str
    times: int = 1

    def process(self, record: Document) -> Document:
        mark = Path(self.marks)
        if number(record) == self.at and (not mark.exists() or len(mark.read_text()) < self.times):
            with mark.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), 9)
        return record


class Hog(Stage):
    """Takes memory and keeps it."""

    at: int
    megabytes: int

    def process(self, record: Document) -> Document:
        if number(record) == self.at:
            hoard = bytearray(b"1" * (self.megabytes * 10**6))
            time.sleep(60)
            record.text += str(len(hoard))
        return record


class BreakSpans(Stage):
    """Shortens the text under its spans."""

    def process(self, record: Document) -> Document:
        record.metadata["turns"] = [{"role": "user", "channel": "text", "start": 0, "end": len(record.text) + 5}]
        return record


class Unwritable(Stage):
    """Leaves something in a record that no JSON can hold."""

    at: int

    def process(self, record: Document) -> Document:
        if number(record) == self.at:
            record.metadata["domain"] = object()
        return record


class Stuck(Stage):
    """Opens, and then does not answer."""

    def open(self, context: Context) -> None:
        raise RuntimeError("cannot open")


def write_lines(folder: Path, count: int, name: str = "items.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps({"text": f"item {at}", "number": at}) + "\n" for at in range(count)))
    return path


def recipe_text(stages: str = "", *, unit: int = 10, more: str = "", source: str = "") -> str:
    source = source or "jsonl: {glob: items.jsonl, licence: MIT}"
    return f"""name: toy
seed: 5
jobs:
  - name: work
    source:
      - {source}
    stages: [{stages}]
    units: {{items: {unit}}}
{more}
"""


def toy_recipe(folder: Path, stages: str = "", **options: Any) -> Recipe:
    """A recipe over `items.jsonl` of the folder; `stages` is what `stage` gives, joined by commas."""
    text = recipe_text(stages, **options)
    (folder / "recipe.yaml").write_text(text)
    return recipes.parse(text, "recipe.yaml", folder)


def stage(name: str, **parameters: Any) -> str:
    """One stage of this module in YAML flow form."""
    return json.dumps({f"{HERE}:{name}": parameters})


def run(recipe: Recipe, out: Path | str, workers: int = 1, **options: Any) -> list[DatasetFile]:
    return run_recipe(recipe, str(out), Options("recipe.yaml", workers=workers, **options), Quiet())


def command(*arguments: str, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """The `k3data` command as a process, open to Ctrl-C also where the tests run in the background of a shell, which
    has its children ignore it."""
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from k3data.pipelines.cli import main; main()"
    )
    program = [sys.executable, "-c", start, *arguments]
    return subprocess.Popen(program, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def tar_bytes(out: Path) -> dict[str, bytes]:
    """Every shard of an output by name."""
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.tar"))}
