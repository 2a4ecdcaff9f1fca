"""One URL, lists of URLs, and how many have each status."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from headwater.db import Connection, fetch_all
from headwater.frontier.keys import UrlKey, lengthened, url_key_of
from headwater.frontier.store.tables import (
    GIVEN_KEYS,
    KIND_OF,
    ORIGIN_LETTER,
    ORIGIN_OF,
    STATUS_LETTER,
    STATUS_OF,
    key_columns,
)
from headwater.frontier.types import (
    FrontierStats,
    FrontierUrl,
    Status,
    UrlCounts,
    UrlFilter,
    UrlPage,
    UrlSort,
    UrlTotal,
)
from headwater.hosts.keys import ALL_SHARDS, SHARDS, host_id_of, shard_of
from headwater.hosts.store.pages import EVERY_BAND, parts
from headwater.hosts.store.status import LONGEST_LEASE
from headwater.types import PageCursor, SortPlace, SourceId

LOOKED_THROUGH = 2_000
COUNTED_THROUGH = 10_000
SORTED_THROUGH = 10_000

_STATUS: Final = """
    CASE
        WHEN lease IS NOT NULL AND claimed > 0 AND free_at > %(now)s AND next_fetch_at <= %(now)s THEN 'g'
        WHEN status = 'b' THEN 'd'
        ELSE status::text
    END
"""
_BEFORE: Final = """
    (
        %(after_at)s::timestamptz IS NULL
        OR (discovered_at, host_id, url_id) < (%(after_at)s, %(after_host)s::bigint, %(after_url)s::bigint)
    ) AND discovered_at <= coalesce(%(after_at)s, 'infinity')
"""
_SEEN: Final = f"""
    (
        SELECT * FROM frontier_url WHERE %(by)s = 'time' AND {_BEFORE}
        ORDER BY discovered_at DESC, host_id DESC, url_id DESC LIMIT %(look)s
    )
    UNION ALL
    (
        SELECT * FROM frontier_url WHERE %(by)s = 'source' AND source_id = %(source_id)s AND {_BEFORE}
        ORDER BY discovered_at DESC, host_id DESC, url_id DESC LIMIT %(look)s
    )
    UNION ALL
    (
        SELECT * FROM frontier_url WHERE %(by)s = 'host' AND shard = %(shard)s AND host_id = %(host_id)s
            AND url_id > coalesce(%(from_url)s::bigint, -9223372036854775808)
        ORDER BY url_id LIMIT %(look)s
    )
"""
_MATCHES: Final = """
    (%(status)s::text IS NULL OR shown_status = %(status)s)
    AND (%(origin)s::text IS NULL OR origin = %(origin)s::"char")
    AND (%(source_id)s::uuid IS NULL OR source_id = %(source_id)s)
    AND (%(text)s::text IS NULL OR strpos(lower(name || url), lower(%(text)s)) > 0)
"""
_SORTED_BY: Final = """
    CASE ltrim(%(sort)s, '-')
        WHEN 'priority' THEN priority WHEN 'retries' THEN retry_count
        WHEN 'fetched' THEN extract(epoch FROM coalesce(last_fetched_at, '-infinity'))
        ELSE extract(epoch FROM next_fetch_at)
    END::numeric
"""
_PLACE: Final = """
    CASE WHEN ltrim(%(sort)s, '-') IN ('priority', 'retries') THEN %(number)s::numeric
        ELSE extract(epoch FROM %(at)s::timestamptz)
    END, %(after_host)s::bigint, %(after_url)s::bigint
"""
_AFTER_ORIGIN: Final = """
    source_id, depth, priority, etag, last_modified, fetch_count, retry_count, parent_url,
    nullif(next_fetch_at, 'infinity'), last_fetched_at, content_hash, last_error, discovered_at
