"""The walls around a worker, raised for real in a child process that then runs against each of them."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from k3data.vision import isolation
from k3data.vision.bench.hostile import listener
from k3data.vision.isolation import Isolation, IsolationError, Level

needs_walls = pytest.mark.skipif(isolation.probe().level < Level.CONFINED, reason=f"this machine: {isolation.probe()}")


def _inside(folder: Path, action: Callable[[], object]) -> str:
    """What becomes of `action` behind all walls: "done", or the exception's name."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            isolation.enter_namespaces()
            isolation.restrict_files(isolation.readable_trees(), isolation.writable_trees(folder))
            isolation.deny_system_calls()
            action()
            word = "done"
        except BaseException as error:
            word = type(error).__name__
        os.write(sink, word.encode())
        os._exit(0)
    os.close(sink)
    with os.fdopen(source) as pipe:
        word = pipe.read()
    os.waitpid(child, 0)
    return word


@needs_walls
def test_what_a_renderer_needs_still_works(tmp_path: Path):
    assert _inside(tmp_path, lambda: (tmp_path / "x").write_text("x")) == "done"
    assert _inside(tmp_path, lambda: Path(os.__file__).read_bytes()) == "done"
    assert _inside(tmp_path, lambda: threading.Thread(target=int).start()) == "done"


@needs_walls
def test_files_outside_are_out_of_reach(tmp_path: Path):
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = tmp_path / "secret"
    secret.write_text("x")
    assert _inside(inside, secret.read_text) == "PermissionError"
    assert _inside(inside, lambda: secret.write_text("y")) == "PermissionError"
    assert _inside(inside, secret.unlink) == "PermissionError"
    assert _inside(inside, lambda: Path("/etc/passwd").read_text()) == "PermissionError"
    assert secret.read_text() == "x"


@needs_walls
def test_processes_are_out_of_reach(tmp_path: Path):
    parent = os.getpid()
    assert _inside(tmp_path, lambda: os.kill(parent, 0)) == "PermissionError"
    assert _inside(tmp_path, os.fork) == "PermissionError"
    assert _inside(tmp_path, lambda: os.execv("/bin/true", ["true"])) == "PermissionError"
    assert _inside(tmp_path, lambda: subprocess.run(["/bin/true"])) == "PermissionError"
    assert _inside(tmp_path, socket.socket) == "PermissionError"


@needs_walls
def test_a_namespace_alone_keeps_packets_in(tmp_path: Path):
    with listener() as (beacon, heard):
        port = int(beacon.rsplit(":", 1)[1].strip("/"))
        child = os.fork()
        if child == 0:
            isolation.enter_namespaces()
            try:
                socket.create_connection(("127.0.0.1", port), timeout=2)
            except OSError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert heard() == 0
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        for _ in range(100):
            if heard():
                break
            threading.Event().wait(0.02)
        assert heard() == 1, "the listener must be able to hear, or its silence means nothing"


def test_levels_follow_from_the_walls():
    assert Isolation(namespaces=False, landlock=7, seccomp=True).level is Level.PROCESS
    assert Isolation(namespaces=True, landlock=0, seccomp=True).level is Level.OFFLINE
    assert Isolation(namespaces=True, landlock=3, seccomp=True).level is Level.CONFINED
    assert str(Isolation(namespaces=True, landlock=0, seccomp=False)).startswith("offline: ")


def test_a_missing_level_is_refused_in_one_line():
    isolation.require(Level.PROCESS)
    if isolation.probe().level < Level.CONFINED:
        with pytest.raises(IsolationError, match="needs isolation level confined, this machine gives"):
            isolation.require(Level.CONFINED)
