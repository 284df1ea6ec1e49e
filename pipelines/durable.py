"""The few operations that make bytes survive a crash. Everything the engine publishes goes through these.

Local disk: write a temporary file, `fsync_file`, `rename` (or `link`, which refuses to replace), `fsync_folder`.
Object store: one `put_object` of a finished file, or one `create_object`, which refuses to replace.

They stand alone so that they can be read in one glance, and so that the resilience benchmark can kill the process
before and after each of them, or leave one out and show that the loss is noticed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def fsync_file(path: Path) -> None:
    """Force a file's content to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_folder(path: Path) -> None:
    """Force a folder's entries to the disk: without it a rename may be undone by a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(source: Path, target: Path) -> None:
    """Give a finished file its final name, replacing what had it; readers see the old file or the new one."""
    source.replace(target)


def link(source: Path, target: Path) -> bool:
    """Give a finished file its final name unless the name is taken. False if it was."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    finally:
        source.unlink()
    return True


def put_object(fs: Any, source: Path, target: str) -> None:
    """Upload a finished file whole; an object store shows nothing of it before it is complete."""
    fs.put_file(str(source), target)


def create_object(fs: Any, target: str, data: bytes) -> bool:
    """Create an object unless it exists. False if it did."""
    try:
        fs.pipe_file(target, data, mode="create")
    except FileExistsError:
        return False
    except OSError as error:  # s3fs reports a failed `If-None-Match` as a plain OSError
        if "pre-condition" in str(error).lower() or "precondition" in str(error).lower():
            return False
        raise
    return True
