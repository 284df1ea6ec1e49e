"""The tokenizer: a `tokenizer.json` made by `train`, and nothing that text could do to get a special id out of it.

The library that encodes never learns of the special tokens: they are taken out of the file before it sees it. Text
that spells one, `<|eos|>`, becomes ordinary tokens; special ids exist only where code puts them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from .special import CHAT_TEMPLATE_VERSION, NAMES, SPECIAL_COUNT, SPLIT_RULE, spelling

FILE = "tokenizer.json"
_LONG = 1 << 16
_CHUNK = 1 << 15
_NOT_UTF8 = re.compile("[\udc80-\udcff]+")


class TokenizerError(ValueError):
    """The tokenizer file, or what was to be encoded or decoded, is not usable; told in one line."""


class Tokenizer:
    """Byte-level BPE with 256 special tokens at the end of its ids.

    Attributes:
        vocab_size: number of ids, the special ones included.
        special: name → id of the special tokens (`bos`, `eos`, `end_of_msg`, `open`, …, `pad`, `reserved_N`).
        token_bytes: the bytes of each id, `b""` for special ones.
        digest: SHA-256 (hex) over the file, the special tokens, the chat template's version and the split rule: equal
            digests give equal ids.
    """

    def __init__(self, content: bytes, where: str = FILE):
        """Read the content of a tokenizer file; `where` is named in errors. Raises `TokenizerError`."""
        self._where = where
        self._model, vocabulary, self.special = _parse(content, where)
        self.vocab_size = len(vocabulary) + SPECIAL_COUNT
        self._first_special = len(vocabulary)
        self.token_bytes = _bytes_of(vocabulary, where) + [b""] * SPECIAL_COUNT
        self.digest = _digest(content, self.special)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read a tokenizer file, or the `tokenizer.json` of a folder. Raises `TokenizerError`."""
        file = Path(path)
        file = file / FILE if file.is_dir() else file
        try:
            content = file.read_bytes()
        except OSError as error:
            raise TokenizerError(
                f"{file}: cannot be read ({error.strerror}); `k3data tokenizer train` makes it"
            ) from None
        return cls(content, str(file))

    def __repr__(self) -> str:
        return f"Tokenizer({self._where!r}, vocab_size={self.vocab_size})"

    def encode(self, text: str) -> np.ndarray:
        """The ids of a text, uint32 [T]. Text never gives a special id. Raises `TokenizerError` on lone surrogates."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of several texts, each as `encode` gives them, on as many cores as the library is allowed.

        A long text is cut where no token can lie across the cut, so that one document of a million tokens is spread
        over the cores too, and the library's cost, which grows faster than the length, stays low.
        """
        pieces: list[str] = []
        counts = []
        for text in texts:
            cut = _cut(text)
            pieces += cut
            counts.append(len(cut))
        try:
            found = self._model.encode_batch_fast(pieces, add_special_tokens=False)
        except (UnicodeEncodeError, TypeError):
            raise TokenizerError(_unencodable(texts)) from None
        arrays = [np.array(one.ids, dtype=np.uint32) for one in found]
        ids, at = [], 0
        for count in counts:
            ids.append(arrays[at] if count == 1 else np.concatenate(arrays[at : at + count]))
            at += count
        return ids

    def encode_bytes(self, data: bytes) -> np.ndarray:
        """The ids of any bytes, uint32 [T]: what is UTF-8 as text, the rest byte by byte. `decode_bytes` inverts it."""
        text = data.decode("utf-8", "surrogateescape")
        arrays, at = [], 0
        for odd in _NOT_UTF8.finditer(text):
            arrays.append(self.encode(text[at : odd.start()]))
            raw = odd[0].encode("utf-8", "surrogateescape")
            arrays.append(np.array([self._byte_ids[byte] for byte in raw], dtype=np.uint32))
            at = odd.end()
        arrays.append(self.encode(text[at:]))
        return np.concatenate(arrays)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, special ones as `<|name|>`, what is not UTF-8 as U+FFFD. Raises `TokenizerError`."""
        return self._join(ids, self._spelled).decode("utf-8", "replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids, special ones left out. Raises `TokenizerError` for an id out of range."""
        return self._join(ids, self.token_bytes)

    def _join(self, ids: Iterable[int], table: list[bytes]) -> bytes:
        numbers = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        if numbers and (min(numbers) < 0 or max(numbers) >= self.vocab_size):
            wrong = next(one for one in numbers if not 0 <= one < self.vocab_size)
            raise TokenizerError(f"id {wrong} is out of range: this tokenizer has {self.vocab_size} ids")
        return b"".join([table[one] for one in numbers])

    @cached_property
    def _spelled(self) -> list[bytes]:
        return self.token_bytes[: self._first_special] + [spelling(name).encode() for name in NAMES]

    @cached_property
    def _byte_ids(self) -> dict[int, int]:
        return {token[0]: id for id, token in enumerate(self.token_bytes) if len(token) == 1}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": self._model.to_str()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._model = tokenizers.Tokenizer.from_str(state["_model"])


