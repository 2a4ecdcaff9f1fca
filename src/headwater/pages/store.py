"""Every statement on `pages`."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_value
from headwater.ids import new_id
from headwater.pages.types import NewPage, Page
from headwater.types import PageKind, SourceId


async def keep(conn: Connection, *, pages: Sequence[NewPage], now: datetime | None = None) -> None:
    """Keep bodies until they are read; an article of a source that is spidered twice, the second time for its links.

    They wait from `now` on, or else from when they were fetched: time in the fetcher is no waiting of the next stage.
    A page of a source that was deleted since its URL was claimed is dropped.
    """
    if not pages:
        return
    await conn.execute(
        """
        WITH page AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(ids)b::uuid[], %(list_ids)b::uuid[], %(urls)b::text[], %(final_urls)b::text[], %(kinds)b::text[],
                %(source_ids)b::uuid[], %(depths)b::smallint[], %(content_types)b::text[], %(bodies)b::bytea[],
                %(fetched)b::timestamptz[]
            ) AS page (
                id, list_id, url, final_url, kind, source_id, depth, content_type, body, fetched_at
            )
        ), kept AS (
            SELECT page.*, sources.ingestion_mode, sources.max_depth
            FROM page
            LEFT JOIN sources ON sources.id = page.source_id
            WHERE page.source_id IS NULL OR sources.id IS NOT NULL
        )
        INSERT INTO pages (id, url, final_url, kind, source_id, depth, content_type, body, fetched_at, ready_at)
        SELECT id, url, final_url, kind, source_id, depth, content_type, body, fetched_at,
            coalesce(%(now)s, fetched_at)
        FROM kept
        UNION ALL
        SELECT list_id, url, final_url, 'list', source_id, depth, content_type, body, fetched_at,
            coalesce(%(now)s, fetched_at)
        FROM kept
        WHERE kind = 'article' AND ingestion_mode IN ('spider', 'both') AND depth < max_depth
        """,
        {
            "ids": [new_id() for _ in pages],
            "list_ids": [new_id() for _ in pages],
            "urls": [page.url for page in pages],
            "final_urls": [page.final_url for page in pages],
            "kinds": [page.kind.value for page in pages],
            "source_ids": [page.source_id for page in pages],
            "depths": [page.depth for page in pages],
            "content_types": [page.content_type for page in pages],
            "bodies": [page.body for page in pages],
            "fetched": [page.fetched_at for page in pages],
            "now": now,
        },
    )


async def claim(
    conn: Connection, *, kind: PageKind, lease: UUID, now: datetime, leased_until: datetime, limit: int
) -> list[Page]:
    """The longest-waiting pages of a kind, ours until the lease ends."""
    return await fetch_all(
        conn,
        Page,
        """
        WITH ready AS (
            SELECT id
            FROM pages
            WHERE kind = %(kind)s AND ready_at <= %(now)s
            ORDER BY ready_at
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        )
        UPDATE pages
        SET ready_at = %(leased_until)s, lease = %(lease)s, attempts = attempts + 1
        FROM ready
        WHERE pages.id = ready.id
        RETURNING pages.id, pages.lease, attempts - 1 AS attempts, url, final_url, kind, source_id, depth,
            content_type, body, fetched_at
        """,
        {"kind": kind.value, "lease": lease, "now": now, "leased_until": leased_until, "limit": limit},
    )


async def done(conn: Connection, *, pages: Sequence[Page]) -> list[UUID]:
    """These have been read and are forgotten. Returns those that were still ours: of the others nothing may be kept."""
    return await fetch_column(
        conn,
        """
        DELETE FROM pages
        USING unnest(%(ids)b::uuid[], %(leases)b::uuid[]) AS mine (id, lease)
        WHERE pages.id = mine.id AND pages.lease = mine.lease
        RETURNING pages.id
        """,
        {"ids": [page.id for page in pages], "leases": [page.lease for page in pages]},
    )


async def oldest_ready_at(conn: Connection, *, kind: PageKind, now: datetime) -> datetime | None:
    """Since when the longest-waiting page of a kind has been waiting."""
    return await fetch_value(
        conn,
        "SELECT ready_at FROM pages WHERE kind = %(kind)s AND ready_at <= %(now)s ORDER BY ready_at LIMIT 1",
        {"kind": kind.value, "now": now},
    )


async def forget_of_source(conn: Connection, *, source_id: SourceId, limit: int) -> int:
    """Delete pages of a removed source. Returns how many went."""
    cur = await conn.execute(
        """
        DELETE FROM pages
        WHERE id = ANY(ARRAY(SELECT id FROM pages WHERE source_id = %(source_id)s LIMIT %(limit)s))
        """,
        {"source_id": source_id, "limit": limit},
    )
    return cur.rowcount


async def repair_schedules(conn: Connection, *, now: datetime) -> int:
    """Make ready what waits for more than a day, as a clock that was ahead wrote it. Returns how many."""
    cur = await conn.execute(
        """
        UPDATE pages
        SET ready_at = %(now)s, lease = NULL
        WHERE ready_at > %(now)s::timestamptz + interval '1 day' AND ready_at < 'infinity'
        """,
        {"now": now},
    )
    return cur.rowcount
