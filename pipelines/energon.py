"""The `.nv-meta` folder, so that Megatron-Energon reads a data set as it lies.

`dataset.yaml` gives interleaved samples, through a small loader that lies beside it; `crude.yaml` gives the members as
they are, for users with cookers of their own, and is all there is for samples made of token ids. Splits are ours.
Energon's byte index is its internal affair: once, `energon prepare --tar-index-only <folder>` adds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import yaml

from .tokens import TOKENS

FOLDER = ".nv-meta"
SPLITS = ("train", "val", "test")

_LOADER = "sample_loader.py"
_INTERLEAVED = {
    "sample_type": {"__module__": "megatron.energon", "__class__": "InterleavedSample"},
    "decoder": None,  # the loader wants bytes
    "sample_loader": f"{_LOADER}:sample_loader",
    "part_filter": f"{_LOADER}:part_filter",
}
_CRUDE = {"__module__": "megatron.energon", "__class__": "CrudeWebdataset"}


def files(shards: Sequence[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """The folder's files: path relative to the data set, and content.

    Args:
        shards: rows of the shard index, in order.
    """
    parts: dict[str, list[str]] = {split: [] for split in SPLITS}
    for shard in shards:
        parts[shard["split"]].append(shard["path"])
    counts = {str(shard["path"]): shard["samples"] for shard in shards}
    of_tokens = any(TOKENS in shard["signature"] for shard in shards)
    yield f"{FOLDER}/dataset.yaml", _yaml(_CRUDE if of_tokens else _INTERLEAVED)
    yield f"{FOLDER}/crude.yaml", _yaml(_CRUDE)
    yield f"{FOLDER}/{_LOADER}", Path(__file__).with_name("energon_loader.py").read_bytes()
    yield f"{FOLDER}/split.yaml", _yaml({"split_parts": parts, "exclude": []})
    yield f"{FOLDER}/.info.json", orjson.dumps({"shard_counts": counts}, option=orjson.OPT_INDENT_2)


def _yaml(values: dict[str, Any]) -> bytes:
    return yaml.safe_dump(values, sort_keys=False).encode()
