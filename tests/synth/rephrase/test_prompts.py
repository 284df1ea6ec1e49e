"""Prompts: what is shipped is locked and renders as it did; a mistake in a file is told with its line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from k3data.pipelines.errors import UserError
from k3data.synth.rephrase import prompts

VALUES = {
    "title": "Vacuuming", "outline": "Vacuuming\n  Autovacuum", "tail": "Space is given back.",
    "chunk": "VACUUM reclaims storage.\n\n\nIt takes {{ braces }} as they are.", "perspective": "an expert",
    "length": "Be brief.",
}  # fmt: skip
GOLDEN = Path(__file__).parent / "golden_prompts.txt"


def rendered() -> str:
    """Every prompt as a model reads it."""
    parts = []
    for name, prompt in prompts.load_prompts().items():
        turns = "\n".join(f"[{one.role}]\n{one.content}" for one in prompt.messages(VALUES))
        parts.append(f"=== {name} v{prompt.version}\n{turns}\n")
    return "\n".join(parts)


def test_twelve_families_for_knowledge_and_six_for_mathematics_are_shipped_and_locked():
    shipped = prompts.load_prompts().values()
    assert sum(one.family == "knowledge" for one in shipped) >= 12
    assert sum(one.family == "maths" for one in shipped) >= 6
    assert prompts.check_lock() == []


def test_prompts_render_as_they_did():
    # Where a prompt was meant to change: python -m k3data.tests.synth.rephrase.test_prompts
    assert rendered() == GOLDEN.read_text()


def test_what_a_document_lacks_is_not_spoken_of():
    prompt = prompts.load_prompts()["faq"]
    bare = prompt.messages({**VALUES, "title": "", "outline": "", "tail": ""})[-1].content
    assert "Title" not in bare
    assert "Outline" not in bare
    assert "written so far" not in bare
    assert bare.endswith(f"The passage:\n{VALUES['chunk']}")
    assert "VACUUM" not in prompt.instruction()


@pytest.fixture
def folder(tmp_path) -> Path:
    shutil.copytree(prompts.FOLDER, tmp_path / "prompts")
    return tmp_path / "prompts"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{{ tail }}", "{{ tale }}", r"faq.md:\d+: unknown variable 'tale' \(did you mean 'tail'\?\); there are: ti"),
        ("{{ chunk }}", "the passage", "does not hold {{ chunk }}"),
        ("version: 1", "version: one", "version: Input should be a valid integer"),
        ("summary: ", "sumary: ", "sumary: Extra inputs|summary: Field required"),
        ("rules: {markup: qa, style: free}", "rules: {style: quiz}", "no style 'quiz'"),
        ("rules: {markup: qa, style: free}", "rules: {style: qa, numbers: 3}", "numbers"),
        ("rules: {markup: qa, style: free}", "rules: {style: [", "front matter"),
        ("# user", "# usher", "come `# user`"),
        ("---\nid", "id", "begins with front matter"),
    ],
)
def test_a_mistake_in_a_prompt_is_one_line(folder, old, new, message):
    path = folder / "faq.md"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UserError, match=message) as told:
        prompts.load_prompts(folder)
    assert "\n" not in str(told.value)


def test_a_file_that_is_no_text_and_an_unknown_name_are_told(folder):
    (folder / "x.md").write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(UserError, match=r"x\.md: cannot be read"):
        prompts.load_prompts(folder)
    with pytest.raises(UserError, match=r"no prompt 'fag' \(did you mean 'faq'\?\)"):
        prompts.chosen({"fag": 1.0}, None)


def test_a_changed_prompt_must_raise_its_version(folder):
    path = folder / "faq.md"
    text = path.read_text()
    path.write_text(text + "\nOne more line.\n")
    assert prompts.check_lock(folder) == ["faq has changed and is still version 1"]
    with pytest.raises(UserError, match="still version 1; raise it"):
        prompts.write_lock(folder)
    path.write_text(text.replace("version: 1", "version: 2") + "\nOne more line.\n")
    assert prompts.write_lock(folder) == ["faq has changed"]
    assert prompts.check_lock(folder) == []


def test_a_prompt_of_ones_own_comes_before_the_one_shipped(folder):
    path = folder / "faq.md"
    path.write_text(path.read_text().replace("# user\n", "# user\nIn verse.\n"))
    assert "In verse." in prompts.chosen(["faq"], folder)["faq"].user
    assert "In verse." not in prompts.chosen(["faq"], None)["faq"].user


if __name__ == "__main__":
    GOLDEN.write_text(rendered())
