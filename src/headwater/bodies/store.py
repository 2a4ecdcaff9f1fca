"""Every statement on `bodies` and `daily_reads`, and the source that a page is read for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.bodies.types import ClaimedBody, NewBody, PageSource
from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value
from headwater.ids import new_id
from headwater.types import PageKind, SourceId, UserId

# Whose bodies are read in turn: those of the user who added the source, or of a source of an operator. Those of pages
# that a user saved are that user's.
_OWNER: Final = "hashtextextended(coalesce(submitted_by, sources.id)::text, 0)"


async def keep(
    conn: Connection,
    *,
    bodies: Sequence[NewBody],
    now: datetime | None = None,
    readers: Mapping[str, UserId] | None = None,
) -> None:
    """Store bodies until they are read; an article of a spidered source twice, the second time for its links.
    `readers` are those who saved pages, by URL.

    They wait from `now` on, or else from when they were fetched: time in the fetcher is not waiting of the next stage.
    A body of a source that was deleted since its URL was claimed is dropped. Large bodies take turns with those of
    other owners: reading takes up to two seconds per megabyte.
    """
    if not bodies:
        return
    await conn.execute(
        f"""
        WITH given AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(ids)b::uuid[], %(list_ids)b::uuid[], %(urls)b::text[], %(final_urls)b::text[], %(kinds)b::text[],
                %(source_ids)b::uuid[], %(depths)b::smallint[], %(content_types)b::text[], %(bodies)b::bytea[],
                %(fetched)b::timestamptz[], %(readers)b::uuid[]
            ) AS given (id, list_id, url, final_url, kind, source_id, depth, content_type, body, fetched_at, reader)
        ), kept AS (
            SELECT given.*, coalesce(%(now)s, fetched_at) AS ready_at, sources.ingestion_mode, sources.max_depth,
                coalesce({_OWNER}, hashtextextended(reader::text, 0)) AS owner,
                length(given.body) * interval '2 microseconds' AS cost
            FROM given
            LEFT JOIN sources ON sources.id = given.source_id
            WHERE given.source_id IS NULL OR sources.id IS NOT NULL
        ), copied AS (
            SELECT id, kind, id AS body_id FROM kept
            UNION ALL
            SELECT list_id, 'list', id
            FROM kept WHERE kind = 'article' AND ingestion_mode IN ('spider', 'both') AND depth < max_depth
        )
        INSERT INTO bodies (
            id, url, final_url, kind, source_id, depth, content_type, body, fetched_at, ready_at, owner, turn_at
        )
        SELECT copied.id, url, final_url, copied.kind, source_id, depth, content_type, body, fetched_at, ready_at,
            owner, greatest(ready_at, last.turn_at) + sum(cost) OVER (
                PARTITION BY coalesce(owner::text, copied.id::text), copied.kind ORDER BY fetched_at, copied.id
            )
        FROM copied
        JOIN kept ON kept.id = copied.body_id
        CROSS JOIN LATERAL (
            SELECT max(turn_at) AS turn_at FROM bodies WHERE bodies.owner = kept.owner AND bodies.kind = copied.kind
        ) AS last
        """,
        {
            "ids": [new_id() for _ in bodies], "list_ids": [new_id() for _ in bodies],
            "urls": [one.url for one in bodies], "final_urls": [one.final_url for one in bodies],
            "kinds": [one.kind.value for one in bodies], "source_ids": [one.source_id for one in bodies],
            "depths": [one.depth for one in bodies], "content_types": [one.content_type for one in bodies],
            "bodies": [one.body for one in bodies], "fetched": [one.fetched_at for one in bodies], "now": now,
            "readers": [(readers or {}).get(one.url) for one in bodies],
        },
    )  # fmt: skip


async def claim(
    conn: Connection, *, kind: PageKind, lease: UUID, now: datetime, leased_until: datetime, limit: int
) -> list[ClaimedBody]:
    return await fetch_all(
        conn,
        ClaimedBody,
        """
        WITH ready AS (
            SELECT id FROM bodies WHERE kind = %(kind)s AND ready_at <= %(now)s ORDER BY turn_at
            LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        UPDATE bodies SET ready_at = %(leased_until)s, lease = %(lease)s, attempts = attempts + 1 FROM ready
        WHERE bodies.id = ready.id
        RETURNING bodies.id, bodies.lease, attempts - 1 AS attempts, url, final_url, kind, source_id, depth,
            content_type, body, fetched_at
        """,
        {"kind": kind.value, "lease": lease, "now": now, "leased_until": leased_until, "limit": limit},
    )


async def done(conn: Connection, *, bodies: Sequence[ClaimedBody]) -> list[UUID]:
    """Delete bodies that were read. Returns those whose lease was still held: results of the others are discarded."""
    statement = """
        DELETE FROM bodies USING unnest(%(ids)b::uuid[], %(leases)b::uuid[]) AS mine (id, lease)
        WHERE bodies.id = mine.id AND bodies.lease = mine.lease RETURNING bodies.id
    """
    return await fetch_column(
        conn, statement, {"ids": [one.id for one in bodies], "leases": [one.lease for one in bodies]}
    )


async def oldest_ready_at(conn: Connection, *, kind: PageKind, now: datetime) -> datetime | None:
    statement = "SELECT ready_at FROM bodies WHERE kind = %(kind)s AND ready_at <= %(now)s ORDER BY ready_at LIMIT 1"
    return await fetch_value(conn, statement, {"kind": kind.value, "now": now})


async def list_backlogged(conn: Connection, *, source_ids: Sequence[SourceId], after: datetime) -> set[SourceId]:
    """Sources whose owner has a body waiting whose turn comes after this time."""
    statement = f"""
        SELECT id FROM sources
        WHERE id = ANY(%(ids)s::uuid[]) AND EXISTS (
            SELECT FROM bodies
            WHERE owner = {_OWNER}
                AND kind IN ('article', 'sitemap', 'list') AND turn_at > %(after)s
        )
    """
    return set(await fetch_column(conn, statement, {"ids": list(source_ids), "after": after}))


async def delete_of_source(conn: Connection, *, source_id: SourceId, limit: int) -> int:
    statement = """
        DELETE FROM bodies
        WHERE id = ANY(ARRAY(SELECT id FROM bodies WHERE source_id = %(source_id)s LIMIT %(limit)s))
    """
    cur = await conn.execute(statement, {"source_id": source_id, "limit": limit})
    return cur.rowcount


async def repair_schedules(conn: Connection, *, now: datetime) -> int:
    """Make ready what a clock that was ahead stored, or leased for more than a day. Returns how many."""
    statement = """
        UPDATE bodies SET ready_at = %(now)s, turn_at = %(now)s, lease = NULL
        WHERE ready_at < 'infinity'
            AND ready_at > %(now)s::timestamptz + CASE WHEN lease IS NULL THEN interval '5 min' ELSE '1 day' END
    """
    cur = await conn.execute(statement, {"now": now})
    return cur.rowcount


async def find_source(conn: Connection, *, source_id: SourceId) -> PageSource | None:
    statement = """
        SELECT id, array_remove(ARRAY[url, feed_url], NULL) AS addresses, sitemap_url, ingestion_mode,
            article_url_patterns, external_links, max_depth, page_budget, priority, enabled
        FROM sources WHERE id = %(id)s
        FOR KEY SHARE  -- it is not deleted while what was read for it is written
    """
    return await fetch_one(conn, PageSource, statement, {"id": source_id})


async def spend(conn: Connection, *, source_id: SourceId, kind: PageKind, now: datetime, count: int) -> int:
    """Add requests to what the source has used of its budget of the day. Returns the new count."""
    statement = """
        INSERT INTO daily_reads (source_id, kind, last_read_at, day, spent)
        VALUES (%(source_id)s, %(kind)s, %(now)s, (%(now)s::timestamptz AT TIME ZONE 'UTC')::date, %(count)s)
        ON CONFLICT (source_id, kind) DO UPDATE SET last_read_at = excluded.last_read_at, day = excluded.day,
            spent = excluded.spent + CASE WHEN daily_reads.day = excluded.day THEN daily_reads.spent ELSE 0 END
        RETURNING spent
    """
    return await fetch_value(conn, statement, {"source_id": source_id, "kind": kind.value, "now": now, "count": count})
