from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from psycopg import DataError

from headwater.db import Connection
from headwater.db.arrays import Array, byteas, texts, times, uuids

EARLY, LATE = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
HERE = datetime(2026, 11, 16, 2, 30, 0, 123_456, tzinfo=timezone(timedelta(hours=-9)))


@pytest.mark.parametrize(
    ("pack", "type_name", "values"),
    [
        pytest.param(texts, "text[]", ["a", None, "", "ü, {\"\\'} 🐦", "x" * 100_000], id="texts"),
        pytest.param(byteas, "bytea[]", [b"", b"\0\xff", b"key"], id="bytes"),
        pytest.param(uuids, "uuid[]", [UUID(int=7), UUID(int=7), UUID(int=2**128 - 1)], id="uuids"),
        pytest.param(times, "timestamptz[]", [EARLY, None, HERE, LATE], id="times"),
        pytest.param(texts, "text[]", [], id="nothing"),
        pytest.param(texts, "text[]", [None, None], id="only NULLs"),
    ],
)
async def test_postgresql_reads_what_was_packed(
    conn: Connection, pack: Callable[[Sequence[Any]], Array], type_name: str, values: list[Any]
) -> None:
    cur = conn.cursor(binary=True)
    await cur.execute(f"SELECT %(values)s::{type_name}".encode(), {"values": pack(values)})

    row = await cur.fetchone()

    assert row == (values,)


async def test_text_that_cannot_be_kept_is_refused(conn: Connection) -> None:
    with pytest.raises(DataError):
        await conn.execute("SELECT %(values)s::text[]", {"values": texts(["a\0b"])})
