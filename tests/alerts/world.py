"""Sources in a state of the test's own, written as it stands in the tables: how they got there is others' business."""

from datetime import datetime, timedelta

from headwater.db import Connection, Database
from headwater.sources.types import Source
from headwater.timekeeping.decide import ClockOptions
from tests.builders import a_source
from tests.clock import START

OWN_CLOCK = ClockOptions(apart=timedelta.max)  # the tests' clock is not the database's


async def a_system_feed(
    conn: Connection,
    number: int = 1,
    *,
    disabled_at: datetime | None = None,
    errors: int = 0,
    is_critical: bool = False,
    is_system: bool = True,
    enabled: bool = True,
) -> Source:
    """A feed that was polled a moment ago, and is due again in a year."""
    source = await a_source(conn, url=f"https://feed-{number}.example/feed", name=f"Feed {number}")
    await conn.execute(
        """
        UPDATE sources
        SET feed_disabled_at = %(disabled_at)s, feed_disable_reason = CASE WHEN %(disabled_at)s::timestamptz IS NOT NULL
            THEN 'not_found' END, is_critical = %(is_critical)s, is_system = %(is_system)s, enabled = %(enabled)s
        WHERE id = %(id)s
        """,
        {
            "disabled_at": disabled_at,
            "is_critical": is_critical,
            "is_system": is_system,
            "enabled": enabled,
            "id": source.id,
        },
    )
    await conn.execute(
        """
        UPDATE feed_state
        SET consecutive_errors = %(errors)s, last_error = CASE WHEN %(errors)s > 0 THEN 'Not there.' END,
            last_polled_at = %(now)s, next_poll_at = %(now)s + interval '1 year'
        WHERE source_id = %(id)s
        """,
        {"errors": errors, "now": START, "id": source.id},
    )
    return source


async def mend(database: Database, source: Source) -> None:
    """The feed is well again."""
    async with database.transaction() as conn:
        await conn.execute(
            "UPDATE sources SET feed_disabled_at = NULL, feed_disable_reason = NULL WHERE id = %(id)s",
            {"id": source.id},
        )
        await conn.execute(
            "UPDATE feed_state SET consecutive_errors = 0, last_error = NULL WHERE source_id = %(id)s",
            {"id": source.id},
        )
