"""The commands as they are typed: train, generate, export, eval, report; and what is wrong is one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from k3data.train.commands import FAILED, WRONG_INPUT, main

SETTINGS = [
    "stages=[{stage: shapes, tokens: 3072, batch_tokens: 1024}]", "evaluation.every=3", "evaluation.questions=1",
    "evaluation.sequences=1", "evaluation.max_tokens=400", "workers=1",
]  # fmt: skip


def train(packed: str, run, *more: str) -> list[str]:
    command = ["train", "smoke", "--data", packed, "--out", str(run), "--device", "cpu", "-q"]
    for setting in SETTINGS:
        command += ["--set", setting]
    return [*command, *more]


@pytest.fixture(scope="module")
def run(packed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands") / "run"
    assert main(train(packed, folder)) == 0
    return folder


def test_generate_writes_on_from_text_and_picture(run, capsys):
    assert main(["generate", str(run), "--prompt", "<svg", "--max-tokens", "5", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert len(written["tokens"]) <= 5 and written["finish"] in ("stop", "length")
    picture = next((run / "predictions" / "pictures").glob("*.png"))
    options = ["--image", str(picture), "--chat", "--prompt", "Draw it.", "--max-tokens", "3", "--temperature", "1"]
    assert main(["generate", str(run), *options]) == 0


def test_weights_of_a_checkpoint_are_exported(run, tmp_path, capsys):
    assert main(["train", "export", str(run), "--to", str(tmp_path / "model"), "--dtype", "bf16"]) == 0
    assert "the weights of step 3 in bf16" in capsys.readouterr().out
    assert main(["generate", str(tmp_path / "model"), "--prompt", "<svg", "--max-tokens", "2"]) == 0


def test_the_plan_is_shown_and_nothing_is_written(packed, tmp_path, capsys):
    assert main(train(packed, tmp_path / "none", "--plan")) == 0
    assert "shapes" in capsys.readouterr().out and not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "change, message",
    [
        (["--data", "/nowhere"], "/nowhere is not an output of k3data"),
        (["--set", "stages.0.stage=8k"], "8k"),
        (["--set", "precision=bf16"], "precision: bf16 needs a GPU"),
        (["--set", "optimser.z_loss=1"], "unknown key optimser .did you mean optimiser"),
        (["--set", "stages.0.batch_tokens=1000"], "batch_tokens is 1000, not a multiple of the window of 1024"),
        (["--set", "model.vision.patch=16"], "was packed for patches of 14 pixels"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(packed, tmp_path, capsys, change, message):
    assert main(train(packed, tmp_path / "run", *change)) == WRONG_INPUT
    error = capsys.readouterr().err
    assert error.startswith("k3data: ") and error.count("\n") == 1
    import re

    assert re.search(message, error)
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_run_and_a_model_that_are_none(tmp_path, capsys):
    assert main(["generate", str(tmp_path), "--prompt", "x"]) == WRONG_INPUT
    assert main(["train", "export", str(tmp_path), "--to", str(tmp_path / "x")]) == WRONG_INPUT
    assert "is no run: it has no run.json" in capsys.readouterr().err


def test_training_that_does_not_come_out_of_it_fails(packed, tmp_path, capsys, monkeypatch):
    from k3data.train import loop
    from k3data.train.optim.guard import TooManySkips

    def judge(self, *arguments):
        raise TooManySkips("17 steps in a row were skipped, the last because the loss is nan")

    monkeypatch.setattr(loop.SkipStepGuard, "judge", judge)
    assert main(train(packed, tmp_path / "run")) == FAILED
    assert "17 steps in a row were skipped" in capsys.readouterr().err


def test_a_full_disk_is_one_line_and_the_last_checkpoint_stays(packed, tmp_path):
    """Files may grow to 200 KB at most: metrics fit, checkpoints do not."""
    command = train(packed, tmp_path / "run", "--set", "checkpoint.every=1", "--set", "evaluation.every=0")
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); "
    limited += "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += "from k3data.train.commands import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", limited, *command], capture_output=True, text=True)
    assert done.returncode == FAILED
    assert done.stderr.count("\n") == 1 and "could not be written: " in done.stderr
    assert not list((tmp_path / "run" / "checkpoints").glob("step-*[0-9]"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_step_with_a_checkpoint(packed, tmp_path, number):
    command = train(packed, tmp_path / "run", "--set", "stages.0.tokens=1024000", "--set", "evaluation.every=0")
    process = subprocess.Popen(
        [sys.executable, "-m", "k3data.train", *command], env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not metrics.exists() or '"step"' not in metrics.read_text().replace('"step":', ""):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(60) == 130
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    last = [row for row in rows if row["event"] == "step"][-1]["step"]
    assert [row["step"] for row in rows if row["event"] == "checkpoint"][-1] == last
    assert (tmp_path / "run" / "checkpoints" / f"step-{last:08d}" / "complete.json").exists()


def test_eval_and_report_through_the_command(run):
    for verb in (["eval", str(run)], ["report", str(run)]):
        done = subprocess.run([sys.executable, "-m", "k3data.pipelines.cli", *verb], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert (run / "report.html").read_text().startswith("<!doctype html>")
    assert list((run / "scores").glob("*.json"))


def test_it_trains_without_the_libraries_of_the_data_side(packed, tmp_path):
    """As on a machine that has torch, numpy, pyarrow, pillow, fsspec, pyyaml, tokenizers and safetensors alone."""
    blocked = (
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in {'typer', 'pydantic', 'orjson', 'duckdb', 'datatrove', 'rich', 'psutil',\n"
        "                                  'click', 'cairosvg', 'playwright', 'regex', 'cadquery', 'datasets'}:\n"
        "            raise ModuleNotFoundError(f'blocked {name}', name=name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        "from k3data.train.commands import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocked, *train(packed, tmp_path / "run", "--stop-after", "1")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_it_trains_from_a_bucket(packed, tmp_path, s3_bucket):
    from k3data.pipelines.store import open_store

    url = f"{s3_bucket.url}/packed"
    here, there = open_store(packed), open_store(url, **s3_bucket.options)
    for entry in here.list(""):
        there.put_bytes(entry.path, here.read(entry.path))
    done = subprocess.run(
        [sys.executable, "-m", "k3data.train", *train(url, tmp_path / "run")], capture_output=True, text=True,
        env={**os.environ, **s3_bucket.environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
