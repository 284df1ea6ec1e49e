"""The tokenizer that a recipe names, wherever it lies."""

from __future__ import annotations

from functools import lru_cache

from ..pipelines.errors import UserError
from ..pipelines.stage import Context
from ..pipelines.store import open_store
from ..tokenizer import Tokenizer, TokenizerError

FILE = "tokenizer.json"


def tokenizer_at(context: Context, place: str) -> tuple[Tokenizer, bytes]:
    """A tokenizer and the content of its file.

    Args:
        place: the file or the folder that holds it, a path or any fsspec URL; see `Context.beside`.

    Raises:
        UserError: there is none, or it is damaged.
    """
    return _load(context.beside(place))


@lru_cache(maxsize=4)
def _load(url: str) -> tuple[Tokenizer, bytes]:
    folder = url.removesuffix("/").removesuffix(f"/{FILE}")
    store = open_store(folder if url.endswith((FILE, "/")) or not url.endswith(".json") else url.rpartition("/")[0])
    name = url.rpartition("/")[2] if url.endswith(".json") else FILE
    try:
        content = store.read(name)
        return Tokenizer(content, f"{store.url}/{name}"), content
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{store.url}/{name}: no such tokenizer; `k3data tokenizer train` makes one") from None
    except TokenizerError as error:
        raise UserError(str(error)) from None
