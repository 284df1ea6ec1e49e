"""A whole model by the kernels against the same model by PyTorch's operators: loss, every gradient, every count."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.attn_res import AttentionResidual
from k3data.model.bench.oracles import relative_rms
from k3data.model.compiled import compile_blocks
from k3data.model.config import ConfigError, preset
from k3data.model.operators import use_kernels
from k3data.model.transformer import K3Model
from k3data.model.vision.projector import VisionEncoder
from k3data.train.memory import activation_bytes

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

CONFIG = replace(preset("smoke"), layers=3, mla_layers=(1,), vision=None, mtp_layers=1)
BOUNDS, TOKENS, REAL = [0, 9, 24], 24, 20


def step(device, kernels, *, recompute=False, compiled=False):
    """The loss, the gradients and the balancers' counts of one step over two documents, the last of them padded."""
    torch.manual_seed(0)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model = K3Model(CONFIG).to(device, dtype).train()
    for module in model.modules():
        if isinstance(module, AttentionResidual):
            torch.nn.init.normal_(module.query, std=0.1)  # at zero, nothing depends on the norm's weight
    model.use_kernels(kernels)
    model.recompute(recompute)
    if compiled:
        compile_blocks(model, "aot_eager")
    rng = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, 400, (1, TOKENS), generator=rng)
    weights = torch.rand(1, TOKENS, generator=rng)
    weights[:, [end - 1 for end in BOUNDS[1:]]] = 0
    real = torch.arange(TOKENS)[None] < REAL
    losses = model.loss(tokens, weights, groups=torch.tensor(BOUNDS), real_BT=real, z_loss=1e-3)
    total = losses.next_token.total + losses.next_next_token.total
    total.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    return total.detach(), gradients, [(one.load_E.clone(), one.histogram_EB.sum(1)) for one in model.balancers()]


@pytest.fixture(scope="module")
def by_operators():
    return step(DEVICE, "torch")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", [{}, {"recompute": True}, {"compiled": True}], ids=["plain", "recompute", "compiled"])
def test_a_step(how, device, by_operators, small_sorts):
    torch.compiler.reset()
    expected, wanted, counts = by_operators
    loss, gradients, own_counts = step(device, "triton", **how)
    torch.testing.assert_close(loss, expected, rtol=0.01 if device == "cuda" else 1e-5, atol=0)
    assert gradients.keys() == wanted.keys()
    for name, gradient in wanted.items():
        # In bf16 both ways round, and of what is summed into A_log most cancels.
        most = 2e-4 if device == "cpu" else 0.3 if name.endswith("A_log") else 0.1
        assert relative_rms(gradients[name], gradient) <= most, name
    assert len(counts) == len(own_counts) == 3
    for (load, counted), (own_load, own_counted) in zip(counts, own_counts, strict=True):
        assert own_load.sum() == REAL * CONFIG.moe.top_k
        assert (own_counted == REAL).all()
        if device == "cpu":  # in bf16 a near tie may fall either way
            assert torch.equal(own_load, load)
            assert torch.equal(own_counted, counted)
    torch.compiler.reset()


def test_pictures(device):
    """The tower, whose attention sees whole pictures, with its projector."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    pixels = torch.rand(24, 3, 14, 14, generator=torch.Generator().manual_seed(2)).to(device, dtype)
    results = []
    for kernels in ("torch", "triton"):
        torch.manual_seed(0)
        encoder = VisionEncoder(preset("smoke")).to(device, dtype)
        use_kernels(encoder, kernels)
        features = encoder(pixels, [(1, 4, 4), (1, 2, 4)])
        weights = torch.randn(features.shape, generator=torch.Generator().manual_seed(3)).to(features)
        (features * weights).sum().backward()
        results.append([features.detach(), *(one.grad for one in encoder.parameters())])
    for found, expected in zip(*reversed(results), strict=True):
        assert relative_rms(found, expected) <= (0.05 if device == "cuda" else 1e-4)


def test_the_estimate_of_memory_knows_what_the_kernels_keep(device, small_sorts):
    """Within a third, and less than what the operators keep; as tests/train/test_memory.py does for those."""
    model = K3Model(CONFIG).to(device, torch.bfloat16 if device == "cuda" else torch.float32)
    model.use_kernels("triton")
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    # Of whole chunks, without the extra layer and the loss.
    tokens, config = 64, replace(CONFIG, mtp_layers=0)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        states = model.states(torch.randn(1, tokens, CONFIG.d_model, device=device, dtype=model.head.weight.dtype))
    measured = sum(kept.values()) / tokens
    del states
    estimated = activation_bytes(config, 2 if device == "cuda" else 4, False, "triton")
    assert 0.67 < estimated / measured < 1.5, f"{estimated:.0f} estimated, {measured:.0f} measured"
    assert estimated < 0.7 * activation_bytes(config, 2, False, "torch") * (1 if device == "cuda" else 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"moe": replace(CONFIG.moe, inner=20)}, "multiples of 8, but latent is 32 and inner 20"),
        ({"moe": replace(CONFIG.moe, experts=1025)}, "none for 2 of 1025 experts, only for at most 32 of 1024"),
        ({"layers": 40, "mla_layers": ()}, "mixes at most 16 sources over depth, not 21"),
        ({"mla": replace(CONFIG.mla, v_dim=136)}, "attends with multiples of 8 up to 192 and 128 channels"),
        ({"kda": replace(CONFIG.kda, conv_kernel=3)}, "none for convolutions of 3, only of 4"),
    ],
)
def test_sizes_without_kernels_are_refused_and_nothing_is_changed(changes, message):
    with torch.device("meta"):
        model = K3Model(replace(CONFIG, mtp_layers=0, **changes))
    with pytest.raises(ConfigError, match=message):
        use_kernels(model, "triton")
    assert all(layer.kernels == "torch" for layer in model.layers)
