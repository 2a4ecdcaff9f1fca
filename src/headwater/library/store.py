"""Every statement on `subscriptions` and `marks`.

Run under `Database.as_user`: row-level security leaves only one's own rows, so that no statement names a person. Save
where two sources become one: that is done for all who follow them.

Articles lie in months, and what is known by id lies in one of them. PostgreSQL does not count on that when it chooses
how to join, and would rather read whole months: `OFFSET 0` makes it ask for each article by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from psycopg.rows import class_row

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value, translate
from headwater.errors import AlreadySubscribed
from headwater.library.types import (
    ArticleFull,
    ArticleLine,
    ArticlesQuery,
    FeedItem,
    FeedsQuery,
    Neighbour,
    Place,
    Subscription,
)
from headwater.types import ArticleId, SourceId, UserId

# How many of the newest articles of all are looked at for each line of a list, before every feed is asked.
LOOK_PER_LINE = 40
LOOK_MAX = 5_000


async def subscribe(
    conn: Connection,
    *,
    subscription_id: UUID,
    user_id: UserId,
    source_id: SourceId,
    name: str,
    category: str | None,
    now: datetime,
) -> None:
    """Follow a source. Raises AlreadySubscribed."""
    with translate(subscriptions_one_per_source=AlreadySubscribed()):
        await conn.execute(
            """
            INSERT INTO subscriptions (id, user_id, source_id, name, category, created_at)
            VALUES (%(id)s, %(user_id)s, %(source_id)s, %(name)s, %(category)s, %(now)s)
            """,
            {
                "id": subscription_id,
                "user_id": user_id,
                "source_id": source_id,
                "name": name,
                "category": category,
                "now": now,
            },
        )


async def hold_subscriptions(conn: Connection, *, user_id: UserId) -> None:
    """Wait for other transactions that add feeds for this user, and have them wait until this one ends."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%(key)s, 0))", {"key": f"subscriptions:{user_id}"}
    )


async def is_followed(conn: Connection, *, url: str) -> bool:
    """Whether a feed of this user is at this address, whichever address they added it under."""
    return bool(
        await fetch_value(
            conn,
            """
        SELECT EXISTS (
            SELECT FROM subscriptions JOIN sources ON sources.id = source_id WHERE sources.feed_url = %(url)s
        )
        """,
            {"url": url},
        )
    )


async def count_subscriptions(conn: Connection) -> int:
    """How many feeds this user follows."""
    return await fetch_value(conn, "SELECT count(*) FROM subscriptions")


async def find_subscription(conn: Connection, *, subscription_id: UUID) -> Subscription | None:
    """One of this person's feeds."""
    return await fetch_one(
        conn,
        Subscription,
        """
        SELECT subscriptions.id, source_id, subscriptions.name, coalesce(sources.feed_url, sources.url) AS url,
            subscriptions.category
        FROM subscriptions
        JOIN sources ON sources.id = source_id
        WHERE subscriptions.id = %(id)s
        """,
        {"id": subscription_id},
    )


async def change_subscription(
    conn: Connection, *, subscription_id: UUID, source_id: SourceId, name: str, category: str | None
) -> None:
    """Another name, category or source. Raises AlreadySubscribed."""
    with translate(subscriptions_one_per_source=AlreadySubscribed()):
        await conn.execute(
            """
            UPDATE subscriptions
            SET name = %(name)s, category = %(category)s, source_id = %(source_id)s
            WHERE id = %(id)s
            """,
            {"id": subscription_id, "name": name, "category": category, "source_id": source_id},
        )


async def unsubscribe(conn: Connection, *, subscription_id: UUID) -> SourceId | None:
    """Stop following. Returns the source; None when it is not there, or not this person's."""
    return await fetch_value(
        conn, "DELETE FROM subscriptions WHERE id = %(id)s RETURNING source_id", {"id": subscription_id}
    )


