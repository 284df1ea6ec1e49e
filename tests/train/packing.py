"""A small packed data set, as the recipes themselves make it: 90 drawings and their programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RECIPES = Path(__file__).resolve().parents[2] / "pipelines"


def make_packed(folder: Path) -> str:
    """Makes it in a folder, and returns where it lies."""
    # The drawings hold no text. A machine's fonts would be a part of their ids, and so of the order of training.
    (folder / "fonts.conf").write_text('<?xml version="1.0"?><fontconfig/>\n')
    fonts = {"FONTCONFIG_FILE": str(folder / "fonts.conf")}
    drawings = ("--set", "jobs.render.source.vision.shapes.shapes=[1, 2]")
    _k3data("run", str(RECIPES / "shapes.yaml"), "--out", str(folder / "shapes"), "-q", *drawings, SHAPES="90", **fonts)
    _k3data("tokenizer", "train", str(folder / "shapes"), "--size", "540", "--to", str(folder / "shapes_tokenizer"))
    _k3data("run", str(RECIPES / "shapes_packed.yaml"), "--out", str(folder / "out"), "-q", **fonts)
    return str(folder / "out")


def _k3data(*arguments: str, **environment: str) -> None:
    command = [sys.executable, "-m", "k3data.pipelines.cli", *arguments]
    subprocess.run(command, check=True, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
