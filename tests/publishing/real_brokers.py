"""Debian's redis-server and nats-server on loopback, in a folder of their own."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts import brokers
from tests.headwater_process import PATIENCE_S
from tests.ports import free_port


class Broker:
    """A server that can be stopped and started again with what it has stored."""

    def __init__(self, command: list[str], port: int) -> None:
        self._command, self.port = command, port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdout=quiet, stderr=quiet, env=brokers.environment())
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        pytest.fail(f"{self._command[0]} did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[Broker]:
    port = free_port()
    where = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
    kept = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
    with _running("redis-server", [*where, *kept, *options], port) as broker:
        yield broker


@contextmanager
def nats_server(folder: Path) -> Iterator[Broker]:
    port = free_port()
    options = ["--addr", "127.0.0.1", "--port", str(port), "--jetstream", "--store_dir", str(folder)]
    with _running("nats-server", options, port) as broker:
        yield broker


@contextmanager
def _running(program: str, options: list[str], port: int) -> Iterator[Broker]:
    found = brokers.find(program)
    if found is None or not brokers.starts(program):
        pytest.skip(f"{program} was not fetched")
    broker = Broker([found, *options], port)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
