"""A look into the model costs no more memory than a step: of long microbatches only the beginning is seen."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice

import pytest
import torch
from k3data.curriculum.reader import PackedReader
from k3data.model.attn_res import AttentionResidual
from k3data.model.inputs import check_tokens
from k3data.model.transformer import K3Model
from k3data.train import metrics
from k3data.train.data import LabelNames, Microbatch, make_microbatch
from k3data.train.metrics import diagnose, first_tokens
from k3data.train.run_folder import RunFolder

from .conftest import ONE, tiny


@pytest.fixture(scope="module")
def reader(packed) -> PackedReader:
    return PackedReader.open(packed, "shapes")


@pytest.fixture(scope="module")
def config(reader):
    return replace(tiny().model, vocab_size=540)


@pytest.fixture(scope="module")
def microbatch(reader) -> Microbatch:
    return make_microbatch(list(islice(reader.iter(), 2)), 64, LabelNames.of(reader))


@pytest.fixture(scope="module")
def second_picture(microbatch, config) -> tuple[int, int]:
    """The first of its places, and the first token behind them."""
    places = (microbatch.tokens_1T[0] == config.media_pad_id).nonzero()[:, 0].tolist()
    first, second = microbatch.images[:2]
    return places[first.tokens], places[first.tokens + second.tokens - 1] + 1


def test_a_short_microbatch_is_untouched(microbatch, config):
    seen = first_tokens(microbatch, microbatch.tokens_1T.shape[1], config.media_pad_id)
    whole = microbatch.tokens_1T, microbatch.real_1T, microbatch.groups, microbatch.images
    assert all(ours is theirs for ours, theirs in zip(seen, whole, strict=True))


def test_a_picture_across_the_end_is_left_out_with_all_behind_it(microbatch, config, second_picture):
    start, behind = second_picture
    ends = {start: (start, 1), start + 1: (start, 1), behind - 1: (start, 1), behind: (behind, 2)}
    for longest, (end, pictures) in ends.items():
        tokens_1T, real_1T, groups, images = first_tokens(microbatch, longest, config.media_pad_id)
        assert tokens_1T.shape == real_1T.shape == (1, end) and groups.bounds[-1] == end
        assert len(images) == pictures and all(a is b for a, b in zip(images, microbatch.images, strict=False))


def test_wherever_the_end_is_the_model_takes_what_is_before_it(microbatch, config):
    T = microbatch.tokens_1T.shape[1]
    for longest in range(20, T):
        tokens_1T, real_1T, groups, images = first_tokens(microbatch, longest, config.media_pad_id)
        end = tokens_1T.shape[1]
        check_tokens(tokens_1T, images, config)
        assert torch.equal(tokens_1T, microbatch.tokens_1T[:, :end])
        assert torch.equal(real_1T, microbatch.real_1T[:, :end])
        assert groups.bounds == [*(bound for bound in microbatch.groups.bounds if bound < end), end]
        # Nothing is left out but the places of one picture, which goes on.
        assert (microbatch.tokens_1T[0, end : longest + 1 if end < longest else end] == config.media_pad_id).all()


def test_padding_is_left_out(microbatch, config, tmp_path):
    torch.manual_seed(0)
    model, run = K3Model(config), RunFolder(tmp_path)
    for one in model.modules():
        if isinstance(one, AttentionResidual):
            torch.nn.init.normal_(one.query)  # zeros mix all tokens alike
    other_1T = microbatch.tokens_1T.where(microbatch.real_1T, 7)
    assert not torch.equal(other_1T, microbatch.tokens_1T)
    for tokens_1T in (microbatch.tokens_1T, other_1T):
        diagnose(model, replace(microbatch, tokens_1T=tokens_1T), 1, run, ONE)
    run.close()
    ours, theirs = (json.loads(line) for line in (tmp_path / "metrics.jsonl").open())
    assert all(ours[what] == theirs[what] for what in ("attn_res", "decay", "load"))


def test_a_diagnosis_sees_no_more(microbatch, config, second_picture, tmp_path, monkeypatch):
    torch.manual_seed(0)
    model, run, seen = K3Model(config), RunFolder(tmp_path), []
    model.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0].shape[1]))
    diagnose(model, microbatch, 1, run, ONE)
    monkeypatch.setattr(metrics, "DIAGNOSED_TOKENS", second_picture[0] + 1)
    diagnose(model, microbatch, 2, run, ONE)
    run.close()
    assert seen == [2048, second_picture[0]]
    whole, part = (json.loads(line) for line in (tmp_path / "metrics.jsonl").open())
    assert whole["load"].keys() == part["load"].keys() == {"1"} and whole["load"] != part["load"]
