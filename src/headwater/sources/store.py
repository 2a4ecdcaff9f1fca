"""Every statement on `sources`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from headwater.db import Connection, translate
from headwater.errors import SourceExists, SourceNotFound
from headwater.frontier.keys import Place
from headwater.sources.types import (
    FeedPlace,
    Pair,
    Source,
    SourceDetails,
    SourceFilter,
    SourceHealth,
    SourceOrder,
    SourcePlace,
    Suggestion,
)
from headwater.types import SourceId, UserId
from headwater.urls import url_key


async def add(conn: Connection, *, source: Source) -> None:
    """Add a source. Raises SourceExists."""
    taken = SourceExists(source.address)
    with translate(sources_feed_url_key=taken, sources_url_key=taken):
        await conn.execute(
            """
            INSERT INTO sources (
                id, name, feed_url, feed_url_key, url, url_key, sitemap_url, ingestion_mode, selectors,
                article_url_patterns, external_links, max_depth, page_budget, min_delay_ms, priority
            )
            VALUES (
                %(id)s, %(name)s, %(feed_url)s, %(feed_url_key)s, %(url)s, %(url_key)s, %(sitemap_url)s, %(mode)s,
                %(selectors)s, %(patterns)s::text[], %(external_links)s, %(max_depth)s, %(page_budget)s,
                %(min_delay_ms)s, %(priority)s
            )
            """,
            {
                "id": source.id,
                "name": source.name,
                "feed_url": source.feed_url,
                "feed_url_key": url_key(source.feed_url) if source.feed_url else None,
                **_ingestion_values(source),
            },
        )


async def change_ingestion(conn: Connection, *, source: Source) -> None:
    """How the source's pages are found and read from now on. Raises SourceExists."""
    with translate(sources_url_key=SourceExists(source.address)):
        await conn.execute(
            """
            UPDATE sources
            SET url = %(url)s, url_key = %(url_key)s, sitemap_url = %(sitemap_url)s, ingestion_mode = %(mode)s,
                selectors = %(selectors)s, article_url_patterns = %(patterns)s::text[],
                external_links = %(external_links)s, max_depth = %(max_depth)s, page_budget = %(page_budget)s,
                min_delay_ms = %(min_delay_ms)s, priority = %(priority)s
            WHERE id = %(id)s
            """,
            {"id": source.id, **_ingestion_values(source)},
        )


def _ingestion_values(source: Source) -> dict[str, object]:
    return {
        "url": source.url,
        "url_key": url_key(source.url) if source.url else None,
        "sitemap_url": source.sitemap_url,
        "mode": source.ingestion_mode,
        "selectors": Jsonb(dict(source.selectors)) if source.selectors else None,
        "patterns": list(source.article_url_patterns),
        "external_links": source.external_links,
        "max_depth": source.max_depth,
        "page_budget": source.page_budget,
        "min_delay_ms": round(source.min_delay / timedelta(milliseconds=1)) if source.min_delay else None,
        "priority": source.priority,
    }


async def change_url(conn: Connection, *, source_id: SourceId, feed_url: str, feed_url_key: bytes) -> None:
    """The source's feed is at another address. Raises SourceExists."""
    with translate(sources_feed_url_key=SourceExists(feed_url)):
        await conn.execute(
            "UPDATE sources SET feed_url = %(feed_url)s, feed_url_key = %(key)s WHERE id = %(id)s",
            {"id": source_id, "feed_url": feed_url, "key": feed_url_key},
        )


