"""Events: what users did."""

from datetime import datetime

from psycopg.types.json import Jsonb

from headwater.accounts.types import EventType
from headwater.db import Connection
from headwater.ids import new_id
from headwater.types import UserId


async def record(conn: Connection, user_id: UserId, event_type: EventType, now: datetime, **metadata: object) -> None:
    await conn.execute(
        """
        INSERT INTO events (id, user_id, event_type, metadata, created_at)
        VALUES (%(id)s, %(user_id)s, %(event_type)s, %(metadata)s, %(now)s)
        """,
        {"id": new_id(), "user_id": user_id, "event_type": event_type.value, "metadata": Jsonb(metadata), "now": now},
    )


async def has_logged_in_from(conn: Connection, *, user_id: UserId, network: str) -> bool:
    statement = """
        SELECT FROM events WHERE user_id = %(user_id)s AND event_type IN ('user_login', 'user_registered')
            AND metadata ->> 'network' = %(network)s
        LIMIT 1
    """
    return (await conn.execute(statement, {"user_id": user_id, "network": network})).rowcount == 1


async def remove_before(conn: Connection, *, before: datetime, limit: int) -> int:
    statement = """
        DELETE FROM events
        WHERE id IN (SELECT id FROM events WHERE created_at < %(before)s ORDER BY created_at LIMIT %(limit)s)
    """
    return (await conn.execute(statement, {"before": before, "limit": limit})).rowcount


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> int:
    statement = """
        DELETE FROM events
        WHERE id = ANY(ARRAY(SELECT id FROM events WHERE user_id = %(user_id)s LIMIT %(limit)s))
    """
    return (await conn.execute(statement, {"user_id": user_id, "limit": limit})).rowcount
