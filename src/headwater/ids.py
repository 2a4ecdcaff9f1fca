"""New ids: UUIDv7, so that rows made later sort later and land at the end of their index."""

import os
import time
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

_48_BITS = 2**48 - 1
_62_BITS = 2**62 - 1
_12_BITS = 2**12 - 1


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, then 74 bits of chance."""
    return new_ids(1)[0]


def new_ids(count: int) -> Sequence[UUID]:
    """So many at once: the system is asked for the time and for chance once."""
    return _ids(count, time.time_ns() // 1_000_000)


def ids_at(at: datetime, count: int) -> Sequence[UUID]:
    """Ids of what is seen at a moment: they sort, and go with the month, by it."""
    return _ids(count, _milliseconds(at))


def first_id_at(at: datetime) -> UUID:
    """The first of all ids of a moment: older ones sort before it."""
    return UUID(int=_milliseconds(at) << 80)


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _ids(count: int, milliseconds: int) -> Sequence[UUID]:
    fixed = (milliseconds & _48_BITS) << 80 | 0x7 << 76 | 0b10 << 62  # version and variant
    chance = os.urandom(10 * count)
    bits = (int.from_bytes(chance[start : start + 10]) for start in range(0, 10 * count, 10))
    return [UUID(int=fixed | (some >> 62 & _12_BITS) << 64 | some & _62_BITS) for some in bits]
