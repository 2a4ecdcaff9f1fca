"""Every statement on `sitemaps`."""

from collections.abc import Sequence
from dataclasses import asdict

from headwater.db import Connection
from headwater.sitemaps.types import Reading
from headwater.types import SourceId
from headwater.urls import url_key


async def find_readings(conn: Connection, *, urls: Sequence[str]) -> dict[str, Reading]:
    statement = """
        SELECT url_key, url, source_id, last_read_at, url_count, new_count, newest_lastmod, idle_since,
            unproductive_reads, retired_at
        FROM sitemaps WHERE url_key = ANY(%(keys)b::bytea[])
    """
    keys = {url: url_key(url) for url in urls}
    cur = await conn.execute(statement, {"keys": list(keys.values())})
    found = {row[0]: Reading(*row[1:]) for row in await cur.fetchall()}
    return {url: found[key] for url, key in keys.items() if key in found}


async def keep_reading(conn: Connection, *, reading: Reading) -> None:
    statement = """
        INSERT INTO sitemaps (
            url_key, source_id, url, last_read_at, url_count, new_count, newest_lastmod, idle_since,
            unproductive_reads, retired_at
        )
        VALUES (
            %(url_key)s, %(source_id)s, %(url)s, %(last_read_at)s, %(url_count)s, %(new_count)s, %(newest_lastmod)s,
            %(idle_since)s, %(unproductive_reads)s, %(retired_at)s
        )
        ON CONFLICT (url_key) DO UPDATE
        SET source_id = excluded.source_id, url = excluded.url, last_read_at = excluded.last_read_at,
            url_count = excluded.url_count, new_count = excluded.new_count, newest_lastmod = excluded.newest_lastmod,
            idle_since = excluded.idle_since, unproductive_reads = excluded.unproductive_reads,
            retired_at = excluded.retired_at
    """
    await conn.execute(statement, {"url_key": url_key(reading.url), **asdict(reading)})


async def forget_readings_of(conn: Connection, *, source_id: SourceId, limit: int) -> int:
    statement = """
        DELETE FROM sitemaps
        WHERE url_key = ANY(ARRAY(SELECT url_key FROM sitemaps WHERE source_id = %(source_id)s LIMIT %(limit)s))
    """
    return (await conn.execute(statement, {"source_id": source_id, "limit": limit})).rowcount
