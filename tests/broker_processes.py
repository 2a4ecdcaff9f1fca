"""A real Redis and a real NATS on loopback, each a process of its own."""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from scripts import brokers
from tests.headwater_process import PATIENCE_S
from tests.ports import free_port

needs_brokers = pytest.mark.skipif(
    bool(brokers.missing()), reason="Redis and NATS are not here: scripts/brokers.py fetches them"
)


@contextmanager
def open_redis(folder: Path, *more: str) -> Iterator[int]:
    """The port of a Redis that keeps nothing on disk."""
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *more]
    with _running("redis-server", options, port):
        yield port


@contextmanager
def open_nats(folder: Path) -> Iterator[int]:
    """The port of a NATS with JetStream."""
    port = free_port()
    with _running("nats-server", ["-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "nats")], port):
        yield port


@contextmanager
def _running(program: str, options: Sequence[str], port: int) -> Iterator[None]:
    found = brokers.find(program)
    assert found is not None, f"{program} was not found"
    process = subprocess.Popen(
        [found, *options], env=brokers.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_it_listens(process, port)
        yield
    finally:
        process.kill()
        process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"it ended with {process.returncode}"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("it does not listen")
