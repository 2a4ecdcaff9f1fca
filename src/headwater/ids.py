"""New ids: UUIDv7, so that new rows are appended to the end of their index."""

import os
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_48_BITS = 2**48 - 1
_61_BITS = 2**61 - 1
_62_BITS = 2**62 - 1
_LAST_ID = 2**128 - 1
_TIME_AT = 80  # bits of an id below its milliseconds


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, 12 of their fraction, 62 random bits.

    Ids that one process makes for the same time ascend in the order in which they are made.
    """
    return new_ids(1)[0]


def new_ids(count: int) -> Sequence[UUID]:
    """Several ids, with one system call each for time and randomness."""
    return _ids(count, time.time_ns())


def ids_at(at: datetime, count: int) -> Sequence[UUID]:
    """Ids of rows of this time, which decides their order and month."""
    return _ids(count, (at - _EPOCH) // _MICROSECOND * 1000)


def first_id_at(at: datetime) -> UUID:
    """The first id of this time: older ids sort before it."""
    return UUID(int=(at - _EPOCH) // _MILLISECOND << _TIME_AT)


def time_of(id_: UUID) -> datetime:
    """The time in an id, to the millisecond."""
    return _EPOCH + (id_.int >> _TIME_AT) * _MILLISECOND


def ids_around(ids: Sequence[UUID], span: timedelta) -> tuple[UUID, UUID]:
    """The first and the last id at most so long before and after these."""
    around = span // _MILLISECOND << _TIME_AT
    numbers = [one.int for one in ids]
    return UUID(int=max(0, min(numbers) - around)), UUID(int=min(_LAST_ID, max(numbers) + around))


def _ids(count: int, nanoseconds: int) -> Sequence[UUID]:
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    part = (rest << 12) // 1_000_000
    fixed = (milliseconds & _48_BITS) << _TIME_AT | 0x7 << 76 | part << 64 | 0b10 << 62  # version and variant
    return [UUID(int=fixed | tail) for tail in _tails.take(fixed, count)]


class _Tails:
    """The random bits of ids. Those of one time begin in the lower half and ascend by 1 to 2**32 (RFC 9562, 6.2)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._time, self._last = -1, 0

    def take(self, at: int, count: int) -> Sequence[int]:
        steps = os.urandom(4 * count)
        with self._lock:
            if at != self._time or self._last + (count << 32) > _62_BITS:
                self._time, self._last = at, int.from_bytes(os.urandom(8)) & _61_BITS
            tails: list[int] = []
            for place in range(0, 4 * count, 4):
                self._last += int.from_bytes(steps[place : place + 4]) + 1
                tails.append(self._last)
        return tails


_tails = _Tails()
