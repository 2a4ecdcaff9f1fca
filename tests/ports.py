"""Ports of loopback for programs that cannot choose one themselves, and one at which nothing listens."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice

# Below the range in which systems give a port to every connection and to every listener at port 0: what is free there
# may be taken before the program that is started listens. Each process of a test run has a part of its own.
LOWEST, PART, PARTS = 10_000, 100, 200
_own = LOWEST + os.getpid() % PARTS * PART
_candidates = cycle(range(_own, _own + PART))


def free_port() -> int:
    """A port that stays free until the program listens that gets it."""
    for port in islice(_candidates, PART):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError(f"no port is free from {_own} to {_own + PART - 1}")


@contextmanager
def closed_port() -> Iterator[int]:
    """A port at which nothing listens, and that no other program gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
