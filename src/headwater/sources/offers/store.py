"""What is offered in place of pages, and the lines it is offered on. Under `Database.as_user`; nothing is written."""

from collections.abc import Sequence
from uuid import UUID

from psycopg.rows import class_row

from headwater.db import Connection
from headwater.library.types import FeedItem
from headwater.sources.types import Suggestion
from headwater.types import SourceId


async def list_offers(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[Suggestion]:
    """The feeds that were found for these sources, those with most entries first."""
    async with conn.cursor(row_factory=class_row(Suggestion)) as cur:
        await cur.execute(
            """
            SELECT source_id, name AS source_name, source_suggestions.feed_url, title, entry_count
            FROM source_suggestions
            JOIN sources ON sources.id = source_suggestions.source_id
            WHERE source_id = ANY(%(ids)s::uuid[])
            ORDER BY source_id, entry_count DESC, source_suggestions.feed_url
            """,
            {"ids": list(source_ids)},
        )
        return await cur.fetchall()


async def list_sought(conn: Connection, *, source_ids: Sequence[SourceId]) -> set[SourceId]:
    """Those of these sources whose feed is being looked for."""
    cur = await conn.execute(
        "SELECT source_id FROM feed_state WHERE wants_discovery AND source_id = ANY(%(ids)s::uuid[])",
        {"ids": list(source_ids)},
    )
    return {SourceId(row[0]) for row in await cur.fetchall()}


async def list_items(conn: Connection, *, subscription_ids: Sequence[UUID]) -> list[FeedItem]:
    """These of this person's feeds, by name."""
    async with conn.cursor(row_factory=class_row(FeedItem)) as cur:
        await cur.execute(
            """
            SELECT subscriptions.id, source_id, subscriptions.name, coalesce(sources.feed_url, sources.url) AS url,
                subscriptions.category, source_state(
                    enabled, moderation_status, feed_disabled_at, feed_disable_reason, last_error, last_polled_at
                ) AS state,
                last_polled_at, CASE WHEN enabled THEN nullif(next_poll_at, '9999-12-31 00:00+00') END AS next_poll_at,
                last_error, last_error_type, feed_disabled_at AS disabled_at, off_until,
                coalesce(article_count, 0) AS article_count
            FROM subscriptions
            JOIN sources ON sources.id = source_id
            JOIN feed_state USING (source_id)
            WHERE subscriptions.id = ANY(%(ids)s::uuid[])
            ORDER BY lower(subscriptions.name), subscriptions.id
            """,
            {"ids": list(subscription_ids)},
        )
        return await cur.fetchall()
