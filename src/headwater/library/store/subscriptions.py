"""Subscriptions: the sources that users follow, with their names and categories."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value, translate
from headwater.errors import AlreadySubscribed
from headwater.library.store.lists import IS_UNREAD
from headwater.library.types import FeedItem, FeedsQuery, Subscription, UnreadFeed
from headwater.types import SourceId, UserId

_FEEDS: Final = """
    FROM subscriptions
    JOIN sources ON sources.id = source_id
    LEFT JOIN feed_state USING (source_id)
    CROSS JOIN LATERAL (
        -- A site without a feed is working once it has an article.
        SELECT coalesce(last_polled_at, CASE WHEN feed_state.feed_url IS NULL THEN (
            SELECT seen_at FROM article_sources WHERE article_sources.source_id = sources.id LIMIT 1
        ) END) AS polled_at
    ) AS known
"""
_FEED_ITEMS: Final = f"""
    SELECT subscriptions.id, source_id, subscriptions.name, coalesce(sources.feed_url, sources.url) AS url,
        subscriptions.category, subscriptions.tags, source_state(
            enabled, moderation_status, feed_disabled_at, feed_disable_reason, last_error, polled_at
        ) AS state,
        polled_at AS last_polled_at,
        CASE WHEN enabled THEN next_try(next_poll_at, feed_state.host) END AS next_poll_at, last_error,
        last_error_type, feed_disabled_at AS disabled_at, disabled_until,
        coalesce(article_count, (  -- only a feed has this counter
            SELECT count(*)
            FROM (SELECT FROM article_sources WHERE article_sources.source_id = sources.id LIMIT 10000) AS listed
        )) AS article_count
    {_FEEDS}
"""
_MATCHES: Final = """
    (%(search)s = '' OR position(lower(%(search)s) IN lower(subscriptions.name)) > 0)
    AND CASE %(status)s
        WHEN 'working' THEN polled_at IS NOT NULL AND last_error IS NULL
        WHEN 'pending' THEN polled_at IS NULL
        WHEN 'error' THEN polled_at IS NOT NULL AND last_error IS NOT NULL
        ELSE true
    END
"""
_BY_NAME: Final = "ORDER BY lower(subscriptions.name), subscriptions.id"


async def add(
    conn: Connection, *, subscription_id: UUID, user_id: UserId, source_id: SourceId, name: str, category: str | None,
    now: datetime,
) -> None:  # fmt: skip
    """Subscribe to a source. Raises AlreadySubscribed."""
    with translate(subscriptions_one_per_source=AlreadySubscribed()):
        statement = """
            INSERT INTO subscriptions (id, user_id, source_id, name, category, created_at)
            VALUES (%(id)s, %(user_id)s, %(source_id)s, %(name)s, %(category)s, %(now)s)
        """
        ids = {"id": subscription_id, "user_id": user_id, "source_id": source_id}
        await conn.execute(statement, {**ids, "name": name, "category": category, "now": now})


async def lock(conn: Connection, *, user_id: UserId) -> None:
    """Let no other transaction subscribe for this user before this one ends."""
    statement = "SELECT pg_advisory_xact_lock(hashtextextended(%(key)s, 0))"
    await conn.execute(statement, {"key": f"subscriptions:{user_id}"})


async def count(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM subscriptions")


async def find(conn: Connection, *, subscription_id: UUID) -> Subscription | None:
    statement = """
        SELECT subscriptions.id, source_id, subscriptions.name, coalesce(sources.feed_url, sources.url) AS url,
            subscriptions.category, subscriptions.tags
        FROM subscriptions JOIN sources ON sources.id = source_id
        WHERE subscriptions.id = %(id)s
    """
    return await fetch_one(conn, Subscription, statement, {"id": subscription_id})


async def is_followed(conn: Connection, *, url: str) -> bool:
    """Whether a feed of this user is at this URL, whichever URL they added it under."""
    statement = """
        SELECT EXISTS (
            SELECT FROM subscriptions JOIN sources ON sources.id = source_id WHERE sources.feed_url = %(url)s
        )
    """
    return await fetch_value(conn, statement, {"url": url})


async def change(
    conn: Connection, *, subscription_id: UUID, source_id: SourceId, name: str, category: str | None
) -> bool:
    """Change the name, category and source. Returns whether there is such a subscription. Raises AlreadySubscribed."""
    with translate(subscriptions_one_per_source=AlreadySubscribed()):
        statement = """
            UPDATE subscriptions SET name = %(name)s, category = %(category)s, source_id = %(source_id)s
            WHERE id = %(id)s
        """
        values = {"id": subscription_id, "name": name, "category": category, "source_id": source_id}
        cur = await conn.execute(statement, values)
    return cur.rowcount == 1


async def set_tags(conn: Connection, *, subscription_id: UUID, tags: Sequence[str]) -> None:
    statement = "UPDATE subscriptions SET tags = %(tags)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": subscription_id, "tags": list(tags)})


async def remove(conn: Connection, *, subscription_id: UUID) -> SourceId | None:
    """Unsubscribe. Returns the source; None if the user has no such subscription."""
    statement = "DELETE FROM subscriptions WHERE id = %(id)s RETURNING source_id"
    return await fetch_value(conn, statement, {"id": subscription_id})


async def count_feeds(conn: Connection, *, query: FeedsQuery) -> int:
    values = {"search": query.search, "status": query.status.value}
    return await fetch_value(conn, f"SELECT count(*) {_FEEDS} WHERE {_MATCHES}", values)


async def list_feeds(conn: Connection, *, query: FeedsQuery, limit: int) -> list[FeedItem]:
    statement = f"{_FEED_ITEMS} WHERE {_MATCHES} {_BY_NAME} LIMIT %(limit)s OFFSET %(offset)s"
    values = {"search": query.search, "status": query.status.value, "limit": limit, "offset": (query.page - 1) * limit}
    return await fetch_all(conn, FeedItem, statement, values)


async def find_position(conn: Connection, *, query: FeedsQuery, subscription_id: UUID) -> int | None:
    """The place of a feed in the whole list, from 0; None if the filters omit it."""
    statement = f"""
        SELECT place - 1
        FROM (
            SELECT subscriptions.id, row_number() OVER ({_BY_NAME}) AS place {_FEEDS} WHERE {_MATCHES}
        ) AS ranked
        WHERE id = %(id)s
    """
    values = {"search": query.search, "status": query.status.value, "id": subscription_id}
    return await fetch_value(conn, statement, values)


async def list_items(conn: Connection, *, subscription_ids: Sequence[UUID]) -> list[FeedItem]:
    """Those of these subscriptions that are the user's and have a feed, by name."""
    statement = f"""
        {_FEED_ITEMS} WHERE subscriptions.id = ANY(%(ids)s::uuid[]) AND feed_state.source_id IS NOT NULL {_BY_NAME}
    """
    return await fetch_all(conn, FeedItem, statement, {"ids": list(subscription_ids)})


