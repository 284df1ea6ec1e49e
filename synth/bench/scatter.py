"""How many scattered items hold, what a second program says of their proofs, and how fast 1M-token windows are made.

Documents are Python sources that are installed, tokenised once; pictures state facts. Windows of 64K, 256K and 1M go
through the engine; every proof is re-derived from what lies in the shards; proofs are damaged in fourteen ways; and
one process alone is timed over whole 1M windows, from drawing the items to the shard. The peer is placement as it is
often done, uniform at random: how many of the same items fit into three quarters of the window.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ...pipelines.proofs import ProofChecker, verify_proofs
from ...pipelines.reader import Dataset
from ...pipelines.recipe import load
from ...pipelines.shards import ShardSet
from ...pipelines.stage import Context
from ...pipelines.tokens import read_token_sample
from ...tokenizer import Tokenizer
from ..scatter.draw import Draw
from ..scatter.families import FAMILIES
from ..scatter.prove import Placed, Unproved, prove
from .corrupt import corrupt_and_check

NAME = "scatter"
SUMMARY = (
    "scattered items: proofs re-derived by a second program, short cuts, corrupted proofs, 1M-token windows a second"
)

_RECIPE = """
name: scatter
seed: 7
jobs:
  - name: pictures
    source:
      - vision.fact_pictures: {{kinds: [{kinds}], count: {pictures}}}
    stages:
      - vision.render:
          {{svg: {{width: 448, height: 448}}, web: {{width: 448, height: 448}}, cad: {{width: 224, height: 298}}}}
      - vision.facts: {{}}
  - name: documents
    source:
      - jsonl: {{glob: "texts.jsonl", licence: PSF-2.0, domain: code}}
    stages:
      - curriculum.tokenise: {{tokenizer: tokenizer}}
{windows}
splits: {{val: 0.0, test: 0.0}}
"""
_WINDOWS = """
  - name: windows_{window}
    source:
      - synth.scatter:
          documents: [{{job: documents}}]
          pictures: [{{job: pictures}}]
          tokenizer: tokenizer
          window: {window}
          windows: {count}
          items: [{items}, {most}]
          clues: [5, 12]
          picture_share: 0.3
          reuse: true
"""
_MILLION = 1 << 20


def run(quick: bool) -> dict[str, Any]:
    """The figures of the module's first lines."""
    sizes = (
        {65536: (8, 3, 6), _MILLION: (2, 6, 8)}
        if quick
        else {65536: (96, 3, 6), 262144: (32, 4, 8), _MILLION: (16, 6, 10)}
    )
    with tempfile.TemporaryDirectory(prefix="k3data-scatter-") as name:
        folder = Path(name)
        tokenizer = _documents(folder, 2_000_000 if quick else 40_000_000, 4096 if quick else 16384)
        windows = "".join(
            _WINDOWS.format(window=window, count=count, items=few, most=many)
            for window, (count, few, many) in sizes.items()
        )
        kinds, pictures = ("svg", 60) if quick else ("svg, web, cad", 360)
        (folder / "scatter.yaml").write_text(_RECIPE.format(kinds=kinds, pictures=pictures, windows=windows))
        _k3data("run", str(folder / "scatter.yaml"), "--out", str(folder / "scatter"), "-q")
        reports = {
            window: verify_proofs(str(folder / "scatter"), f"windows_{window}", str(folder / "tokenizer")).found
            for window in sizes
        }
        samples = [
            read_token_sample(members)
            for members in Dataset.open(str(folder / "scatter"), job="windows_65536").iter_raw()
        ]
        with ProofChecker() as checker:
            tried, missed = corrupt_and_check(
                samples, tokenizer, lambda one: checker.problems(one, tokenizer), 40 if quick else 300
            )
        speed = _alone(folder, 2 if quick else 6)
    wrong = sum((one.wrong for one in reports.values()), Counter[str]())
    families = sum((one.families for one in reports.values()), Counter[str]())
    solved = sum((one.lexical for one in reports.values()), Counter[str]())
    lexical = {f"lexical_solved_{name}": round(solved[name] / count, 3) for name, count in sorted(families.items())}
    figures = {
        "items": sum(one.items for one in reports.values()),
        "proofs_rechecked": sum(one.checked for one in reports.values()),
        "solvable_in_75pct_window": wrong["window"],
        "solvable_without_context": wrong["no_context"],
        "ablations_that_do_not_break": wrong["ablation"],
        "image_borne_share": round(reports[_MILLION].pictured / reports[_MILLION].items, 3),
        **lexical,
        **speed,
        "corrupted_proofs": sum(tried.values()),
        "corrupted_kinds": len(tried),
        "corrupted_proofs_missed": len(missed),
    }
    return {"figures": figures, "peers": {"uniform_placement": _uniform(200 if quick else 2000)}}


