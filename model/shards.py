"""A model's folder: tensors in safetensors files as Hugging Face lays them out, and what the model is in config.json.

    config.json   model.safetensors                                                                         or
    config.json   model-00001-of-00003.safetensors …   model.safetensors.index.json

A folder without config.json is no model. Writing makes use of that: everything is written and forced to the disk under
temporary names, then the old config.json goes, the new files take their names, and config.json is the last of them. A
writer that is killed leaves the model that was there, or no model, or the new one; never a mixture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

CONFIG = "config.json"
WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
_SHARDS = "model-*-of-*.safetensors"
_TEMPORARY = ".partial"


class ModelFileError(ValueError):
    """A folder that holds no model, another one, or a damaged one; one line names the file and says what is wrong."""


class TensorFiles(Mapping[str, Tensor]):
    """The tensors of a folder by name, read when asked for. They are memory-mapped: copy what is to stay."""

    shapes: dict[str, tuple[int, ...]]
    """Of all tensors; known without reading them."""

    def __init__(self, folder: str | Path) -> None:
        """Reads the index and the head of every file.

        Raises ModelFileError when the folder has no tensors, or both a whole file and an index; for an index that
        cannot be read, that names a file which is not there or has other tensors than it says; for a damaged file.
        """
        self.folder = Path(folder)
        self.shapes, self._file_of = {}, {}
        self._opened: tuple[str, Any] = ("", None)
        index = self._index()
        for file in dict.fromkeys(index.values()) if index else [WHOLE]:
            head = self._open(file)
            names = list(head.keys())
            if index:
                _check_index(self.folder / file, {name for name, place in index.items() if place == file}, set(names))
            for name in names:
                self._file_of[name] = file
                self.shapes[name] = tuple(head.get_slice(name).get_shape())

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._open(self._file_of[name]).get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._file_of)

    def __len__(self) -> int:
        return len(self._file_of)

    def files(self) -> Iterator[dict[str, Tensor]]:
        """The tensors of one file after the other."""
        for file in dict.fromkeys(self._file_of.values()):
            yield {name: self[name] for name, place in self._file_of.items() if place == file}

    def _index(self) -> dict[str, str]:
        """Names of tensors to names of files; empty where one file holds them all."""
        path, whole = self.folder / INDEX, self.folder / WHOLE
        if not path.exists():
            if not whole.exists():
                raise ModelFileError(f"{self.folder} holds neither {WHOLE} nor {INDEX}")
            return {}
        if whole.exists():
            raise ModelFileError(f"{self.folder} holds both {WHOLE} and {INDEX}, and only one can be the model's")
        try:
            places = json.loads(path.read_text())["weight_map"]
        except (ValueError, TypeError, KeyError) as error:
            raise ModelFileError(f"{path} is no index of tensors: {type(error).__name__}: {error}") from None
        if not isinstance(places, dict) or not places:
            raise ModelFileError(f"{path} names no tensor")
        for name, file in places.items():
            if not isinstance(file, str) or Path(file).name != file:
                raise ModelFileError(f"{path} places {name} in {file!r}, which is no file of this folder")
        return places

    def _open(self, file: str) -> Any:
        if self._opened[0] != file:
            path = self.folder / file
            if not path.is_file():
                raise ModelFileError(f"{path} is missing, but {INDEX} names it")
            try:
                self._opened = (file, safe_open(path, framework="pt", device="cpu"))
            except SafetensorError as error:
                raise ModelFileError(f"{path} is torn, or no safetensors file: {error}") from None
        return self._opened[1]


def write_folder(
    folder: str | Path, config: str, tensors: Mapping[str, Tensor], dtypes: Mapping[str, torch.dtype],
    max_shard_bytes: int,
) -> None:  # fmt: skip
    """Writes the tensors, as `dtypes` says, and `config`; replaces a model that is there. One writer at a time.

    No file is larger than `max_shard_bytes`, unless a single tensor is. One file is in memory at a time. Raises
    ValueError for a limit below 1, and for a tensor without data here (on the meta device, or split over ranks).
    """
    if max_shard_bytes < 1:
        raise ValueError(f"max_shard_bytes is {max_shard_bytes}, and must be above 0")
    for name, tensor in tensors.items():
        if tensor.is_meta or type(tensor) not in (Tensor, torch.nn.Parameter):
            kind = "on the meta device" if tensor.is_meta else f"a {type(tensor).__name__}"
            raise ValueError(f"{name} is {kind}, and only a tensor that is whole and here can be saved")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _remove_temporary(folder)  # of a writer that was killed
    sizes = {name: tensor.numel() * dtypes[name].itemsize for name, tensor in tensors.items()}
    parts = _parts(sizes, max_shard_bytes)
    files = [f"model-{n:05d}-of-{len(parts):05d}.safetensors" for n in range(1, len(parts) + 1)]
    files = files if len(parts) > 1 else [WHOLE]
    try:
        for file, names in zip(files, parts, strict=True):
            _write_tensors(folder / (file + _TEMPORARY), tensors, dtypes, names)
        if len(parts) > 1:
            places = {name: file for file, names in zip(files, parts, strict=True) for name in names}
            index = {"metadata": {"total_size": sum(sizes.values())}, "weight_map": places}
            _write_text(folder / (INDEX + _TEMPORARY), json.dumps(index, indent=2) + "\n")
            files.append(INDEX)
        _write_text(folder / (CONFIG + _TEMPORARY), config)
    except BaseException:
        _remove_temporary(folder)  # a full disk should not stay full
        raise
    _publish(folder, files)


def listed(items: Sequence[str]) -> str:
    """Three of them by name, and how many more there are."""
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    return ", ".join(items[:3]) + more


def check_tensors(
    where: object, found: Mapping[str, tuple[int, ...]], expected: Mapping[str, tuple[int, ...]]
) -> None:  # fmt: skip
    """Raises ModelFileError, with `where` in front, when names or shapes of what was found are not as expected."""
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    misshapen = [
        f"{name} as {list(found[name])} instead of {list(shape)}"
        for name, shape in expected.items()
        if name in found and tuple(found[name]) != tuple(shape)
    ]
    wrong = [f"lacks {listed(missing)}"] if missing else []
    wrong += [f"holds {listed(extra)}, which the model does not have"] if extra else []
    wrong += [f"holds {listed(misshapen)}"] if misshapen else []
    if wrong:
        raise ModelFileError(f"{where} {'; '.join(wrong)}")


def _parts(sizes: Mapping[str, int], limit: int) -> list[list[str]]:
    """Names in their order, cut where a file would grow beyond the limit."""
    parts: list[list[str]] = [[]]
    size = 0
    for name, own in sizes.items():
        if parts[-1] and size + own > limit:
            parts.append([])
            size = 0
        parts[-1].append(name)
        size += own
    return parts


def _write_tensors(
    path: Path, tensors: Mapping[str, Tensor], dtypes: Mapping[str, torch.dtype], names: Sequence[str]
) -> None:  # fmt: skip
    part = {name: tensors[name].detach().to("cpu", dtypes[name]).contiguous() for name in names}
    save_file(part, path, metadata={"format": "pt"})
    _to_disk(path)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text)
    _to_disk(path)


def _remove_temporary(folder: Path) -> None:
    for path in folder.glob(f"*{_TEMPORARY}"):
        path.unlink()


def _publish(folder: Path, files: Sequence[str]) -> None:
    """The written files take the place of what is there; config.json goes first and comes last."""
    (folder / CONFIG).unlink(missing_ok=True)
    _to_disk(folder)
    for old in (folder / WHOLE, folder / INDEX, *folder.glob(_SHARDS)):
        if old.name not in files:
            old.unlink(missing_ok=True)
    for file in files:
        (folder / (file + _TEMPORARY)).replace(folder / file)
    _to_disk(folder)
    (folder / (CONFIG + _TEMPORARY)).replace(folder / CONFIG)
    _to_disk(folder)


def _to_disk(path: Path) -> None:
    """A file's content, or a folder's entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_index(path: Path, named: set[str], held: set[str]) -> None:
    if lacking := sorted(named - held):
        raise ModelFileError(f"{path} lacks {listed(lacking)}, which {INDEX} places there")
    if unnamed := sorted(held - named):
        raise ModelFileError(f"{path} holds {listed(unnamed)}, which {INDEX} does not place there")
