"""The documents that a stage may draw from, as flat arrays read from the indexes of tokenised data sets."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..pipelines.errors import UserError
from ..pipelines.reader import Dataset

COLUMNS = ["id", "tokens", "domain", "kind", "split", "checks"]
UPSAMPLE = "upsample"
"""The check whose score says how often a document may be used; a stage that cleans documents adds it."""

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Codes:
    """A column of few different words: `names[codes[n]]` is the word of document n."""

    codes: npt.NDArray[np.int32]
    names: list[str]

    def among(self, wanted: Sequence[str]) -> npt.NDArray[np.bool_]:
        """[N] the word is one of these."""
        return np.isin(self.codes, [at for at, name in enumerate(self.names) if name in set(wanted)])


@dataclass(frozen=True)
class Supply:
    """N documents.

    Attributes:
        ids: their sample ids.
        dataset: [N] which data set holds it.
        row: [N] its number there.
        tokens: [N] its length.
        domain, kind, split: words by document.
        key: [N] a hash of its id, from which every order is drawn.
        upsample: [N] how often it may be used, 1 unless a stage before tokenising has said otherwise.
    """

    ids: pa.ChunkedArray
    dataset: npt.NDArray[np.int32]
    row: Ints
    tokens: Ints
    domain: Codes
    kind: Codes
    split: Codes
    key: Keys
    upsample: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.tokens)


def supply_of(datasets: Sequence[Dataset]) -> Supply:
    """All samples of the data sets.

    Raises:
        UserError: a data set has samples that are not tokenised, or holds none; or two hold the same sample.
    """
    for dataset in datasets:
        name = dataset.info.get("name") or dataset.store.url
        if dataset.samples["tokens"].null_count:
            raise UserError(f"{name} has samples that are not made of token ids; curriculum.tokenise makes them")
        if not len(dataset):
            raise UserError(f"{name} has no samples")
    return supply_from([one.samples.select(COLUMNS) for one in datasets])


def supply_from(tables: Sequence[pa.Table]) -> Supply:
    """The same from the columns `COLUMNS` of their indexes."""
    table = pa.concat_tables(tables)
    ids = table["id"]
    if pc.count_distinct(ids).as_py() != len(ids):
        raise UserError("the data sets have samples in common: a document would be drawn twice without being a copy")
    return Supply(
        ids=ids,
        dataset=np.repeat(np.arange(len(tables), dtype=np.int32), [len(one) for one in tables]),
        row=np.concatenate([np.arange(len(one)) for one in tables]),
        tokens=table["tokens"].to_numpy(),
        domain=_codes(table["domain"]),
        kind=_codes(table["kind"]),
        split=_codes(table["split"]),
        key=id_keys(ids),
        upsample=_factors(table["checks"]),
    )


def _codes(column: pa.ChunkedArray) -> Codes:
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return Codes(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32), encoded.dictionary.to_pylist())


def _factors(checks: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """[N] the score of each document's check `upsample`, 1 if it has none."""
    factors = np.ones(len(checks))
    one_each = pc.list_flatten(checks)
    of = pc.list_parent_indices(checks)
    stated = pc.equal(pc.struct_field(one_each, "name"), UPSAMPLE)
    factors[of.filter(stated).to_numpy()] = pc.struct_field(one_each.filter(stated), "score").to_numpy()
    return factors


def id_keys(ids: pa.ChunkedArray) -> Keys:
    """[N] a 64-bit hash of each id, the same on every machine."""
    width = -(-max(pc.max(pc.binary_length(ids)).as_py() or 0, 1) // 8) * 8
    padded = pc.utf8_rpad(ids, width, "\0").cast(pa.binary()).combine_chunks()
    if isinstance(padded, pa.ChunkedArray):
        padded = pa.concat_arrays(padded.chunks)
    offset = np.frombuffer(padded.buffers()[1], np.int32, offset=4 * padded.offset, count=1)[0]
    words = np.frombuffer(padded.buffers()[2], "<u8", offset=int(offset), count=len(ids) * width // 8)
    keys = np.zeros(len(ids), np.uint64)
    for column in words.reshape(len(ids), -1).T:
        keys = mixed(keys ^ column)
    return keys


def mixed(keys: Keys, salt: int = 0) -> Keys:
    """A bijection of 64-bit numbers without visible pattern (SplitMix64's finaliser; Steele, Lea and Flood, 2014)."""
    keys = keys + np.uint64((salt * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & (2**64 - 1))
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def salt_of(*parts: object) -> int:
    """A 63-bit number from words and numbers."""
    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()[:8], "big") >> 1
