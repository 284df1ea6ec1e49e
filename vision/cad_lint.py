"""Reads a CadQuery source before it runs, and refuses what a part has no use for.

This is a courtesy: it gives a clear reason early. The boundary is the process that runs the source, which has no
files, no network and no way to start another (see `isolation`).
"""

from __future__ import annotations

import ast
import builtins

from .text_lint import text_fault
from .types import Failure

MAX_CHARACTERS = 200_000

ALLOWED_MODULES = ("cadquery", "math")
SAFE_BUILTINS = (
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "isinstance",
    "len", "list", "map", "max", "min", "pow", "print", "range", "repr", "reversed", "round", "set", "slice",
    "sorted", "str", "sum", "tuple", "zip", "True", "False", "None", "ArithmeticError", "AssertionError",
    "AttributeError", "Exception", "IndexError", "KeyError", "LookupError", "RuntimeError", "StopIteration",
    "TypeError", "ValueError", "ZeroDivisionError",
)  # fmt: skip

_REFUSED_ATTRIBUTES = {
    "os", "sys", "io", "subprocess", "pathlib", "importlib", "builtins", "tempfile", "socket", "ctypes", "vtk", "OCP",
    "importers", "exporters", "export", "exportStep", "exportStl", "exportSvg", "exportBrep", "exportVTP", "exportBin",
    "importBrep", "importBin", "importStep", "importDXF", "save", "load", "wrapped", "occ_impl", "plugins", "vis",
    "show", "toSvg", "cqgi", "func_globals", "gi_frame", "gi_code", "f_globals", "f_builtins", "f_back", "tb_frame",
    "cr_frame",
}  # fmt: skip
_REFUSED_NODES = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.ClassDef, ast.With)
_BUILTINS = frozenset(dir(builtins))


def check(program: str) -> Failure | None:
    """Why this source will not be run, or None."""
    fault = text_fault(program, MAX_CHARACTERS)
    if fault is not None:
        return fault
    try:
        tree = ast.parse(program)
    except SyntaxError as error:
        return Failure("parse", "lint", f"line {error.lineno}: {error.msg}")
    except (RecursionError, MemoryError):
        return Failure("too_large", "lint", "nested too deeply")
    for node in ast.walk(tree):
        reason = _refused(node)
        if reason:
            return Failure("forbidden", "lint", f"line {getattr(node, 'lineno', 0)}: {reason}")
    if not any(
        isinstance(node, ast.Name) and node.id == "result" and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    ):
        return Failure("empty", "lint", "assigns no `result`")
    return None


def _refused(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        return next((f"import {one.name}" for one in node.names if one.name not in ALLOWED_MODULES), "")
    if isinstance(node, ast.ImportFrom):
        if node.level or node.module not in ALLOWED_MODULES:
            return f"from {node.module} import"
        return next((f"import {one.name}" for one in node.names if one.name in _REFUSED_ATTRIBUTES | {"*"}), "")
    if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in _REFUSED_ATTRIBUTES):
        return f".{node.attr}"
    if isinstance(node, ast.Name) and (node.id.startswith("__") or _unsafe_builtin(node)):
        return node.id
    return type(node).__name__ if isinstance(node, _REFUSED_NODES) else ""


def _unsafe_builtin(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load) and node.id in _BUILTINS and node.id not in SAFE_BUILTINS
