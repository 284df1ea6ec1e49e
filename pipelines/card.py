"""A data set's card: a README.md as Hugging Face understands it, the credits, and a few sample pictures.

The YAML at its head states the splits, their files and every type, so that `datasets.load_dataset(<folder>)` reads the
shards as they are; the text below it is for people.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import yaml
from datatrove.data import Document
from PIL import Image

from . import features
from .index import SHARD_FOLDER
from .reader import Dataset

README, ATTRIBUTION, PICTURES = "README.md", "ATTRIBUTION", "samples"

_SIZES = [(1e3, "n<1K"), (1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e6, "100K<n<1M"), (1e7, "1M<n<10M"),
          (1e8, "10M<n<100M"), (1e9, "100M<n<1B")]  # fmt: skip
_LICENCES = frozenset(
    "apache-2.0 mit isc unlicense cc0-1.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 odc-by odbl pddl ofl-1.1 "
    "bsd-2-clause bsd-3-clause gpl-2.0 gpl-3.0 lgpl-2.1 lgpl-3.0 agpl-3.0 mpl-2.0 postgresql zlib".split()
)
"""The licence names that the Hub knows."""

_PICTURE_SIDE = 480
_EXCERPT_LINES = 24


def files(
    dataset: Dataset, name: str, recipe: str, stats: dict[str, Any], environment: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    """The card's files: path relative to the data set, and content.

    Args:
        dataset: the finished indexes and shards.
        name: `<recipe>/<job>`.
        recipe: the recipe as written.
        stats: the content of `stats.json`.
        environment: versions of what the data depends on.
    """
    examples = list(_examples(dataset))
    for kind, record in examples:
        if record.media:
            yield _picture_path(kind), _picture(record)
    yield ATTRIBUTION, attribution(dataset).encode()
    yield README, readme(dataset, name, recipe, stats, environment, examples).encode()


def readme(
    dataset: Dataset,
    name: str,
    recipe: str,
    stats: dict[str, Any],
    environment: dict[str, str],
    examples: list[tuple[str, Document]],
) -> str:
    """The whole README.md."""
    front = yaml.safe_dump(front_matter(dataset, name), sort_keys=False, allow_unicode=True)
    sections = [
        f"# {name}",
        _summary(dataset),
        _gallery(examples),
        "## Contents",
        _contents(dataset),
        "## Reading it",
        _reading(name),
        *(_example(kind, record) for kind, record in examples[:1]),
        "## Licences",
        _licences(dataset),
        "## What was left out",
        _left_out(stats),
        "## How it was made",
        _making(recipe, stats, environment),
    ]
    return f"---\n{front}---\n\n" + "\n\n".join(sections) + "\n"


def front_matter(dataset: Dataset, name: str) -> dict[str, Any]:
    """The card's metadata."""
    total = len(dataset)
    splits = dataset.sql(
        "select split, sum(samples)::bigint, sum(bytes)::bigint from shards group by split"
        " order by list_position(['train', 'val', 'test'], split)"
    ).fetchall()
    spdx = [row[0] for row in dataset.sql("select spdx from samples group by spdx order by count(*) desc, spdx").fetchall()]
    licences = sorted({_hub_licence(one) for one in spdx})
    return {
        "pretty_name": name,
        "license": licences[0] if len(licences) == 1 else licences,
        "size_categories": [next((label for limit, label in _SIZES if total < limit), "n>1B")],
        "task_categories": _task_categories(dataset),
        "tags": ["webdataset", "k3data", *_column(dataset, "kind")],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"{SHARD_FOLDER}/{split}-*.tar"} for split, _, _ in splits],
            }
        ],
        "dataset_info": {
            "features": features.hugging_face(dataset.shards["signature"].to_pylist()),
            "splits": [{"name": split, "num_bytes": size, "num_examples": count} for split, count, size in splits],
            "dataset_size": sum(size for _, _, size in splits),
        },
    }


def attribution(dataset: Dataset) -> str:
    """The ATTRIBUTION file: whom to credit for what, by licence."""
    lines = ["Who made what this data set is made from. Every sample also carries its own licence and credit.", ""]
    for spdx, credit, origin, count in dataset.sql(
        "select spdx, attribution, split_part(source, '/', 1) as origin, count(*) as n from samples"
        " group by all order by spdx, attribution, origin"
    ).fetchall():
        lines.append(f"{spdx}: {count} samples from {origin}")
        lines += [f"    {line}" for line in (credit or "no credit asked for").splitlines()]
    return "\n".join(lines) + "\n"
