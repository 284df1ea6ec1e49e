"""The render pool: what happens to a picture's process must never happen to the run, nor to another picture."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from k3data.vision import frames
from k3data.vision.png import encode
from k3data.vision.pool import MAX_PROGRAM_BYTES, RenderPool
from k3data.vision.types import Failure, Render, RenderSpec

SPEC = RenderSpec(128, 128)
SQUARE = '<svg viewBox="0 0 10 10"><rect id="s" width="5" height="5" fill="#c03020"/></svg>'
SLOW = f'<svg viewBox="0 0 99 99"><text y="50" font-size="1">{"A" * 600_000}</text></svg>'


@pytest.fixture
def pool():
    with RenderPool("svg", timeout_s=1.0) as found:
        yield found


def test_same_program_gives_the_same_bytes_in_another_process(pool: RenderPool):
    first = pool.render(SQUARE, SPEC)
    pool.close()
    second = pool.render(SQUARE, SPEC)
    assert isinstance(first, Render) and isinstance(second, Render)
    assert first == second
    assert pool.restarts == 2


def test_a_killed_worker_costs_nothing(pool: RenderPool):
    before = pool.render(SQUARE, SPEC)
    os.kill(pool.pid, signal.SIGKILL)
    assert pool.render(SQUARE, SPEC) == before


def test_a_worker_killed_while_it_draws_is_replaced_and_named(pool: RenderPool):
    pool.render(SQUARE, SPEC)
    done = threading.Event()

    def kill_every_worker() -> None:
        while not done.wait(0.15):
            if pool.pid:
                try:
                    os.kill(pool.pid, signal.SIGSEGV)
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill_every_worker)
    killer.start()
    outcome = pool.render(SLOW, SPEC)
    done.set()
    killer.join()
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.detail.split()[0]) == ("signal", "SIGSEGV")
    assert isinstance(pool.render(SQUARE, SPEC), Render)


def test_an_endless_drawing_ends_in_time_and_the_next_one_is_drawn(pool: RenderPool):
    pool.render(SQUARE, SPEC)
    began = time.monotonic()
    outcome = pool.render(SLOW, SPEC)
    assert isinstance(outcome, Failure) and outcome.kind == "timeout"
    assert time.monotonic() - began < pool.timeout_s + 1
    assert isinstance(pool.render(SQUARE, SPEC), Render)


def test_a_forked_process_gets_a_worker_of_its_own(pool: RenderPool):
    before = pool.render(SQUARE, SPEC)
    pid = pool.pid
    child = os.fork()
    if child == 0:
        same = pool.render(SQUARE, SPEC) == before and pool.pid != pid
        pool.close()
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.render(SQUARE, SPEC) == before and pool.pid == pid


def test_an_oversized_program_starts_no_worker(pool: RenderPool):
    outcome = pool.render("x" * (MAX_PROGRAM_BYTES + 1), SPEC)
    assert isinstance(outcome, Failure) and outcome.kind == "too_large"
    assert pool.pid is None


def test_workers_are_replaced_when_they_are_old():
    with RenderPool("svg", recycle_after=2) as pool:
        pids = []
        for _ in range(5):
            pool.render(SQUARE, SPEC)
            pids.append(pool.pid)
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


def test_a_worker_knows_no_secret_and_leaves_no_folder(pool: RenderPool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    pool.render(SQUARE, SPEC)
    assert b"planted-secret" not in Path(f"/proc/{pool.pid}/environ").read_bytes()
    folder = Path(f"/proc/{pool.pid}/cwd").readlink()
    assert folder.name == "empty" and not list(folder.iterdir())
    pool.close()
    assert not folder.exists()


def test_workers_die_with_a_killed_parent():
    code = (
        "import os, psutil\nfrom k3data.vision.pool import RenderPool\nfrom k3data.vision.types import RenderSpec\n"
        "pool = RenderPool('web')\npool.render('<p>words</p>', RenderSpec(200, 200))\n"
        "print(*[one.pid for one in psutil.Process().children(recursive=True)], flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) >= 3, done.stderr
    deadline = time.monotonic() + 5
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if _alive(pid)]


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _reply(**changes):
    from PIL import Image as Picture

    image = encode("picture", Picture.new("RGB", (4, 3), "red"))
    described = {"name": "picture", "width": 4, "height": 3, "bytes": len(image.png), "sha256": image.sha256}
    header = {"id": 7, "images": [described], "layout": [], "program": "", "renderer": "r", "log": {}, **changes}
    return header, image.png


def test_a_whole_reply_is_believed():
    outcome = RenderPool._checked(*_reply(), 7)
    assert isinstance(outcome, Render) and outcome.images[0].width == 4


def test_a_stale_or_damaged_reply_is_not_believed():
    header, png = _reply()
    damaged = png[:-20] + bytes([png[-20] ^ 1]) + png[-19:]
    text = b"not a picture"
    claimed = {**header["images"][0], "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    for head, data, request in [
        (header, png, 8),
        (header, damaged, 7),
        (header, png + b"x", 7),
        ({**header, "images": []}, b"", 7),
        ({**header, "images": [claimed]}, text, 7),
        ({**header, "images": [{**header["images"][0], "width": 5}]}, png, 7),
    ]:
        with pytest.raises(ValueError):
            RenderPool._checked(head, data, request)


def test_frames_are_whole_or_refused():
    frame = frames.pack({"a": 1}, b"payload")
    assert _sent(frame) == ({"a": 1}, b"payload")
    with pytest.raises(frames.FrameError):
        _sent(frame[:-1] + b"X")
    with pytest.raises(frames.FrameError):
        _sent(b"some words that a library printed on stdout")
    with pytest.raises(frames.Closed):
        _sent(frame[:-3])
    source, sink = os.pipe()
    os.write(sink, frame[:-3])
    with pytest.raises(frames.Late):
        frames.read(source, time.monotonic() + 0.05)


def _sent(data: bytes):
    source, sink = os.pipe()
    os.write(sink, data)
    os.close(sink)
    try:
        return frames.read(source)
    finally:
        os.close(source)
