"""Mathematical prose for the benchmark of rewriting: docstrings whose formulas are LaTeX, as chunks of about 256
tokens.

The rules were developed on docstrings of NumPy, NetworkX and PyTorch; those of SciPy and SymPy are measured.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from ...pipelines.errors import UserError
from ..verify.sentences import chunks

MATHS = ("scipy", "sympy")
MATHS_DEVELOPMENT = ("torch", "networkx", "numpy")
_BLOCK = re.compile(r"^\.\. math:: *(?P<first>[^\n]*)\n(?P<rest>(?:\n|[ \t]+[^\n]*\n?)*)", re.MULTILINE)
_INLINE = re.compile(r":math:`([^`]+)`")
_ROLE = re.compile(r":[a-z:]+:`[~!]?([^`<]+?)(?: ?<[^>]*>)?`")
_DOUBLE = re.compile(r"``([^`\n]+)``")
_LINK = re.compile(r" ?\[\w+\]_")
_LEAST_WORDS, _LEAST_FORMULAS = 40, 3


def maths_texts(packages: tuple[str, ...]) -> Iterator[str]:
    """Chunks of docstrings with at least three formulas.

    Raises:
        UserError: a package is not installed.
    """
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise UserError(f"the benchmark rewrite reads the docstrings of {name}, which is not installed")
        root = Path(spec.origin).parent
        for path in sorted(one for one in root.rglob("*.py") if "tests" not in one.parts):
            source = path.read_text("utf-8", errors="replace")
            if ":math:" in source or ".. math::" in source:
                yield from _chunks(ast.parse(source))


def _chunks(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (doc := ast.get_docstring(node)):
            text = "\n\n".join(_paragraphs(doc))
            for chunk in chunks(text):
                part = text[chunk.start : chunk.end]
                if len(part.split()) >= _LEAST_WORDS and part.count("$") >= 2 * _LEAST_FORMULAS and len(part) < 3000:
                    yield part


def _paragraphs(doc: str) -> Iterator[str]:
    """Prose and formulas of a docstring; lists of arguments, examples and references are left out."""
    text = _BLOCK.sub(lambda one: "\n\n" + "\n\n".join(_displayed(one)) + "\n\n", doc + "\n")
    blocks = re.split(r"\n\s*\n", text)
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        if block.startswith("$$"):
            yield block.strip()
            continue
        if block.startswith((" ", "..", ">>>", "*", "-")) or re.search(
            r"^\s*[-=~^]{3,}$|>>>|::|\|", block, re.MULTILINE
        ):
            continue
        plain = _LINK.sub(
            "",
            _DOUBLE.sub(r"`\1`", _ROLE.sub(r"`\1`", _INLINE.sub(lambda one: f"${' '.join(one[1].split())}$", block))),
        )
        plain = " ".join(plain.split())
        if plain and (plain[-1] in ".:" or following.startswith("$$")) and len(plain.split()) > 3:
            yield plain


def _displayed(block: re.Match[str]) -> list[str]:
    """The formulas of a block of mathematics: blank lines part them."""
    rest = inspect.cleandoc(block["rest"])
    parts = [block["first"], *re.split(r"\n\s*\n", rest)]
    return [f"$${one.strip()}$$" for one in parts if one.strip() and not one.strip().startswith(":")]
