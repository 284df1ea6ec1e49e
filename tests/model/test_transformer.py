"""The whole model: its parts in K3's order, what it is fed, what it remembers, and what it is trained on."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from k3data.model.attention import Groups
from k3data.model.cache import HybridCache
from k3data.model.config import preset
from k3data.model.counts import count_parameters
from k3data.model.quantile_balancing import balance
from k3data.model.transformer import K3Model
from k3data.model.vision.preprocess import Patches, preprocess_image
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

SMOKE = preset("smoke")
WORDS = SMOKE.vocab_size - 256
PAD = SMOKE.media_pad_id


def model(config=SMOKE, dtype=torch.float32, std=0.1) -> K3Model:
    """Larger weights than at the start of training, and mixes that are no plain means, so that all of it matters."""
    torch.manual_seed(1)
    made = K3Model(replace(config, init_std=std))
    made.config = config
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.endswith(("query", "norm_weight", "norm.weight")):
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return made.to(dtype)


def words(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(0, WORDS, (batch, length), generator=torch.Generator().manual_seed(seed))


def picture(width: int = 56, height: int = 28, seed: int = 0) -> Patches:
    pixels = torch.randint(0, 256, (height, width, 3), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)
    return preprocess_image(Image.fromarray(pixels.numpy()))


def with_places(tokens_BT: Tensor, row: int, at: int, image: Patches) -> Tensor:
    tokens_BT[row, at : at + image.tokens] = PAD
    return tokens_BT


@pytest.mark.parametrize("name", ["smoke", "nano", "small", "base", "k3"])
@pytest.mark.parametrize("mtp", [0, 1])
def test_every_size_has_the_parameters_that_the_formulas_count(name, mtp):
    config = replace(preset(name), mtp_layers=mtp)
    with torch.device("meta"):
        made = K3Model(config)
    assert sum(parameter.numel() for parameter in made.parameters()) == count_parameters(config).everything


def test_it_is_the_schedule_of_the_release_written_out():
    made, tokens = model(dtype=torch.float64), words(2, 30)
    blocks, partial = [], made.embedding(tokens)
    for number, layer in enumerate(made.layers):
        x = layer.attention_mix([*blocks, partial]) if blocks else partial
        opens = number % SMOKE.attn_res_block == 0
        if opens:
            blocks.append(partial)
        attended = layer.attention(layer.attention_norm(x))
        partial = attended if opens else partial + attended
        x = layer.ffn_mix([*blocks, partial])
        partial = partial + layer.ffn(layer.ffn_norm(x))
    expected = made.norm(made.output_mix([*blocks, partial]))
    assert len(blocks) == 3
    torch.testing.assert_close(made.eval()(tokens), expected, rtol=0, atol=1e-12)


def test_features_take_the_places_of_pictures():
    made, image = model(), picture()
    tokens = with_places(words(1, 20), 0, 5, image)
    embedded = made.embed(tokens, [image])
    torch.testing.assert_close(embedded[0, 5:7], made.vision(image.pixels_PCSS, [image.grid]))
    torch.testing.assert_close(embedded[0, 7:], made.embedding(tokens[0, 7:]))


def test_pictures_reach_later_tokens_alone():
    made = model(dtype=torch.float64).eval()
    tokens = with_places(words(1, 30), 0, 10, picture())
    one, other = (made(tokens, images=[picture(seed=seed)]) for seed in (1, 2))
    changed = (one - other)[0].abs().amax(-1)
    assert (changed[:10] < 1e-11).all() and (changed[10:] > 1e-4).all()


def test_a_packed_row_equals_its_sequences_with_gradients():
    """In fp64, where no expert is chosen by a rounding: forward, loss and the gradients of every parameter."""
    config = replace(SMOKE, mtp_layers=1)
    made, image = model(config, torch.float64), picture()
    lengths = [9, 1, 33, 17]
    rows = [words(1, length, seed=length) for length in lengths]
    rows[2] = with_places(rows[2], 0, 4, image)
    images = [[], [], [image], []]
    weights = [torch.rand(1, length, dtype=torch.float64) for length in lengths]

    def gradients(losses):
        made.zero_grad()
        sum(one.next_token.total + one.next_next_token.total for one in losses).backward()
        return {n: p.grad.clone() for n, p in made.named_parameters() if p.grad is not None}

    apart = gradients([
        made.loss(row, weight, images=pictures) for row, weight, pictures in zip(rows, weights, images, strict=True)
    ])  # fmt: skip
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    losses = made.loss(torch.cat(rows, 1), torch.cat(weights, 1), images=[image], groups=bounds)
    together = gradients([losses])
    for name, gradient in apart.items():
        tolerance = 1e-9 * max(1, gradient.abs().max().item())
        torch.testing.assert_close(together[name], gradient, rtol=0, atol=tolerance, msg=name)
    made.eval()
    packed = made(torch.cat(rows, 1), images=[image], groups=bounds)
    alone = torch.cat([made(row, images=pictures) for row, pictures in zip(rows, images, strict=True)], 1)
    torch.testing.assert_close(packed, alone, rtol=0, atol=1e-11)


def test_the_loss_is_that_of_the_logits_and_crosses_no_bound():
    made, tokens = model(), words(1, 24)
    weights = torch.rand(1, 24)
    bounds = torch.tensor([0, 10, 24])
    losses = made.loss(tokens, weights, groups=bounds)
    logits = made.head(made(tokens, groups=bounds))
    nats = F.cross_entropy(logits[0, :-1], tokens[0, 1:], reduction="none")
    counted = torch.tensor([t not in (9, 23) for t in range(23)])
    torch.testing.assert_close(losses.next_token.total, (nats * weights[0, :-1])[counted].sum())
    assert losses.next_token.per_token_T[9] == 0 == losses.next_token.per_token_T[23]


def test_the_extra_layer_predicts_the_token_after_the_next():
    made, tokens = model(replace(SMOKE, mtp_layers=1)), words(1, 12)
    groups = Groups(1, 12, torch.tensor([0, 5, 12]))
    loss = made.loss(tokens, torch.ones(1, 12), groups=groups).next_next_token
    embedded = made.embed(tokens)
    hidden = made.states(embedded, groups)
    logits = made.head(made.mtp(hidden, embedded, groups))
    nats = F.cross_entropy(logits[0, :-2], tokens[0, 2:], reduction="none")
    counted = torch.tensor([t not in (3, 4) for t in range(10)])
    torch.testing.assert_close(loss.total, nats[counted].sum())
    assert int(loss.weight) == int(counted.sum())


def test_the_extra_layer_sees_the_next_token_and_no_later_one():
    made, tokens = model(replace(SMOKE, mtp_layers=1), torch.float64).eval(), words(1, 12)
    edited = tokens.clone()
    edited[0, 8] = (edited[0, 8] + 1) % WORDS

    def ahead(ids):
        embedded = made.embed(ids)
        return made.mtp(made.states(embedded), embedded)

    changed = (ahead(tokens) - ahead(edited))[0].abs().amax(-1)
    assert (changed[:7] < 1e-11).all() and (changed[7:] > 1e-4).all()


@pytest.mark.parametrize("dtype, std, tolerance", [(torch.float32, 0.02, 1e-5), (torch.float64, 0.1, 1e-10)])
@pytest.mark.parametrize("lengths", [[40], [5, 40, 23]])
def test_decoding_step_by_step_equals_the_full_forward(lengths, dtype, std, tolerance):
    """Prompts of different lengths read as one packed row, with pictures, then grown as a batch."""
    made, image = model(dtype=dtype, std=std).eval(), picture(84, 56)
    rows = [with_places(words(1, length + 12, length), 0, length // 3, image) if length > 20
            else words(1, length + 12, length) for length in lengths]  # fmt: skip
    images = [[image] if length > 20 else [] for length in lengths]
    with torch.no_grad():
        expected = [made.head(made(row, images=pictures))[0] for row, pictures in zip(rows, images, strict=True)]
        cache = HybridCache.empty(SMOKE, len(lengths), dtype)
        prompts = torch.cat([row[:, :length] for row, length in zip(rows, lengths, strict=True)], 1)
        bounds = torch.tensor([0, *lengths]).cumsum(0)
        pictures = [one for row in images for one in row]
        read = made.head(made(prompts, images=pictures, groups=bounds, cache=cache))[0]
        for number, (start, end) in enumerate(pairwise(bounds)):
            torch.testing.assert_close(read[start:end], expected[number][: lengths[number]], rtol=0, atol=tolerance)
        for step in range(12):
            tokens = torch.cat([row[:, length + step, None] for row, length in zip(rows, lengths, strict=True)])
            grown = made.head(made(tokens, cache=cache))[:, 0]
            wanted = torch.stack([e[length + step] for e, length in zip(expected, lengths, strict=True)])
            torch.testing.assert_close(grown, wanted, rtol=0, atol=tolerance)


def test_a_snapshot_goes_on_as_the_original():
    made, tokens = model().eval(), words(2, 30)
    with torch.no_grad():
        cache = HybridCache.empty(SMOKE, 2)
        made(tokens[:, :20], cache=cache)
        snapshot = cache.clone()
        first = made(tokens[:, 20:], cache=cache)
        assert torch.equal(made(tokens[:, 20:], cache=snapshot), first)


def test_selecting_and_stacking_sequences_of_a_cache():
    made = model(std=0.02).eval()
    rows = [words(1, length, length) for length in (7, 19, 12)]
    with torch.no_grad():
        alone = []
        for row in rows:
            alone.append(HybridCache.empty(SMOKE, 1))
            made(row, cache=alone[-1])
        stacked = HybridCache.stack(alone).select([2, 0])
        following = words(2, 1, 99)
        together = made(following, cache=stacked)
        for row, number in enumerate((2, 0)):
            one = made(following[row : row + 1], cache=alone[number])
            torch.testing.assert_close(together[row : row + 1], one, rtol=0, atol=1e-5)


def test_recomputing_changes_no_gradient_and_counts_no_token_twice():
    tokens, weights = words(1, 40), torch.ones(1, 40)
    kept = []
    for on in (False, True):
        made = model()
        made.recompute(on)
        made.loss(tokens, weights).next_token.total.backward()
        counts = torch.stack([one.load_E for one in made.balancers()])
        kept.append(({n: p.grad for n, p in made.named_parameters() if p.grad is not None}, counts))
    assert torch.equal(kept[0][1], kept[1][1]) and kept[0][1].sum() == 4 * 40 * SMOKE.moe.top_k
    for name, gradient in kept[0][0].items():
        assert torch.equal(kept[1][0][name], gradient), name


def test_every_parameter_takes_part_even_without_a_picture():
    """All but layer 0's attention mix, which reads the embedding alone. The tower gets zeros, not nothing."""
    made = model(replace(SMOKE, mtp_layers=1))
    losses = made.loss(words(1, 40), torch.ones(1, 40))
    (losses.next_token.total + losses.next_next_token.total).backward()
    idle = {name for name, parameter in made.named_parameters() if parameter.grad is None}
    assert idle == {"layers.0.attention_mix.query", "layers.0.attention_mix.norm_weight"}
    tower = [parameter.grad for name, parameter in made.named_parameters() if name.startswith("vision.")]
    assert all(not gradient.any() for gradient in tower)
    made.zero_grad()
    image = picture()
    made.loss(with_places(words(1, 40), 0, 3, image), torch.ones(1, 40), images=[image]).next_token.total.backward()
    assert all(p.grad is not None and p.grad.any() for n, p in made.named_parameters() if n.startswith("vision."))


