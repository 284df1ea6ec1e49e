"""SiTU-GLU in one kernel each way, against its definition in PyTorch."""

from __future__ import annotations

import pytest
import torch
from k3data.model.activation import situ_glu as definition
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.fused import situ, situ_glu

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
LIMIT = 0.005 if DEVICE == "cuda" else 1e-6
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


def draw(*shape, scale=1.0, seed=0):
    return (scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))).to(DEVICE, DTYPE)


def output_and_gradients(function, gate, up, *betas):
    leaves = [one.detach().requires_grad_() for one in (gate, up)]
    y = function(*leaves, *betas)
    return [y.detach(), *torch.autograd.grad(y, leaves, draw(*y.shape, seed=9).to(y))]


@pytest.mark.parametrize("scale", [1e-4, 0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("betas", [(4.0, 25.0), (1.0, 0.5)])
def test_output_and_gradients_are_the_definitions(scale, betas):
    gate, up = draw(3, 5, 300, scale=scale), draw(3, 5, 300, scale=scale, seed=1)
    found = output_and_gradients(situ_glu, gate, up, *betas)
    expected = output_and_gradients(definition, gate.double(), up.double(), *betas)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == DTYPE
        assert relative_rms(one, other) <= LIMIT


def test_every_number_is_right_where_the_series_ends_and_where_all_is_saturated():
    """Relative to itself, not to the largest of all; beyond ±90 even σ and 1 − tanh² are zero in fp32."""
    gate = torch.tensor([0.0, 1e-20, 1e-6, 0.399, 0.4, 0.401, 5.0, 40.0, 1e5], dtype=DTYPE, device=DEVICE)
    gate = torch.cat([gate, -gate[:-2]])
    up = 6.25 * gate.flip(0)
    found = output_and_gradients(situ_glu, gate, up)
    expected = output_and_gradients(definition, gate.double(), up.double())
    for one, other in zip(found, expected, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one.double(), other, rtol=0.01 if DEVICE == "cuda" else 3e-6, atol=1e-30)


def test_the_same_bits_whatever_lies_beside_and_behind():
    gate, up = draw(2, 2100), draw(2, 2100, seed=1)
    gate[1], up[1] = float("nan"), float("nan")
    alone = output_and_gradients(situ_glu, gate[0, :700], up[0, :700])
    whole = output_and_gradients(situ_glu, gate[0], up[0])
    assert torch.equal(alone[0], whole[0][:700])
    assert whole[0].isfinite().all()
    assert all(one.isfinite().all() for one in whole)


def test_it_compiles_into_one_graph():
    gate, up = draw(4, 33), draw(4, 33, seed=1)

    def doubled(*tensors):
        return 2 * situ_glu(*tensors)

    compiled = torch.compile(doubled, fullgraph=True, backend="aot_eager")
    pairs = zip(output_and_gradients(compiled, gate, up), output_and_gradients(doubled, gate, up), strict=True)
    assert all(torch.equal(*pair) for pair in pairs)


def test_operators_tell_the_truth():
    gate, up = draw(4, 33), draw(4, 33, seed=1)
    torch.library.opcheck(situ._forward.registered, (gate, up, 4.0, 25.0), test_utils=CHECKS)
    torch.library.opcheck(situ._backward.registered, (torch.ones_like(gate), gate, up, 4.0, 25.0), test_utils=CHECKS)


def test_what_does_not_fit_is_refused_before_the_launch():
    gate, up = draw(4, 33), draw(4, 33, seed=1)
    for bad, match in (
        ((gate, up[:, 1:]), r"up is \[4, 32\], but must be \[4, 33\] to go with gate"),
        ((gate.double(), up), "gate is torch.float64"),
        ((gate, up, 0.0), "both β must be positive, not 0.0 and 25.0"),
    ):
        with pytest.raises(ValueError, match=match):
            situ_glu(*bad)
    assert situ_glu(gate[:0], up[:0]).shape == (0, 33)