async def change(
    conn: Connection,
    *,
    source_id: SourceId,
    name: str | None,
    policy: str | None,
    interval_minutes: int | None,
    category: str | None = None,
    is_system: bool | None = None,
    is_critical: bool | None = None,
) -> None:
    """Change what is given; None leaves it as it is. An empty policy or category or an interval of 0 takes it back."""
    await conn.execute(
        """
        UPDATE sources
        SET name = coalesce(%(name)s, name),
            policy = CASE WHEN %(policy)s::text IS NULL THEN policy ELSE nullif(%(policy)s, '') END,
            feed_poll_interval_minutes = CASE
                WHEN %(minutes)s::integer IS NULL THEN feed_poll_interval_minutes
                ELSE nullif(%(minutes)s::integer, 0)
            END,
            category = CASE WHEN %(category)s::text IS NULL THEN category ELSE nullif(%(category)s, '') END,
            is_system = coalesce(%(is_system)s, is_system),
            is_critical = coalesce(%(is_critical)s, is_critical)
        WHERE id = %(id)s
        """,
        {
            "id": source_id,
            "name": name,
            "policy": policy,
            "minutes": interval_minutes,
            "category": category,
            "is_system": is_system,
            "is_critical": is_critical,
        },
    )


async def set_disabled(
    conn: Connection, *, source_id: SourceId, disabled_at: datetime | None, reason: str | None
) -> None:
    """Say that the source's feed is off, since when and why; or, with None, that it is on."""
    await conn.execute(
        "UPDATE sources SET feed_disabled_at = %(at)s, feed_disable_reason = %(reason)s WHERE id = %(id)s",
        {"id": source_id, "at": disabled_at, "reason": reason},
    )


async def set_enabled(conn: Connection, *, source_id: SourceId, enabled: bool) -> None:
    """Whether the source is followed at all."""
    await conn.execute(
        "UPDATE sources SET enabled = %(enabled)s WHERE id = %(id)s", {"id": source_id, "enabled": enabled}
    )


async def find_by_id(conn: Connection, *, source_id: SourceId) -> Source:
    """The source with this id. Raises SourceNotFound."""
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute(
            """
            SELECT id, name, feed_url, created_at, url, sitemap_url, ingestion_mode,
                coalesce(selectors, '{}') AS selectors, article_url_patterns, external_links, max_depth, page_budget,
                min_delay_ms * interval '1 millisecond' AS min_delay, priority, category, policy,
                feed_poll_interval_minutes AS interval_minutes, enabled, is_system, is_critical
            FROM sources
            WHERE id = %(id)s
            """,
            {"id": source_id},
        )
        found = await cur.fetchone()
    if found is None:
        raise SourceNotFound(str(source_id))
    return found


async def find_by_url(conn: Connection, *, url: str) -> Source:
    """The source that follows this feed, or, where none does, this site. Raises SourceNotFound."""
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute(
            """
            SELECT id, name, feed_url, created_at, url, sitemap_url, ingestion_mode,
                coalesce(selectors, '{}') AS selectors, article_url_patterns, external_links, max_depth, page_budget,
                min_delay_ms * interval '1 millisecond' AS min_delay, priority, category, policy,
                feed_poll_interval_minutes AS interval_minutes, enabled, is_system, is_critical
            FROM sources
            WHERE feed_url_key = %(key)s OR (url_key = %(key)s AND feed_url_key IS NULL)
            ORDER BY feed_url_key IS NULL
            LIMIT 1
            """,
            {"key": url_key(url)},
        )
        found = await cur.fetchone()
    if found is None:
        raise SourceNotFound(url)
    return found


async def find_moved(conn: Connection, *, url: str) -> SourceId | None:
    """A source whose feed has moved to this address from another site; the oldest where there are several."""
    cur = await conn.execute(
        "SELECT id FROM sources WHERE feed_url = %(url)s ORDER BY created_at, id LIMIT 1", {"url": url}
    )
    row = await cur.fetchone()
    return SourceId(row[0]) if row else None


async def list_all(conn: Connection) -> list[Source]:
    """Every source, by name."""
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute(
            """
            SELECT id, name, feed_url, created_at, url, sitemap_url, ingestion_mode,
                coalesce(selectors, '{}') AS selectors, article_url_patterns, external_links, max_depth, page_budget,
                min_delay_ms * interval '1 millisecond' AS min_delay, priority, category, policy,
                feed_poll_interval_minutes AS interval_minutes, enabled, is_system, is_critical
            FROM sources
            ORDER BY lower(name), id
            """
        )
        return await cur.fetchall()


