"""What an installation gets: every package, every file that code reads beside itself, and no heavy import."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import k3data
import pytest

ROOT = Path(k3data.__file__).resolve().parent
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
AREAS = ("pipelines", "synth", "vision", "tokenizer", "curriculum", "model", "train")


def packages():
    yield "k3data", ROOT
    for area in AREAS:
        for found in sorted((ROOT / area).rglob("__init__.py")):
            yield ".".join(["k3data", *found.parent.relative_to(ROOT).parts]), found.parent


def test_every_package_folder_is_listed():
    assert sorted(name for name, _ in packages()) == sorted(SETUP["packages"])


def test_every_file_beside_the_code_is_package_data():
    for name, folder in packages():
        patterns = SETUP["package-data"].get(name, [])
        for path in folder.iterdir():
            if folder != ROOT and path.is_file() and path.suffix not in (".py", ".pyc"):
                assert any(fnmatch(path.name, pattern) for pattern in patterns), f"{path} is left out of the wheel"


@pytest.mark.parametrize("module", ["k3data.pipelines.reader", "k3data.pipelines.run", "k3data.pipelines.gallery"])
def test_the_data_side_imports_without_the_heavy_libraries(module):
    heavy = ["torch", "vtk", "cadquery", "playwright", "cairosvg", "datasets", "webdataset", "ray", "s3fs"]
    check = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
