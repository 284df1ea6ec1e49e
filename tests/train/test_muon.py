"""Muon against PyTorch's on plain matrices, by head against splitting by hand, and the size of its updates."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.model.config import preset
from k3data.model.transformer import K3Model
from k3data.train.optim import newton_schulz as newton_schulz_module
from k3data.train.optim.groups import IDLE
from k3data.train.optim.muon import Muon
from k3data.train.optim.newton_schulz import newton_schulz, orthogonalise_
from k3data.train.optim.optimizers import ADAMW_EPS, Optimizers
from k3data.train.optim.sharding import owners
from torch import Tensor, nn

pytestmark = pytest.mark.usefixtures("one_thread")

SHAPES = [(16, 48), (48, 16), (24, 24), (1, 7), (40, 96), (64, 64)]


@pytest.fixture(scope="module")
def one_thread():
    """Matrices as small as these take longer on two."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def random(*shape: int, seed: int = 0, dtype=torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def parameters(shapes=SHAPES, dtype=torch.float32) -> list[nn.Parameter]:
    return [nn.Parameter(random(*shape, seed=number, dtype=dtype)) for number, shape in enumerate(shapes)]


def train(optimizer, params: list[nn.Parameter], steps: int = 4) -> None:
    for step in range(steps):
        for number, parameter in enumerate(params):
            parameter.grad = random(*parameter.shape, seed=100 * step + number, dtype=parameter.dtype)
        optimizer.step()


def moved(params: list[nn.Parameter], shapes=SHAPES) -> list[Tensor]:
    return [now.detach() - before for now, before in zip(params, parameters(shapes, params[0].dtype), strict=True)]


def relative(ours: Tensor, theirs: Tensor) -> float:
    return ((ours - theirs).norm() / theirs.norm()).item()


