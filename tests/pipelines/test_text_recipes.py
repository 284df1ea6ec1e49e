"""The shipped recipes of text run on what the machine has."""

from __future__ import annotations

import shutil
import subprocess

import k3data
import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines import shipped
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import run

PACKAGES = ("postgresql-doc-15", "python3.11-doc", "python-sympy-doc", "python-scipy-doc", "metamath-databases",
            "wordnet-base")  # fmt: skip


def work(name: str, out, limit: int, *overrides: str):
    found = run(recipes.load(shipped.find(name), overrides), out, workers=2, limit=limit)
    assert verify(str(out)).problems == []
    return found


def test_text_small_then_long_documents(tmp_path):
    *_, unique = work("text_small", tmp_path / "text_small", 120)
    assert unique.samples > 50
    kinds = {record.metadata["kind"] for record in k3data.open(tmp_path / "text_small")}
    assert kinds == {"text", "code"}
    overrides = [
        "jobs.clean.source.dataset.out=text_small",
        "jobs.clean.stages.synth.length.min_tokens=2000",
        "jobs.clean.stages.synth.quality.out=text_small",
        "jobs.clean.stages.synth.quality.samples=40",
    ]
    *_, long = work("long_documents", tmp_path / "long_documents", 200, *overrides)
    assert long.samples > 5
    for record in k3data.open(tmp_path / "long_documents"):
        checks = {one["name"] for one in record.metadata["checks"]}
        assert {"tokens", "upsample", "blobs", "complete", "log", "quality"} <= checks


def installed(package: str) -> bool:
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout == "installed"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dpkg-query") is None or not all(map(installed, PACKAGES)),
                    reason="needs the Debian packages that the recipe's first lines name")  # fmt: skip
def test_text_on_real_packages(tmp_path):
    prose, formal, unique = work("text", tmp_path / "text", 100)
    assert prose.samples > 30
    assert formal.samples > 60
    licences = {record.metadata["licence"]["class"] for record in k3data.open(tmp_path / "text")}
    assert licences <= {"public", "permissive"}
    assert unique.samples + unique.outcomes["merged"] == prose.samples + formal.samples
