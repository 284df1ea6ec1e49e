"""The ledger: first finisher wins, compaction changes nothing, damage is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from k3data.pipelines.ledger import (
    Ledger,
    LedgerDamage,
    PublishedFile,
    PublishedShard,
    UnitRecord,
    digest_of_items,
)
from k3data.pipelines.store import open_store


def unit(name: str, samples: int = 3) -> UnitRecord:
    shard = PublishedShard(f"shards/{name}.tar", 10, "ab", samples, "train", "public", "json+png")
    return UnitRecord(
        unit=name, items=4, item_digest=digest_of_items(["a", "b"]), outcomes={"published": 4}, samples=samples,
        shards=[shard], index=PublishedFile("index/x", 1, "cd"), rejects=None, stages=[{"name": "source", "in": 4}],
    )  # fmt: skip


def test_a_record_reads_back_as_it_was_written(tmp_path):
    ledger = Ledger(open_store(tmp_path))
    assert ledger.record(unit("u1"))
    assert ledger.records() == {"u1": unit("u1")}


def test_a_second_finisher_loses_harmlessly_also_after_compaction(tmp_path):
    ledger = Ledger(open_store(tmp_path))
    assert ledger.record(unit("u1"))
    assert not ledger.record(unit("u1", samples=9))
    assert ledger.compact(at_least=1) == 1
    ledger.record(unit("u1", samples=9))
    assert ledger.records()["u1"].samples == 3


def test_compaction_keeps_every_unit_and_leaves_one_file(tmp_path):
    store = open_store(tmp_path)
    ledger = Ledger(store)
    for number in range(30):
        ledger.record(unit(f"u{number}"))
    before = ledger.records()
    assert ledger.compact(at_least=31) == 0
    assert ledger.compact(at_least=30) == 30
    ledger.record(unit("late"))
    assert ledger.records() == {**before, "late": unit("late")}
    ledger.compact(at_least=1)
    assert ledger.records() == {**before, "late": unit("late")}
    assert len(list(store.list("ledger"))) == 1


def test_a_crash_between_snapshot_and_clean_up_changes_nothing(tmp_path, monkeypatch):
    store = open_store(tmp_path)
    ledger = Ledger(store)
    for number in range(5):
        ledger.record(unit(f"u{number}"))
    before = ledger.records()
    monkeypatch.setattr(store, "delete", lambda path: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        ledger.compact(at_least=1)
    assert ledger.records() == before


def test_damage_is_named(tmp_path):
    store = open_store(tmp_path)
    Ledger(store).record(unit("u1"))
    path = tmp_path / "ledger" / "u1.json"
    path.write_bytes(path.read_bytes().replace(b'"samples":3', b'"samples":4'))
    with pytest.raises(LedgerDamage, match=r"ledger/u1\.json is damaged"):
        Ledger(store).records()


def test_the_item_digest_sees_a_lost_and_a_doubled_item_but_no_order():
    assert digest_of_items(["a", "b"]) == digest_of_items(["b", "a"])
    assert digest_of_items(["a", "b"]) != digest_of_items(["a"])
    assert digest_of_items(["a", "b"]) != digest_of_items(["a", "b", "b"])
    assert replace(unit("u1"), samples=1) != unit("u1")
