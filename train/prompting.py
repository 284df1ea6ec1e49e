"""A prompt out of what a person gives, text and pictures, plain or as a conversation; and the text of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from ..model.config import ConfigError
from ..model.generate import Prompt
from ..model.vision.preprocess import preprocess_image
from ..tokenizer.bpe import Tokenizer
from ..tokenizer.chat import render
from ..tokenizer.images import image_tokens
from ..tokenizer.messages import Conversation, User
from ..tokenizer.messages import Image as Picture


def build_prompt(
    tokenizer: Tokenizer, text: str, pictures: Sequence[Path], *, chat: bool = False, max_tokens: int = 1024
) -> Prompt:
    """Pictures first, each in its frame of tokens, then the text; with `chat` as a user's turn to be answered.

    `max_tokens` bounds the tokens of a picture, as the model was trained. Raises ConfigError for a file that is no
    picture, and when there is neither text nor picture.
    """
    if not text and not pictures:
        raise ConfigError("there is nothing to go on from: give a prompt or a picture")
    images, sizes = [], []
    for path in pictures:
        try:
            with Image.open(path) as opened:
                sizes.append(opened.size)
                images.append(preprocess_image(opened.convert("RGBA"), max_tokens))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: cannot be read as a picture ({error})") from None
    if chat:
        content: list[str | Picture] = [*(Picture(width, height) for width, height in sizes), text]
        rendered = render(tokenizer, Conversation((User(content),)), answer_in="response", max_tokens=max_tokens)
        return Prompt(rendered.ids.tolist(), images)
    ids: list[int] = []
    for width, height in sizes:
        ids += image_tokens(tokenizer, width, height, max_tokens).tolist() + tokenizer.encode("\n").tolist()
    return Prompt(ids + tokenizer.encode(text).tolist(), images)


def said(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of an answer: what stands before its first special token, which closes it in a conversation."""
    first_special = tokenizer.special["bos"]
    end = next((at for at, one in enumerate(ids) if one >= first_special), len(ids))
    return tokenizer.decode(ids[:end])
