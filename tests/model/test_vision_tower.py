"""MoonViT and the projector: against transformers' K2.5 tower, and by their own properties."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from k3data.model.config import VisionConfig, preset
from k3data.model.counts import count_parameters
from k3data.model.vision.positions import PatchPositions, rotate, rotations, time_waves
from k3data.model.vision.preprocess import preprocess_image
from k3data.model.vision.projector import Projector, VisionEncoder, merge_patches
from k3data.model.vision.vit import MoonViT
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

GRIDS = [(1, 4, 6), (1, 10, 2), (3, 2, 4), (1, 8, 8)]


def pixels(grids=GRIDS, seed: int = 0) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.rand(sum(math.prod(grid) for grid in grids), 3, 14, 14, generator=rng) * 2 - 1


def tower(dtype=torch.float32, **options) -> MoonViT:
    torch.manual_seed(7)
    config = preset("smoke").vision
    assert config is not None
    made = MoonViT(config, **options)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.endswith("norm.weight"):
                parameter.uniform_(0.5, 1.5)
    return made.to(dtype)


def test_it_equals_transformers_k25_tower():
    """`kimi_k25` is the predecessor. It differs from K3 where this test evens it out: LayerNorms are replaced by
    RMSNorms, biases are zero, q, k and v are as wide as the tower, the table is resized bicubically, and it rotates
    channel i with channel i + K/2 where we rotate neighbours, so its rows of q and k stand in another order."""
    pytest.importorskip("transformers", minversion="5.24")  # before, clips and pictures could not be mixed
    from transformers.models.kimi_k25 import modeling_kimi_k25 as modeling
    from transformers.models.kimi_k25.configuration_kimi_k25 import Kimi_K25VisionConfig

    width, heads, mlp = 48, 3, 80
    ours = MoonViT(VisionConfig(2, width, width, heads, mlp, table=8), interpolation="bicubic")
    theirs = modeling.Kimi_K25VisionModel(
        Kimi_K25VisionConfig(
            pos_emb_height=8, pos_emb_width=8, num_attention_heads=heads, num_hidden_layers=2, hidden_size=width,
            intermediate_size=mlp, attn_implementation="eager",
        )
    )  # fmt: skip
    halves = torch.arange(width).view(heads, -1, 2).transpose(1, 2).flatten()  # even channels of a head, then odd ones
    state = {
        "patch_embed.proj.weight": ours.patch_weight,
        "patch_embed.pos_emb.position_embeddings": ours.positions.table,
        "final_layernorm.weight": ours.norm.weight,
    }
    for number, block in enumerate(ours.blocks):
        for norm in (block.attention_norm, block.mlp_norm):
            nn.init.uniform_(norm.weight, 0.5, 1.5)
        q, k, v = block.qkv_proj.weight.chunk(3)
        named = {
            "attn.q_proj": q[halves], "attn.k_proj": k[halves], "attn.v_proj": v, "attn.proj": block.o_proj.weight,
            "norm1": block.attention_norm.weight, "norm2": block.mlp_norm.weight,
            "mlp.fc1": block.mlp_up.weight, "mlp.fc2": block.mlp_down.weight,
        }  # fmt: skip
        state |= {f"layers.{number}.{name}.weight": weight for name, weight in named.items()}
    for layer in theirs.layers:
        layer.norm1, layer.norm2 = nn.RMSNorm(width, 1e-5), nn.RMSNorm(width, 1e-5)
    theirs.final_layernorm = nn.RMSNorm(width, 1e-5)
    biases = {name: torch.zeros_like(bias) for name, bias in theirs.state_dict().items() if name.endswith("bias")}
    theirs.load_state_dict(state | biases)

    with torch.no_grad():
        features = ours(pixels(), GRIDS)
        given = theirs(pixels(), torch.tensor(GRIDS))
        torch.testing.assert_close(features, given.last_hidden_state, rtol=0, atol=1e-5)
        merged = torch.cat(merge_patches(features, GRIDS))
        torch.testing.assert_close(merged, given.pooler_output.flatten(1), rtol=0, atol=1e-5)


def test_pictures_do_not_see_each_other():
    ours = tower(torch.float64)
    packed = ours(pixels().double(), GRIDS)
    for part, piece, grid in zip(
        packed.split([math.prod(grid) for grid in GRIDS]),
        pixels().split([math.prod(grid) for grid in GRIDS]),
        GRIDS,
        strict=True,
    ):
        torch.testing.assert_close(part, ours(piece.double(), [grid]), rtol=0, atol=1e-11)


def test_frames_of_a_clip_see_each_other():
    ours, grid = tower(torch.float64), (2, 2, 4)
    clip = pixels([grid]).double()
    before = ours(clip, [grid])
    clip[8:] += 0.5  # the second frame
    assert (ours(clip, [grid])[:8] - before[:8]).abs().min() > 0


def test_rotations_know_only_the_distance_along_each_axis():
    turns = rotations([(1, 6, 8)], 16, torch.device("cpu"))
    q, k = torch.randn(2, 16, dtype=torch.float64)
    seen = rotate(q.expand(48, 1, 16), turns)[:, 0].view(6, 8, 16)
    held = rotate(k.expand(48, 1, 16), turns)[:, 0].view(6, 8, 16)
    products = torch.einsum("abk,cdk->abcd", seen, held)
    torch.testing.assert_close(products[1, 1, 3, 5], products[2, 3, 4, 7], rtol=0, atol=1e-5)
    assert (products[1, 1, 3, 5] - products[1, 1, 5, 3]).abs() > 1e-3
    # Written out for one place: pairs turn by column, row, column, row at 1, 1, 1/10, 1/10, …
    place = turns.view(6, 8, 8)[2, 5]
    torch.testing.assert_close(place[:4].angle(), torch.tensor([5 - 2 * math.pi, 2.0, 0.5, 0.2]), rtol=0, atol=1e-6)
    second_frame = rotations([(3, 2, 2)], 16, torch.device("cpu"))[4:8]
    torch.testing.assert_close(second_frame, turns.view(6, 8, 8)[:2, :2].flatten(0, 1))


def test_the_table_fits_every_picture():
    positions = PatchPositions(8, 12, "bilinear")
    nn.init.normal_(positions.table)
    torch.testing.assert_close(positions([(1, 8, 8)]), positions.table.flatten(0, 1))
    expected = F.interpolate(positions.table.permute(2, 0, 1)[None], (4, 10), mode="bilinear", align_corners=False)
    one = positions([(1, 4, 10)])
    torch.testing.assert_close(one, expected[0].permute(1, 2, 0).flatten(0, 1))
    clip = positions([(1, 8, 8), (3, 4, 10)])[64:].view(3, 40, 12)
    waves = time_waves(3, 12, torch.device("cpu"))
    torch.testing.assert_close(clip - one, waves[:, None].expand(-1, 40, -1), rtol=0, atol=1e-5)
    assert waves[0].tolist() == [0] * 6 + [1] * 6
    assert waves[2, 0].item() == pytest.approx(math.sin(2))
    assert waves[2, 7].item() == pytest.approx(math.cos(2 * 10000 ** (-2 / 12)))


def test_neighbours_merge_row_by_row_and_frames_by_their_mean():
    grid = (2, 4, 6)
    x = torch.arange(48.0)[:, None] * torch.ones(48, 2)
    (merged,) = merge_patches(x, [grid])
    assert merged.shape == (6, 8)
    # Token (1, 2) has rows 2 and 3, columns 4 and 5; the second frame is 24 more, so the mean is 12 more.
    assert merged[5, ::2].tolist() == [2 * 6 + 4 + 12, 2 * 6 + 5 + 12, 3 * 6 + 4 + 12, 3 * 6 + 5 + 12]


def test_the_projector_norms_last():
    projector = Projector(8, 6).double()
    x = torch.randn(3, 8, dtype=torch.float64)
    inner = F.gelu(x @ projector.in_proj.weight.T, approximate="none") @ projector.out_proj.weight.T
    expected = inner * torch.rsqrt(inner.square().mean(-1, keepdim=True) + 1e-5)
    torch.testing.assert_close(projector(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [(1, 1), (112, 112), (113, 57), (640, 200)])
def test_a_picture_has_as_many_features_as_the_packer_left_places(size):
    encoder = VisionEncoder(preset("smoke"))
    pictures = [preprocess_image(Image.new("RGB", size, "red"), 64), preprocess_image(Image.new("RGB", (40, 40)))]
    features = encoder(torch.cat([one.pixels_PCSS for one in pictures]), [one.grid for one in pictures])
    assert features.shape == (sum(one.tokens for one in pictures), 64)
    torch.testing.assert_close(encoder(pictures[1].pixels_PCSS, [pictures[1].grid]), features[pictures[0].tokens :])


def test_gradients_reach_every_parameter():
    encoder = VisionEncoder(preset("smoke"))
    encoder(pixels(), GRIDS).sin().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_bf16_stays_near():
    exact = tower(torch.bfloat16).double()(pixels().double(), GRIDS)
    got = tower(torch.bfloat16)(pixels(), GRIDS)
    assert got.dtype == torch.bfloat16
    assert (got - exact).norm() / exact.norm() < 0.02


@pytest.mark.skipif(not torch.cuda.is_available(), reason="FlexAttention is for a GPU")
def test_the_gpu_agrees_with_the_cpu():
    expected = tower()(pixels(), GRIDS)
    torch.testing.assert_close(tower().cuda()(pixels().cuda(), GRIDS).cpu(), expected, rtol=0, atol=1e-4)


def test_sizes_are_those_of_the_count():
    for name in ("smoke", "nano", "k3"):
        with torch.device("meta"):
            encoder = VisionEncoder(preset(name))
        counts = count_parameters(preset(name))
        assert sum(p.numel() for p in encoder.tower.parameters()) == counts.vision
        assert sum(p.numel() for p in encoder.projector.parameters()) == counts.projector
    assert round(count_parameters(preset("k3")).vision / 1e5) == 4012


@pytest.mark.parametrize(
    ("grids", "said"),
    [
        ([], "no picture"),
        ([(1, 0, 4)], "has none"),
        ([(5, 2, 2)], "5 frames is longer than the limit of 4"),
        ([(1, 514, 2)], "larger than the limit of 512 patches a side"),
        ([(1, 3, 2)], "does not divide into squares of 2 a side"),
        ([(1, 2, 2)], r"are \[132, 3, 14, 14\], but the grids ask for \[4, 3, 14, 14\]"),
    ],
)
def test_wrong_grids_are_told(grids, said):
    with pytest.raises(ValueError, match=said):
        tower()(pixels(), grids)


def test_a_model_without_vision_has_no_encoder():
    with pytest.raises(ValueError, match="smoke has no vision"):
        VisionEncoder(replace(preset("smoke"), vision=None))
    with pytest.raises(ValueError, match="must be bilinear or bicubic"):
        tower(interpolation="nearest")
