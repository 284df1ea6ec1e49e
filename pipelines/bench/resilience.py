"""Kills runs at every durable step and at random moments, lets them finish, and recounts what came out."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from datatrove.data import Document
from PIL import Image

from ..record import OBJECT, image
from ..stage import Context, Filtered, Stage, seeded_rng
from ..store import open_store
from ..verify import verify
from .faults import Faults, Journal, environment, power_cut

NAME = "resilience"
SUMMARY = "kill -9 at every durable step and at random moments: what is lost, doubled, corrupt or different afterwards"

RANDOM_KILLS = 30
_MARK = "K3DATA_STORM"
"""Environment variable by which the processes of one run are known."""
SIDE = 24
_RECIPE = """
name: storm
seed: 11
jobs:
  - name: work
    source:
      - jsonl: {{glob: "items.jsonl", licence: MIT}}
    stages:
      - {module}:Work: {{delay_s: {delay}}}
    units: {{items: {unit}}}
  - name: pack
    source:
      - compact: {{job: work, max_bytes: 60kB}}
errors: {{budget: 0.2}}
"""


class Work(Stage):
    """Stands for a renderer: gives each record a picture of pseudo-random noise, drops some, fails on some."""

    delay_s: float = 0.0

    def open(self, context: Context) -> None:
        self.__dict__["_context"] = context

    def process(self, record: Document) -> Document:
        time.sleep(self.delay_s)
        number = json.loads(record.metadata["number"])
        if number % 9 == 4:
            raise Filtered("ninth", "every ninth is dropped")
        if number % 17 == 6:
            raise ValueError("every seventeenth fails")
        noise = seeded_rng("picture", record.id).randbytes(SIDE * SIDE * 3)
        buffer = io.BytesIO()
        Image.frombytes("RGB", (SIDE, SIDE), noise).save(buffer, "png")
        record.media = [image(buffer.getvalue(), mime="image/png", width=SIDE, height=SIDE)]
        record.text = OBJECT + record.text
        return record


@dataclass
class Tally:
    """What the recounts found, summed over all kills."""

    kills: int = 0
    found: Counter[str] = field(default_factory=Counter)
    details: list[str] = field(default_factory=list)

    def add(self, what: str, kind: str, count: int) -> None:
        if count:
            self.found[kind] += count
            self.details.append(f"{what}: {count} {kind}")


class Storm:
    """One recipe, its undisturbed result, and the means to kill a run of it.

    Args:
        folder: where inputs and outputs go.
        url: base URL of outputs; the folder itself unless given.
        items, unit, delay_s: size of the recipe.
    """

    def __init__(self, folder: Path, url: str | None = None, *, items: int = 36, unit: int = 12, delay_s: float = 0.0):
        self.folder = folder
        self.base = url or str(folder)
        rows = (json.dumps({"text": f"text number {number}", "number": str(number)}) for number in range(items))
        (folder / "items.jsonl").write_text("\n".join(rows) + "\n")
        (folder / "recipe.yaml").write_text(_RECIPE.format(module=__name__, unit=unit, delay=delay_s))
        self.seconds = 0.0
        self.runs = 0
        self.wanted = self._undisturbed()

    def _undisturbed(self) -> dict[str, str]:
        out = f"{self.base}/undisturbed"
        started = time.monotonic()
        code = self.start(out).wait()
        self.seconds = time.monotonic() - started
        if code:
            raise RuntimeError(f"the undisturbed run ended with exit code {code}")
        return shard_digests(out)

    def start(self, out: str, environ: dict[str, str] | None = None, workers: int = 2) -> subprocess.Popen:
        """A run as a process, silent."""
        command = [sys.executable, "-c", "from k3data.pipelines.cli import main; main()"]
        arguments = ["run", str(self.folder / "recipe.yaml"), "--out", out, "-q", "--workers", str(workers)]
        marked = {**(environ or os.environ), _MARK: out}
        return subprocess.Popen([*command, *arguments], env=marked, stderr=subprocess.PIPE)

    def steps(self) -> list[dict[str, Any]]:
        """The durable steps of one whole run, journalled twice: when begun and when done."""
        with self._journal() as (journal, hooks):
            self.runs += 1
            out = f"{self.base}/steps-{self.runs}"
            self.start(out, environment(Faults(str(journal.path)), hooks), workers=1).communicate()
            return journal.steps()

    def kill_at_step(self, number: int, after: bool) -> Tally:
        """Kill everything at one step, cut the power, run again, recount."""
        what = f"{'after' if after else 'before'} step {number}"
        out = f"{self.base}/step-{number}-{after}"
        with self._journal() as (journal, hooks):
            faults = Faults(str(journal.path), kill_at=number, after=after)
            run = self.start(out, environment(faults, hooks), workers=1)
            run.communicate()
            killed = run.returncode == -signal.SIGKILL
            _wait_for_orphans(out)
            if "://" not in out:
                power_cut(journal, Path(out))
        return self._recount(out, what, killed)

    def omit_step(self, omit: str, of: str = "") -> Tally:
        """What the recount says of an engine that leaves out one kind of step: a run, a power cut, another run."""
        out = f"{self.base}/omit-{omit}-{of.strip('/.')}"
        with self._journal() as (journal, hooks):
            faults = Faults(str(journal.path), omit=omit, of=of)
            self.start(out, environment(faults, hooks), workers=1).communicate()
            if "://" not in out:
                power_cut(journal, Path(out))
            again = Faults(str(journal.path) + "-again", omit=omit, of=of)
            return self._recount(out, f"without {omit}", True, environment(again, hooks))

    def kill_at_random(self, whom: str, fraction: float, number: int) -> Tally:
        """Kill a worker, the main process or everything at a moment of the run, run again, recount."""
        out = f"{self.base}/random-{number}"
        run = self.start(out)
        time.sleep(fraction * self.seconds)
        family = [psutil.Process(run.pid), *_descendants(run.pid)] if run.poll() is None else []
        workers = [one for one in family[1:] if _is_worker(one)]
        victims = {"worker": workers[:1], "main": family[:1], "everything": family}[whom]
        for victim in victims:
            try:
                victim.kill()
            except psutil.NoSuchProcess:
                continue
        run.communicate()
        _wait_for_orphans(out)
        return self._recount(out, f"{whom} killed at {fraction:.0%}", bool(victims))

    def _recount(self, out: str, what: str, killed: bool, environ: dict[str, str] | None = None) -> Tally:
        tally = Tally(kills=int(killed))
        again = self.start(out, environ, workers=1)
        _, errors = again.communicate()
        if again.returncode:
            tally.add(f"{what}: {errors.decode().strip()}", "corrupt", 1)
            return tally
        report = verify(out)
        for kind in ("lost", "doubled", "corrupt"):
            tally.add(what, kind, report.count(kind))
        found = shard_digests(out)
        tally.add(what, "bytes_differ", sum(found.get(path) != digest for path, digest in self.wanted.items()))
        self._remove(out)
        return tally

    @contextmanager
    def _journal(self) -> Iterator[tuple[Journal, Path]]:
        with tempfile.TemporaryDirectory() as hooks:
            yield Journal(Path(hooks) / "journal"), Path(hooks)

    def _remove(self, out: str) -> None:
        if "://" not in out:
            shutil.rmtree(out)


def shard_digests(out: str) -> dict[str, str]:
    """SHA-256 of every shard that lies in an output, by path."""
    store = open_store(out)
    paths = [entry.path for entry in store.list() if entry.path.endswith(".tar")]
    return {path: hashlib.sha256(store.read(path)).hexdigest() for path in paths}


def run(quick: bool) -> dict[str, Any]:
    """The figures: kills, lost, doubled, corrupt, bytes_differ, and the same on S3 with `s3_` before them."""
    from .s3 import new_bucket, s3_server

    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="k3data-storm-") as folder:
        figures.update(_storm(Storm(Path(folder)), Storm(_sub(folder, "slow"), delay_s=0.01), quick, ""))
        with s3_server() as endpoint:
            bucket = new_bucket(endpoint, "storm")
            os.environ.update(bucket.environment)  # this process recounts what the runs have written
            fast = Storm(_sub(folder, "s3fast"), f"{bucket.url}/fast")
            slow = Storm(_sub(folder, "s3slow"), f"{bucket.url}/slow", delay_s=0.01)
            figures.update(_storm(fast, slow, quick, "s3_"))
    return {"figures": figures, "peers": {}}


def _storm(fast: Storm, slow: Storm, quick: bool, prefix: str) -> dict[str, Any]:
    tally = Tally()
    steps = [number for number, step in enumerate(fast.steps()) if not step["done"]]
    chosen = random.Random(1).sample(steps, 1) if quick else steps
    # Nothing is timed here, so kills may go on side by side.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        kills = [(number, after) for number in chosen for after in (False, True)]
        for one in pool.map(lambda kill: fast.kill_at_step(*kill), kills):
            _merge(tally, one)
    rng = random.Random(2)
    random_kills = 0
    for number in range(1 if quick else 2 * RANDOM_KILLS):  # some fall after the run's end, and count for nothing
        whom = ("worker", "main", "everything")[number % 3]
        one = slow.kill_at_random(whom, rng.random(), number)
        _merge(tally, one)
        random_kills += one.kills
        if random_kills == RANDOM_KILLS:
            break
    for line in tally.details:
        print(line, file=sys.stderr)
    kinds = ("lost", "doubled", "corrupt", "bytes_differ")
    return {f"{prefix}kills": tally.kills, **{f"{prefix}{kind}": tally.found[kind] for kind in kinds}}


def _merge(tally: Tally, other: Tally) -> None:
    tally.kills += other.kills
    tally.found.update(other.found)
    tally.details += other.details


def _sub(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any("pipelines.worker" in word for word in process.cmdline())
    except psutil.Error:
        return False


def _output_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(_MARK)
    except psutil.Error:
        return None


def _wait_for_orphans(out: str, timeout_s: float = 10.0) -> None:
    """Wait until the workers of a killed run are gone: they end by their parent-death signal."""
    deadline = time.monotonic() + timeout_s
    while any(_is_worker(one) and _output_of(one) == out for one in psutil.process_iter()):
        if time.monotonic() > deadline:
            raise RuntimeError("workers outlive their killed supervisor")
        time.sleep(0.05)
