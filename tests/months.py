"""Months of articles that lie in the past, as a Headwater has them that is older than its tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date

from headwater.db import Connection


@asynccontextmanager
async def as_owner(conn: Connection) -> AsyncIterator[None]:
    """Act as the login of the tests, which owns the tables, and then as before."""
    row = await (await conn.execute("SELECT current_user::text")).fetchone()
    assert row is not None
    await conn.execute("SET LOCAL ROLE NONE")
    yield
    await conn.execute("SELECT set_config('role', %(role)s, true)", {"role": row[0]})


async def make_months(conn: Connection, *, since: date, until: date) -> None:
    """These months and no others, while there is no article."""
    async with as_owner(conn):
        await conn.execute("SELECT begin_article_months(%(since)s)", {"since": since})
        await conn.execute("SELECT make_article_months(%(since)s, %(until)s)", {"since": since, "until": until})
