"""The verbs of `k3data synth`, as they are typed."""

from __future__ import annotations

import json
import shutil

import pytest
from k3data.pipelines import cli
from k3data.synth.chat.store import Calls
from k3data.synth.rephrase import prompts
from k3data.tests.synth.chat.asks import Counting, request


def typed(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code and what was printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["k3data", "synth", *arguments])
        code = cli._run()
    out, err = capsys.readouterr()
    return code, out, err


def test_prompts_are_listed_shown_and_locked(capsys, tmp_path):
    code, out, _ = typed(capsys, "prompts")
    assert code == 0
    assert "learning_note" in out
    code, out, _ = typed(capsys, "prompts", "--show", "faq")
    assert code == 0
    assert "<chunk>" in out
    folder = tmp_path / "own"
    shutil.copytree(prompts.FOLDER, folder)
    (folder / "faq.md").write_text((folder / "faq.md").read_text().replace("version: 1", "version: 2"))
    code, out, _ = typed(capsys, "prompts", str(folder), "--json")
    assert code == 1
    assert json.loads(out)["changes"] == ["faq has changed"]
    assert typed(capsys, "prompts", str(folder), "--lock")[0] == 0
    assert typed(capsys, "prompts", str(folder))[0] == 0
    code, _, err = typed(capsys, "prompts", "--show", "fag")
    assert code == 2
    assert "did you mean 'faq'?" in err


def test_stored_answers_are_counted_checked_packed_and_exported(capsys, tmp_path):
    folder = tmp_path / "calls"
    store, backend = Calls(folder), Counting()
    for number in range(12):
        store.reply(backend, request(number))
    store.close()
    code, out, _ = typed(capsys, "calls", str(folder))
    assert (code, out) == (0, "12 answers, 0 refusals\n")
    code, out, _ = typed(capsys, "calls", str(folder), "--export", str(tmp_path / "all.jsonl"), "--json")
    assert code == 0
    assert json.loads(out)["exported"] == 12
    assert (tmp_path / "all.jsonl").read_bytes().count(b"\n") == 12
    one = next((folder / "answers").rglob("*.json"))
    one.write_bytes(one.read_bytes()[:-9])
    code, out, _ = typed(capsys, "calls", str(folder), "--verify")
    assert code == 1
    assert f"damaged: {one} is damaged" in out
    one.unlink()
    assert typed(capsys, "calls", str(folder), "--pack")[0] == 0
    assert not list((folder / "answers").rglob("*.json"))
    assert typed(capsys, "calls", str(folder))[1] == "11 answers, 0 refusals\n"
    code, _, err = typed(capsys, "calls", str(tmp_path / "none"))
    assert code == 2
    assert "no such folder of answers" in err


def test_errors_are_planted_into_ones_own_text(capsys, tmp_path):
    fact = "The server keeps {0} pages of each table in memory, and a page that was changed is never lost. "
    more = "If more than {1} rows were added by a user, all statistics must be gathered again within {2} minutes. "
    text = "\n\n".join((fact + more).format(n + 11, 3 * n + 100, n + 2) * 3 for n in range(12))
    (tmp_path / "own.txt").write_text(text)
    code, out, _ = typed(capsys, "calibrate", str(tmp_path / "own.txt"), "--pairs", "60", "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["pairs"] > 20
    code, out, _ = typed(capsys, "calibrate", str(tmp_path / "own.txt"), "--pairs", "60")
    assert code == 0
    assert "number_changed" in out
    code, _, err = typed(capsys, "calibrate", str(tmp_path / "own.txt"), "--style", "prase")
    assert code == 2
    assert "no style 'prase'" in err
    assert "Traceback" not in err
