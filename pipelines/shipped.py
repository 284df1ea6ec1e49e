"""The recipes that come with the package, by name."""

from __future__ import annotations

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