"""


def _frontier_url(row: tuple[Any, ...]) -> FrontierUrl:
    """From the columns of FrontierUrl, with host_id and url_id instead of its id."""
    host_id, url_id, stored, host, status, kind, origin, *more = row
    id_, url = UrlKey(0, host_id, url_id).id, lengthened(stored, host)
    return FrontierUrl(id_, url, KIND_OF[kind], ORIGIN_OF[origin], *more, host=host, status=STATUS_OF[status])


async def find(conn: Connection, *, id: UUID, now: datetime) -> FrontierUrl | None:  # noqa: A002
    """A URL, or the target of an alias."""
    statement = f"""
        WITH wanted AS MATERIALIZED (
            SELECT %(host_id)s::bigint AS host_id, %(url_id)s::bigint AS url_id
            UNION ALL
            SELECT to_host_id, to_url_id FROM frontier_alias
            WHERE shard = %(shard)s AND host_id = %(host_id)s AND url_id = %(url_id)s AND expires_at > %(now)s
        )
        SELECT host_id, url_id, url, name, {_STATUS}, kind::text, origin::text, {_AFTER_ORIGIN}
        FROM wanted
        JOIN frontier_url USING (host_id, url_id)
        JOIN hosts USING (shard, host_id)
        WHERE shard = mod(mod(host_id, %(shards)s) + %(shards)s, %(shards)s) LIMIT 1
    """
    cur = await conn.execute(statement, {**url_key_of(id)._asdict(), "now": now, "shards": SHARDS})
    row = await cur.fetchone()
    return _frontier_url(row) if row else None


async def find_several(conn: Connection, *, ids: Sequence[UUID], now: datetime) -> dict[UUID, FrontierUrl]:
    """These URLs by the id that was asked for; instead of an alias, its target."""
    statement = f"""
        WITH given AS MATERIALIZED (SELECT * FROM {GIVEN_KEYS}), wanted AS MATERIALIZED (
            SELECT host_id AS asked_host_id, url_id AS asked_url_id, shard, host_id, url_id FROM given
            UNION ALL
            SELECT given.host_id, given.url_id, shard_of(to_host_id), to_host_id, to_url_id
            FROM given
            CROSS JOIN LATERAL (
                SELECT to_host_id, to_url_id FROM frontier_alias
                WHERE frontier_alias.shard = given.shard AND frontier_alias.host_id = given.host_id
                    AND frontier_alias.url_id = given.url_id AND expires_at > %(now)s
                OFFSET 0
            ) AS alias
        )
        SELECT asked_host_id, asked_url_id, known.host_id, known.url_id, known.url, name, {_STATUS}, kind::text,
            origin::text, {_AFTER_ORIGIN}
        FROM wanted
        CROSS JOIN LATERAL (
            SELECT * FROM frontier_url
            WHERE frontier_url.shard = wanted.shard AND frontier_url.host_id = wanted.host_id
                AND frontier_url.url_id = wanted.url_id
            OFFSET 0
        ) AS known
        CROSS JOIN LATERAL (
            SELECT name, lease, claimed, free_at FROM hosts
            WHERE hosts.shard = wanted.shard AND hosts.host_id = wanted.host_id
            OFFSET 0
        ) AS host
    """
    cur = await conn.execute(statement, {**key_columns(sorted({url_key_of(one) for one in ids})), "now": now})
    return {UrlKey(0, row[0], row[1]).id: _frontier_url(row[2:]) for row in await cur.fetchall()}


async def list_urls(
    conn: Connection, *, wanted: UrlFilter, now: datetime, limit: int, after: PageCursor | None = None
) -> UrlPage:
    """URLs that pass the filter, the newest first; those of one host in the order of their ids."""
    is_filtered = any(one is not None for one in (wanted.status, wanted.origin, wanted.text))
    is_filtered |= wanted.source_id is not None and wanted.host is not None
    look = LOOKED_THROUGH if is_filtered else limit
    statement = f"""
        WITH seen AS MATERIALIZED ({_SEEN}),
        numbered AS MATERIALIZED (SELECT *, row_number() OVER () AS number FROM seen), shown AS (
            SELECT numbered.*, host.name, {_STATUS} AS shown_status
            FROM numbered
            LEFT JOIN LATERAL (
                SELECT name, lease, claimed, free_at
                FROM hosts WHERE hosts.shard = numbered.shard AND hosts.host_id = numbered.host_id LIMIT 1
            ) AS host ON true
        ), matching AS MATERIALIZED (SELECT * FROM shown WHERE {_MATCHES} ORDER BY number LIMIT %(limit)s)
        SELECT edge.*, host_id, url_id, url, name, shown_status, kind::text, origin::text, {_AFTER_ORIGIN}
        FROM (SELECT max(number) FROM numbered) AS looked (most)
        LEFT JOIN LATERAL (
            SELECT number, discovered_at, host_id, url_id FROM numbered WHERE number = looked.most
        ) AS edge (number, at, last_host_id, last_url_id) ON true
        LEFT JOIN matching ON true
        ORDER BY matching.number
    """
    cur = await conn.execute(statement, {**_filter_values(wanted, now, after), "look": look, "limit": limit})
    rows = await cur.fetchall()
    urls = [_frontier_url(row[4:]) for row in rows if row[4] is not None]
    if len(urls) == limit:
        return UrlPage(urls, PageCursor(urls[-1].discovered_at, urls[-1].id))
    looked, discovered_at, host_id, url_id = rows[0][:4]
    if looked is None or looked < look:
        return UrlPage(urls, None)
    return UrlPage(urls, PageCursor(discovered_at, UrlKey(0, host_id, url_id).id))


async def list_sorted(
    conn: Connection, *, wanted: UrlFilter, sort: UrlSort, is_descending: bool = False,
    after: SortPlace | None = None, now: datetime, limit: int,
) -> list[FrontierUrl]:  # fmt: skip
    """The newest 10,000 URLs, or those of a source or host, that pass the filter, sorted by a column other than FOUND.

    A table of a billion rows has no index for each column.
    """
    statement = f"""
        WITH seen AS MATERIALIZED ({_SEEN}), shown AS MATERIALIZED (
            SELECT seen.*, host.name, {_STATUS} AS shown_status
            FROM seen
            LEFT JOIN LATERAL (
                SELECT name, lease, claimed, free_at
                FROM hosts WHERE hosts.shard = seen.shard AND hosts.host_id = seen.host_id LIMIT 1
            ) AS host ON true
        )
        SELECT host_id, url_id, url, name, shown_status, kind::text, origin::text, {_AFTER_ORIGIN}
        FROM shown
        CROSS JOIN LATERAL (SELECT {_SORTED_BY}) AS sorted (by)
        WHERE {_MATCHES} AND (
            %(after_url)s::bigint IS NULL
            OR %(sort)s NOT LIKE '-%%' AND (sorted.by, host_id, url_id) > ({_PLACE})
            OR %(sort)s LIKE '-%%' AND (sorted.by, host_id, url_id) < ({_PLACE})
        )
        ORDER BY
            CASE WHEN %(sort)s NOT LIKE '-%%' THEN sorted.by END, CASE WHEN %(sort)s LIKE '-%%' THEN sorted.by END DESC,
            CASE WHEN %(sort)s NOT LIKE '-%%' THEN host_id END, CASE WHEN %(sort)s LIKE '-%%' THEN host_id END DESC,
            CASE WHEN %(sort)s NOT LIKE '-%%' THEN url_id END, CASE WHEN %(sort)s LIKE '-%%' THEN url_id END DESC
        LIMIT %(limit)s
    """
    key = url_key_of(after.id) if after else None
    never = "infinity" if sort is UrlSort.DUE else "-infinity"
    place = {
        "after_host": key and key.host_id, "after_url": key and key.url_id, "number": after.number if after else 0,
        "at": (after.at if after else None) or never, "sort": f"-{sort}" if is_descending else sort.value,
    }  # fmt: skip
    values = {**_filter_values(wanted, now, None), "from_url": None, **place}
    cur = await conn.execute(statement, {**values, "look": SORTED_THROUGH, "limit": limit}, prepare=False)
    return [_frontier_url(row) for row in await cur.fetchall()]


def _filter_values(wanted: UrlFilter, now: datetime, after: PageCursor | None) -> dict[str, object]:
    host_id = host_id_of((wanted.host or "").lower())
    key = None if after is None else url_key_of(after.id)
    return {
        "by": "host" if wanted.host is not None else "source" if wanted.source_id is not None else "time", "now": now,
        "shard": shard_of(host_id), "host_id": host_id, "source_id": wanted.source_id,
        "status": None if wanted.status is None else STATUS_LETTER.get(wanted.status, "g"),
        "origin": None if wanted.origin is None else ORIGIN_LETTER[wanted.origin], "text": wanted.text,
        "after_at": after and after.at, "after_host": key and key.host_id, "after_url": key and key.url_id,
        "from_url": key and key.url_id,
    }  # fmt: skip


async def count_urls(conn: Connection, *, wanted: UrlFilter, now: datetime) -> UrlTotal:
    """How many URLs pass a filter: by status and source from counters, else among the first ten thousand."""
    if wanted.host is None and wanted.origin is None and wanted.text is None:
        sources = [one for one in (await stats(conn, now=now)).by_source if wanted.source_id in {None, one.source_id}]
        urls = sum(getattr(one, wanted.status.value) if wanted.status else one.total for one in sources)
        return UrlTotal(urls, is_exact=True)
    statement = f"""
        WITH seen AS MATERIALIZED ({_SEEN})
        SELECT count(*) FILTER (WHERE {_MATCHES}), count(*)
        FROM seen
        LEFT JOIN LATERAL (
            SELECT name, lease, claimed, free_at
            FROM hosts WHERE hosts.shard = seen.shard AND hosts.host_id = seen.host_id LIMIT 1
        ) AS host ON true
        CROSS JOIN LATERAL (SELECT {_STATUS} AS shown_status) AS shown
    """
    cur = await conn.execute(statement, {**_filter_values(wanted, now, None), "look": COUNTED_THROUGH})
    row = await cur.fetchone()
    assert row is not None, "an aggregate is always one row"
    return UrlTotal(row[0], is_exact=row[1] < COUNTED_THROUGH)


async def stats(conn: Connection, *, now: datetime) -> FrontierStats:
    """How many URLs have each status, in all and by source: from counters, and those being fetched."""
    statement = """
        SELECT source_id, sum(pending)::bigint AS pending, sum(fetched)::bigint AS fetched,
            sum(failed)::bigint AS failed, sum(dead)::bigint AS dead
        FROM frontier_tally WHERE source_id IS NULL OR EXISTS (SELECT FROM sources WHERE sources.id = source_id)
        GROUP BY source_id ORDER BY source_id NULLS FIRST
    """
    counted = await fetch_all(conn, UrlCounts, statement)
    fetching = await _count_fetching(conn, now=now)
    by_source = [_with_fetching(one, fetching.get(one.source_id, 0)) for one in counted]
    return FrontierStats({status: sum(getattr(one, status.value) for one in by_source) for status in Status}, by_source)


def _with_fetching(counts: UrlCounts, fetching: int) -> UrlCounts:
    """Counters count a URL as pending until it is fetched."""
    fetching = min(fetching, max(counts.pending, 0))
    return replace(counts, pending=max(counts.pending, 0) - fetching, fetching=fetching)


async def _count_fetching(conn: Connection, *, now: datetime) -> dict[SourceId | None, int]:
    """How many never-fetched URLs of each source are being fetched. Leased hosts are few, and ready within an hour."""
    statement = """
        SELECT due.source_id, count(*)
        FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
        CROSS JOIN LATERAL (
            SELECT shard, host_id, claimed FROM hosts
            WHERE hosts.shard = part.shard AND hosts.band = part.band AND page_due_at < 'infinity'
                AND pages_ready_at > %(now)s AND pages_ready_at < %(until)s AND lease IS NOT NULL AND claimed > 0
        ) AS held
        CROSS JOIN LATERAL (
            SELECT frontier_url.source_id FROM frontier_url
            WHERE frontier_url.shard = held.shard AND frontier_url.band = ANY (ARRAY[0, 1, 2, 3]::smallint[])
                AND frontier_url.host_id = held.host_id AND next_fetch_at <= %(now)s AND next_fetch_at < 'infinity'
                AND status = 'p'
            LIMIT held.claimed
        ) AS due
        GROUP BY due.source_id
    """
    cur = await conn.execute(statement, {**parts(EVERY_BAND, ALL_SHARDS), "now": now, "until": now + LONGEST_LEASE})
    return {SourceId(row[0]) if row[0] else None: row[1] for row in await cur.fetchall()}
