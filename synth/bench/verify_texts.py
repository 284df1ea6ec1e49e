"""Real prose for the benchmark of the verifier, read from what `pip install k3data[dev]` brings along.

The suite's three fields: Python's language reference and library (pydoc's topics, docstrings), numerical and symbolic
mathematics (docstrings of SciPy and SymPy), and network services (botocore's descriptions of AWS). The rules were
developed on others (`DEVELOPMENT`), and on the manuals of Node.js, Rust, Git, CMake, Vim, Perl and the AWS command
line's examples. Of the suite only figures were looked at.
"""

from __future__ import annotations

import ast
import gzip
import html
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from ...pipelines.errors import UserError
from ..verify.sentences import chunks

SUITE = {"python": ("stdlib",), "mathematics": ("scipy", "sympy"), "services": ("botocore",)}
DEVELOPMENT = {
    "arrays": ("numpy", "pandas"), "graphs": ("networkx", "matplotlib"), "learning": ("torch", "transformers"),
    "browser": ("playwright",), "data": ("datasets", "pyarrow", "fsspec"), "language": ("spacy", "hypothesis"),
    "drawing": ("PIL", "ezdxf", "cadquery"), "web": ("aiohttp", "pydantic", "jsonschema"),
}  # fmt: skip
_ROLE = re.compile(r":[a-z:]+:`[~!]?([^`<]+?)(?: ?<[^>]*>)?`")
_DOUBLE = re.compile(r"``([^`\n]+)``")
_TAG = re.compile(r"<[^>]{1,200}>")
_LINK = re.compile(r"\[\d+\]_|\[\w+\]_")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
_SKIPPED = {"test", "tests", "site-packages", "idlelib"}
_LEAST_WORDS = 12  # of a paragraph


def texts(field: tuple[str, ...], least: int = 90) -> Iterator[str]:
    """Chunks of prose of at least so many words, each of several sentences, in the order of the packages' files.

    Raises:
        UserError: a package is not installed.
    """
    for name in field:
        for document in documents(name):
            for chunk in chunks(document.text):
                text = document.text[chunk.start : chunk.end]
                if len(text.split()) >= least and len(text) < 4000:
                    yield text


class Prose(NamedTuple):
    """The prose of one file of a package, its paragraphs parted by blank lines; `file`: relative to the package."""

    file: str
    text: str


def documents(package: str) -> Iterator[Prose]:
    """The prose of each file of a package: docstrings of a module, pages, descriptions of a service.

    Raises:
        UserError: the package is not installed.
    """
    if package == "stdlib":
        from pydoc_data import topics

        for topic in sorted(topics.topics):
            yield _document(f"topics:{topic}", _prose(topics.topics[topic]))
    root = _root(package)
    pattern = "data/*/*/service-2.json*" if package == "botocore" else "**/*.py"
    for path in sorted(root.glob(pattern)):
        file = path.relative_to(root)
        if not _SKIPPED & set(file.parts):
            yield document(package, str(file))


def document(package: str, file: str) -> Prose:
    """The prose of one file.

    Raises:
        UserError: the package is not installed, or has no such file.
    """
    if file.startswith("topics:"):
        from pydoc_data import topics

        return _document(file, _prose(topics.topics.get(file.removeprefix("topics:"), "")))
    path = _root(package) / file
    try:
        data = path.read_bytes()
    except OSError:
        raise UserError(f"{package} as it is installed here has no {file}") from None
    return _document(file, _service(data) if package == "botocore" else _docstrings(data))


def _document(file: str, paragraphs: list[str]) -> Prose:
    return Prose(file, "\n\n".join(dict.fromkeys(paragraphs)))


def _docstrings(data: bytes) -> list[str]:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return []  # test data of the standard library that is broken on purpose
    documented = (ast.get_docstring(one) for one in ast.walk(tree) if isinstance(one, _DOCUMENTED))
    return [paragraph for doc in documented if doc for paragraph in _prose(doc)]


def _root(package: str) -> Path:
    where = importlib.util.find_spec("ast" if package == "stdlib" else package)
    if where is None or where.origin is None:
        raise UserError(f"the benchmark verify reads the documentation of {package}, which is not installed")
    return Path(where.origin).parent


def _service(data: bytes) -> list[str]:
    """Descriptions of the operations of a service."""
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    operations = (one.get("documentation", "") for one in orjson.loads(data)["operations"].values())
    plain = (html.unescape(_TAG.sub(" ", one.replace("</p>", "\n\n"))) for one in operations)
    return [paragraph for one in plain for paragraph in _prose(one)]


def _prose(text: str) -> list[str]:
    """The paragraphs that are sentences of English, unwrapped and free of markup."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        if any(
            mark in block
            for mark in (">>>", ".. ", "::", "|", "___", "---", "===", "<", "\\", "...  ", "{", "optional", " default ")
        ):
            continue
        plain = _LINK.sub("", _DOUBLE.sub(r"`\1`", _ROLE.sub(r"`\1`", block)))
        plain = " ".join(plain.replace("*", "").split())
        plain = re.sub(r" (?=[.,;:)](?:\s|$))", "", plain)
        words = plain.split()
        letters = sum(word.strip(".,;:()'\"`").isalpha() for word in words)
        if len(words) >= _LEAST_WORDS and plain[0].isupper() and plain.endswith(".") and letters >= 0.75 * len(words):
            found.append(plain)
    return found
