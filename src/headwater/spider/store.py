"""Every statement on `spider_state`, and what the spider reads of sources and the frontier."""

from collections.abc import Sequence
from datetime import datetime

from headwater.db import Connection, fetch_one
from headwater.errors import InvalidUrl
from headwater.frontier.keys import locate
from headwater.frontier.store.tables import KIND_OF
from headwater.spider.types import SpiderSource
from headwater.types import PageKind, SourceId


async def find_source(conn: Connection, *, source_id: SourceId) -> SpiderSource | None:
    return await fetch_one(
        conn,
        SpiderSource,
        """
        SELECT id, array_remove(ARRAY[url, feed_url], NULL) AS addresses, ingestion_mode, article_url_patterns,
            external_links, max_depth, page_budget, priority, enabled
        FROM sources
        WHERE id = %(id)s
        FOR KEY SHARE  -- it is not deleted while what was read for it is written
        """,
        {"id": source_id},
    )


async def find_known(conn: Connection, *, urls: Sequence[str]) -> dict[str, PageKind | None]:
    """Which of these are in the frontier, and as what kind of page. None: an alias."""
    places: dict[tuple[int, int], list[str]] = {}
    for url in urls:
        try:
            place = locate(url).key
        except InvalidUrl:
            continue
        places.setdefault((place.host_id, place.url_id), []).append(url)
    shards = [locate(named[0]).key.shard for named in places.values()]
    cur = await conn.execute(
        """
        SELECT given.host_id, given.url_id, known.kind
        FROM unnest(%(shards)b::smallint[], %(host_ids)b::bigint[], %(url_ids)b::bigint[])
            AS given (shard, host_id, url_id)
        CROSS JOIN LATERAL (
            SELECT kind::text
            FROM frontier_url
            WHERE (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id)
            UNION ALL
            SELECT NULL
            FROM frontier_alias
            WHERE (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id)
            LIMIT 1
        ) AS known
        """,
        {"shards": shards, "host_ids": [key[0] for key in places], "url_ids": [key[1] for key in places]},
    )
    return {
        url: KIND_OF.get(letter) for host_id, url_id, letter in await cur.fetchall() for url in places[host_id, url_id]
    }


async def spend(conn: Connection, *, source_id: SourceId, now: datetime, pages: int) -> int:
    """Add new pages to the source's count of the day. Returns the new count."""
    cur = await conn.execute(
        """
        INSERT INTO spider_state (source_id, last_read_at, day, spent)
        VALUES (%(source_id)s, %(now)s, (%(now)s::timestamptz AT TIME ZONE 'UTC')::date, %(pages)s)
        ON CONFLICT (source_id) DO UPDATE
        SET last_read_at = excluded.last_read_at, day = excluded.day,
            spent = excluded.spent + CASE WHEN spider_state.day = excluded.day THEN spider_state.spent ELSE 0 END
        RETURNING spent
        """,
        {"source_id": source_id, "now": now, "pages": pages},
    )
    row = await cur.fetchone()
    return row[0] if row else pages