async def hold_by_url(conn: Connection, *, url: str) -> Source:
    """The source with this address, as `find_by_url`; it is not deleted before the transaction ends.

    Waits for a transaction that is deleting it, and does not return it then. Raises SourceNotFound.
    """
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute(
            """
            SELECT id, name, feed_url, created_at, url, sitemap_url, ingestion_mode,
                coalesce(selectors, '{}') AS selectors, article_url_patterns, external_links, max_depth, page_budget,
                min_delay_ms * interval '1 millisecond' AS min_delay, priority, category, policy,
                feed_poll_interval_minutes AS interval_minutes, enabled, is_system, is_critical
            FROM sources
            WHERE feed_url_key = %(key)s OR (url_key = %(key)s AND feed_url_key IS NULL)
            ORDER BY feed_url_key IS NULL
            LIMIT 1
            FOR KEY SHARE
            """,
            {"key": url_key(url)},
        )
        found = await cur.fetchone()
    if found is None:
        raise SourceNotFound(url)
    return found


async def remove(conn: Connection, *, source_id: SourceId) -> None:
    """Delete a source: no page, list or worker sees it any more. Raises SourceNotFound.

    Its polling state and subscriptions go with it. The removing stage deletes the rest.
    """
    cur = await conn.execute("DELETE FROM sources WHERE id = %(id)s", {"id": source_id})
    if cur.rowcount == 0:
        raise SourceNotFound(str(source_id))


async def hold_pair(conn: Connection, *, source_id: SourceId, other_id: SourceId) -> Pair | None:
    """A source and another that it may join, held until the transaction ends; None when one of them is gone.

    Nobody can begin to follow the first meanwhile; the other lets articles be linked to it.
    """
    cur = await conn.execute(
        """
        SELECT mine.enabled AND mine.feed_disabled_at IS NULL
                AND other.enabled AND other.feed_disabled_at IS NULL,
            mine.is_system, mine.moderation_status IS NOT NULL,
            mine.sitemap_url IS NOT NULL OR mine.ingestion_mode <> 'feed' OR mine.selectors IS NOT NULL,
            EXISTS (SELECT FROM pages WHERE pages.source_id = mine.id), other.moderation_status IS NOT NULL,
            mine.feed_url, mine.feed_url_key, other.feed_url, other.feed_url_key
        FROM sources AS mine
        CROSS JOIN sources AS other
        WHERE mine.id = %(id)s AND other.id = %(other_id)s
        FOR UPDATE OF mine
        FOR NO KEY UPDATE OF other
        """,
        {"id": source_id, "other_id": other_id},
    )
    row = await cur.fetchone()
    if row is None:
        return None
    are_read, is_system, is_suggested, is_set_up, has_pages, other_is_suggested, url, key, other_url, other_key = row
    return Pair(
        are_read=are_read,
        is_system=is_system,
        is_suggested=is_suggested,
        is_set_up=is_set_up,
        has_pages=has_pages,
        other_is_suggested=other_is_suggested,
        place=_place(url, key),
        other_place=_place(other_url, other_key),
    )


async def find_place(conn: Connection, *, source_id: SourceId) -> FeedPlace | None:
    """Where the source's feed is, if it has one."""
    cur = await conn.execute("SELECT feed_url, feed_url_key FROM sources WHERE id = %(id)s", {"id": source_id})
    row = await cur.fetchone()
    return _place(*row) if row else None


def _place(feed_url: str | None, feed_url_key: bytes | None) -> FeedPlace | None:
    return FeedPlace(feed_url, bytes(feed_url_key)) if feed_url is not None and feed_url_key is not None else None


