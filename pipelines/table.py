"""Which source or stage a name in a recipe stands for.

Three ways, in this order: the table below, an entry point of an installed package (groups `k3data.sources` and
`k3data.stages`), and `module:Class` for something of one's own. datatrove's readers, filters and formatters are named
by their class (`datatrove.GopherQualityFilter`) and run unchanged, see `adapters`.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from importlib.metadata import entry_points
from typing import Any

from .errors import UserError

SOURCES = {
    "files": ".sources.files:Files",
    "jsonl": ".sources.jsonl:Jsonl",
    "parquet": ".sources.parquet:Parquet",
    "documents": ".sources.documents.source:Documents",
    "metamath": ".sources.documents.metamath:Metamath",
    "wordnet": ".sources.documents.wordnet:Wordnet",
    "dataset": ".sources.dataset:DatasetSource",
    "dedup": ".dedup.source:Dedup",
    "compact": ".sources.dataset:Compact",
    "synth.scatter": "..synth.scatter.source:Scatter",
    "synth.mix": "..synth.rephrase.mix:Mix",
    "vision.programs": "..vision.source:Programs",
    "curriculum.pack": "..curriculum.pack:Pack",
    "vision.fact_pictures": "..vision.fact_pictures:FactPictures",
    "vision.shapes": "..vision.shapes:Shapes",
}
STAGES = {
    "synth.blobs": "..synth.long_documents.blobs:Blobs",
    "synth.truncated": "..synth.long_documents.truncated:Truncated",
    "synth.logs": "..synth.long_documents.logs:Logs",
    "synth.structure": "..synth.long_documents.structure:Structure",
    "synth.quality": "..synth.long_documents.quality:Quality",
    "synth.frames": "..synth.long_documents.frames:Frames",
    "synth.length": "..synth.long_documents.length:Length",
    "synth.rephrase": "..synth.rephrase.rephrase:Rephrase",
    "synth.judge": "..synth.rephrase.judge:JudgeAgain",
    "text.extract": ".text_stages.extract:Extract",
    "text.language": ".text_stages.language:Language",
    "text.decontaminate": ".text_stages.decontaminate:Decontaminate",
    "vision.render": "..vision.render:Render",
    "vision.quality": "..vision.quality:Quality",
    "vision.tasks": "..vision.tasks:Tasks",
    "vision.facts": "..vision.facts:Facts",
    "curriculum.tokenise": "..curriculum.documents:Tokenise",
}
_DATATROVE = {
    "source": ("datatrove.pipeline.readers",),
    "stage": ("datatrove.pipeline.filters", "datatrove.pipeline.formatters"),
}


def names(role: str) -> dict[str, str]:
    """Every name of that role (`source` or `stage`) → `module:Class`, entry points included."""
    table = dict(SOURCES if role == "source" else STAGES)
    table.update({point.name: point.value for point in entry_points(group=f"k3data.{role}s")})
    return table


def resolve(name: str, role: str) -> type:
    """The class behind a name.

    Raises:
        UserError: unknown name (with the nearest known one), or its module needs an extra that is not installed.
    """
    known = names(role)
    if name in known:
        return _load(name, known[name])
    if name.startswith("datatrove."):
        return _datatrove(name, role)
    if ":" in name:
        return _load(name, name)
    raise UserError(
        f"unknown {role} {name!r}{suggest(name, [*known, f'datatrove.{name}'] if role == 'stage' else known)}"
    )


def suggest(word: str, known: Any) -> str:
    """` (did you mean 'x'?)`, or the empty string."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _load(name: str, target: str) -> type:
    module_name, _, class_name = target.partition(":")
    try:
        module = importlib.import_module(module_name, package=__package__)
    except ModuleNotFoundError as error:
        raise UserError(f"{name}: {needs(error)}") from None
    try:
        return getattr(module, class_name)
    except AttributeError:
        raise UserError(f"{name}: {module_name} has no {class_name}{suggest(class_name, vars(module))}") from None


_EXTRA_OF = {"cairosvg": "svg", "defusedxml": "svg", "playwright": "web", "cadquery": "cad",
             "OCP": "cad", "vtkmodules": "cad", "s3fs": "s3", "torch": "train", "selectolax": "text",
             "pylatexenc": "text", "pycld2": "text", "py3langid": "text", "spacy": "text", "imagehash": "text",
             "tokenizers": "text", "sympy": "llm", "httpx": "llm", "xllamacpp": "llm"}  # fmt: skip


def needs(error: ModuleNotFoundError) -> str:
    """One line that names the missing module and, when it belongs to one, the extra that brings it."""
    missing = (error.name or "").split(".")[0]
    extra = _EXTRA_OF.get(missing)
    return f"needs {missing}, which is not installed" + (f": pip install 'k3data[{extra}]'" if extra else "")


def datatrove_classes(role: str) -> dict[str, type]:
    """datatrove's own steps of that role by class name."""
    from datatrove.pipeline.base import PipelineStep

    found = {}
    for module_name in _DATATROVE[role]:
        for class_name, value in vars(importlib.import_module(module_name)).items():
            if inspect.isclass(value) and issubclass(value, PipelineStep) and not inspect.isabstract(value):
                found[class_name] = value
    return found


def _datatrove(name: str, role: str) -> type:
    classes = datatrove_classes(role)
    class_name = name.removeprefix("datatrove.")
    if class_name not in classes:
        raise UserError(f"unknown {role} {name!r}{suggest(class_name, classes)}")
    return classes[class_name]