def torchs(dtype=torch.float32) -> list[nn.Parameter]:
    params = parameters(dtype=dtype)
    optimizer = torch.optim.Muon(params, lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    train(optimizer, params)
    return params


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-13)])
def test_it_equals_torchs_muon(monkeypatch, dtype, tolerance):
    """PyTorch's rounds to bf16 in one place; with that one cast made a copy, both do all of it in the same dtype."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    ours = parameters(dtype=dtype)
    train(Muon(ours, lr=0.02, weight_decay=0.1), ours)
    for one, other in zip(moved(ours), moved(torchs(dtype)), strict=True):
        assert relative(one, other) < tolerance


def test_it_equals_torchs_muon_in_bf16_but_for_rounding():
    """Newton–Schulz lifts small singular values, and the rounding of bf16 with them: fp32 and bf16 differ by up to
    0.9 % of an update. Where products of bf16 add up in one order, ours and PyTorch's differ by 3e-7, and nowhere by
    more than fp32 and bf16 do."""
    ours, wide = parameters(), parameters()
    train(Muon(ours, lr=0.02, weight_decay=0.1, newton_schulz_dtype=torch.bfloat16), ours)
    train(Muon(wide, lr=0.02, weight_decay=0.1), wide)
    for one, other, exact in zip(moved(ours), moved(torchs()), moved(wide), strict=True):
        assert relative(one, other) < 0.015
        assert relative(one, exact) < 0.015


def test_singular_values_come_near_one_and_directions_stay():
    x = random(5, 24, 60, dtype=torch.float64)
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    assert s.max() / s.min() > 2
    y = newton_schulz(x)
    in_its_own_basis = u.mT @ y @ v.mT
    values = in_its_own_basis.diagonal(dim1=-2, dim2=-1)
    assert values.min() > 0.65 and values.max() < 1.25
    torch.testing.assert_close(in_its_own_basis, torch.diag_embed(values), rtol=0, atol=1e-12)


def test_a_head_is_made_orthogonal_alone():
    """Three heads, each of a tall matrix and a wide one: as six matrices by hand."""
    joint = nn.Parameter(random(36, 6))
    parts = [nn.Parameter(part.clone()) for part in joint.detach().split([8, 4] * 3)]
    together, apart = Muon([joint], lr=0.1, block_rows=(8, 4)), Muon(parts, lr=0.1)
    for step in range(3):
        joint.grad = random(36, 6, seed=step) * torch.logspace(-3, 3, 36)[:, None]
        for part, gradient in zip(parts, joint.grad.split([8, 4] * 3), strict=True):
            part.grad = gradient.clone()
        together.step()
        apart.step()
    torch.testing.assert_close(joint, torch.cat([part.detach() for part in parts]), rtol=0, atol=1e-6)
    as_one = nn.Parameter(random(36, 6))
    as_one.grad = random(36, 6)
    Muon([as_one], lr=0.1).step()
    assert (as_one - joint).abs().max() > 0.01


def test_a_stack_is_as_many_matrices():
    stack = nn.Parameter(random(3, 10, 6))
    parts = [nn.Parameter(part.clone()) for part in stack.detach()]
    stack.grad = random(3, 10, 6, seed=1)
    for part, gradient in zip(parts, stack.grad, strict=True):
        part.grad = gradient.clone()
    Muon([stack], lr=0.1).step()
    Muon(parts, lr=0.1).step()
    torch.testing.assert_close(stack.detach(), torch.stack([part.detach() for part in parts]), rtol=0, atol=1e-6)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from([((8,), 3, 5), ((4, 8), 2, 16), ((5,), 1, 8), ((8, 5), 4, 8)]), min_size=1, max_size=6),
       st.sampled_from([1, 300, 2**27]))  # fmt: skip
def test_blocks_of_all_matrices_in_batches_equal_one_by_one(kinds, batch):
    matrices = [random(sum(rows) * count, width, seed=n) for n, (rows, count, width) in enumerate(kinds)]
    one_by_one = [
        torch.cat([newton_schulz(block[None])[0] for block in matrix.split(list(rows) * count)])
        for matrix, (rows, count, _) in zip(matrices, kinds, strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newton_schulz_module, "_BATCH_ELEMENTS", batch)
        orthogonalise_(matrices, [rows for rows, _, _ in kinds])
    for ours, expected in zip(matrices, one_by_one, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("shape", [(64, 192), (192, 64), (96, 96)])
def test_the_update_is_as_large_as_adamws(shape):
    """0.2 · lr, whatever the shape and the size of the gradient; Newton–Schulz leaves singular values of about 0.9."""
    parameter = nn.Parameter(torch.zeros(shape))
    parameter.grad = 1e-4 * random(*shape)
    Muon([parameter], lr=0.01).step()
    assert parameter.detach().square().mean().sqrt().item() == pytest.approx(0.2 * 0.01, rel=0.15)


def test_decay_does_not_depend_on_the_gradient_and_no_gradient_means_no_update():
    parameter = nn.Parameter(torch.ones(4, 6))
    parameter.grad = torch.zeros(4, 6)
    Muon([parameter], lr=0.5, weight_decay=0.1).step()
    torch.testing.assert_close(parameter.detach(), torch.full((4, 6), 0.95))


def test_bf16_gradients_are_widened_before_they_are_added_up():
    wide, narrow = nn.Parameter(random(8, 8)), nn.Parameter(random(8, 8))
    narrow.grad_dtype = torch.bfloat16
    one, other = Muon([wide]), Muon([narrow])
    for step in range(3):
        narrow.grad = random(8, 8, seed=step, dtype=torch.bfloat16)
        wide.grad = narrow.grad.float()
        one.step()
        other.step()
    assert narrow.grad.dtype == torch.bfloat16
    assert other.state[narrow]["momentum"].dtype == torch.float32
    assert torch.equal(wide, narrow)


@pytest.mark.parametrize(
    ("parameter", "block_rows", "problem"),
    [
        (torch.zeros(4), None, r"Muon is for matrices and stacks of them, not for \[4\]"),
        (torch.zeros(4, 0), None, "Muon is for matrices"),
        (torch.zeros(4, 4, dtype=torch.bfloat16), None, "is torch.bfloat16; Muon trains fp32"),
        (torch.zeros(10, 4), (4,), r"blocks of \[4\] rows do not divide a matrix \[10, 4\]"),
    ],
)
def test_what_is_no_matrix_is_refused(parameter, block_rows, problem):
    with pytest.raises(ValueError, match=problem):
        Muon([nn.Parameter(parameter)], block_rows=block_rows)


def test_a_parameter_without_a_gradient_is_an_error():
    with pytest.raises(RuntimeError, match=r"a matrix \[2, 3\] has no gradient"):
        Muon([nn.Parameter(torch.zeros(2, 3))]).step()


def test_owners_share_the_work():
    costs = [9.0, 1, 1, 5, 4, 9, 1]
    chosen = owners(costs, 3)
    loads = [sum(cost for cost, rank in zip(costs, chosen, strict=True) if rank == one) for one in range(3)]
    assert loads == [10, 10, 10]


def smoke() -> K3Model:
    torch.manual_seed(0)
    return K3Model(preset("smoke"))


def give_gradients(model: nn.Module, seed: int) -> None:
    for number, (name, parameter) in enumerate(model.named_parameters()):
        parameter.grad = None if name in IDLE else random(*parameter.shape, seed=1000 * seed + number)


def test_a_model_goes_on_from_its_state_as_if_nothing_had_happened():
    undisturbed, stopped = smoke(), smoke()
    one, other = Optimizers(undisturbed), Optimizers(stopped)
    for step in range(4):
        if step == 2:
            state = {
                kind: {
                    name: {key: tensor.clone() for key, tensor in tensors.items()}
                    for name, tensors in reversed(other.state_dict()[kind].items())
                }
                for kind in ("muon", "adamw")
            }
            other = Optimizers(stopped)
            other.load_state_dict({"table": one.digest, **state})
        for model, optimizers in ((undisturbed, one), (stopped, other)):
            give_gradients(model, step)
            optimizers.step(1e-3)
            optimizers.zero_grad()
    for (name, ours), theirs in zip(undisturbed.named_parameters(), stopped.parameters(), strict=True):
        assert torch.equal(ours, theirs), name
        assert ours.grad is None


def test_a_state_of_something_else_is_refused():
    optimizers = Optimizers(smoke())
    state = optimizers.state_dict()
    with pytest.raises(ValueError, match="another table"):
        Optimizers(smoke(), weight_decay=0.2).load_state_dict(state)
    del state["muon"]["layers.0.ffn.up_proj.weight"]
    with pytest.raises(ValueError, match=r"state of muon lacks layers\.0\.ffn\.up_proj\.weight"):
        optimizers.load_state_dict(state)


def test_the_whole_step_moves_every_parameter_about_as_far():
    """With λ = 0 a first step of AdamW moves each number by lr, and one of Muon by 0.2 · lr in the mean square."""
    model = smoke()
    optimizers = Optimizers(model, weight_decay=0.0)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    give_gradients(model, 1)
    optimizers.step(1e-2)
    for entry in optimizers.table:
        change = model.get_parameter(entry.name).detach() - before[entry.name]
        expected = {"muon": 0.002, "adamw": 0.01, "none": 0}[entry.optimiser]
        assert change.square().mean().sqrt().item() == pytest.approx(expected, rel=0.2), entry.name


def test_a_step_names_what_had_no_part_in_it():
    model = smoke()
    optimizers = Optimizers(model)
    give_gradients(model, 0)
    model.head.weight.grad = None
    model.norm.weight.grad = None
    with pytest.raises(RuntimeError, match=r"norm\.weight and 1 more had no part in the step"):
        optimizers.step(1e-3)
    give_gradients(model, 0)
    model.get_parameter(IDLE[0]).grad = torch.zeros(64)
    with pytest.raises(RuntimeError, match=r"attention_mix\.query has a gradient, but no optimiser"):
        optimizers.step(1e-3)
    with pytest.raises(ValueError, match=r"is torch\.bfloat16; the optimisers train fp32"):
        Optimizers(smoke().bfloat16())


def test_a_real_backward_reaches_all_that_the_table_says_and_no_more():
    model = smoke()
    weights = torch.ones(1, 12)
    weights[:, -1] = 0
    model.loss(torch.arange(12)[None], weights).next_token.total.backward()
    without = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert without == set(IDLE)
    Optimizers(model).step(1e-3)


def test_adamw_has_the_numbers_of_the_recipe_and_the_learning_rate_of_muon():
    model = smoke()
    optimizers = Optimizers(model)
    by_hand = nn.Parameter(model.head.weight.detach().clone())
    reference = torch.optim.AdamW([by_hand], lr=0.01, betas=(0.9, 0.95), eps=ADAMW_EPS, weight_decay=0.1)
    for step in range(3):
        give_gradients(model, step)
        by_hand.grad = model.head.weight.grad.clone()
        optimizers.step(0.01)
        reference.step()
    torch.testing.assert_close(model.head.weight, by_hand, rtol=0, atol=1e-7)
