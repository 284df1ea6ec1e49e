"""Writing token by token: what is chosen, when it ends, what batches and stored prefixes must not change."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.config import preset
from k3data.model.generate import Prompt, Sampling, _choose, generate, stream
from k3data.model.prefixes import PrefixStore
from k3data.model.transformer import K3Model
from k3data.model.vision.preprocess import Patches, preprocess_image
from PIL import Image

SMOKE = preset("smoke")
WORDS = SMOKE.vocab_size - 256
PAD = SMOKE.media_pad_id


@pytest.fixture(scope="module")
def model() -> K3Model:
    torch.manual_seed(3)
    return K3Model(SMOKE)


def words(length: int, seed: int = 0) -> list[int]:
    return torch.randint(0, WORDS, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def picture(width: int = 56, height: int = 28, seed: int = 0) -> Patches:
    pixels = torch.randint(0, 256, (height, width, 3), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)
    return preprocess_image(Image.fromarray(pixels.numpy()))


def with_picture(length: int, at: int, image: Patches, seed: int = 0) -> Prompt:
    tokens = words(length, seed)
    tokens[at : at + image.tokens] = [PAD] * image.tokens
    return Prompt(tokens, [image])


def by_full_forwards(model: K3Model, prompt: Prompt, count: int) -> list[int]:
    tokens = list(prompt.tokens)
    with torch.no_grad():
        for _ in range(count):
            h = model.eval()(torch.tensor([tokens]), images=prompt.images)[0, -1]
            logits = model.head(h)
            logits[PAD] = -torch.inf
            tokens.append(int(logits.argmax()))
    return tokens[len(prompt.tokens) :]


def test_greedy_writing_equals_full_forwards_with_pictures_and_lengths_mixed(model):
    prompts = [Prompt(words(5, 1)), with_picture(40, 12, picture(84, 56)), with_picture(9, 0, picture())]
    written = generate(model, prompts, Sampling(max_tokens=10))
    assert [one.tokens for one in written] == [by_full_forwards(model, prompt, 10) for prompt in prompts]
    assert {one.finish for one in written} == {"length"}
    assert all(len(one.log_probabilities) == 10 and max(one.log_probabilities) < 0 for one in written)


def test_a_stop_token_ends_its_sequence_and_no_other(model):
    prompts = [Prompt(words(5, 1)), Prompt(words(17, 2)), Prompt(words(3, 5))]
    free = [one.tokens for one in generate(model, prompts, Sampling(max_tokens=12))]
    stop = free[1][4]
    written = generate(model, prompts, Sampling(max_tokens=12, stop=(stop,)))
    for one, tokens in zip(written, free, strict=True):
        end = tokens.index(stop) if stop in tokens else 12
        assert one.tokens == tokens[:end] and one.finish == ("stop" if stop in tokens else "length")
    assert written[1].finish == "stop"


def test_draws_do_not_depend_on_the_neighbours(model):
    prompts = [Prompt(words(6, seed)) for seed in range(3)]
    sampling = Sampling(max_tokens=12, temperature=1.0, seed=7)
    together = generate(model, prompts, sampling)
    assert together[0].tokens == generate(model, prompts[:1], sampling)[0].tokens
    assert together[0].tokens != generate(model, prompts[:1], replace(sampling, seed=8))[0].tokens


def test_temperature_top_k_and_top_p_choose_as_they_say():
    log_p = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()

    def drawn(**options) -> set[int]:
        generator = torch.Generator().manual_seed(0)
        return {_choose(log_p, Sampling(**options), generator) for _ in range(300)}

    assert drawn() == {0}
    assert drawn(temperature=1.0) == {0, 1, 2, 3}
    assert drawn(temperature=1.0, top_k=2) == {0, 1}
    assert drawn(temperature=1.0, top_p=0.69) == {0, 1}
    assert drawn(temperature=1.0, top_p=0.71) == {0, 1, 2}
    assert drawn(temperature=1.0, top_p=1e-9) == {0}
    generator = torch.Generator().manual_seed(0)
    cold = [_choose(log_p, Sampling(temperature=0.5), generator) for _ in range(4000)]
    assert abs(cold.count(0) / 4000 - 0.16 / 0.30) < 0.03  # p² over its sum


def test_the_mode_and_gradients_are_as_before_also_in_the_middle(model):
    model.train()
    steps = stream(model, [Prompt(words(4))], Sampling(max_tokens=3))
    next(steps)
    assert model.training and torch.is_grad_enabled()
    assert not any(one.load_E.any() for one in model.balancers())


@pytest.mark.parametrize("block", [16, 512])
def test_a_shared_prefix_is_read_once_and_changes_nothing(model, block):
    """Prompts with a common beginning, whose picture lies across a boundary of blocks of 16."""
    image = picture(112, 84)
    assert image.tokens == 12
    first = with_picture(70, 25, image)
    second = Prompt(list(first.tokens[:50]) + words(33, 9), [image])
    plain = generate(model, [first, second], Sampling(max_tokens=8))
    prefixes = PrefixStore(SMOKE, block=block)
    stored = generate(model, [first, second], Sampling(max_tokens=8), prefixes=prefixes)
    assert [one.tokens for one in stored] == [one.tokens for one in plain]
    again = generate(model, [second], Sampling(max_tokens=8), prefixes=prefixes)
    assert again[0].tokens == plain[1].tokens
    if block == 16:  # 4 of the first, then 3 of 5 found, then all 5
        assert (len(prefixes), prefixes.hits, prefixes.misses) == (6, 3 + 5, 4 + 2)
    else:
        assert len(prefixes) == prefixes.hits == prefixes.misses == 0


def test_blocks_of_512_tokens_save_their_forward(model, monkeypatch):
    prompt = Prompt(words(1100, 4))
    prefixes = PrefixStore(SMOKE)
    plain = generate(model, [prompt], Sampling(max_tokens=3))
    generate(model, [prompt], Sampling(max_tokens=3), prefixes=prefixes)
    read, states = [], K3Model.states
    monkeypatch.setattr(K3Model, "states", lambda self, x, *a, **k: read.append(x.shape[1]) or states(self, x, *a, **k))
    assert generate(model, [prompt], Sampling(max_tokens=3), prefixes=prefixes)[0].tokens == plain[0].tokens
    assert read == [1100 - 1024, 1, 1]


def test_another_picture_is_another_prefix(model):
    prefixes = PrefixStore(SMOKE, block=16)
    for seed in (0, 1):
        prompt = with_picture(40, 4, picture(seed=seed))
        written = generate(model, [prompt], Sampling(max_tokens=4), prefixes=prefixes)
        assert written[0].tokens == by_full_forwards(model, prompt, 4)
    assert prefixes.hits == 0 and len(prefixes) == 4


def test_the_store_keeps_within_its_bytes_and_drops_the_ends_of_chains_first(model):
    one = PrefixStore(SMOKE, block=16)
    generate(model, [Prompt(words(17))], Sampling(max_tokens=1), prefixes=one)
    small = PrefixStore(SMOKE, block=16, max_bytes=3 * one.held_bytes)
    prompts = [Prompt(words(49, seed)) for seed in (0, 1)]
    for prompt in (*prompts, prompts[0]):
        written = generate(model, [prompt], Sampling(max_tokens=4), prefixes=small)
        assert written[0].tokens == by_full_forwards(model, prompt, 4)
        assert len(small) == 3 and small.held_bytes == 3 * one.held_bytes
    small.clear()
    assert len(small) == small.held_bytes == 0


def test_what_it_refuses(model):
    with pytest.raises(ValueError, match="prompt 1 is empty"):
        generate(model, [Prompt([1]), Prompt([])])
    with pytest.raises(ValueError, match="the prefixes are of the model nano, not of this smoke"):
        generate(model, [Prompt([1])], prefixes=PrefixStore(preset("nano")))
    with pytest.raises(ValueError, match="got 0 pictures, but the tokens have room for 1"):
        generate(model, [Prompt([1, PAD, 2])], prefixes=PrefixStore(SMOKE))
    with pytest.raises(ValueError, match="token 0 of row 0 is 9999"):
        generate(model, [Prompt([9999])])
    with pytest.raises(ValueError, match="a block of 0 tokens"):
        PrefixStore(SMOKE, block=0)
    for wrong, message in [
        ({"max_tokens": 0}, "max_tokens is 0"), ({"temperature": -1.0}, "temperature is -1"),
        ({"top_k": -1}, "top_k is -1"), ({"top_p": 0.0}, "top_p is 0"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            Sampling(**wrong)
    assert generate(model, []) == []
