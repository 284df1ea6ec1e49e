"""What token samples were prepared with: the tokenizer that a recipe names, wherever it lies, and whether data fits it.

The tokenizer is loaded when it is asked for: the engine runs without it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .errors import UserError
from .reader import Dataset
from .stage import Context
from .store import open_store

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

TOKENIZER_FILE = "tokenizer.json"


def tokenizer_at(context: Context, place: str) -> tuple[Tokenizer, bytes]:
    """A tokenizer and the content of its file.

    Args:
        place: the file or the folder that holds it, a path or any fsspec URL; see `Context.beside`.

    Raises:
        UserError: there is none, or it is damaged.
    """
    return load_tokenizer(context.beside(place))


@lru_cache(maxsize=4)
def load_tokenizer(url: str) -> tuple[Tokenizer, bytes]:
    """`tokenizer_at` for a path or URL as it stands."""
    from ..tokenizer import Tokenizer, TokenizerError

    folder = url.removesuffix("/").removesuffix(f"/{TOKENIZER_FILE}")
    whole = url.endswith((TOKENIZER_FILE, "/")) or not url.endswith(".json")
    store = open_store(folder if whole else url.rpartition("/")[0])
    name = url.rpartition("/")[2] if url.endswith(".json") else TOKENIZER_FILE
    try:
        content = store.read(name)
        return Tokenizer(content, f"{store.url}/{name}"), content
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{store.url}/{name}: no such tokenizer; `k3data tokenizer train` makes one") from None
    except TokenizerError as error:
        raise UserError(str(error)) from None


def check_prepared(dataset: Dataset, tokenizer: Tokenizer, place: str, max_image_tokens: int, who: str) -> None:
    """Raise `UserError` unless a data set was made with this tokenizer and this bound on pictures.

    Args:
        place: where the tokenizer lies, for the message; `who` says who asks for the bound.
    """
    name = dataset.info.get("name") or dataset.store.url
    stated = dataset.info.get("environment", {})
    if "tokenizer" not in stated:
        raise UserError(f"{name} does not say which tokenizer made it; curriculum.tokenise and synth.scatter do")
    if stated["tokenizer"] != tokenizer.digest:
        raise UserError(
            f"{name} was made with another tokenizer ({stated['tokenizer'][:12]}) than {place} "
            f"({tokenizer.digest[:12]})"
        )
    bound = stated.get("image tokens", str(max_image_tokens))
    if bound != str(max_image_tokens):
        raise UserError(
            f"{name} has pictures of up to {bound} tokens, {who} says max_image_tokens: {max_image_tokens}"
        )
