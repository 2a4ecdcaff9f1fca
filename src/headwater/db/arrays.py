"""Arrays in PostgreSQL's binary format, as parameters for `unnest`. Pure.

psycopg inspects each element and writes it through a dumper: 0.7 µs each. Here the caller names the type: 0.2 µs.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from struct import Struct
from uuid import UUID

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEADER = Struct("!iiIii")  # dimensions, whether it has NULLs, element type, length, lower bound
_LENGTH = Struct("!i").pack
_NULL = _LENGTH(-1)
_BIGINT = Struct("!iq").pack
_BOOL, _BYTEA, _TEXT, _TIMESTAMPTZ, _UUID = 16, 17, 25, 1184, 2950
_BOOLS = {None: _NULL, False: b"\0\0\0\1\0", True: b"\0\0\0\1\1"}
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class Array(bytes):
    """A packed array."""


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Array) -> Buffer:
        return bytes(obj)


psycopg.adapters.register_dumper(Array, _ArrayDumper)


def texts(values: Iterable[str | None]) -> Array:
    """For text[]. PostgreSQL refuses NUL, and Python lone surrogates."""
    return _array(_TEXT, [_NULL if value is None else _sized(value.encode()) for value in values])


def bools(values: Iterable[bool | None]) -> Array:
    return _array(_BOOL, [_BOOLS[value] for value in values])


def byteas(values: Iterable[bytes]) -> Array:
    return _array(_BYTEA, [_sized(value) for value in values])


def uuids(values: Iterable[UUID | None]) -> Array:
    """For uuid[]. Equal values are adjacent, and the same object: each is packed once."""
    elements: list[bytes] = []
    last, element = None, _NULL
    for value in values:
        if value is not last:
            last, element = value, _NULL if value is None else _sized(value.bytes)
        elements.append(element)
    return _array(_UUID, elements)


def times(values: Iterable[datetime | None]) -> Array:
    """For timestamptz[]: microseconds since 2000."""
    return _array(_TIMESTAMPTZ, [_NULL if value is None else _BIGINT(8, _microseconds(value)) for value in values])


def _microseconds(moment: datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _sized(element: bytes) -> bytes:
    return _LENGTH(len(element)) + element


def _array(oid: int, elements: list[bytes]) -> Array:
    if not elements:
        return Array(_HEADER.pack(0, 0, oid, 0, 0)[:12])
    return Array(_HEADER.pack(1, _NULL in elements, oid, len(elements), 1) + b"".join(elements))