def test_padding_is_not_counted():
    made = model()
    real = torch.ones(1, 40, dtype=torch.bool)
    real[0, 30:] = False
    made.loss(words(1, 40), real.float(), real_BT=real)
    assert all(int(one.load_E.sum()) == 30 * SMOKE.moe.top_k for one in made.balancers())
    assert len(balance(made.balancers())) == SMOKE.layers - 1


def test_bf16_runs_and_stays_near_fp32():
    made, tokens = model(std=0.02), words(2, 40)
    weights = torch.ones(2, 40)
    wide = made.loss(tokens, weights).next_token
    half = made.bfloat16().loss(tokens, weights).next_token
    assert half.total.dtype == torch.float32
    torch.testing.assert_close(half.total, wide.total, rtol=2e-3, atol=0)


def refused(message: str, call) -> None:
    with pytest.raises((ValueError, RuntimeError), match=message):
        call()


def test_what_it_refuses():
    made, image = model().eval(), picture()
    tokens = words(2, 20)
    wrong = tokens.clone()
    wrong[1, 7] = SMOKE.vocab_size
    refused("token 7 of row 1 is 512, but the words are 0 to 511", lambda: made(wrong))
    wrong[1, 7] = -1
    refused("token 7 of row 1 is -1, but the words are 0 to 511", lambda: made(wrong))
    refused(r"tokens must be \[B, T\] integers, not torch.float32", lambda: made(tokens.float()))
    refused("got 1 pictures, but the tokens have room for 0", lambda: made(tokens, images=[image]))
    placed = with_places(tokens.clone(), 0, 3, image)
    refused("got 0 pictures, but the tokens have room for 1", lambda: made(placed))
    refused("got 2 pictures, but the tokens have room for 1", lambda: made(placed, images=[image, image]))
    larger = picture(84, 56)
    refused("picture 0 has 6 features, but its room is 2 media_pad", lambda: made(placed, images=[larger]))
    refused("cu_seqlens must end at the number of tokens, 20, not at 19",
            lambda: made(tokens[:1], groups=torch.tensor([0, 19])))  # fmt: skip
    refused(r"weights are \[1, 3\], but the tokens \[2, 20\]", lambda: made.loss(tokens, torch.ones(1, 3)))
    blind = model(replace(SMOKE, vision=None))
    refused("the model smoke has no vision, but got 1 pictures", lambda: blind(placed, images=[image]))
    with torch.autocast("cpu", torch.bfloat16):
        refused("does not run under autocast", lambda: made(tokens))


def test_a_cache_of_another_configuration_is_refused():
    made, tokens = model().eval(), words(2, 5)
    refused("layer 0 of the cache is made for .1, 2, 32., but the model smoke needs .2, 2, 32.",
            lambda: made(tokens, cache=HybridCache.empty(SMOKE, 1)))  # fmt: skip
    refused("the cache has 9 layers, but the model smoke 5",
            lambda: made(tokens, cache=HybridCache.empty(preset("nano"), 2)))  # fmt: skip
    moved = replace(SMOKE, mla_layers=(2, 4))
    refused("layer 2 of the cache is MLA's, but the model smoke has KDA",
            lambda: made(tokens, cache=HybridCache.empty(moved, 2)))  # fmt: skip
    narrower = replace(SMOKE, mla=replace(SMOKE.mla, kv_lora_rank=8))
    refused("layer 3 of the cache is made for .2, 24., but the model smoke needs .2, 56.",
            lambda: made(tokens, cache=HybridCache.empty(narrower, 2)))  # fmt: skip
