"""Stages that do not fit each other, or the model, are refused before anything is trained."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from k3data.model.config import ConfigError
from k3data.pipelines.errors import UserError
from k3data.train.config import StageConfig
from k3data.train.stages import open_stages

from .conftest import ONE, tiny

TWICE = (StageConfig("shapes", 1024, 1024), StageConfig("other", 1024, 1024))


@pytest.fixture
def two_stages(packed, tmp_path):
    """The packed stage and a copy of it under another name, whose curriculum.json a test may change."""
    out = tmp_path / "out"
    shutil.copytree(packed, out)
    shutil.copytree(out / "shapes", out / "other")

    def changed(**changes) -> str:
        path = Path(out / "other" / "curriculum.json")
        about = json.loads(path.read_text())
        for name, value in changes.items():
            part, _, key = name.partition("__")
            about[part] = {**about[part], key: value} if key else value
        path.write_text(json.dumps(about))
        return str(out)

    return changed


def test_stages_of_one_tokenizer_and_preprocessing_go_together(two_stages):
    one, other = open_stages(tiny(stages=TWICE), two_stages(name="other"), ONE)
    assert len(one.reader) == len(other.reader) > 10 and one.tokenizer_file() == other.tokenizer_file()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"tokenizer__digest": "0" * 64}, "stages shapes and other were packed with different tokenizers"),
        ({"images__max_tokens": 32}, "different image preprocessing: max_tokens is 64 and 32"),
        ({"images__patch": 16}, "stage other was packed for patches of 16 pixels .* but the model has 14 and 28"),
    ],
)
def test_others_are_refused(two_stages, change, message):
    with pytest.raises(ConfigError, match=message):
        open_stages(tiny(stages=TWICE), two_stages(name="other", **change), ONE)


def test_a_stage_that_is_not_complete_is_refused(two_stages):
    out = Path(two_stages(name="other"))
    (out / "other" / "dataset.json").unlink()
    with pytest.raises(UserError, match="other"):
        open_stages(tiny(stages=TWICE), str(out), ONE)
