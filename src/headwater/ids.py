"""New ids: UUIDv7, so that rows made later sort later and land at the end of their index."""

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
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, 12 of what part of one has passed, then 62 of chance."""
    return new_ids(1)[0]


def new_ids(count: int) -> Sequence[UUID]:
    """So many at once: the system is asked for the time and for chance once."""
    return _ids(count, time.time_ns())


def ids_at(at: datetime, count: int) -> Sequence[UUID]:
    """Ids of what is seen at a moment: they sort, and go with the month, by it."""
    return _ids(count, (at - _EPOCH) // _MICROSECOND * 1000)


def first_id_at(at: datetime) -> UUID:
    """The first of all ids of a moment: older ones sort before it."""
    return UUID(int=(at - _EPOCH) // _MILLISECOND << 80)


def _ids(count: int, nanoseconds: int) -> Sequence[UUID]:
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    part = (rest << 12) // 1_000_000
    fixed = (milliseconds & _48_BITS) << 80 | 0x7 << 76 | part << 64 | 0b10 << 62  # version and variant
    chance = os.urandom(8 * count)
    return [UUID(int=fixed | int.from_bytes(chance[at : at + 8]) & _62_BITS) for at in range(0, 8 * count, 8)]
