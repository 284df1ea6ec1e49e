"""Compiled pieces: the same numbers, whole graphs, and no new graph for other groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from k3data.model.compiled import PIECES, compile_blocks
from k3data.model.config import preset
from k3data.model.quantile_balancing import balance
from k3data.model.transformer import K3Model, Losses
from k3data.model.vision.preprocess import Patches
from torch import Tensor
from torch._dynamo.utils import counters

SMOKE = preset("smoke")
CONFIG = replace(SMOKE, layers=4, mla_layers=(2, 3), mtp_layers=1)
"""KDA with a dense feed-forward, KDA with experts, two of MLA with experts; two blocks of two layers."""

GRAPHS = {"mixed": 5, "operands": 2, "output": 2, "mixture": 1, "forward": 1, "of_chunk": 1}
"""Of one shape: a mix for each number of stored blocks, with and without an addition, and one of each kind of layer."""

PACKED = ([0, 96], [0, 1, 40, 96], [0, 30, 30, 31, 64, 96], [0, 64, 96])


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    counters.clear()
    torch.set_num_threads(1)
    yield
    torch.compiler.reset()


def model(compiled: bool, recompute: bool = False) -> K3Model:
    torch.manual_seed(1)
    made = K3Model(replace(CONFIG, init_std=0.1))
    made.recompute(recompute)
    if compiled:
        compile_blocks(made, "aot_eager")
    return made


def batch(length: int = 96, pictures: int = 0) -> tuple[Tensor, Tensor, list[Patches]]:
    rng = torch.Generator().manual_seed(length)
    tokens = torch.randint(0, 200, (1, length), generator=rng)
    images = [Patches(torch.rand(16, 3, 14, 14, generator=rng) * 2 - 1, (1, 4, 4), 4) for _ in range(pictures)]
    for number in range(pictures):
        tokens[0, 6 * number + 2 : 6 * number + 6] = CONFIG.media_pad_id
    return tokens, torch.ones(1, length), images


def learn(made: K3Model, bounds: list[int], pictures: int = 0) -> Losses:
    made.zero_grad()
    tokens, weights, images = batch(bounds[-1], pictures)
    losses = made.loss(tokens, weights, images=images, groups=torch.tensor(bounds))
    assert losses.next_next_token is not None
    (losses.next_token.total + losses.next_next_token.total).backward()
    return losses


def graphs() -> int:
    return int(counters["stats"]["unique_graphs"])


@pytest.mark.parametrize("recompute", [False, True])
def test_pieces_are_whole_graphs_that_compute_the_same_and_know_nothing_of_groups(recompute):
    """`fullgraph` makes any break an error; KDA and MLA, dense and experts, packed, with and without pictures."""
    plain, compiled = model(False, recompute), model(True, recompute)
    for bounds, pictures in zip(PACKED, (0, 2, 1, 0), strict=True):
        expected, found = (learn(made, bounds, pictures) for made in (plain, compiled))
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
        for (name, one), other in zip(compiled.named_parameters(), plain.parameters(), strict=True):
            if other.grad is None:
                assert one.grad is None, name
            else:
                assert (one.grad - other.grad).norm() <= 1e-4 * other.grad.norm(), name
        for one, other in zip(compiled.balancers(), plain.balancers(), strict=True):
            assert torch.equal(one.histogram_EB, other.histogram_EB) and torch.equal(one.load_E, other.load_E)
            assert int(one.load_E.sum()) == bounds[-1] * CONFIG.moe.top_k, "a token counts once"
        balance(compiled.balancers()), balance(plain.balancers())
    assert graphs() == sum(GRAPHS.values()), "one for each kind of layer, whatever the groups and pictures"
    assert not counters["graph_break"]


def test_another_shape_costs_one_graph_of_each_kind_and_an_old_one_none():
    made = model(True)
    learn(made, PACKED[0])
    first = graphs()
    learn(made, [0, 50, 128])
    assert graphs() == 2 * first - 1, "the slices of the loss have one shape"
    learn(made, PACKED[1])
    learn(made, [0, 128])
    learn(model(True), PACKED[2])
    assert graphs() == 2 * first - 1


def test_without_gradients_nothing_is_compiled():
    made = model(True)
    tokens, weights, _ = batch()
    with torch.no_grad():
        made.eval()
        made(tokens)
        made.loss(tokens, weights)
    assert graphs() == 1, "the slices of the loss alone, which have one shape"


def test_every_piece_that_is_named_is_there():
    made = model(True)
    for kind, names in PIECES.items():
        assert all(callable(getattr(kind, name)) for name in names)
    from k3data.model.compiled import Piece

    pieces = [value for module in made.modules() for value in vars(module).values() if isinstance(value, Piece)]
    # Four layers' mixes, five attentions of two pieces each, a dense feed-forward and four mixtures of experts.
    assert len(pieces) == 4 + 10 + 1 + 4
