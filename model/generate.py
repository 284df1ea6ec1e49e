"""Writing: prompts, with pictures or without, are read at once, and then each sequence grows token by token.

    model = load_model("out/nano")
    prompt = Prompt(tokens, [preprocess_image(picture)])
    (written,) = generate(model, [prompt], Sampling(max_tokens=400, stop=(eos,)))

Prompts of any lengths share a batch; a sequence that has ended leaves it. Every sequence draws from its own random
numbers, made of the seed and its place in the list, so what is beside it does not change what it becomes.

Letters: N sequences, T tokens, V words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from .attention import Groups
from .cache import HybridCache
from .prefixes import PrefixStore
from .transformer import K3Model
from .vision.preprocess import Patches


@dataclass(frozen=True)
class Prompt:
    """Token ids, and its pictures in the order of their places."""

    tokens: Sequence[int]
    images: Sequence[Patches] = ()


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen. Of the words that `top_k` and `top_p` leave, one is drawn at `temperature`."""

    max_tokens: int = 256
    temperature: float = 0.0
    """0 takes the most probable word."""
    top_k: int = 0
    """Words to choose among; 0 for all."""
    top_p: float = 1.0
    """Choose among the most probable words whose probabilities reach this together."""
    stop: tuple[int, ...] = ()
    """Tokens that end a sequence."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}, and must be at least 1")
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}, and must be 0 or more")
        if self.top_k < 0:
            raise ValueError(f"top_k is {self.top_k}, and must be 0 (all words) or more")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}, not in (0, 1]")


@dataclass
class Written:
    """Attributes:
    tokens: those after the prompt, without the one that ended it.
    log_probabilities: of each token under the model (at temperature 1, of all words).
    finish: "stop" for a stop token, "length" for `max_tokens`.
    """

    tokens: list[int] = field(default_factory=list)
    log_probabilities: list[float] = field(default_factory=list)
    finish: Literal["stop", "length"] = "length"


def generate(
    model: K3Model, prompts: Sequence[Prompt], sampling: Sampling | None = None, *,
    prefixes: PrefixStore | None = None, dtype: torch.dtype | None = None,
) -> list[Written]:  # fmt: skip
    """What the model writes after each prompt. With `prefixes`, blocks that were read before are not read again.

    `dtype` is that of the activations, which is the weights' unless these are cast on their way (as FSDP does). Raises
    ValueError for an empty prompt, a `prefixes` of another configuration, and as `K3Model.forward` does.
    """
    written = [Written() for _ in prompts]
    for number, token, log_probability, stopped in stream(model, prompts, sampling, prefixes=prefixes, dtype=dtype):
        if stopped:
            written[number].finish = "stop"
        else:
            written[number].tokens.append(token)
            written[number].log_probabilities.append(log_probability)
    return written


def stream(
    model: K3Model, prompts: Sequence[Prompt], sampling: Sampling | None = None, *,
    prefixes: PrefixStore | None = None, dtype: torch.dtype | None = None,
) -> Iterator[tuple[int, int, float, bool]]:  # fmt: skip
    """The same while it is written: number of the prompt, token, its log probability, whether it ended the sequence.

    Raises ValueError as `generate` does, at the first token.
    """
    sampling = sampling or Sampling()
    for number, prompt in enumerate(prompts):
        if not len(prompt.tokens):
            raise ValueError(f"prompt {number} is empty")
    if prefixes is not None and prefixes.config != model.config:
        raise ValueError(f"the prefixes are of the model {prefixes.config.name}, not of this {model.config.name}")
    if not prompts:
        return
    device = model.embedding.weight.device
    # torch's generator takes the lowest 32 bits of a seed alone.
    seeds = [(sampling.seed * 1_000_003 + number) % 2**32 for number in range(len(prompts))]
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    alive = list(range(len(prompts)))
    with _inference(model):
        logits_NV, cache = _read(model, prompts, prefixes, dtype or model.embedding.weight.dtype)
        log_p_NV = _log_probabilities(model, logits_NV)
    for step in range(sampling.max_tokens):
        chosen = [_choose(row_V, sampling, generators[n]) for row_V, n in zip(log_p_NV, alive, strict=True)]
        stopped = [token in sampling.stop for token in chosen]
        for row, number in enumerate(alive):
            yield number, chosen[row], float(log_p_NV[row, chosen[row]]), stopped[row]
        going = [row for row in range(len(alive)) if not stopped[row]]
        if not going or step + 1 == sampling.max_tokens:
            return
        with _inference(model):
            if len(going) < len(alive):
                cache, alive = cache.select(going), [alive[row] for row in going]
            tokens_N1 = torch.tensor([[chosen[row]] for row in going], device=device)
            log_p_NV = _log_probabilities(model, model.logits(tokens_N1, cache=cache))


def _read(
    model: K3Model, prompts: Sequence[Prompt], prefixes: PrefixStore | None, dtype: torch.dtype
) -> tuple[Tensor, HybridCache]:
    """Logits [N, V] after the last token of each prompt, and the cache after all of them."""
    device = model.embedding.weight.device
    tokens = [torch.as_tensor(prompt.tokens, dtype=torch.int64, device=device) for prompt in prompts]
    if prefixes is not None:
        read = [
            _read_one(model, ids, prompt.images, prefixes, dtype) for ids, prompt in zip(tokens, prompts, strict=True)
        ]
        return torch.cat([logits_1V for logits_1V, _ in read]), HybridCache.stack([cache for _, cache in read])
    ends_N = torch.tensor([len(ids) for ids in tokens]).cumsum(0)
    cache = HybridCache.empty(model.config, len(prompts), dtype, device)
    images = [image for prompt in prompts for image in prompt.images]
    tokens_1T = torch.cat(tokens)[None]
    groups = Groups(1, tokens_1T.shape[1], torch.nn.functional.pad(ends_N, (1, 0)))
    at_N = ends_N.to(device) - 1
    return model.logits(tokens_1T, images=images, groups=groups, cache=cache, at_N=at_N), cache


def _read_one(
    model: K3Model, tokens_T: Tensor, images: Sequence[Patches], prefixes: PrefixStore, dtype: torch.dtype
) -> tuple[Tensor, HybridCache]:
    starts = _places(tokens_T, model.config.media_pad_id)
    if len(starts) != len(images):
        raise ValueError(f"got {len(images)} pictures, but the tokens have room for {len(starts)}")
    placed = list(zip(starts, images, strict=True))
    # The last token is always read, for its logits.
    keys = prefixes.keys(tokens_T[: len(tokens_T) - 1], placed)
    blocks, cache = prefixes.longest(keys)
    cache = cache or HybridCache.empty(model.config, 1, dtype, tokens_T.device)
    done = blocks * prefixes.block
    # A picture that the boundary cuts is seen again whole; those before it are not.
    cut = [at for at, image in placed if at < done < at + image.tokens]
    begin = cut[0] if cut else done
    x_1TD = model.embed(tokens_T[None, begin:], [image for at, image in placed if at >= begin])[:, done - begin :]
    for number in range(blocks, len(keys)):
        block_1TD, x_1TD = x_1TD[:, : prefixes.block], x_1TD[:, prefixes.block :]
        model.states(block_1TD, cache=cache)
        prefixes.put(keys[number], cache)
    return model.head(model.norm(model.states(x_1TD, cache=cache)[:, -1])), cache


def _places(tokens_T: Tensor, media_pad: int) -> list[int]:
    """Where runs of places begin."""
    is_place_T = (tokens_T == media_pad).cpu()
    before_T = torch.nn.functional.pad(is_place_T, (1, 0))[:-1]
    starts: list[int] = (is_place_T & ~before_T).nonzero()[:, 0].tolist()
    return starts


def _log_probabilities(model: K3Model, logits_NV: Tensor) -> Tensor:
    """[N, V] in fp32, on the CPU. A place of a picture is never written: it would need a picture."""
    logits_NV = logits_NV.float()
    logits_NV[:, model.config.media_pad_id] = -torch.inf
    return logits_NV.log_softmax(-1).cpu()


def _choose(log_p_V: Tensor, sampling: Sampling, generator: torch.Generator) -> int:
    if sampling.temperature == 0:
        return int(log_p_V.argmax())
    p_V, words_V = (log_p_V / sampling.temperature).softmax(-1).sort(descending=True, stable=True)
    if sampling.top_k:
        p_V = p_V[: sampling.top_k]
    before_V = p_V.cumsum(0) - p_V
    p_V = p_V.masked_fill(before_V >= sampling.top_p, 0)  # the first is never left out
    return int(words_V[torch.multinomial(p_V, 1, generator=generator)])


@contextmanager
def _inference(model: K3Model) -> Iterator[None]:
    """Evaluation mode without gradients, and the mode as it was after. (Never held over a `yield`.)"""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)
