"""Stores: the same promises on a local folder and on a real S3 server."""

from __future__ import annotations

import subprocess
import sys

import orjson
import pytest
from k3data.pipelines import lease as leases
from k3data.pipelines.errors import StoreError, UserError
from k3data.pipelines.lease import Lease
from k3data.pipelines.store import open_store


@pytest.fixture(params=["local", "s3"])
def store(request, tmp_path):
    if request.param == "local":
        return open_store(tmp_path / "out")
    bucket = request.getfixturevalue("s3_bucket")
    return open_store(f"{bucket.url}/out", **bucket.options)


def test_what_is_published_is_read_back_whole_and_in_parts(store, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"0123456789" * 1000)
    store.put_file(source, "a/b.bin")
    assert not source.exists()
    assert store.read("a/b.bin", 5, 15) == b"5678901234"
    assert store.size("a/b.bin") == 10_000
    assert [entry.path for entry in store.list()] == ["a/b.bin"]
    assert [entry.path for entry in store.sub("a").list()] == ["b.bin"]
    store.delete("a/b.bin")
    store.delete("a/b.bin")
    assert store.entry("a/b.bin") is None
    with pytest.raises(FileNotFoundError):
        store.read("a/b.bin")


def test_put_if_absent_keeps_the_first(store):
    assert store.put_bytes("x.json", b"first", if_absent=True)
    assert not store.put_bytes("x.json", b"second", if_absent=True)
    assert store.read("x.json") == b"first"
    assert store.put_bytes("x.json", b"third")
    assert store.read("x.json") == b"third"


def test_nothing_unfinished_is_ever_listed(store):
    store.put_bytes("x.json", b"x")
    (store.scratch() / "half").write_bytes(b"half")
    assert [entry.path for entry in store.list()] == ["x.json"]
    assert [path.name for path in store.scratch().iterdir()] == ["half"]


def test_two_runs_cannot_hold_one_lease(store):
    with Lease(store, print), pytest.raises(UserError, match="another run is at work here"), Lease(store, print):
        pass
    assert leases.newest(store) is None


def test_a_lease_whose_process_is_gone_is_taken_over(store):
    with Lease(store, print) as dead:
        body = store.read("lease/000001.json")
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait()
        left = {**orjson.loads(body), "pid": process.pid, "token": "another"}
        dead._stop.set()
        dead._thread.join()
    store.put_bytes("lease/000001.json", orjson.dumps(left))
    with Lease(store, print) as lease:
        assert lease.generation == 2
        assert leases.newest(store)["token"] == lease.token


def test_a_lease_of_another_machine_is_alive_while_it_beats(store, monkeypatch):
    monkeypatch.setattr(leases, "_here", lambda: {"host": "elsewhere", "namespace": "pid:[1]"})
    with Lease(store, print):
        monkeypatch.undo()
        with pytest.raises(UserError, match="host elsewhere"):
            leases.refuse_if_live(store, leases.newest(store))
        monkeypatch.setattr(leases, "STALE_S", 0.0)
        leases.refuse_if_live(store, leases.newest(store))


def test_a_holder_learns_that_it_lost_its_lease(tmp_path, monkeypatch):
    monkeypatch.setattr(leases, "BEAT_S", 0.05)
    store, lost = open_store(tmp_path), []
    lease = Lease(store, lost.append)
    with lease:
        store.put_bytes("lease/000009.json", store.read("lease/000001.json").replace(lease.token.encode(), b"other"))
        lease._thread.join(5)
    assert lost == ["another run has taken over this output"]


def test_places_that_cannot_be_used_are_named(tmp_path, s3_bucket):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="is a file, not a folder"):
        open_store(tmp_path / "file").check(write=True)
    with pytest.raises(UserError, match="cannot write to"):
        open_store("/proc/nowhere").check(write=True)
    with pytest.raises(UserError, match="no such folder"):
        open_store(tmp_path / "none").check(write=False)
    with pytest.raises(UserError, match="bucket 'no-such-bucket' does not exist"):
        open_store("s3://no-such-bucket/x", **s3_bucket.options).check(write=True)
    with pytest.raises(UserError, match="access denied"):
        open_store(f"{s3_bucket.url}/x", **{**s3_bucket.options, "secret": "wrong"}).check(write=True)
    with pytest.raises(UserError, match="Protocol not known"):
        open_store("nonsense://x/y")


def test_a_read_only_folder_fails_in_one_line(tmp_path, monkeypatch):
    store = open_store(tmp_path)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("k3data.pipelines.durable.fsync_file", refuse)
    with pytest.raises(StoreError, match=r"writing .*/x\.json: no space left on the device"):
        store.put_bytes("x.json", b"x")
    assert not list(store.scratch().iterdir())