def byte_characters() -> dict[str, int]:
    """The characters that stand for the 256 bytes in a byte-level vocabulary file → the byte.

    Printable Latin-1 characters stand for themselves; the other bytes, in order, are U+0100, U+0101, … (GPT-2's table).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {**{chr(byte): byte for byte in printable}, **{chr(256 + n): byte for n, byte in enumerate(others)}}


def _cut(text: str) -> list[str]:
    """Cut a long text after line ends that a character other than white space follows: no piece of the split rule
    reaches from a line end into what is not white space, so the ids are those of the whole."""
    if len(text) < _LONG:
        return [text]
    pieces, start = [], 0
    while len(text) - start > _LONG:
        at = text.find("\n", start + _CHUNK) + 1
        while at and at < len(text) and text[at].isspace():
            at = text.find("\n", at) + 1
        if not at or at == len(text):
            break
        pieces.append(text[start:at])
        start = at
    return [*pieces, text[start:]]


def _parse(content: bytes, where: str) -> tuple[tokenizers.Tokenizer, list[str], dict[str, int]]:
    """The library's tokenizer without special tokens, the vocabulary in the order of ids, the special tokens."""
    try:
        stored = json.loads(content)
        added, stored["added_tokens"] = stored["added_tokens"], []
        split = stored["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
        vocabulary = sorted(stored["model"]["vocab"], key=stored["model"]["vocab"].__getitem__)
        ids = sorted(stored["model"]["vocab"].values())
        special = {one["content"][2:-2]: one["id"] for one in added}
        wanted = {name: len(vocabulary) + place for place, name in enumerate(NAMES)}
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise TokenizerError(
            f"{where}: damaged, or not a file that `k3data tokenizer train` made ({type(error).__name__}: {error})"
        ) from None
    if special != wanted or ids != list(range(len(vocabulary))):
        raise TokenizerError(f"{where}: its last {SPECIAL_COUNT} ids are not our special tokens")
    if split != SPLIT_RULE:
        raise TokenizerError(f"{where}: made with another split rule than this version's")
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(stored)), vocabulary, special
    except Exception as error:  # the library raises nothing more special
        raise TokenizerError(f"{where}: damaged ({str(error).splitlines()[0]})") from None


def _bytes_of(vocabulary: list[str], where: str) -> list[bytes]:
    table = byte_characters()
    try:
        tokens = [bytes(table[character] for character in token) for token in vocabulary]
    except KeyError as error:
        raise TokenizerError(f"{where}: {error} in its vocabulary stands for no byte") from None
    if len({token for token in tokens if len(token) == 1}) < 256:
        raise TokenizerError(f"{where}: its vocabulary lacks some of the 256 bytes")
    return tokens


def _digest(content: bytes, special: dict[str, int]) -> str:
    facts = {"special": special, "chat_template": CHAT_TEMPLATE_VERSION, "split_rule": SPLIT_RULE}
    digest = hashlib.sha256(hashlib.sha256(content).digest())
    digest.update(json.dumps(facts, sort_keys=True).encode())
    return digest.hexdigest()


def _unencodable(texts: Sequence[str]) -> str:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            return f"text {number} is {type(text).__name__}, not str"
        lone = re.search("[\ud800-\udfff]", text)
        if lone:
            return f"text {number} has a lone surrogate at character {lone.start()}: it is not Unicode text"
    return "text that the tokenizer cannot encode"
