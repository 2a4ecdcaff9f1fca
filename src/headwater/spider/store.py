"""Every statement on `spider_state`."""

from datetime import datetime

from headwater.db import Connection, fetch_value
from headwater.types import SourceId


async def spend(conn: Connection, *, source_id: SourceId, now: datetime, pages: int) -> int:
    """Add new pages to the source's count of the day. Returns the new count."""
    statement = """
        INSERT INTO spider_state (source_id, last_read_at, day, spent)
        VALUES (%(source_id)s, %(now)s, (%(now)s::timestamptz AT TIME ZONE 'UTC')::date, %(pages)s)
        ON CONFLICT (source_id) DO UPDATE SET last_read_at = excluded.last_read_at, day = excluded.day,
            spent = excluded.spent + CASE WHEN spider_state.day = excluded.day THEN spider_state.spent ELSE 0 END
        RETURNING spent
    """
    return await fetch_value(conn, statement, {"source_id": source_id, "now": now, "pages": pages})
