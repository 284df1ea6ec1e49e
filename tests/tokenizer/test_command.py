"""`k3data tokenizer`: from files and outputs to a tokenizer, ids, and a report; mistakes in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import k3data
import pytest
from k3data.pipelines.corpus import balanced, read_texts
from k3data.pipelines.errors import UserError
from k3data.tests.pipelines.samples import mixed, publish
from k3data.tokenizer import Tokenizer

LIBRARY = Path(os.__file__).parent


def command(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess:
    words = [sys.executable, "-c", "from k3data.pipelines.cli import main; main()", "tokenizer", *map(str, arguments)]
    return subprocess.run(words, input=stdin, capture_output=True)


def test_train_encode_info(tmp_path):
    lines = tmp_path / "more.jsonl"
    lines.write_text("".join(json.dumps({"text": f"plain words {n}", "domain": "web"}) + "\n" for n in range(50)))
    sources = sorted(LIBRARY.glob("a*.py"))
    done = command("train", *sources, lines, "--size", 1024, "--to", tmp_path / "tok", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert set(facts["bytes"]) == {"text", "web"}
    assert facts["digest"] == Tokenizer.load(tmp_path / "tok").digest
    again = command("train", lines, *sources[::-1], "--size", 1024, "--to", tmp_path / "again", "--json")
    assert json.loads(again.stdout)["digest"] == facts["digest"]

    odd = b"caf\xc3\xa9 \xff <|eos|>"
    ids = [int(one) for one in command("encode", "-", "-t", tmp_path / "tok", stdin=odd).stdout.split()]
    assert Tokenizer.load(tmp_path / "tok").decode_bytes(ids) == odd

    told = json.loads(command("info", tmp_path / "tok", "--on", lines, "--json").stdout)
    assert told["domains"]["web"]["round_trip_failures"] == 0 and told["domains"]["web"]["texts"] == 50
    assert b"What coordinates cost" in command("info", tmp_path / "tok").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["train", "nowhere"], "nowhere: no such file or output"),
        (["train", str(LIBRARY)], "not an output"),
        (["train", "bad.jsonl"], "bad.jsonl:2: not a JSON object with a text"),
        (["train", "latin.txt"], "latin.txt: not UTF-8"),
        (["train", "empty.txt"], "no text to train on"),
        (["train", "latin.txt", "--size", "500"], "sizes are 512 to 163840"),
        (["info", "nowhere"], "cannot be read"),
        (["info", "latin.txt"], "damaged"),
        (["encode", "nowhere"], "cannot be read"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.jsonl").write_text('{"text": "a"}\n{"txt": "b"}\n')
    Path("latin.txt").write_bytes("é".encode("latin-1"))
    Path("empty.txt").touch()
    done = command(*arguments)
    assert done.returncode == 2
    assert told in done.stderr.decode() and len(done.stderr.splitlines()) == 1


def test_a_sample_is_balanced_and_has_no_order():
    texts = [("big", f"{n:05d}" * 20) for n in range(500)] + [("small", "s" * 300)] + [("middle", "m" * 9000)]
    sample = balanced(iter(texts), 6000)
    sizes = {domain: sum(map(len, members)) for domain, members in sample.items()}
    assert sizes["small"] == 300 and sizes["middle"] == sizes["big"] == 2850
    assert balanced(reversed(texts), 6000) == sample


def test_texts_of_an_output_are_those_of_its_training_split(tmp_path):
    publish(tmp_path, mixed(60))
    records = list(k3data.open(str(tmp_path)))
    wanted = sorted((one.metadata["domain"], one.text.replace("\ufffc", "")) for one in records
                    if one.metadata["split"] == "train")  # fmt: skip
    assert len(wanted) < len(records)
    assert sorted(read_texts([str(tmp_path)])) == wanted
    with pytest.raises(UserError):
        list(read_texts([str(tmp_path / "not-there")]))