def _documents(folder: Path, size: int, vocabulary: int) -> Tokenizer:
    """Write `size` bytes of installed Python sources as JSON Lines, and train a tokenizer on a part of them."""
    from ...tokenizer.train import train

    texts: list[str] = []
    roots = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    for path in (path for root in roots for path in sorted(root.rglob("*.py"))):
        text = path.read_bytes().decode("utf-8", "ignore")
        if text and size > 0:
            texts.append(text)
            size -= len(text)
    (folder / "texts.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts) + "\n")
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "tokenizer.json").write_bytes(train(texts[:400], vocabulary))
    return Tokenizer.load(folder / "tokenizer")


def _k3data(*arguments: str) -> None:
    command = [sys.executable, "-c", "from k3data.pipelines.cli import main; main()", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _alone(folder: Path, windows: int) -> dict[str, float]:
    """Whole 1M windows in one fresh process on one core: tokens a second of CPU time, and the process's peak memory."""
    pipe, child = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_build, args=(str(folder), windows, child))
    process.start()
    measured = pipe.recv()
    process.join()
    return measured


def _build(folder: str, windows: int, pipe: Any) -> None:
    os.environ["RAYON_NUM_THREADS"] = "1"
    recipe = load(Path(folder) / "scatter.yaml")
    source: Any = recipe.jobs[-1].sources[0].build
    source = source.model_copy(update={"windows": windows + 1})
    context = Context(recipe.seed + 1, recipe.name, "alone", "unit", Path(folder), f"{folder}/scatter", Path(folder))
    slices = list(source.plan(context, windows + 1))
    seconds, tokens = [], 0
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        shards = ShardSet(Path(scratch), "unit")
        begun = time.process_time()
        for item in source.read(slices[0].where, slices[0].inputs, context):
            record = item.load()
            record.id = item.key
            shards.add(record)
            seconds.append(time.process_time() - begun)
            tokens = len(record.metadata["sample"].tokens)
            begun = time.process_time()
        shards.finish()
    pipe.send({
        # The first window also opens data sets and spells words for the first time.
        "tokens_per_s_per_core_1m": round(tokens / statistics.median(seconds[1:])),
        "peak_rss_mib": _peak_mib(),
    })  # fmt: skip


def _peak_mib() -> int:
    """The most memory this process has held. Not `ru_maxrss`, in which a child begins with what its parent held."""
    status = Path("/proc/self/status").read_text()
    return round(int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024)


def _uniform(count: int) -> dict[str, float]:
    """Items of text placed uniformly at random: the share that three quarters of the window suffice for."""
    solvable = tried = 0
    names = [name for name, one in FAMILIES.items() if not one.pictures]
    for number in range(count):
        rng = random.Random(f"uniform:{number}")
        item = FAMILIES[names[number % len(names)]].generate(Draw(rng), rng.randint(5, 12))
        places = sorted(rng.sample(range(_MILLION), len(item.clues) + len(item.distractors)))
        clues: list[tuple[int | None, Any]] = list(enumerate(item.clues))
        if not item.ordered:
            rng.shuffle(clues)
        at = sorted(rng.sample(range(len(places)), len(clues)))
        rest = [place for place in range(len(places)) if place not in at]
        placed = [Placed(clue, places[one], places[one] + 1, n) for one, (n, clue) in zip(at, clues, strict=True)]
        placed += [
            Placed(clue, places[one], places[one] + 1, None) for one, clue in zip(rest, item.distractors, strict=True)
        ]
        tried += 1
        try:
            prove(item, sorted(placed, key=lambda one: one.start), _MILLION)
        except Unproved as why:
            solvable += why.code == "shortcut_window"
    return {"solvable_in_75pct_window_share": round(solvable / tried, 3)}
