"""What a step eats: the same sequences whatever the ranks, from any step on, with everything told apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
import torch
from k3data.curriculum.reader import PackedReader
from k3data.model.config import ConfigError
from k3data.train.config import StageConfig
from k3data.train.data import BUCKETS, StageData, bucket_name, make_microbatch

STAGE = StageConfig("shapes", 16 * 1024, 4096)


@pytest.fixture(scope="module")
def reader(packed) -> PackedReader:
    return PackedReader.open(packed, "shapes")


def places(stage: StageData, step: int = 0) -> list[list[tuple[int, ...]]]:
    return [[tuple(p) for one in step_ for p in one.places] for step_ in stage.from_step(step)]


def test_a_step_is_the_same_sequences_on_one_rank_and_on_four(reader):
    alone = places(StageData(STAGE, reader, seed=3))
    assert [len(one) for one in alone] == [4] * 4
    for world in (2, 4):
        ranks = [places(StageData(STAGE, reader, seed=3, rank=rank, world=world)) for rank in range(world)]
        together = [sorted(place for rank in ranks for place in rank[step]) for step in range(4)]
        assert together == [sorted(step) for step in alone]
        everything = [place for step in together for place in step]
        assert len(set(everything)) == len(everything)


def test_it_goes_on_from_any_step(reader):
    stage = StageData(replace(STAGE, micro_sequences=2), reader, seed=3)
    whole = places(stage)
    assert places(stage, 3) == whole[3:]
    assert stage.cursor(2).position == 8 % len(reader)


def test_a_microbatch_holds_its_sequences_end_to_end(reader):
    sequences = list(islice(reader.iter(), 2))
    stage = StageData(STAGE, reader, seed=0)
    one = make_microbatch(sequences, 64, stage.labels)
    assert one.tokens_1T.shape == one.weights_1T.shape == one.real_1T.shape == (1, 2048)
    assert one.groups.bounds[0] == 0 and one.groups.bounds[-1] == 2048 and 1024 in one.groups.bounds
    assert len(one.images) == sum(len(sequence.images) for sequence in sequences) > 2
    pads = reader.about["tokenizer"]["special"]["media_pad"]
    assert (one.tokens_1T == pads).sum() == sum(image.tokens for image in one.images)
    ends = [end - 1 for end in one.groups.bounds[1:]]
    assert not one.weights_1T[0, ends].any()
    assert one.weight == float(one.weights_1T.sum())
    docs = sum(doc["end"] - doc["start"] for sequence in sequences for doc in sequence.spans["docs"])
    assert int(one.real_1T.sum()) == docs < 2048
    assert set(one.labels["kind"].tolist()) == {-1, stage.labels.kind.index("svg")}
    assert not (one.labels["position"] >= 0)[~one.real_1T[0]].any()


def test_positions_fall_into_buckets_by_their_place_in_the_group(reader):
    stage = StageData(STAGE, reader, seed=0)
    one = make_microbatch(list(islice(reader.iter(), 1)), 64, stage.labels)
    starts = one.groups.bounds[:-1]
    assert all(int(one.labels["position"][start]) in (0, -1) for start in starts)
    assert [bucket_name(n) for n in (0, 1, len(BUCKETS) - 1)] == ["0-255", "256-1023", "262144+"]


def test_a_document_of_an_unknown_domain_inside_a_window_is_other(reader):
    sequence = next(reader.iter())
    sequence.spans["docs"][0]["domain"] = "astrology"
    one = make_microbatch([sequence], 64, StageData(STAGE, reader, seed=0).labels)
    first = sequence.spans["docs"][0]["end"]
    assert set(one.labels["domain"][:first].tolist()) == {1} and one.real_1T[0, :first].all()


def test_what_does_not_divide_is_refused(reader):
    with pytest.raises(ConfigError, match="stage shapes: batch_tokens is 5000, not a multiple of the window of 1024"):
        StageData(replace(STAGE, batch_tokens=5000), reader, seed=0)
    with pytest.raises(ConfigError, match="has 4 sequences, which do not divide among 3 ranks of 1"):
        StageData(STAGE, reader, seed=0, world=3)
    with pytest.raises(ConfigError, match="do not divide among 2 ranks of 4 sequences at once"):
        StageData(replace(STAGE, micro_sequences=4), reader, seed=0, world=2)


def test_a_picture_packed_for_another_preprocessing_is_refused(reader):
    stage = StageData(STAGE, reader, seed=0)
    with pytest.raises(ValueError, match="has 4 tokens, but was packed for 16: the data was prepared for another"):
        make_microbatch(list(islice(reader.iter(), 1)), 4, stage.labels)


def test_workers_do_not_change_the_order(reader):
    one, four = (StageData(STAGE, reader, seed=1, threads=threads) for threads in (1, 4))
    for a, b in zip(one.from_step(0), four.from_step(0), strict=True):
        assert all(torch.equal(x.tokens_1T, y.tokens_1T) for x, y in zip(a, b, strict=True))
