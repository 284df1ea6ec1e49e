"""Prompt families as versioned data: one Markdown file each, with front matter, and a lock file of their hashes.

    ---
    id: faq
    version: 1
    family: knowledge
    …
    ---
    # system
    You write …
    # user
    {{ chunk }}

`{{ name }}` stands for one of `VARIABLES`. A paragraph whose variables are all empty is left out, so that a document
without a title is asked about without one. What a rewrite in this style may do stands in `rules`: thresholds by the
verifier's names. The hash of a prompt's text is part of every call's key and of the ids of units.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import orjson
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...pipelines.errors import UserError
from ..chat.types import Message
from ..rewrite.styles import STYLES
from ..verify.rules import Rules, rules_for

FOLDER = Path(__file__).parent / "prompts"
READERS = Path(__file__).parent / "readers"
LOCK = "lock.json"
VARIABLES = ("title", "outline", "tail", "chunk", "perspective", "length")
"""What a prompt may name: the document's title and outline, the end of the rewrite so far, the chunk, who writes, and
how long it should become."""
READER_VARIABLES = ("source", "text", "question")
"""What the prompts of `readers/` may name: those of models that check rewrites (see `reader`)."""

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_VARIABLE = re.compile(r"\{\{\s*(.*?)\s*\}\}")
_TURN = re.compile(r"^# (system|user)$\n", re.MULTILINE)


class Prompt(BaseModel):
    """One family.

    Attributes:
        family: which corpora it is for.
        rules: the verifier's style, and thresholds that differ from it.
        summary: one line, for lists.
        headings: whether the rewrite keeps the headings of the source.
        min_model: smallest size of model that it was written for, in words.
        changelog: a line a version, newest last.
        system, user: the templates.
        sha256: of the file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: int = Field(ge=1)
    family: Literal["knowledge", "maths", "reader"]
    summary: str
    rules: dict[str, Any] = {"style": "paraphrase"}
    headings: bool = False
    min_model: str = "1B"
    languages: list[str] = ["en"]
    licence: str = "Apache-2.0"
    changelog: list[str] = Field(min_length=1)
    system: str = ""
    user: str
    sha256: str

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The rendered prompt. `values` has a text for each variable that it names."""
        turns = (("system", self.system), ("user", self.user))
        return tuple(Message(role, _filled(template, values)) for role, template in turns if template)

    def rules_under(self, overrides: Mapping[str, Mapping[str, Any]], backend: str) -> Rules:
        """`verifier_rules` with what a recipe sets otherwise, by style or under `all`."""
        return self.verifier_rules({**overrides.get("all", {}), **overrides.get(self.id, {})}, backend)

    def instruction(self) -> str:
        """The prompt's own words, without anything of a source: what an answer must not repeat."""
        return _VARIABLE.sub("\n", f"{self.system}\n{self.user}")

    def verifier_rules(self, overrides: Mapping[str, Any] | None = None, backend: str = "") -> Rules:
        """Thresholds for its rewrites; `overrides` are the recipe's. What rules have written is judged as they say.

        Raises:
            UserError: an unknown style or threshold.
        """
        own = {"style": STYLES[self.id].verifier} if backend == "rule" and self.id in STYLES else self.rules
        wanted = {**own, **(overrides or {})}
        style = wanted.pop("style", "paraphrase")
        # YAML has lists where the rules, which are strict, want a pair.
        return rules_for(style, {name: tuple(one) if isinstance(one, list) else one for name, one in wanted.items()})


def load_prompts(folder: Path = FOLDER) -> dict[str, Prompt]:
    """All prompts of a folder by id.

    Raises:
        UserError: a file is not what it should be, or names an unknown variable; with file, line and what there is.
    """
    files = sorted(folder.glob("*.md"))
    if not files:
        raise UserError(f"{folder}: no prompt (*.md) there")
    found: dict[str, Prompt] = {}
    for path in files:
        prompt = read_prompt(path)
        if prompt.id in found:
            raise UserError(f"{path}: the id {prompt.id!r} is taken by another file of this folder")
        found[prompt.id] = prompt
    return found