async def keep_as_read(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    """Who follows two sources will follow only the second: what the first lists stays read or unread, as it is.

    Said of each article on which the marks of the two feeds do not agree, or would not once it is linked to the second.
    """
    await conn.execute(
        """
        INSERT INTO marks (user_id, article_id, is_read)
        SELECT mine.user_id, listed.article_id, (
            SELECT bool_and(known.listed_at <= theirs.read_until)
            FROM article_sources AS known
            JOIN subscriptions AS theirs USING (source_id)
            WHERE known.article_id = listed.article_id AND theirs.user_id = mine.user_id
        )
        FROM subscriptions AS mine
        JOIN subscriptions AS other ON other.user_id = mine.user_id AND other.source_id = %(to)s
        JOIN article_sources AS listed ON listed.source_id = mine.source_id
        WHERE mine.source_id = %(source_id)s
            AND listed.seen_at > least(mine.read_until, other.read_until)
            AND listed.listed_at <= greatest(mine.read_until, other.read_until)
        ON CONFLICT (user_id, article_id) DO UPDATE
        SET is_read = coalesce(marks.is_read, excluded.is_read)
        """,
        {"source_id": source_id, "to": to},
    )


async def drop_doubles(conn: Connection, *, source_id: SourceId, of: SourceId) -> None:
    """Who follows two sources follows the second alone, filed as the first was where it is not filed at all."""
    await conn.execute(
        """
        WITH dropped AS (
            DELETE FROM subscriptions AS mine
            USING subscriptions AS other
            WHERE mine.source_id = %(source_id)s AND other.source_id = %(of)s AND other.user_id = mine.user_id
            RETURNING other.id, mine.category
        )
        UPDATE subscriptions
        SET category = coalesce(subscriptions.category, dropped.category)
        FROM dropped
        WHERE subscriptions.id = dropped.id
        """,
        {"source_id": source_id, "of": of},
    )


async def follow_instead(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    """Who follows one source follows another instead, under the same name, filed and read as far as before."""
    await conn.execute(
        "UPDATE subscriptions SET source_id = %(to)s WHERE source_id = %(source_id)s",
        {"source_id": source_id, "to": to},
    )


async def count_feeds(conn: Connection, *, query: FeedsQuery) -> int:
    """How many feeds of this person's meet the filter."""
    return await fetch_value(
        conn,
        """
        SELECT count(*)
        FROM subscriptions
        LEFT JOIN feed_state USING (source_id)
        CROSS JOIN LATERAL (
            -- A site without a feed works once an article of it is here.
            SELECT coalesce(
                last_polled_at,
                CASE
                    WHEN feed_state.feed_url IS NULL THEN (
                        SELECT seen_at
                        FROM article_sources
                        WHERE article_sources.source_id = subscriptions.source_id
                        LIMIT 1
                    )
                END
            ) AS polled_at
        ) AS known
        WHERE (%(search)s = '' OR position(lower(%(search)s) IN lower(name)) > 0)
            AND CASE %(status)s
                WHEN 'working' THEN polled_at IS NOT NULL AND last_error IS NULL
                WHEN 'pending' THEN polled_at IS NULL
                WHEN 'error' THEN polled_at IS NOT NULL AND last_error IS NOT NULL
                ELSE true
            END
        """,
        {"search": query.search, "status": query.status.value},
    )


async def list_feeds(conn: Connection, *, query: FeedsQuery, limit: int) -> list[FeedItem]:
    """A page of this person's feeds, by name."""
    return await fetch_all(
        conn,
        FeedItem,
        """
        SELECT subscriptions.id, source_id, subscriptions.name, coalesce(sources.feed_url, sources.url) AS url,
            subscriptions.category, source_state(
                enabled, moderation_status, feed_disabled_at, feed_disable_reason, last_error, polled_at
            ) AS state,
            polled_at AS last_polled_at,
            CASE WHEN enabled THEN nullif(next_poll_at, '9999-12-31 00:00+00') END AS next_poll_at,
            last_error, last_error_type, feed_disabled_at AS disabled_at, off_until,
            coalesce(
                article_count,
                -- A site without a feed has no counter.
                (
                    SELECT count(*)
                    FROM (
                        SELECT FROM article_sources WHERE article_sources.source_id = sources.id LIMIT 10000
                    ) AS listed
                )
            ) AS article_count
        FROM subscriptions
        JOIN sources ON sources.id = source_id
        LEFT JOIN feed_state USING (source_id)
        CROSS JOIN LATERAL (
            -- A site without a feed works once an article of it is here.
            SELECT coalesce(
                last_polled_at,
                CASE
                    WHEN feed_state.feed_url IS NULL THEN (
                        SELECT seen_at
                        FROM article_sources
                        WHERE article_sources.source_id = subscriptions.source_id
                        LIMIT 1
                    )
                END
            ) AS polled_at
        ) AS known
        WHERE (%(search)s = '' OR position(lower(%(search)s) IN lower(subscriptions.name)) > 0)
            AND CASE %(status)s
                WHEN 'working' THEN polled_at IS NOT NULL AND last_error IS NULL
                WHEN 'pending' THEN polled_at IS NULL
                WHEN 'error' THEN polled_at IS NOT NULL AND last_error IS NOT NULL
                ELSE true
            END
        ORDER BY lower(subscriptions.name), subscriptions.id
        LIMIT %(limit)s OFFSET %(offset)s
        """,
        {
            "search": query.search,
            "status": query.status.value,
            "limit": limit,
            "offset": (query.page - 1) * limit,
        },
    )


async def list_items(conn: Connection, *, subscription_ids: Sequence[UUID]) -> list[FeedItem]:
    """These of this person's feeds, by name."""
    return await fetch_all(
        conn,
        FeedItem,
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


async def list_newest(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """The newest articles of this person's feeds, each once, as their subscriptions describe it."""
    return await _list_once(conn, _list_newest_places, query, is_unread=False)


async def list_unread(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """The newest unread articles of this person's feeds, each once, as their subscriptions describe it."""
    return await _list_once(conn, _list_unread_places, query, is_unread=True)


class _ListPlaces(Protocol):
    async def __call__(self, conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]: ...


async def _list_once(
    conn: Connection, list_places: _ListPlaces, query: ArticlesQuery, *, is_unread: bool
) -> list[ArticleLine]:
    """Each article at the newest of its places; a page is full unless the list ends.

    Few articles have several places. Where they fill a page, the next step looks at twice as many.
    """
    lines: list[ArticleLine] = []
    step = query
    while True:
        places = await list_places(conn, query=step)
        views = await _view(conn, article_ids=[line.id for line in places], query=query, is_unread=is_unread)
        lines += [views[line.id].shown(line) for line in places if line.listed_at >= views[line.id].newest_at]
        if len(places) < step.limit or len(lines) >= query.limit:
            return lines[: query.limit]
        step = replace(step, after=places[-1].place, limit=min(2 * step.limit, LOOK_MAX))


@dataclass(frozen=True, slots=True)
class _View:
    """What a person's subscriptions say about an article, and the newest of its places that a list has."""

    id: ArticleId
    title: str | None
    author: str | None
    summary: str | None
    newest_at: datetime

    def shown(self, line: ArticleLine) -> ArticleLine:
        if self.title is None:
            return line
        return replace(
            line,
            title=self.title or line.title,
            author=line.author if self.author is None else self.author,
            summary=line.summary if self.summary is None else self.summary,
        )


async def _view(
    conn: Connection, *, article_ids: Sequence[ArticleId], query: ArticlesQuery, is_unread: bool
) -> dict[ArticleId, _View]:
    """A statement of its own: with it, those that find the places would take twice as long to plan."""
    if not article_ids:
        return {}
    rows = await fetch_all(
        conn,
        _View,
        """
        SELECT wanted.id, told.title, told.author, told.summary,
            coalesce(placed.newest_at, '-infinity') AS newest_at
        FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
        LEFT JOIN LATERAL told_to_reader(wanted.id) AS told ON true
        CROSS JOIN LATERAL (
            SELECT max(listed_at) AS newest_at
            FROM (
                SELECT source_id, listed_at
                FROM article_sources
                WHERE article_sources.article_id = wanted.id
                OFFSET 0
            ) AS listed
            JOIN subscriptions USING (source_id)
            WHERE (%(feed)s::uuid IS NULL OR subscriptions.id = %(feed)s)
                AND (%(category)s::text IS NULL OR category = %(category)s)
                AND (
                    NOT %(is_unread)s::boolean
                    OR listed_at > read_until
                    OR EXISTS (SELECT FROM marks WHERE marks.article_id = wanted.id AND NOT is_read)
                )
        ) AS placed
        """,
        {
            "article_ids": list(article_ids),
            "feed": query.feed,
            "category": query.category,
            "is_unread": is_unread,
        },
    )
    return {row.id: row for row in rows}


async def _list_newest_places(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """The newest places of articles in this person's feeds: an article may have one in each.

    A person who follows much of what comes in finds a page of it among the newest of all: `walked`. Otherwise each feed
    is asked: the newest N of all are among the newest N of those feeds whose own newest is one of the N newest of such
    (ranked, since feeds may share it). So the cost grows with the number of feeds at most, never with that of articles.
    """
    async with conn.cursor(row_factory=class_row(ArticleLine)) as cur:
        await cur.execute(
            """
            WITH walked AS MATERIALIZED (
                SELECT listed_at, article_id, name
                FROM (
                    SELECT listed_at, article_id, source_id
                    FROM article_sources
                    WHERE %(feed)s::uuid IS NULL
                        AND %(category)s::text IS NULL
                        AND (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
                    ORDER BY listed_at DESC, article_id DESC
                    LIMIT %(look)s
                ) AS latest
                JOIN subscriptions USING (source_id)
            ), fresh AS MATERIALIZED (
                SELECT source_id, name, dense_rank() OVER (ORDER BY listed_at DESC, article_id DESC) AS rank
                FROM subscriptions
                CROSS JOIN LATERAL (
                    SELECT listed_at, article_id
                    FROM article_sources
                    WHERE article_sources.source_id = subscriptions.source_id
                        AND (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
                    ORDER BY listed_at DESC, article_id DESC
                    LIMIT 1
                ) AS newest
                WHERE (%(feed)s::uuid IS NULL OR id = %(feed)s)
                    AND (%(category)s::text IS NULL OR category = %(category)s)
                    AND (SELECT count(DISTINCT article_id) FROM walked) < %(limit)s
            ), listed AS (
                SELECT listed_at, article_id, name
                FROM walked
                UNION ALL
                SELECT listed_at, article_id, name
                FROM fresh
                CROSS JOIN LATERAL (
                    SELECT listed_at, article_id
                    FROM article_sources
                    WHERE article_sources.source_id = fresh.source_id
                        AND (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
                    ORDER BY listed_at DESC, article_id DESC
                    LIMIT %(limit)s
                ) AS listed
                WHERE rank <= %(limit)s
            ), newest AS MATERIALIZED (
                SELECT DISTINCT ON (listed_at, article_id) listed_at, article_id, name
                FROM listed
                ORDER BY listed_at DESC, article_id DESC, name
                LIMIT %(limit)s
            )
            SELECT articles.id, url, coalesce(nullif(articles.title, ''), url) AS title, articles.author,
                articles.summary, newest.listed_at, newest.name AS feed_name,
                coalesce(
                    marks.is_read,
                    (
                        SELECT bool_and(listed.listed_at <= read_until)
                        FROM article_sources AS listed
                        JOIN subscriptions USING (source_id)
                        WHERE listed.article_id = newest.article_id
                    ),
                    false
                ) AS is_read,
                starred_at IS NOT NULL AS is_starred
            FROM newest
            CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = newest.article_id OFFSET 0) AS articles
            LEFT JOIN LATERAL (SELECT * FROM marks WHERE marks.article_id = newest.article_id OFFSET 0) AS marks ON true
            ORDER BY newest.listed_at DESC, newest.article_id DESC
            """,
            _page(query),
            prepare=False,  # a plan for any limit is none for this one: four times as slow with a million articles
        )
        return await cur.fetchall()


async def _list_unread_places(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """The newest unread places: those after a feed's mark that were not read, and those of what was marked unread.

    Found as `_list_newest_places` finds the newest.
    """
    async with conn.cursor(row_factory=class_row(ArticleLine)) as cur:
        await cur.execute(
            """
            WITH feed AS MATERIALIZED (
                SELECT source_id, name, read_until
                FROM subscriptions
                WHERE (%(feed)s::uuid IS NULL OR id = %(feed)s)
                    AND (%(category)s::text IS NULL OR category = %(category)s)
            ), walked AS MATERIALIZED (
                SELECT listed_at, article_id, name
                FROM (
                    SELECT listed_at, article_id, source_id
                    FROM article_sources
                    WHERE %(feed)s::uuid IS NULL
                        AND %(category)s::text IS NULL
                        AND (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
                    ORDER BY listed_at DESC, article_id DESC
                    LIMIT %(look)s
                ) AS latest
                JOIN feed USING (source_id)
                WHERE listed_at > read_until
                    AND NOT EXISTS (SELECT FROM marks WHERE marks.article_id = latest.article_id AND is_read OFFSET 0)
            ), fresh AS MATERIALIZED (
                SELECT source_id, name, read_until,
                    dense_rank() OVER (ORDER BY listed_at DESC, article_id DESC) AS rank
                FROM feed
                CROSS JOIN LATERAL (
                    SELECT listed_at, article_id
                    FROM article_sources
                    WHERE article_sources.source_id = feed.source_id
                        AND listed_at > feed.read_until
                        AND (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
                        AND NOT EXISTS (
                            SELECT FROM marks WHERE marks.article_id = article_sources.article_id AND is_read OFFSET 0
                        )
                    ORDER BY listed_at DESC, article_id DESC
                    LIMIT 1
                ) AS newest
                WHERE (SELECT count(DISTINCT article_id) FROM walked) < %(limit)s
            ), unread AS (
                SELECT listed_at, article_id, name
                FROM walked
                UNION ALL
                SELECT listed_at, article_id, name
                FROM fresh
                CROSS JOIN LATERAL (
                    SELECT listed_at, article_id
                    FROM article_sources
                    WHERE article_sources.source_id = fresh.source_id
                        AND listed_at > fresh.read_until
                        AND (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
                        AND NOT EXISTS (
                            SELECT FROM marks WHERE marks.article_id = article_sources.article_id AND is_read OFFSET 0
                        )
                    ORDER BY listed_at DESC, article_id DESC
                    LIMIT %(limit)s
                ) AS listed
                WHERE rank <= %(limit)s
                UNION ALL
                SELECT listed_at, article_id, name
                FROM marks
                CROSS JOIN LATERAL (
                    SELECT source_id, listed_at FROM article_sources WHERE article_id = marks.article_id OFFSET 0
                ) AS listed
                JOIN feed USING (source_id)
                WHERE NOT is_read
                    AND listed_at <= feed.read_until
                    AND (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
            ), newest AS MATERIALIZED (
                SELECT DISTINCT ON (listed_at, article_id) listed_at, article_id, name
                FROM unread
                ORDER BY listed_at DESC, article_id DESC, name
                LIMIT %(limit)s
            )
            SELECT articles.id, url, coalesce(nullif(articles.title, ''), url) AS title, articles.author,
                articles.summary, newest.listed_at, newest.name AS feed_name,
                false AS is_read, starred_at IS NOT NULL AS is_starred
            FROM newest
            CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = newest.article_id OFFSET 0) AS articles
            LEFT JOIN LATERAL (SELECT * FROM marks WHERE marks.article_id = newest.article_id OFFSET 0) AS marks ON true
            ORDER BY newest.listed_at DESC, newest.article_id DESC
            """,
            _page(query),
            prepare=False,  # a plan for any limit is none for this one: four times as slow with a million articles
        )
        return await cur.fetchall()


def _page(query: ArticlesQuery) -> dict[str, object]:
    return {
        "feed": query.feed,
        "category": query.category,
        "listed_at": query.after.listed_at if query.after else "infinity",
        "article_id": query.after.article_id if query.after else UUID(int=2**128 - 1),
        "limit": query.limit,
        "look": min(query.limit * LOOK_PER_LINE, LOOK_MAX),
    }


async def list_starred(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """What this person starred, the latest star first; also from feeds they follow no more."""
    return await fetch_all(
        conn,
        ArticleLine,
        """
        SELECT articles.id, url,
            coalesce(nullif(told.title, ''), nullif(articles.title, ''), url) AS title,
            coalesce(told.author, articles.author) AS author,
            coalesce(told.summary, articles.summary) AS summary, marks.starred_at AS listed_at,
            coalesce(
                (
                    SELECT subscriptions.name
                    FROM article_sources
                    JOIN subscriptions USING (source_id)
                    WHERE article_sources.article_id = articles.id
                    ORDER BY subscriptions.name
                    LIMIT 1
                ),
                ''
            ) AS feed_name,
            coalesce(
                marks.is_read,
                (
                    SELECT bool_and(listed.listed_at <= read_until)
                    FROM article_sources AS listed
                    JOIN subscriptions USING (source_id)
                    WHERE listed.article_id = articles.id
                ),
                false
            ) AS is_read,
            true AS is_starred
        FROM marks
        JOIN articles ON articles.id = marks.article_id
        LEFT JOIN LATERAL told_to_reader(marks.article_id) AS told ON true
        WHERE starred_at IS NOT NULL
            AND (starred_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
        ORDER BY starred_at DESC, article_id DESC
        LIMIT %(limit)s
        """,
        _page(query),
    )


async def find_article(conn: Connection, *, article_id: ArticleId) -> ArticleFull | None:
    """An article of this person's feeds, or one they starred."""
    return await fetch_one(
        conn,
        ArticleFull,
        """
        SELECT articles.id, articles.url,
            coalesce(nullif(told.title, ''), nullif(articles.title, ''), content.title, articles.url)
                AS title,
            coalesce(told.author, articles.author, array_to_string(content.authors, ', ')) AS author,
            coalesce(
                content.html, original.html, told.content, told.summary, articles.content, articles.summary
            ) AS html,
            coalesce(content.html, original.html) IS NOT NULL AS is_extracted,
            coalesce(told.published_at, articles.published_at, content.published_at) AS published_at,
            coalesce(mine.listed_at, articles.listed_at) AS listed_at,
            content.language, content.word_count, coalesce(mine.names, '{}') AS feeds,
            coalesce(marks.is_read, mine.is_read, false) AS is_read,
            starred_at IS NOT NULL AS is_starred
        FROM articles
        LEFT JOIN content ON content.article_id = articles.id
        LEFT JOIN content AS original ON original.article_id = content.duplicate_of
        LEFT JOIN marks ON marks.article_id = articles.id
        CROSS JOIN LATERAL (
            SELECT array_agg(subscriptions.name ORDER BY subscriptions.name) AS names,
                max(article_sources.listed_at) AS listed_at,
                bool_and(article_sources.listed_at <= read_until) AS is_read
            FROM article_sources
            JOIN subscriptions USING (source_id)
            WHERE article_sources.article_id = articles.id
        ) AS mine
        LEFT JOIN LATERAL told_to_reader(articles.id) AS told ON true
        WHERE articles.id = %(id)s AND (mine.names IS NOT NULL OR starred_at IS NOT NULL)
        """,
        {"id": article_id},
    )


async def list_neighbours(conn: Connection, *, most: int) -> list[Neighbour]:
    """This person's feeds by category and name, each with how much of it is unread, counted up to `most`.

    BETWEEN says nothing new, but is estimated at 0.5 % of the rows however they are spread: so the index is used even
    where one source has every article, and `=` alone would be estimated at all of them.
    """
    return await fetch_all(
        conn,
        Neighbour,
        """
        WITH kept AS MATERIALIZED (
            SELECT source_id, count(*)
            FROM marks
            CROSS JOIN LATERAL (
                SELECT source_id, listed_at FROM article_sources WHERE article_id = marks.article_id OFFSET 0
            ) AS listed
            JOIN subscriptions USING (source_id)
            WHERE NOT is_read AND listed_at <= read_until
            GROUP BY source_id
        )
        SELECT subscriptions.id, name, category,
            least(unread.count + coalesce(kept.count, 0), %(most)s)::integer AS unread
        FROM subscriptions
        LEFT JOIN kept USING (source_id)
        CROSS JOIN LATERAL (
            SELECT count(*)
            FROM (
                SELECT
                FROM article_sources
                WHERE article_sources.source_id = subscriptions.source_id
                    AND article_sources.source_id BETWEEN subscriptions.source_id AND subscriptions.source_id
                    AND listed_at > read_until
                    AND NOT EXISTS (
                        SELECT FROM marks WHERE marks.article_id = article_sources.article_id AND is_read OFFSET 0
                    )
                LIMIT %(most)s
            ) AS found
        ) AS unread
        ORDER BY category NULLS LAST, lower(name), subscriptions.id
        """,
        {"most": most},
    )


async def find_hits(conn: Connection, *, words: str, most: int) -> list[ArticleId] | None:
    """Articles whose text or shared title holds these words, or of which one of this person's feeds says them.

    None when there may be more than `most`, whoever lists them.
    """
    cur = await conn.execute(
        """
        WITH told AS MATERIALIZED (
            SELECT article_id
            FROM search_queries(%(words)s) AS spoken
            JOIN content ON content.search @@ spoken.query AND content_config(content.language) = ANY (spoken.configs)
            LIMIT %(most)s
        ), titled AS MATERIALIZED (
            SELECT id
            FROM articles
            WHERE to_tsvector('simple', title) @@ websearch_to_tsquery('simple', %(words)s)
            LIMIT %(most)s
        ), listed AS MATERIALIZED (
            SELECT article_id, source_id
            FROM article_sources
            WHERE title IS NOT NULL AND to_tsvector('simple', title) @@ websearch_to_tsquery('simple', %(words)s)
            LIMIT %(most)s
        )
        SELECT article_id, true FROM told
        UNION
        SELECT content.article_id, true FROM told JOIN content ON content.duplicate_of = told.article_id
        UNION
        SELECT id, true FROM titled
        UNION
        SELECT article_id, EXISTS (SELECT FROM subscriptions WHERE subscriptions.source_id = listed.source_id)
        FROM listed
        """,
        {"words": words, "most": most},
    )
    hits: list[tuple[ArticleId, bool]] = await cur.fetchall()
    return [article_id for article_id, is_visible in hits if is_visible] if len(hits) < most else None


async def find_hits_among(conn: Connection, *, words: str, article_ids: Sequence[ArticleId]) -> list[ArticleId]:
    """Those of these articles that hold these words."""
    return await fetch_column(
        conn,
        """
        WITH spoken AS MATERIALIZED (SELECT query, configs FROM search_queries(%(words)s))
        SELECT articles.id
        FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT * FROM content WHERE article_id = wanted.id OFFSET 0) AS content ON true
        LEFT JOIN LATERAL (
            SELECT * FROM content AS whose WHERE whose.article_id = content.duplicate_of OFFSET 0
        ) AS original ON true
        WHERE to_tsvector('simple', articles.title) @@ websearch_to_tsquery('simple', %(words)s)
            OR EXISTS (
                SELECT
                FROM article_sources
                JOIN subscriptions USING (source_id)
                WHERE article_sources.article_id = wanted.id
                    AND to_tsvector('simple', article_sources.title) @@ websearch_to_tsquery('simple', %(words)s)
            )
            OR EXISTS (
                SELECT FROM spoken
                WHERE coalesce(content.search, original.search) @@ spoken.query
                    AND content_config(coalesce(original.language, content.language)) = ANY (spoken.configs)
            )
        """,
        {"words": words, "article_ids": list(article_ids)},
    )


async def list_among(
    conn: Connection, *, article_ids: Sequence[ArticleId], query: ArticlesQuery, since: datetime | None
) -> list[ArticleLine]:
    """The newest of these articles that are of this person's feeds."""
    return await fetch_all(
        conn,
        ArticleLine,
        """
        WITH newest AS MATERIALIZED (
            SELECT listed_at, article_id, name
            FROM (
                SELECT DISTINCT ON (article_id) listed_at, article_id, subscriptions.name
                FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
                CROSS JOIN LATERAL (
                    SELECT article_id, source_id, listed_at
                    FROM article_sources
                    WHERE article_id = wanted.id
                    OFFSET 0
                ) AS listed
                JOIN subscriptions USING (source_id)
                WHERE (%(feed)s::uuid IS NULL OR subscriptions.id = %(feed)s)
                    AND (%(category)s::text IS NULL OR category = %(category)s)
                ORDER BY article_id, listed_at DESC, subscriptions.name
            ) AS placed
            WHERE (listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
                AND listed_at >= coalesce(%(since)s::timestamptz, '-infinity')
            ORDER BY listed_at DESC, article_id DESC
            LIMIT %(limit)s
        )
        SELECT articles.id, url, coalesce(nullif(told.title, ''), nullif(articles.title, ''), url) AS title,
            coalesce(told.author, articles.author) AS author, coalesce(told.summary, articles.summary) AS summary,
            newest.listed_at, newest.name AS feed_name,
            coalesce(
                marks.is_read,
                (
                    SELECT bool_and(listed.listed_at <= read_until)
                    FROM article_sources AS listed
                    JOIN subscriptions USING (source_id)
                    WHERE listed.article_id = newest.article_id
                ),
                false
            ) AS is_read,
            starred_at IS NOT NULL AS is_starred
        FROM newest
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = newest.article_id OFFSET 0) AS articles
        LEFT JOIN LATERAL (SELECT * FROM marks WHERE marks.article_id = newest.article_id OFFSET 0) AS marks ON true
        LEFT JOIN LATERAL told_to_reader(newest.article_id) AS told ON true
        ORDER BY newest.listed_at DESC, newest.article_id DESC
        """,
        {**_page(query), "article_ids": list(article_ids), "since": since},
    )


async def search_starred(
    conn: Connection, *, words: str, query: ArticlesQuery, since: datetime | None
) -> list[ArticleLine]:
    """What this person starred and holds these words, in the order of `list_starred`."""
    return await fetch_all(
        conn,
        ArticleLine,
        """
        WITH spoken AS MATERIALIZED (SELECT query, configs FROM search_queries(%(words)s))
        SELECT articles.id, articles.url,
            coalesce(nullif(told.title, ''), nullif(articles.title, ''), articles.url) AS title,
            coalesce(told.author, articles.author) AS author,
            coalesce(told.summary, articles.summary) AS summary, marks.starred_at AS listed_at,
            coalesce(mine.name, '') AS feed_name, coalesce(marks.is_read, mine.is_read, false) AS is_read,
            true AS is_starred
        FROM marks
        JOIN articles ON articles.id = marks.article_id
        LEFT JOIN content ON content.article_id = articles.id
        LEFT JOIN content AS original ON original.article_id = content.duplicate_of
        CROSS JOIN LATERAL (
            SELECT min(subscriptions.name) AS name, max(article_sources.listed_at) AS listed_at,
                bool_and(article_sources.listed_at <= read_until) AS is_read,
                bool_or(subscriptions.id = %(feed)s) AS is_of_feed,
                bool_or(subscriptions.category = %(category)s) AS is_of_category
            FROM article_sources
            JOIN subscriptions USING (source_id)
            WHERE article_sources.article_id = articles.id
        ) AS mine
        LEFT JOIN LATERAL told_to_reader(articles.id) AS told ON true
        WHERE starred_at IS NOT NULL
            AND (starred_at, marks.article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
            AND coalesce(mine.listed_at, articles.listed_at) >= coalesce(%(since)s::timestamptz, '-infinity')
            AND (%(feed)s::uuid IS NULL OR mine.is_of_feed)
            AND (%(category)s::text IS NULL OR mine.is_of_category)
            AND (
                to_tsvector('simple', articles.title) @@ websearch_to_tsquery('simple', %(words)s)
                OR to_tsvector('simple', coalesce(told.title, '')) @@ websearch_to_tsquery('simple', %(words)s)
                OR EXISTS (
                    SELECT FROM spoken
                    WHERE coalesce(content.search, original.search) @@ spoken.query
                        AND content_config(coalesce(original.language, content.language)) = ANY (spoken.configs)
                )
            )
        ORDER BY starred_at DESC, marks.article_id DESC
        LIMIT %(limit)s
        """,
        {**_page(query), "words": words, "since": since},
    )


async def mark(
    conn: Connection,
    *,
    user_id: UserId,
    article_id: ArticleId,
    is_read: bool | None,
    is_starred: bool | None,
    now: datetime,
) -> None:
    """Read or unread, starred or not; None leaves it as it is. What a feed of another site says stays with a star."""
    await conn.execute(
        """
        INSERT INTO marks (
            user_id, article_id, is_read, read_at, starred_at, title, author, summary, content, published_at
        )
        SELECT
            %(user_id)s, %(article_id)s, %(is_read)s, CASE WHEN %(is_read)s THEN %(now)s::timestamptz END,
            CASE WHEN %(is_starred)s THEN %(now)s::timestamptz END, told.title, told.author, told.summary,
            told.content, told.published_at
        FROM (SELECT) AS nothing
        LEFT JOIN LATERAL told_to_reader(%(article_id)s) AS told ON %(is_starred)s
        ON CONFLICT (user_id, article_id) DO UPDATE
        SET is_read = coalesce(excluded.is_read, marks.is_read),
            read_at = CASE WHEN %(is_read)s IS NULL THEN marks.read_at ELSE excluded.read_at END,
            starred_at = CASE
                WHEN %(is_starred)s IS NULL THEN marks.starred_at
                WHEN %(is_starred)s THEN coalesce(marks.starred_at, excluded.starred_at)
            END,
            title = CASE WHEN %(is_starred)s IS NULL THEN marks.title ELSE excluded.title END,
            author = CASE WHEN %(is_starred)s IS NULL THEN marks.author ELSE excluded.author END,
            summary = CASE WHEN %(is_starred)s IS NULL THEN marks.summary ELSE excluded.summary END,
            content = CASE WHEN %(is_starred)s IS NULL THEN marks.content ELSE excluded.content END,
            published_at = CASE WHEN %(is_starred)s IS NULL THEN marks.published_at ELSE excluded.published_at END
        """,
        {"user_id": user_id, "article_id": article_id, "is_read": is_read, "is_starred": is_starred, "now": now},
    )


async def advance(conn: Connection, *, article_id: ArticleId) -> None:
    """Move the marks of the feeds that list an article up to their oldest unread one, so that lists have less to skip.

    Each article is passed once: that makes it cheap, however many there are.
    """
    await conn.execute(
        """
        UPDATE subscriptions
        SET read_until = coalesce(
            (
                SELECT listed_at - interval '1 microsecond'
                FROM article_sources
                WHERE article_sources.source_id = subscriptions.source_id
                    AND listed_at > read_until
                    AND NOT EXISTS (
                        SELECT FROM marks WHERE marks.article_id = article_sources.article_id AND is_read OFFSET 0
                    )
                ORDER BY listed_at
                LIMIT 1
            ),
            greatest(
                read_until,
                (
                    SELECT listed_at
                    FROM article_sources
                    WHERE article_sources.source_id = subscriptions.source_id
                    ORDER BY listed_at DESC
                    LIMIT 1
                )
            )
        )
        WHERE source_id IN (SELECT source_id FROM article_sources WHERE article_id = %(article_id)s)
        """,
        {"article_id": article_id},
    )


async def mark_all_read(conn: Connection, *, feed: UUID | None, category: str | None, until: datetime) -> None:
    """All that was listed up to a moment is read, in one feed, a category or all of them."""
    await conn.execute(
        """
        WITH read AS (
            UPDATE subscriptions
            SET read_until = greatest(read_until, %(until)s)
            WHERE (%(feed)s::uuid IS NULL OR id = %(feed)s)
                AND (%(category)s::text IS NULL OR category = %(category)s)
            RETURNING source_id
        )
        UPDATE marks
        SET is_read = NULL
        FROM read
        JOIN article_sources USING (source_id)
        WHERE marks.article_id = article_sources.article_id
            AND marks.is_read = false
            AND article_sources.listed_at <= %(until)s
        """,
        {"feed": feed, "category": category, "until": until},
    )


async def mark_above_read(
    conn: Connection, *, user_id: UserId, feed: UUID | None, category: str | None, place: Place, now: datetime
) -> None:
    """What is listed at a place and above it is read."""
    await conn.execute(
        """
        INSERT INTO marks (user_id, article_id, is_read, read_at)
        SELECT DISTINCT %(user_id)s::uuid, article_id, true, %(now)s::timestamptz
        FROM subscriptions
        JOIN article_sources USING (source_id)
        LEFT JOIN marks USING (article_id)
        WHERE (%(feed)s::uuid IS NULL OR id = %(feed)s)
            AND (%(category)s::text IS NULL OR category = %(category)s)
            AND (listed_at > read_until OR NOT is_read)
            AND (listed_at, article_id) >= (%(listed_at)s::timestamptz, %(article_id)s::uuid)
        ON CONFLICT (user_id, article_id) DO UPDATE
        SET is_read = true, read_at = excluded.read_at
        WHERE marks.is_read IS DISTINCT FROM true
        """,
        {
            "user_id": user_id,
            "feed": feed,
            "category": category,
            "listed_at": place.listed_at,
            "article_id": place.article_id,
            "now": now,
        },
    )


async def forget_subscriptions_of(conn: Connection, *, user_id: UserId, limit: int) -> list[SourceId]:
    """Delete subscriptions of a removed user. Returns their sources."""
    return await fetch_column(
        conn,
        """
        DELETE FROM subscriptions
        WHERE user_id = %(user_id)s
            AND source_id = ANY(ARRAY(SELECT source_id FROM subscriptions WHERE user_id = %(user_id)s LIMIT %(limit)s))
        RETURNING source_id
        """,
        {"user_id": user_id, "limit": limit},
    )


async def forget_marks_of(conn: Connection, *, user_id: UserId, limit: int) -> tuple[int, list[ArticleId]]:
    """Delete marks of a removed user. Returns how many went, and which articles had a star."""
    cur = await conn.execute(
        """
        DELETE FROM marks
        WHERE user_id = %(user_id)s
            AND article_id = ANY(ARRAY(SELECT article_id FROM marks WHERE user_id = %(user_id)s LIMIT %(limit)s))
        RETURNING article_id, starred_at IS NOT NULL
        """,
        {"user_id": user_id, "limit": limit},
    )
    rows = await cur.fetchall()
    return len(rows), [ArticleId(article_id) for article_id, is_starred in rows if is_starred]
