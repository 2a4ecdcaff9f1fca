"""Rows of one statement: as dataclasses, or as one value."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, LiteralString, TypeVar

from psycopg.rows import class_row, dict_row

from headwater.db.pool import Connection

Row = TypeVar("Row")
Values = Mapping[str, object] | None


async def fetch_all(
    conn: Connection, row: type[Row], statement: LiteralString, values: Values = None, *, prepare: bool | None = None
) -> list[Row]:
    """Every row, as a dataclass whose fields have the names of the columns. `prepare` as in psycopg."""
    async with conn.cursor(row_factory=class_row(row)) as cur:
        await cur.execute(statement, values, prepare=prepare)
        return await cur.fetchall()


async def fetch_one(conn: Connection, row: type[Row], statement: LiteralString, values: Values = None) -> Row | None:
    """The first row, as a dataclass; None if there is none."""
    async with conn.cursor(row_factory=class_row(row)) as cur:
        await cur.execute(statement, values)
        return await cur.fetchone()


async def fetch_rows(conn: Connection, statement: LiteralString, values: Values = None) -> list[dict[str, Any]]:
    """Every row by its column names, for rows that are only written to a file."""
    async with conn.cursor(row_factory=dict_row) as cur:
        await cur.execute(statement, values)
        return await cur.fetchall()


async def fetch_row(conn: Connection, statement: LiteralString, values: Values = None) -> tuple[Any, ...] | None:
    """The first row as a tuple; None if there is none."""
    return await (await conn.execute(statement, values)).fetchone()


async def fetch_value(conn: Connection, statement: LiteralString, values: Values = None) -> Any:  # noqa: ANN401  as the statement says
    """The first column of the first row; None if there is none."""
    row = await fetch_row(conn, statement, values)
    return row[0] if row else None


async def fetch_column(conn: Connection, statement: LiteralString, values: Values = None) -> list[Any]:
    """The first column of every row."""
    cur = await conn.execute(statement, values)
    return [row[0] for row in await cur.fetchall()]


async def database_clock(conn: Connection) -> datetime:
    return await fetch_value(conn, "SELECT clock_timestamp()")


async def database_letters(conn: Connection) -> str:
    """LC_CTYPE, by which text search knows letters."""
    return await fetch_value(conn, "SELECT datctype FROM pg_database WHERE datname = current_database()")
