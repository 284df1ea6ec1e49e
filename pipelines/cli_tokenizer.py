"""The verb `tokenizer` with its own three: train, encode, info."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import errors
from .cli_options import Job, Json, print_json

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

app = typer.Typer(
    help="Train a tokenizer on what was made, encode with it, and see how well it fits.", no_args_is_help=True
)

From = Annotated[list[str], typer.Argument(metavar="OUT|FILE…", help="Outputs of a run, text files, .jsonl files.")]
Path_ = Annotated[Path, typer.Option("--tokenizer", "-t", help="A tokenizer.json, or the folder that holds it.")]


@app.command()
def train(
    places: From,
    size: Annotated[int, typer.Option("--size", help="Number of ids, 256 special ones included.")] = 16384,
    to: Annotated[Path, typer.Option("--to", help="Folder to write tokenizer.json into.")] = Path("tokenizer"),
    sample_bytes: Annotated[int, typer.Option("--sample-bytes", min=1, help="Learn from about so much text.")] = 2**26,
    job: Job = None,
    json: Json = False,
) -> None:
    """Train byte-level BPE on texts, all domains in equal shares; the same texts give the same file."""
    with _library():
        from ..tokenizer.bpe import FILE, Tokenizer
        from ..tokenizer.train import check_size, train
    from .corpus import balanced, read_texts

    with _one_line():
        check_size(size)
        sample = balanced(read_texts(places, job=job), sample_bytes)
        content = train((text for texts in sample.values() for text in texts), size)
        file = to / FILE
        tokenizer = Tokenizer(content, str(file))
    _write(file, content)
    facts: dict[str, Any] = {
        "file": str(file),
        "size": tokenizer.vocab_size,
        "digest": tokenizer.digest,
        "bytes": {domain: sum(len(text.encode()) for text in texts) for domain, texts in sample.items()},
    }
    learned = ", ".join(f"{domain} {count / 1e6:.1f} MB" for domain, count in facts["bytes"].items())
    print_json(facts) if json else print(f"{file}: {size} ids, learned from {learned}; digest {tokenizer.digest[:12]}")


@app.command()
def encode(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A text file, or - for standard input.")],
    tokenizer: Path_ = Path("tokenizer"),
    json: Json = False,
) -> None:
    """Print the ids of a text, or with --json ids and pieces. Any bytes are encoded, not only UTF-8."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise errors.UserError(f"{file}: cannot be read ({error.strerror})") from None
    found = _load(tokenizer)
    ids = found.encode_bytes(data).tolist()
    if json:
        pieces = [found.token_bytes[id].decode(errors="backslashreplace") for id in ids]
        print_json({"bytes": len(data), "tokens": len(ids), "ids": ids, "pieces": pieces})
    else:
        print(*ids)


@app.command()
def info(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A tokenizer.json, or the folder that holds it.")],
    on: Annotated[list[str] | None, typer.Option("--on", metavar="OUT|FILE", help="Measure on these texts.")] = None,
    sample_bytes: Annotated[int, typer.Option("--sample-bytes", min=1, help="At most so much text.")] = 2**24,
    split: Annotated[str | None, typer.Option("--split", help="Only this split of outputs.")] = None,
    job: Job = None,
    json: Json = False,
) -> None:
    """Show a tokenizer: size, digest, what coordinates cost, and by domain how well it fits the texts of --on."""
    found = _load(path)
    with _library():
        from ..tokenizer.report import coordinates, report
    from .corpus import balanced, read_texts

    facts: dict[str, Any] = {
        "size": found.vocab_size,
        "digest": found.digest,
        "special": {name: id for name, id in found.special.items() if not name.startswith("reserved")},
        "longest_token": max(map(len, found.token_bytes)),
        "coordinates": coordinates(found),
    }
    if on:
        facts["domains"] = report(found, balanced(read_texts(on, job=job, split=split), sample_bytes))
    print_json(facts) if json else _show(facts, path)


def _show(facts: dict[str, Any], path: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(
        f"{path}: {facts['size']:,} ids, longest token {facts['longest_token']} bytes, digest {facts['digest']}"
    )
    numbers = Table("coordinate", "tokens a number", "tokens a box of four", title="What coordinates cost")
    words = {"pixel": "pixels, whole (1234)", "pixel_decimal": "pixels, one decimal (123.4)",
             "normalised": "0 to 1 (0.1234)", "per_mille": "0 to 1000 (123)"}  # fmt: skip
    for name, label in words.items():
        cost = facts["coordinates"]
        numbers.add_row(label, f"{cost[f'{name}_tokens']:.2f}", f"{cost[f'{name}_box_tokens']:.2f}")
    console.print(numbers)
    if "domains" in facts:
        fit = Table("domain", "texts", "MB", "tokens", "bytes a token", "tokens a word", "round trips that fail")
        for column in fit.columns[1:]:
            column.justify = "right"
        for domain, one in facts["domains"].items():
            fit.add_row(domain, f"{one['texts']:,}", f"{one['bytes'] / 1e6:.2f}", f"{one['tokens']:,}",
                        f"{one['bytes_per_token']:.2f}", f"{one['tokens_per_word']:.2f}",
                        str(one["round_trip_failures"]))  # fmt: skip
        console.print(fit)


def _load(path: Path) -> Tokenizer:
    with _library(), _one_line():
        from ..tokenizer import Tokenizer

        return Tokenizer.load(path)


def _write(file: Path, content: bytes) -> None:
    """Whole or not at all: whoever reads the file meanwhile finds the old one."""
    beside = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        beside.replace(file)
    except OSError as error:
        raise errors.UserError(f"{file}: cannot be written ({error.strerror})") from None


@contextmanager
def _one_line() -> Iterator[None]:
    """The tokenizer's own errors, which know nothing of the command, as the user's."""
    try:
        yield
    except ValueError as error:
        from ..tokenizer import TokenizerError

        if not isinstance(error, TokenizerError):
            raise
        raise errors.UserError(str(error)) from None


@contextmanager
def _library() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        from .table import needs

        raise errors.UserError(f"tokenizer: {needs(error)}") from None
