"""The smallest proof that a model sees: it learns 32 pictures and their programs by heart, then writes each from its
picture alone.

    k3data run pipelines/code_render.yaml --out out/code_render
    k3data tokenizer train out/code_render --size 4096 --to out/tokenizer
    python -m k3data.train.examples.overfit out/code_render out/tokenizer

Every picture is drawn into a square of 112 pixels, so that all prompts are the same but for the pixels. After training,
each program is written freely from its own picture, from a white one, and from its neighbour's. Only the first may give
back the program; if a white picture did, the model would have got it from elsewhere. Exits with 1 when one of the three
is not as it should be.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import k3data
import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ...model.config import ModelConfig, preset
from ...model.generate import Prompt, Sampling, generate
from ...model.quantile_balancing import balance
from ...model.transformer import K3Model
from ...model.vision.preprocess import Patches, preprocess_image
from ...tokenizer.bpe import Tokenizer
from ...tokenizer.images import image_tokens

SIDE = 112
LONGEST = 256
ENOUGH = 0.1
"""Nats a token."""
LEARNT = 0.004
"""The same, where training stops: a program is 200 tokens, and telling 32 of them apart costs ln 32 nats once."""


@dataclass
class Pair:
    """A picture and the program that drew it, and how they stand in a sequence: prompt, program, end."""

    prompt: list[int]
    program: list[int]
    image: Patches


def main() -> None:
    about = (__doc__ or "").split("\n\n")[0]
    parser = argparse.ArgumentParser(description=about, prog="python -m k3data.train.examples.overfit")
    parser.add_argument("data", help="an output of pipelines/code_render.yaml")
    parser.add_argument("tokenizer", type=Path, help="a folder that `k3data tokenizer train` wrote")
    parser.add_argument("--pairs", type=int, default=32)
    parser.add_argument("--steps", type=int, default=600, help="at most; it stops when every pair is learnt")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    tokenizer = Tokenizer.load(arguments.tokenizer)
    pairs = find_pairs(arguments.data, tokenizer, arguments.pairs)
    torch.manual_seed(0)
    model = K3Model(nano_like(tokenizer.vocab_size))
    started = time.monotonic()
    loss = overfit(model, pairs, arguments.steps, say=None if arguments.json else print)
    seconds = time.monotonic() - started
    figures = {"pairs": len(pairs), "loss": loss, "training_s": seconds, **recall(model, pairs, tokenizer)}
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        print("  ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    right = figures["own_picture"] == len(pairs) and loss < ENOUGH
    sys.exit(0 if right and max(figures["blank_picture"], figures["swapped_picture"]) <= 1 else 1)


def nano_like(words: int) -> ModelConfig:
    """Nano's shape at two thirds of its width and five layers, to be trained on a CPU in minutes."""
    nano = preset("nano")
    assert nano.vision is not None
    return replace(
        nano, name="nano-like", d_model=128, layers=5, mla_layers=(3, 4), dense_inner=384, vocab_size=words,
        attn_res_block=2, kda=replace(nano.kda, heads=2), mla=replace(nano.mla, heads=2),
        moe=replace(nano.moe, experts=16, top_k=2, latent=64), vision=replace(nano.vision, layers=2),
    )  # fmt: skip


def find_pairs(data: str, tokenizer: Tokenizer, count: int) -> list[Pair]:
    """The first `count` SVG programs that fit into 256 tokens with their picture. Exits when there are fewer."""
    pairs: list[Pair] = []
    for sample in k3data.open(data):
        if sample.metadata["kind"] != "svg":
            continue
        program = [*tokenizer.encode(sample.text.replace("\ufffc", "").strip()).tolist(), tokenizer.special["eos"]]
        prompt = image_tokens(tokenizer, SIDE, SIDE).tolist()
        if len(prompt) + len(program) <= LONGEST:
            pairs.append(Pair(prompt, program, preprocess_image(square(sample.media[0].media_bytes))))
        if len(pairs) == count:
            return pairs
    sys.exit(f"{data} has {len(pairs)} SVG programs of at most {LONGEST} tokens, and {count} are needed")


def square(picture: bytes) -> Image.Image:
    """Scaled to fit into the square, in its middle, on white."""
    with Image.open(io.BytesIO(picture)) as opened:
        small = opened.convert("RGB")
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    whole = Image.new("RGB", (SIDE, SIDE), "white")
    whole.paste(small, ((SIDE - small.width) // 2, (SIDE - small.height) // 2))
    return whole


def overfit(
    model: K3Model, pairs: list[Pair], steps: int, rate: float = 3e-3, *, until: float = LEARNT,
    say: Callable[[str], None] | None = None,
) -> float:  # fmt: skip
    """Trains on quarters of the pairs in turn until all have a loss below `until`; returns the last pass's mean."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.0)
    batches = [pairs[start :: 4] for start in range(4)]
    recent: list[float] = []
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 20) * (1 - 0.9 * step / steps)
        tokens_1T, weights_1T, bounds = packed(batches[step % len(batches)])
        images = [pair.image for pair in batches[step % len(batches)]]
        loss = model.loss(tokens_1T, weights_1T, images=images, groups=bounds).next_token
        mean = loss.total / loss.weight
        optimiser.zero_grad()
        mean.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        balance(model.balancers())
        recent = [*recent[-len(batches) + 1 :], mean.item()]
        if say and step % 20 == 19:
            say(f"step {step + 1}: {sum(recent) / len(recent):.4f} nats a token")
        if len(recent) == len(batches) and max(recent) < until:
            break
    return sum(recent) / len(recent)


def packed(pairs: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """One row of all sequences, with the weights of the programs' tokens, and the bounds."""
    tokens, weights, bounds = [], [], [0]
    for pair in pairs:
        tokens += pair.prompt + pair.program
        # Weights belong to the position before the token that they are for.
        weights += [0.0] * (len(pair.prompt) - 1) + [1.0] * len(pair.program) + [0.0]
        bounds.append(len(tokens))
    return torch.tensor([tokens]), torch.tensor([weights]), torch.tensor(bounds)


def recall(model: K3Model, pairs: list[Pair], tokenizer: Tokenizer) -> dict[str, int]:
    """How many programs come back exactly from their own picture, from a white one, and from the neighbour's."""
    white = preprocess_image(Image.fromarray(np.full((SIDE, SIDE, 3), 255, np.uint8)))
    shown = {
        "own_picture": [pair.image for pair in pairs],
        "blank_picture": [white] * len(pairs),
        "swapped_picture": [pair.image for pair in pairs[1:] + pairs[:1]],
    }
    sampling = Sampling(max_tokens=LONGEST, stop=(tokenizer.special["eos"],))
    found = {}
    for name, images in shown.items():
        prompts = [Prompt(pair.prompt, [image]) for pair, image in zip(pairs, images, strict=True)]
        written = generate(model, prompts, sampling)
        found[name] = sum(one.tokens == pair.program[:-1] for one, pair in zip(written, pairs, strict=True))
    return found


if __name__ == "__main__":
    main()