def chosen(names: Mapping[str, float] | list[str], folder: Path | None) -> dict[str, Prompt]:
    """The prompts that a recipe names: those shipped, and those of its own folder, which come first.

    Raises:
        UserError: there is none of a name.
    """
    known = {**_shipped(), **(load_prompts(folder) if folder else {})}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise UserError(f"no prompt {name!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
                            + f"; there are: {', '.join(known)}")  # fmt: skip
    return {name: known[name] for name in names}


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Prompt]:
    return load_prompts()


def read_prompt(path: Path) -> Prompt:
    """One file. Raises UserError, see `load_prompts`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    front = _FRONT.match(text)
    if front is None:
        raise UserError(f"{path}:1: a prompt begins with front matter between two lines `---`")
    known = READER_VARIABLES if path.parent.name == READERS.name else VARIABLES
    for found in _VARIABLE.finditer(text, front.end()):
        if found[1] not in known:
            line = text.count("\n", 0, found.start()) + 1
            near = difflib.get_close_matches(found[1], known, 1)
            guess = f" (did you mean {near[0]!r}?)" if near else ""
            raise UserError(f"{path}:{line}: unknown variable {found[1]!r}{guess}; there are: {', '.join(known)}")
    turns = _TURN.split(text[front.end() :])
    body = {role: part.strip() for role, part in zip(turns[1::2], turns[2::2], strict=True)}
    if turns[0].strip() or "user" not in body:
        raise UserError(f"{path}: after the front matter come `# user` and, if wanted, `# system` before it")
    if known is VARIABLES and "{{ chunk }}" not in body["user"]:
        raise UserError(f"{path}: the user's turn does not hold {{{{ chunk }}}}, the text that is to be rewritten")
    try:
        about = yaml.safe_load(front[1])
        prompt = Prompt(**{**about, **body, "sha256": hashlib.sha256(text.encode()).hexdigest()})
        prompt.verifier_rules()
    except yaml.YAMLError as error:
        raise UserError(f"{path}: front matter: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (TypeError, UserError) as error:
        raise UserError(f"{path}: {error}") from None
    return prompt


def lock_of(prompts: Mapping[str, Prompt]) -> bytes:
    """The lock file's content: version and hash of each prompt."""
    about = {one.id: {"version": one.version, "sha256": one.sha256} for one in prompts.values()}
    return orjson.dumps(about, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def check_lock(folder: Path = FOLDER) -> list[str]:
    """What differs from the folder's lock file, a line each: a prompt that changed must raise its version."""
    prompts = load_prompts(folder)
    try:
        locked = orjson.loads((folder / LOCK).read_bytes())
    except FileNotFoundError:
        return [f"{folder / LOCK} is missing"]
    lines = [f"{name} is new" for name in prompts if name not in locked]
    lines += [f"{name} is gone" for name in locked if name not in prompts]
    for name, prompt in prompts.items():
        if name in locked and locked[name]["sha256"] != prompt.sha256:
            raised = prompt.version > locked[name]["version"]
            lines.append(f"{name} has changed" + ("" if raised else f" and is still version {prompt.version}"))
    return lines


def write_lock(folder: Path = FOLDER) -> list[str]:
    """Write the lock file and return what it changes. Raises UserError where a changed prompt has kept its version."""
    lines = check_lock(folder)
    if kept := [line for line in lines if "still version" in line]:
        raise UserError(f"{folder}: {kept[0]}; raise it, and add a line to its changelog")
    (folder / LOCK).write_bytes(lock_of(load_prompts(folder)))
    return lines


def _filled(template: str, values: Mapping[str, str]) -> str:
    kept = []
    for paragraph in re.split(r"\n{2,}", template):
        names = _VARIABLE.findall(paragraph)
        if not names or any(values[name] for name in names):
            kept.append(_VARIABLE.sub(lambda one: values[one[1]], paragraph))
    return "\n\n".join(kept)
