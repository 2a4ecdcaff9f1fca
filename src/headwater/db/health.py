"""What the database tells about itself."""

from datetime import datetime

from headwater.db.pool import Connection


async def server_version(conn: Connection) -> int:
    """PostgreSQL's major version."""
    return conn.info.server_version // 10_000


async def database_clock(conn: Connection) -> datetime:
    """The database's own time."""
    cur = await conn.execute("SELECT clock_timestamp()")
    row = await cur.fetchone()
    assert row is not None
    return row[0]
