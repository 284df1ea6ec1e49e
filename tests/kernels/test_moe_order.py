"""Rows in order of expert by kernels, against a stable sort and loops."""

from __future__ import annotations

import pytest
import torch
import triton
from k3data.model.kernels.moe import order, ordering


@pytest.fixture(autouse=True)
def small_programs(device, monkeypatch):
    """In the interpreter, where an element costs as much as a tile: so that there are several programs and steps."""
    if device == "cpu":
        for name, size in (("CHUNK", 32), ("STEP", 4), ("SLOTS", 4)):
            monkeypatch.setattr(ordering, name, size)


def chosen_by(kind, N, E, K, device):
    generator = torch.Generator().manual_seed(5)
    likely_E = {"even": torch.ones(E), "skewed": torch.arange(1, E + 1.0) ** -2}.get(kind)
    if likely_E is None:  # all tokens to the same
        experts = torch.arange(E - K, E).expand(N, K)
    else:
        experts = torch.multinomial(likely_E.expand(N, E), K, generator=generator)
    return experts.int().to(device)


@pytest.mark.parametrize("kind", ["even", "skewed", "the last ones"])
@pytest.mark.parametrize(("N", "E", "K", "block"), [(1, 2, 1, 16), (1, 40, 3, 16), (53, 6, 2, 8), (16, 16, 4, 1)])
def test_rows_places_ends_and_tiles_by_a_stable_sort(kind, N, E, K, block, device):
    experts_NK = chosen_by(kind, N, E, K, device)
    found, again = order(experts_NK, E, block), order(experts_NK, E, block)
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))
    assert {tensor.dtype for tensor in found} == {torch.int32}
    flat_M = experts_NK.flatten().cpu()
    rows_M = flat_M.argsort(stable=True)
    assert found.rows_M.tolist() == rows_M.tolist()
    assert found.places_NK.shape == experts_NK.shape
    assert found.places_NK.flatten().tolist() == rows_M.argsort().tolist()
    counts_E = torch.bincount(flat_M, minlength=E)
    assert found.ends_E.tolist() == counts_E.cumsum(0).tolist()
    tiles, start = [], 0
    for expert, rows in enumerate(counts_E.tolist()):
        tiles += [[expert, start + first] for first in range(0, rows, block)]
        start += rows
    slots = -(-N * K // block) + min(E, N * K)
    assert found.tiles_G2.shape == (slots, 2)
    assert found.tiles_G2[: len(tiles)].tolist() == tiles
    assert (found.tiles_G2[len(tiles) :, 0] == -1).all()


def test_what_does_not_fit_is_refused_before_the_launch(monkeypatch):
    experts_NK = torch.zeros(5, 2, dtype=torch.int32)
    for arguments, match in (
        ((experts_NK.long(), 8, 16), "must be int32"),
        ((experts_NK[:0], 8, 16), "0 entries"),
        ((experts_NK, 1025, 16), "1025 experts"),
        ((experts_NK, 8, 0), "tiles of 0 rows"),
    ):
        with pytest.raises(ValueError, match=match):
            order(*arguments)
    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    with pytest.raises(ValueError, match="need a GPU"):
        order(experts_NK, 8, 16)
