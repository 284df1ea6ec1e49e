"""The recipes that come with the package, by name."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import UserError
from .table import suggest

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of the shipped recipes."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def find(recipe: str) -> Path:
    """The recipe file for a path or a shipped recipe's name.

    Raises:
        UserError: neither; with the nearest name.
    """
    path = Path(recipe)
    if path.is_file():
        return path
    name = recipe.removeprefix("pipelines/").removesuffix(".yaml")
    if name in names():
        return FOLDER / f"{name}.yaml"
    raise UserError(f"{recipe}: no such recipe{suggest(name, names())}; shipped ones: {', '.join(names()) or 'none'}")


def copy_as(name: str, target: Path) -> None:
    """Write a shipped recipe to a new file, named after it.

    Raises:
        UserError: no such shipped recipe, or the file exists.
    """
    if target.exists():
        raise UserError(f"{target} exists")
    text = find(name).read_text(encoding="utf-8")
    own = re.sub(r"[^a-z0-9_]", "_", target.stem.lower()).lstrip("0123456789_") or "recipe"
    target.write_text(re.sub(r"(?m)^name: .*$", f"name: {own}", text, count=1), encoding="utf-8")