async def list_unread_counts(conn: Connection, *, most: int) -> list[UnreadFeed]:
    """The user's feeds by category and name, each with its number of unread articles up to `most`.

    BETWEEN adds no condition, but the planner estimates it at 0.5 % of the rows: so it uses the index even where one
    source has every article and `=` alone would be estimated at all rows.
    """
    statement = f"""
        WITH kept AS MATERIALIZED (
            SELECT source_id, count(*)
            FROM marks
            CROSS JOIN LATERAL (
                SELECT source_id, listed_at FROM article_sources WHERE article_id = marks.article_id OFFSET 0
            ) AS listed
            JOIN subscriptions USING (source_id)
            WHERE NOT is_read AND hidden_at IS NULL AND listed_at <= read_until
            GROUP BY source_id
        )
        SELECT subscriptions.id, name, category,
            least(unread.count + coalesce(kept.count, 0), %(most)s)::integer AS unread
        FROM subscriptions
        LEFT JOIN kept USING (source_id)
        CROSS JOIN LATERAL (
            SELECT count(*)
            FROM (
                SELECT FROM article_sources
                WHERE article_sources.source_id = subscriptions.source_id
                    AND article_sources.source_id BETWEEN subscriptions.source_id AND subscriptions.source_id
                    AND listed_at > read_until AND {IS_UNREAD}
                LIMIT %(most)s
            ) AS found
        ) AS unread
        ORDER BY category NULLS LAST, lower(name), subscriptions.id
    """
    return await fetch_all(conn, UnreadFeed, statement, {"most": most})


async def keep_read_state(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    """Before users of both sources keep only the second: articles of the first stay read or unread.

    Marks each article for which the two subscriptions disagree, or would once it is linked to the second source.
    """
    statement = """
        INSERT INTO marks (user_id, article_id, is_read)
        SELECT mine.user_id, listed.article_id, (
            SELECT bool_and(known.listed_at <= theirs.read_until)
            FROM article_sources AS known JOIN subscriptions AS theirs USING (source_id)
            WHERE known.article_id = listed.article_id AND theirs.user_id = mine.user_id
        )
        FROM subscriptions AS mine
        JOIN subscriptions AS other ON other.user_id = mine.user_id AND other.source_id = %(to)s
        JOIN article_sources AS listed ON listed.source_id = mine.source_id
        WHERE mine.source_id = %(source_id)s AND listed.seen_at > least(mine.read_until, other.read_until)
            AND listed.listed_at <= greatest(mine.read_until, other.read_until)
        ON CONFLICT (user_id, article_id) DO UPDATE SET is_read = coalesce(marks.is_read, excluded.is_read)
    """
    await conn.execute(statement, {"source_id": source_id, "to": to})


async def drop_duplicates(conn: Connection, *, source_id: SourceId, of: SourceId) -> None:
    """Delete subscriptions to one source of users who have another, which takes category and tags if it has none."""
    statement = """
        WITH dropped AS (
            DELETE FROM subscriptions AS mine USING subscriptions AS other
            WHERE mine.source_id = %(source_id)s AND other.source_id = %(of)s AND other.user_id = mine.user_id
            RETURNING other.id, mine.category, mine.tags
        )
        UPDATE subscriptions SET category = coalesce(subscriptions.category, dropped.category),
            tags = CASE WHEN subscriptions.tags = '{}' THEN dropped.tags ELSE subscriptions.tags END
        FROM dropped WHERE subscriptions.id = dropped.id
    """
    await conn.execute(statement, {"source_id": source_id, "of": of})


async def move(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    statement = "UPDATE subscriptions SET source_id = %(to)s WHERE source_id = %(source_id)s"
    await conn.execute(statement, {"source_id": source_id, "to": to})


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> list[SourceId]:
    statement = """
        DELETE FROM subscriptions
        WHERE user_id = %(user_id)s
            AND source_id = ANY(ARRAY(SELECT source_id FROM subscriptions WHERE user_id = %(user_id)s LIMIT %(limit)s))
        RETURNING source_id
    """
    return await fetch_column(conn, statement, {"user_id": user_id, "limit": limit})