async def inherit(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    """What people asked of one source holds for another, where nobody has asked that one for anything else."""
    await conn.execute(
        """
        UPDATE sources
        SET is_system = sources.is_system OR mine.is_system,
            is_critical = sources.is_critical OR mine.is_critical,
            category = coalesce(sources.category, mine.category),
            policy = coalesce(sources.policy, mine.policy),
            feed_poll_interval_minutes = coalesce(sources.feed_poll_interval_minutes, mine.feed_poll_interval_minutes),
            min_delay_ms = greatest(sources.min_delay_ms, mine.min_delay_ms)
        FROM sources AS mine
        WHERE sources.id = %(to)s AND mine.id = %(id)s
        """,
        {"id": source_id, "to": to},
    )


async def find_listed(conn: Connection, *, url_keys: Sequence[bytes]) -> set[bytes]:
    """Which of these pages are articles that some source lists."""
    cur = await conn.execute(
        """
        SELECT url_key
        FROM article_urls
        WHERE url_key = ANY(%(keys)b::bytea[])
            AND EXISTS (SELECT FROM articles WHERE articles.id = article_id OFFSET 0)  -- each in its month
        """,
        {"keys": list(url_keys)},
    )
    return {row[0] for row in await cur.fetchall()}


async def list_lists(conn: Connection, *, source_id: SourceId) -> list[UUID]:
    """The sitemaps and list pages that are fetched again and again for this source, as the frontier calls them."""
    cur = await conn.execute(
        "SELECT shard, host_id, url_id FROM frontier_url WHERE source_id = %(id)s AND kind <> 'a'", {"id": source_id}
    )
    return [Place(*row).id for row in await cur.fetchall()]


async def list_health(conn: Connection) -> list[SourceHealth]:
    """Every source with the state of its feed, or of how else it is read, by name.

    A source without a feed fails when none of the pages that reading it begins from can be had: they are the first that
    were queued for it. Its articles are counted up to ten thousand, since this is asked for every few seconds.
    """
    async with conn.cursor(row_factory=class_row(SourceHealth)) as cur:
        await cur.execute(
            """
            SELECT sources.id, name, sources.feed_url, sources.url, sitemap_url, ingestion_mode, sources.created_at,
                told.state, CASE
                    WHEN feed_disabled_at IS NOT NULL THEN feed_disable_reason
                    WHEN told.state = 'failing' THEN coalesce(last_error_type, split_part(other.error, ':', 1))
                END AS reason, enabled,
                CASE WHEN enabled THEN next_try(next_poll_at, feed_state.host) END AS next_poll_at,
                coalesce(last_polled_at, other.last_read_at) AS last_polled_at,
                coalesce(last_succeeded_at, other.last_read_at) AS last_succeeded_at,
                coalesce(last_error, other.error) AS last_error,
                coalesce(last_error_type, split_part(other.error, ':', 1)) AS last_error_type,
                coalesce(consecutive_errors, 0) AS consecutive_errors,
                coalesce(feed_state.article_count, other.article_count) AS article_count,
                feed_disabled_at, off_until
            FROM sources
            LEFT JOIN feed_state ON feed_state.source_id = sources.id
            LEFT JOIN LATERAL (
                SELECT greatest(
                    (SELECT last_read_at FROM sitemap_state WHERE sitemap_state.source_id = sources.id),
                    (SELECT last_read_at FROM spider_state WHERE spider_state.source_id = sources.id)
                ) AS last_read_at, (
                    SELECT count(*)
                    FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS listed
                ) AS article_count, (
                    SELECT CASE
                        WHEN bool_and(status IN ('r', 'd', 'b')) THEN
                            (array_agg(entrance.last_error ORDER BY kind = 'l' DESC, entrance.url = sitemap_url))[1]
                    END
                    FROM (
                        SELECT url, kind, status, parent_url, frontier_url.last_error
                        FROM frontier_url
                        WHERE source_id = sources.id
                        ORDER BY discovered_at
                        LIMIT 20
                    ) AS entrance
                    WHERE parent_url IS NULL
                ) AS error
            ) AS other ON feed_state.source_id IS NULL
            CROSS JOIN LATERAL (
                SELECT source_state(
                    enabled, moderation_status, feed_disabled_at, feed_disable_reason,
                    coalesce(last_error, other.error), coalesce(last_polled_at, other.last_read_at)
                ) AS state
            ) AS told
            ORDER BY lower(name), sources.id
            """
        )
        return await cur.fetchall()


async def list_details(
    conn: Connection,
    *,
    wanted: SourceFilter,
    now: datetime,
    order: SourceOrder = SourceOrder.NEWEST,
    after: SourcePlace | None = None,
    limit: int = 1,
) -> list[SourceDetails]:
    """Sources that pass the filter, in an order of which the newest first is the usual one.

    A feed that is off until a moment that has come may be polled: seed 000's cooldown filter, with the time that the
    cooldown really ends. For a source without a feed see `list_health`.
    """
    async with conn.cursor(row_factory=class_row(SourceDetails)) as cur:
        await cur.execute(
            """
            SELECT sources.id, name, sources.url, sources.feed_url, sitemap_url, category, ingestion_mode,
                feed_poll_interval_minutes, policy, priority, coalesce(selectors, '{}') AS selectors,
                article_url_patterns, external_links, max_depth, page_budget, min_delay_ms, enabled, is_system,
                is_critical, submitted_by, moderation_status, told.status, feed_disabled_at, feed_disable_reason,
                off_until, coalesce(last_polled_at, other.last_read_at) AS last_polled_at,
                coalesce(last_succeeded_at, other.last_read_at) AS last_succeeded_at,
                CASE WHEN enabled THEN next_try(next_poll_at, feed_state.host) END AS next_poll_at,
                coalesce(last_error, other.error) AS last_error,
                coalesce(last_error_type, split_part(other.error, ':', 1)) AS last_error_type,
                coalesce(consecutive_errors, 0) AS consecutive_errors,
                coalesce(feed_state.article_count, other.article_count, 0) AS article_count, sources.created_at,
                greatest(sources.updated_at, feed_state.updated_at) AS updated_at
            FROM sources
            LEFT JOIN feed_state ON feed_state.source_id = sources.id
            LEFT JOIN LATERAL (
                SELECT greatest(
                    (SELECT last_read_at FROM sitemap_state WHERE sitemap_state.source_id = sources.id),
                    (SELECT last_read_at FROM spider_state WHERE spider_state.source_id = sources.id)
                ) AS last_read_at, (
                    SELECT count(*)
                    FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS listed
                ) AS article_count, (
                    SELECT CASE
                        WHEN bool_and(status IN ('r', 'd', 'b')) THEN
                            (array_agg(entrance.last_error ORDER BY kind = 'l' DESC, entrance.url = sitemap_url))[1]
                    END
                    FROM (
                        SELECT url, kind, status, parent_url, frontier_url.last_error
                        FROM frontier_url
                        WHERE source_id = sources.id
                        ORDER BY discovered_at
                        LIMIT 20
                    ) AS entrance
                    WHERE parent_url IS NULL
                ) AS error
            ) AS other ON feed_state.source_id IS NULL
            CROSS JOIN LATERAL (
                SELECT source_state(
                    enabled, moderation_status, feed_disabled_at, feed_disable_reason,
                    coalesce(last_error, other.error), coalesce(last_polled_at, other.last_read_at)
                ) AS status
            ) AS told
            WHERE (%(id)s::uuid IS NULL OR sources.id = %(id)s)
                AND (%(after)s::uuid IS NULL OR %(by_fetch)s OR sources.id < %(after)s)
                AND (
                    %(after)s::uuid IS NULL
                    OR NOT %(by_fetch)s
                    OR (coalesce(last_succeeded_at, other.last_read_at, '-infinity'), sources.id)
                        < (%(after_at)s::timestamptz, %(after)s)
                )
                AND (
                    %(fetched_before)s::timestamptz IS NULL
                    OR coalesce(last_succeeded_at, other.last_read_at) < %(fetched_before)s
                )
                AND (%(errors_least)s::integer IS NULL OR coalesce(consecutive_errors, 0) >= %(errors_least)s)
                AND (%(category)s::text IS NULL OR category = %(category)s)
                AND (%(mode)s::text IS NULL OR ingestion_mode = %(mode)s)
                AND (%(enabled)s::boolean IS NULL OR enabled = %(enabled)s)
                AND (%(is_system)s::boolean IS NULL OR is_system = %(is_system)s)
                AND (%(is_critical)s::boolean IS NULL OR is_critical = %(is_critical)s)
                AND (%(moderation_status)s::text IS NULL OR moderation_status = %(moderation_status)s)
                AND (
                    %(is_active)s::boolean IS NULL OR (enabled AND feed_disabled_at IS NULL) = %(is_active)s
                )
                AND (
                    %(feed_active)s::boolean IS NULL
                    OR (
                        sources.feed_url IS NOT NULL
                        AND sources.feed_url <> ''
                        AND enabled
                        AND (feed_disabled_at IS NULL OR coalesce(off_until <= %(now)s, false))
                    ) = %(feed_active)s
                )
                AND (%(status)s::text IS NULL OR told.status = %(status)s)
                -- Repeated in terms of the indexed columns.
                AND (%(status)s::text IS DISTINCT FROM 'auto_disabled' OR feed_disabled_at IS NOT NULL)
                AND (%(status)s::text IS DISTINCT FROM 'disabled' OR NOT enabled OR feed_disabled_at IS NOT NULL)
                AND (coalesce(%(status)s::text, '') NOT IN ('in_review', 'rejected') OR NOT enabled)
                AND (
                    %(text)s::text IS NULL
                    OR strpos(lower(name), lower(%(text)s)) > 0
                    OR strpos(lower(coalesce(sources.feed_url, '')), lower(%(text)s)) > 0
                    OR strpos(lower(coalesce(sources.url, '')), lower(%(text)s)) > 0
                )
                AND (
                    %(host)s::text IS NULL
                    OR sources.id = ANY(
                        ARRAY(
                            SELECT source_id FROM feed_state WHERE host = %(host)s
                            UNION ALL
                            SELECT id
                            FROM sources
                            WHERE feed_url_key IS NULL
                                AND lower(substring(url FROM '^[^:]+://([^/:?#]+)')) = %(host)s
                        )
                    )
                )
            ORDER BY
                CASE WHEN %(by_fetch)s THEN coalesce(last_succeeded_at, other.last_read_at, '-infinity') END DESC,
                sources.id DESC
            LIMIT %(limit)s
            """,
            {
                "id": wanted.id,
                "by_fetch": order is SourceOrder.LAST_FETCHED,
                "after": after.id if after else None,
                "after_at": after.last_fetched_at if after and after.last_fetched_at else "-infinity",
                "fetched_before": wanted.fetched_before,
                "errors_least": wanted.errors_least,
                "category": wanted.category,
                "mode": wanted.ingestion_mode,
                "enabled": wanted.enabled,
                "is_system": wanted.is_system,
                "is_critical": wanted.is_critical,
                "moderation_status": wanted.moderation_status,
                "is_active": wanted.is_active,
                "feed_active": wanted.feed_active,
                "status": wanted.status,
                "text": wanted.text,
                "host": wanted.host.lower() if wanted.host else None,
                "now": now,
                "limit": limit,
            },
            prepare=False,  # each filter has its own plan
        )
        return await cur.fetchall()


async def find_details(conn: Connection, *, source_id: SourceId, now: datetime) -> SourceDetails:
    """All there is to know of one source. Raises SourceNotFound."""
    found = await list_details(conn, wanted=SourceFilter(id=source_id), now=now)
    if not found:
        raise SourceNotFound(str(source_id))
    return found[0]


async def suggest(
    conn: Connection, *, source_id: SourceId, suggestions: Sequence[Suggestion], found_at: datetime
) -> None:
    """Keep where a feed may have gone, in place of what was suggested before."""
    await conn.execute("DELETE FROM source_suggestions WHERE source_id = %(id)s", {"id": source_id})
    for one in suggestions:
        await conn.execute(
            """
            INSERT INTO source_suggestions (source_id, feed_url, title, entry_count, found_at)
            VALUES (%(id)s, %(feed_url)s, %(title)s, %(entry_count)s, %(found_at)s)
            ON CONFLICT (source_id, feed_url) DO NOTHING
            """,
            {
                "id": source_id,
                "feed_url": one.feed_url,
                "title": one.title,
                "entry_count": one.entry_count,
                "found_at": found_at,
            },
        )


async def list_suggestions(conn: Connection) -> list[Suggestion]:
    """All suggestions that wait for a person, by source."""
    async with conn.cursor(row_factory=class_row(Suggestion)) as cur:
        await cur.execute(
            """
            SELECT source_id, name AS source_name, source_suggestions.feed_url, title, entry_count
            FROM source_suggestions
            JOIN sources ON sources.id = source_suggestions.source_id
            ORDER BY lower(name), source_id, entry_count DESC
            """
        )
        return await cur.fetchall()


async def forget_suggestions(conn: Connection, *, source_id: SourceId) -> None:
    """A person has decided."""
    await conn.execute("DELETE FROM source_suggestions WHERE source_id = %(id)s", {"id": source_id})


async def set_submitter(conn: Connection, *, source_id: SourceId, user_id: UserId) -> None:
    """A reader brought this source; no operator looks after it."""
    await conn.execute(
        "UPDATE sources SET is_system = false, submitted_by = %(user_id)s WHERE id = %(id)s",
        {"id": source_id, "user_id": user_id},
    )


async def set_moderation(conn: Connection, *, source_id: SourceId, status: str | None) -> None:
    """Where a source stands that was suggested for everybody; None: it is not any more."""
    await conn.execute(
        "UPDATE sources SET moderation_status = %(status)s WHERE id = %(id)s", {"id": source_id, "status": status}
    )


async def is_held_back(conn: Connection, *, source_id: SourceId) -> bool:
    """Whether a source is for those alone who follow it: its suggestion waits, or was refused."""
    cur = await conn.execute(
        "SELECT moderation_status IN ('pending', 'rejected') FROM sources WHERE id = %(id)s", {"id": source_id}
    )
    row = await cur.fetchone()
    return bool(row and row[0])


async def needs_approval(conn: Connection, *, source_id: SourceId) -> bool:
    """Whether only an approval may enable this source: its suggestion is pending or rejected, and nobody follows it."""
    cur = await conn.execute(
        """
        SELECT moderation_status IN ('pending', 'rejected')
            AND NOT EXISTS (SELECT FROM subscriptions WHERE source_id = sources.id)
        FROM sources
        WHERE id = %(id)s
        """,
        {"id": source_id},
    )
    row = await cur.fetchone()
    return bool(row and row[0])


async def list_unfollowed(conn: Connection, *, limit: int) -> list[SourceId]:
    """Custom sources that nobody follows and that `leave_unwanted` would delete or disable, without a lock."""
    cur = await conn.execute(
        """
        SELECT id
        FROM sources
        WHERE NOT is_system
            AND NOT EXISTS (SELECT FROM subscriptions WHERE source_id = sources.id)
            AND CASE
                WHEN EXISTS (SELECT FROM submissions WHERE source_id = sources.id) OR moderation_status = 'rejected'
                    THEN enabled AND moderation_status IN ('pending', 'rejected')
                ELSE true
            END
        LIMIT %(limit)s
        """,
        {"limit": limit},
    )
    return [SourceId(row[0]) for row in await cur.fetchall()]


async def hold_custom(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[SourceId]:
    """Lock those of these sources that readers brought: until the transaction ends nobody follows or polls them.

    What the next statement reads of their subscriptions is final.
    """
    cur = await conn.execute(
        "SELECT id FROM sources WHERE id = ANY(%(ids)s) AND NOT is_system ORDER BY id FOR UPDATE",
        {"ids": list(source_ids)},
    )
    return [SourceId(row[0]) for row in await cur.fetchall()]


async def forget_withdrawn(conn: Connection, *, source_ids: Sequence[SourceId]) -> set[SourceId]:
    """Sources that were pending and have no submission any more are not pending. Returns them."""
    cur = await conn.execute(
        """
        UPDATE sources
        SET moderation_status = NULL
        WHERE id = ANY(%(ids)s)
            AND moderation_status = 'pending'
            AND NOT EXISTS (SELECT FROM submissions WHERE source_id = sources.id)
        RETURNING id
        """,
        {"ids": list(source_ids)},
    )
    return {SourceId(row[0]) for row in await cur.fetchall()}


async def list_held_back(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[Source]:
    """Those of these sources that are enabled, pending or rejected, and have no subscription."""
    async with conn.cursor(row_factory=class_row(Source)) as cur:
        await cur.execute(
            """
            SELECT id, name, feed_url, created_at, url, sitemap_url, ingestion_mode,
                coalesce(selectors, '{}') AS selectors, article_url_patterns, external_links, max_depth, page_budget,
                min_delay_ms * interval '1 millisecond' AS min_delay, priority, category, policy,
                feed_poll_interval_minutes AS interval_minutes, enabled, is_system, is_critical
            FROM sources
            WHERE id = ANY(%(ids)s)
                AND NOT is_system
                AND enabled
                AND moderation_status IN ('pending', 'rejected')
                AND NOT EXISTS (SELECT FROM subscriptions WHERE source_id = sources.id)
            """,
            {"ids": list(source_ids)},
        )
        return await cur.fetchall()


async def list_unwanted(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[SourceId]:
    """Those of these sources that readers brought and that nobody follows or suggests any more."""
    cur = await conn.execute(
        """
        SELECT id
        FROM sources
        WHERE id = ANY(%(ids)s)
            AND NOT is_system
            AND NOT EXISTS (SELECT FROM subscriptions WHERE source_id = sources.id)
            AND moderation_status IS DISTINCT FROM 'rejected'  -- stays known, or it would be suggested for ever
            AND NOT EXISTS (SELECT FROM submissions WHERE source_id = sources.id)
        """,
        {"ids": list(source_ids)},
    )
    return [SourceId(row[0]) for row in await cur.fetchall()]


async def clear_submitter(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Sources name a removed user as their submitter no more. Returns how many were changed."""
    cur = await conn.execute(
        """
        UPDATE sources
        SET submitted_by = NULL
        WHERE id = ANY(ARRAY(SELECT id FROM sources WHERE submitted_by = %(user_id)s LIMIT %(limit)s))
        """,
        {"user_id": user_id, "limit": limit},
    )
    return cur.rowcount


async def find_entered(conn: Connection, *, urls: Sequence[str]) -> dict[str, SourceId]:
    """Which of these sitemaps and sites another source is read from."""
    cur = await conn.execute(
        """
        SELECT entrance.url, min(sources.id::text)::uuid
        FROM sources
        CROSS JOIN LATERAL (VALUES (sources.url), (sources.sitemap_url)) AS entrance (url)
        WHERE enabled AND (ingestion_mode <> 'feed' OR feed_url IS NULL OR entrance.url = sitemap_url)
            AND entrance.url = ANY(%(urls)s)
        GROUP BY entrance.url
        """,
        {"urls": list(urls)},
    )
    return {url: SourceId(source_id) for url, source_id in await cur.fetchall()}
