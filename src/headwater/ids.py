"""New ids: UUIDv7, so that new rows are appended to the end of their index."""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_48_BITS = 2**48 - 1
_62_BITS = 2**62 - 1


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, 12 of their fraction, 62 random bits."""
    return new_ids(1)[0]


def new_ids(count: int) -> Sequence[UUID]:
    """Several ids, with one system call each for time and randomness."""
    return _ids(count, time.time_ns())


def ids_at(at: datetime, count: int) -> Sequence[UUID]:
    """Ids of rows of this time, which decides their order and month."""
    return _ids(count, (at - _EPOCH) // _MICROSECOND * 1000)


def first_id_at(at: datetime) -> UUID:
    """The first id of this time: older ids sort before it."""
    return UUID(int=(at - _EPOCH) // _MILLISECOND << 80)


def _ids(count: int, nanoseconds: int) -> Sequence[UUID]:
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    part = (rest << 12) // 1_000_000
    fixed = (milliseconds & _48_BITS) << 80 | 0x7 << 76 | part << 64 | 0b10 << 62  # version and variant
    noise = os.urandom(8 * count)
    return [UUID(int=fixed | int.from_bytes(noise[at : at + 8]) & _62_BITS) for at in range(0, 8 * count, 8)]
