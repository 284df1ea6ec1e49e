"""Real prose for the benchmark of the verifier, read from what `pip install k3data[dev]` brings along.

The suite's three fields: Python's language reference and library (pydoc's topics, docstrings), numerical and symbolic
mathematics (docstrings of SciPy and SymPy), and network services (botocore's descriptions of AWS). The rules were
developed on others: docstrings of NumPy, pandas, NetworkX, Matplotlib and PyTorch (`DEVELOPMENT`), and the manuals of
Node.js, Rust, Git, CMake, Vim, Perl and the AWS command line's examples. Of the suite only figures were looked at.
"""

from __future__ import annotations

import ast
import gzip
import html
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import orjson

from ...pipelines.errors import UserError
from ..verify.sentences import chunks

SUITE = {"python": ("stdlib",), "mathematics": ("scipy", "sympy"), "services": ("botocore",)}
DEVELOPMENT = {"arrays": ("numpy", "pandas"), "graphs": ("networkx", "matplotlib"), "learning": ("torch",)}
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
        for document in _documents(name):
            joined = "\n\n".join(dict.fromkeys(document))
            for chunk in chunks(joined):
                text = joined[chunk.start : chunk.end]
                if len(text.split()) >= least and len(text) < 4000:
                    yield text


def _documents(name: str) -> Iterator[list[str]]:
    """Paragraphs of prose of each document of a package: a page, a module's docstrings, a service."""
    if name == "botocore":
        yield from _services()
        return
    if name == "stdlib":
        from pydoc_data import topics

        for topic in sorted(topics.topics):
            yield _prose(topics.topics[topic])
    for path in _sources(name):
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:
            continue  # test data of the standard library that is broken on purpose
        documented = (ast.get_docstring(one) for one in ast.walk(tree) if isinstance(one, _DOCUMENTED))
        yield [paragraph for doc in documented if doc for paragraph in _prose(doc)]


def _sources(name: str) -> list[Path]:
    where = importlib.util.find_spec("ast" if name == "stdlib" else name)
    if where is None or where.origin is None:
        raise UserError(f"the benchmark verify reads the docstrings of {name}, which is not installed")
    root = Path(where.origin).parent
    return sorted(one for one in root.rglob("*.py") if not _SKIPPED & set(one.relative_to(root).parts))


def _services() -> Iterator[list[str]]:
    """Descriptions of operations and fields, a document a service."""
    where = importlib.util.find_spec("botocore")
    if where is None or where.origin is None:
        raise UserError("the benchmark verify reads the service descriptions of botocore, which is not installed")
    for path in sorted((Path(where.origin).parent / "data").glob("*/*/service-2.json*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        operations = (one.get("documentation", "") for one in orjson.loads(data)["operations"].values())
        plain = (html.unescape(_TAG.sub(" ", one.replace("</p>", "\n\n"))) for one in operations)
        yield [paragraph for one in plain for paragraph in _prose(one)]


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
