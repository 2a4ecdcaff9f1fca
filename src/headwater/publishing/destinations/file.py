"""Lines of JSON in a file below the operator's directory. A line is whole and on disk before it counts as delivered."""

import asyncio
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from headwater.publishing.delivery.decide import shortened
from headwater.publishing.delivery.types import Accepted, DestinationFailed, OutgoingMessage, SendOutcome

_READ_BACK: Final = 65_536
_MODE: Final = 0o640


class FileDestination:
    """Opens the file for each batch, so that it can be rotated by renaming it."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, name

    async def send(self, messages: Sequence[OutgoingMessage]) -> SendOutcome:
        lines = b"".join(one.body + b"\n" for one in messages)
        try:
            await asyncio.to_thread(self._append, lines)
        except OSError as error:
            cause = error.strerror or type(error).__name__
            return DestinationFailed(shortened(f"The file cannot be written: {cause}."))
        return Accepted()

    async def close(self) -> None:
        pass

    def _append(self, lines: bytes) -> None:
        """All lines, or none. Raises OSError."""
        folder = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open(self._name, flags, _MODE, dir_fd=folder)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # another worker, whose lease expired
                end = _end_of_lines(file)
                try:
                    _write_all(file, lines, end)
                    os.fsync(file)
                except OSError:
                    os.ftruncate(file, end)  # as on a full disk: no part of a line stays
                    raise
            finally:
                os.close(file)
            os.fsync(folder)
        finally:
            os.close(folder)


def _end_of_lines(file: int) -> int:
    """The position after the last whole line: what follows it was left by a process that was killed."""
    size = os.fstat(file).st_size
    end = size
    while end > 0:
        start = max(0, end - _READ_BACK)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(file, end)
    return end


def _write_all(file: int, lines: bytes, at: int) -> None:
    left = memoryview(lines)
    while left:
        written = os.pwrite(file, left, at)
        at, left = at + written, left[written:]
