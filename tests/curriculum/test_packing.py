"""Planning: the textbook's packing, every token accounted for, the mixture that was wanted, and clear refusals."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.curriculum.binpack import best_fit_decreasing
from k3data.curriculum.cutting import cut_positions
from k3data.curriculum.planning import CARRIED, DROPPED, FATES, PLACED, UNMATCHED, USED, plan_stage
from k3data.curriculum.stages import StageError, presets, stage_definition
from k3data.curriculum.supply import Codes, Supply, id_keys
from k3data.pipelines.errors import UserError


def textbook(lengths: list[int], capacity: int) -> list[int]:
    """Best-fit decreasing, an item at a time; the space left of every bin, sorted."""
    spaces: list[int] = []
    for length in sorted(lengths, reverse=True):
        at = next((at for at, space in enumerate(spaces) if space >= length), None)
        insort(spaces, (capacity if at is None else spaces.pop(at)) - length)
    return spaces


@given(st.integers(1, 60).flatmap(lambda cap: st.tuples(st.lists(st.integers(1, cap), max_size=80), st.just(cap))))
def test_packing_by_lengths_is_the_textbooks(case):
    lengths, capacity = case
    bins = best_fit_decreasing(np.array(lengths, np.int64), capacity)
    filled = np.bincount(bins, lengths).astype(int) if lengths else np.zeros(0, int)
    assert sorted(capacity - filled) == textbook(lengths, capacity)


def test_an_item_larger_than_a_bin_is_an_error():
    with pytest.raises(ValueError, match="do not fit"):
        best_fit_decreasing(np.array([5, 9]), 8)


def supply(tokens, domain=None, kind=None, split=None, upsample=None) -> Supply:
    count = len(tokens)
    ids = pa.chunked_array([pa.array([f"{number:032x}" for number in range(count)])])

    def codes(words, default) -> Codes:
        words = [default] * count if words is None else list(words)
        names = list(dict.fromkeys(words))
        return Codes(np.array([names.index(word) for word in words], np.int32), names)

    return Supply(
        ids=ids, dataset=np.zeros(count, np.int32), row=np.arange(count), tokens=np.array(tokens, np.int64),
        domain=codes(domain, "code"), kind=codes(kind, "text"), split=codes(split, "train"), key=id_keys(ids),
        upsample=np.array(upsample or [1] * count, float),
    )  # fmt: skip


def stage(**values):
    return stage_definition({"window": 64, "mixture": {"all": {"share": 1}}, "max_padding": 1.0, **values})


def planned(definition, documents: Supply, used=()):
    """The plan; of the `used` documents all copies are gone."""
    copies = np.where(np.isin(np.arange(len(documents)), used), 9, 0)

    def cut(doc, window):
        return cut_positions(int(documents.tokens[doc]), window, [], [])

    return plan_stage(definition, documents, copies, cut, 5)


def fates(plan) -> dict[str, int]:
    total = Counter()
    for code, length in zip(plan.fate, plan.stop - plan.start, strict=True):
        total[FATES[code]] += int(length)
    return dict(total)


lengths = st.lists(st.one_of(st.integers(1, 80), st.integers(1, 400)), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    lengths,
    st.sampled_from(["split", "drop", "carry"]),
    st.sampled_from([7, 33, 64, 65, 127]),
    st.sampled_from([0.5, 1.0, 2.0, 2.5]),
    st.data(),
)
def test_every_token_of_every_copy_is_accounted_for(tokens, overflow, window, upsample, data):
    count = len(tokens)
    splits = data.draw(st.lists(st.sampled_from(["train", "train", "val"]), min_size=count, max_size=count))
    domains = data.draw(st.lists(st.sampled_from(["code", "web"]), min_size=count, max_size=count))
    documents = supply(tokens, domains, split=splits)
    definition = stage(
        window=window, overflow=overflow, mixture={"one": {"domain": "code", "share": 1, "upsample": upsample}}
    )
    used = data.draw(st.sets(st.integers(0, count - 1)))
    try:
        plan = planned(definition, documents, sorted(used))
    except UserError as error:
        assert "has no documents" in str(error) or "fill no window" in str(error) or "fill no more" in str(error)
        return
    seen: dict[tuple[int, int], list[tuple[int, int]]] = {}
    filled: Counter[tuple[str, int]] = Counter()
    for doc, copy, start, stop, fate, sequence in zip(
        plan.doc, plan.copy, plan.start, plan.stop, plan.fate, plan.sequence, strict=True
    ):
        seen.setdefault((doc, copy), []).append((start, stop))
        assert (fate == PLACED) == (sequence >= 0)
        if fate == PLACED:
            filled[splits[doc], sequence] += stop - start
            assert domains[doc] == "code" and doc not in used and stop - start <= window
            assert overflow == "split" or tokens[doc] <= window
        long = tokens[doc] > window and overflow != "split"
        assert (fate == UNMATCHED) == (domains[doc] == "web" and doc not in used)
        assert (fate == USED) == (doc in used)
        if long and doc not in used and domains[doc] == "code":
            assert fate == (CARRIED if overflow == "carry" else DROPPED)
    for (doc, _), pieces in seen.items():
        edges = sorted(pieces)
        assert edges[0][0] == 0 and edges[-1][1] == tokens[doc]
        assert all(one[1] == two[0] for one, two in pairwise(edges))
    assert {doc for doc, _ in seen} == set(range(count))
    assert max(filled.values()) <= window
    assert {name: len({at for split, at in filled if split == name}) for name in plan.sequences} == plan.sequences


def test_a_plan_is_a_function_of_its_input():
    rng = np.random.default_rng(1)
    documents = supply(rng.integers(1, 60, 500))
    first, second = planned(stage(), documents), planned(stage(), documents)
    for name in ("doc", "sequence", "start", "fate"):
        assert (getattr(first, name) == getattr(second, name)).all()


def test_the_mixture_is_met_to_half_a_percent():
    rng = np.random.default_rng(2)
    tokens = np.clip(rng.lognormal(5, 1.2, 30_000), 2, 4096).astype(int)
    domain = rng.choice(["code", "maths", "web"], len(tokens), p=[0.5, 0.2, 0.3])
    wanted = {"code": 0.2, "maths": 0.3, "web": 0.5}
    plan = planned(stage(window=4096, mixture=wanted, max_padding=0.001), supply(tokens, domain))
    got = plan.got[0] / plan.got[0].sum()
    assert np.abs(got - list(wanted.values())).max() < 0.001
    assert plan.got.sum() / (plan.sequences["train"] * 4096) > 0.999
    # What was wanted is the largest that the scarcest component allows: all of it is used.
    assert plan.got[0].max() and (plan.offered[0] - plan.wanted[0]).min() <= 1


def test_other_splits_are_mixed_alike_and_never_share_a_sequence():
    rng = np.random.default_rng(3)
    split = rng.choice(["train", "val", "test"], 3000, p=[0.8, 0.1, 0.1])
    domain = rng.choice(["code", "web"], 3000)
    plan = planned(stage(mixture={"code": 3, "web": 1}), supply(rng.integers(1, 40, 3000), domain, split=split))
    assert set(plan.sequences) == {"train", "val", "test"}
    for row in plan.got:
        assert abs(row[0] / row.sum() - 0.75) < 0.06


def test_copies_come_after_every_document_and_are_explicit():
    documents = supply([10] * 100)
    plan = planned(stage(mixture={"all": {"share": 1, "upsample": 3}}, tokens=1500), documents)
    placed = Counter(int(copy) for copy, fate in zip(plan.copy, plan.fate, strict=True) if fate == PLACED)
    assert set(placed) == {0, 1} and placed[0] == 100
    assert Counter(zip(plan.doc.tolist(), plan.copy.tolist(), strict=True)).most_common(1)[0][1] == 1


def test_a_documents_own_factor_counts():
    documents = supply([10] * 40, upsample=[3, 1, 0, 0.5] * 10)
    plan = planned(stage(), documents)
    copies = np.bincount(plan.doc[plan.fate == PLACED], minlength=40).reshape(10, 4)
    assert (copies[:, :3] == [3, 1, 0]).all() and 0 < copies[:, 3].sum() < 10


def test_later_copies_belong_to_later_stages():
    documents = supply([10] * 20, upsample=[2] * 20)
    plan = plan_stage(stage(), documents, np.array([0, 1, 2, 1] * 5), lambda doc, window: doc, 5)
    taken = sorted(zip((plan.doc % 4).tolist(), plan.copy.tolist(), [FATES[code] for code in plan.fate], strict=True))
    assert Counter(taken) == {
        (0, 0, "placed"): 5, (0, 1, "placed"): 5, (1, 1, "placed"): 5, (2, 0, "used"): 5, (3, 1, "placed"): 5,
    }  # fmt: skip


def test_what_comes_closest_is_taken_even_if_it_is_more():
    documents = supply([64] * 3 + [8] * 100, kind=["scatter"] * 3 + ["text"] * 100)
    mixture = {"scatter": {"kind": "scatter", "share": 1}, "text": {"kind": "text", "share": 3}}
    plan = planned(stage(mixture=mixture, tokens=160), documents)
    assert plan.wanted.tolist() == [[40, 120]] and plan.got.tolist() == [[64, 96]]


def test_reuse_takes_what_earlier_stages_took():
    documents = supply([10] * 20)
    assert fates(planned(stage(), documents, range(10))) == {"placed": 100, "used": 100}
    assert fates(planned(stage(reuse=True), documents, range(10))) == {"placed": 200}


def test_one_token_documents_and_odd_windows():
    plan = planned(stage(window=7, max_padding=0.0), supply([1] * 70))
    assert plan.sequences == {"train": 10} and fates(plan) == {"placed": 70}


def test_the_emptiest_sequences_are_taken_apart():
    plan = planned(stage(window=10, max_padding=0.05), supply([10, 10, 10, 3]))
    assert plan.sequences == {"train": 3} and fates(plan) == {"placed": 30, "left": 3}


@pytest.mark.parametrize(
    ("definition", "documents", "message"),
    [
        ({"mixture": {"code": 1, "maths": 1}, "tokens": 400}, ([30] * 10,),
         "maths has no documents that fit a window; it can be with more upsample"),
        ({"mixture": {"code": 1}, "tokens": 400}, ([30] * 10,), "code lacks 100 of 400 tokens.*at most 300"),
        ({"mixture": {"code": 1, "maths": 1}}, ([30] * 10,), "maths has no documents that fit a window"),
        ({"overflow": "split"}, ([30, 90], None, ["text", "scatter"]),
         "a window of 64 tokens is smaller than 1 items of kind 'scatter'.*has 90"),
        ({"max_padding": 0.01}, ([30],), "30 tokens fill no window of 64"),
        ({"max_padding": 0.01, "tokens": 3300}, ([33] * 100 + [31] * 20,), "instead of 3,300"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_line(definition, documents, message):
    with pytest.raises(UserError, match=message) as error:
        planned(stage(**definition), supply(*documents))
    assert "\n" not in str(error.value)


@given(
    st.integers(1, 900),
    st.integers(8, 200),
    st.sets(st.integers(1, 899)),
    st.lists(st.integers(1, 7), max_size=12),
    st.data(),
)
def test_cuts_keep_pictures_whole_and_prefer_paragraphs(length, window, breaks, widths, data):
    pictures, at = [], 0
    for width in widths:
        at += data.draw(st.integers(0, 60))
        if at + width <= length:
            pictures.append((at, at + width))
        at += width
    breaks = [one for one in sorted(breaks) if one < length and not any(a < one < b for a, b in pictures)]
    cuts = cut_positions(length, window, breaks, pictures).tolist()
    assert cuts[0] == 0 and cuts[-1] == length and max(np.diff(cuts)) <= window
    for cut in cuts[1:-1]:
        assert not any(a < cut < b for a, b in pictures)
    for start, cut in pairwise(cuts[:-1]):
        if any(start + window // 2 < one <= start + window for one in breaks):
            assert cut in breaks


def test_a_picture_wider_than_the_window_is_one_line():
    with pytest.raises(UserError, match="document x has a picture of 20 tokens, more than a window of 16 holds"):
        cut_positions(40, 16, [], [(10, 30)], "document x")


def test_every_preset_is_a_definition():
    for name in presets():
        definition = stage_definition(name)
        assert definition.name == name and abs(sum(definition.shares().values()) - 1) < 1e-9
    assert [stage_definition(name).window for name in ("8k", "64k", "256k", "1m")] == [2**13, 2**16, 2**18, 2**20]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("8q", "no stage is called '8q'"),
        ({"preset": "8k", "windw": 3}, r"unknown key 'windw' \(did you mean 'window'\?\)"),
        ({"mixture": {"a": 1}}, "a window is missing"),
        ({"window": 8}, "a mixture is a mapping"),
        ({"window": 1, "mixture": {"a": 1}}, "it holds at least 2"),
        ({"window": 8, "mixture": {"a": {"shar": 1}}}, "unknown key 'shar'"),
        ({"window": 8, "mixture": {"a": 0}}, "shares above 0"),
        ({"preset": "8k", "overflow": "wrap"}, "one of split, drop, carry"),
        ({"preset": "8k", "tokens": "many"}, "a number of tokens, or a share like 40%"),
        ({"preset": "8k", "tokens": 5}, "a budget of 5 tokens fills no window of 8,192"),
        ({"preset": "8k", "max_padding": 2}, "a share from 0 to 1"),
    ],
)
def test_a_wrong_definition_is_one_line(values, message):
    with pytest.raises(StageError, match=message):
        stage_definition(values)
