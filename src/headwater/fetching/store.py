"""What fetching reads of tables that other packages write."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headwater.db import Connection, fetch_value
from headwater.db.arrays import byteas
from headwater.frontier.keys import UrlKey, shortened
from headwater.hosts.keys import host_key
from headwater.types import SourceId, UserId
from headwater.urls import key_or_none


async def find_sitemap_sources(conn: Connection, *, sources: Sequence[SourceId]) -> set[SourceId]:
    """Those of these sources whose articles are found by sitemaps."""
    statement = """
        SELECT id FROM sources
        WHERE id = ANY(%(sources)s) AND ingestion_mode <> 'spider' AND (sitemap_url IS NOT NULL OR feed_url IS NULL)
        ORDER BY id
        FOR KEY SHARE  -- none of them is deleted before its sitemaps are queued
    """
    cur = await conn.execute(statement, {"sources": list(sources)})
    return {row[0] for row in await cur.fetchall()}


async def works_elsewhere(conn: Connection, *, host: str, closed: Sequence[str], now: datetime) -> bool:
    """Whether a host answers under another scheme or port than these origins, or may: URLs are due whose robots.txt is
    not known to fail."""
    statement = """
        WITH robots AS MATERIALIZED (
            SELECT CASE origin WHEN 'https://' || %(host)s THEN '/' ELSE origin || '/' END AS start,
                unreachable_since IS NULL AS is_open
            FROM host_robots WHERE shard = %(shard)s AND host_id = %(host_id)s AND expires_at > %(now)s
        )
        SELECT EXISTS (SELECT FROM robots WHERE is_open) OR EXISTS (
            SELECT FROM frontier_url
            WHERE shard = %(shard)s AND host_id = %(host_id)s AND band = ANY ('{0,1,2,3}')
                AND next_fetch_at <= %(now)s AND next_fetch_at < 'infinity'
                AND NOT url ^@ ANY (%(closed)s::text[] || ARRAY(SELECT start FROM robots))
        )
    """
    starts = [shortened(f"{origin}/", host) for origin in closed]
    return await fetch_value(conn, statement, {**host_key(host), "host": host, "closed": starts, "now": now})


async def find_submitters(conn: Connection, *, source_ids: Sequence[SourceId]) -> dict[SourceId, UserId]:
    """The users who added these sources; sources of operators are left out."""
    statement = "SELECT id, submitted_by FROM sources WHERE id = ANY(%(ids)s::uuid[]) AND submitted_by IS NOT NULL"
    cur = await conn.execute(statement, {"ids": list(source_ids)})
    return {SourceId(source_id): UserId(user_id) for source_id, user_id in await cur.fetchall()}


async def find_savers(conn: Connection, *, urls: Sequence[str]) -> dict[str, set[UserId]]:
    """The users who saved these pages for later; others are left out. Run under `Database.as_system`."""
    by_key = {key: url for url in urls if (key := key_or_none(url)) is not None}
    statement = """
        SELECT url_key, user_id
        FROM article_urls JOIN marks USING (article_id)
        WHERE url_key = ANY(%(keys)b::bytea[]) AND saved_at IS NOT NULL
    """
    cur = await conn.execute(statement, {"keys": byteas(sorted(by_key))})
    found: dict[str, set[UserId]] = {}
    for key, user_id in await cur.fetchall():
        found.setdefault(by_key[bytes(key)], set()).add(UserId(user_id))
    return found


async def list_expired_blocks(conn: Connection, *, now: datetime, limit: int) -> list[UUID]:
    """One URL of each host whose robots.txt blocks URLs and has expired."""
    statement = """
        SELECT DISTINCT ON (shard, host_id) shard, host_id, blocked.url_id
        FROM host_robots
        CROSS JOIN LATERAL (
            SELECT url_id FROM frontier_url
            WHERE frontier_url.shard = host_robots.shard AND frontier_url.host_id = host_robots.host_id
                AND status = 'b'
            LIMIT 1
        ) AS blocked
        WHERE expires_at <= %(now)s ORDER BY shard, host_id LIMIT %(limit)s
    """
    cur = await conn.execute(statement, {"now": now, "limit": limit})
    return [UrlKey(shard, host_id, url_id).id for shard, host_id, url_id in await cur.fetchall()]
