"""Every statement on `images`. `ready_at` is when an image is fetched, or when its lease ends."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one, fetch_value
from headwater.images.types import ClaimedImage, ImageKind, SourceAddress, StoredImage, WantedIcon, WantedLead
from headwater.urls import host_of

LOOKED_AT = 500  # due images, of which one of each host is claimed


async def want_icons(conn: Connection, *, icons: Sequence[WantedIcon], now: datetime, settled: datetime) -> None:
    """Queue the icons of sources whose feed names another icon or site than before; at once, or, if they were last
    queued after `settled`, not at all: some feeds name another URL in every poll."""
    if not icons:
        return
    last = {icon.source_id: icon for icon in icons}
    ordered = [last[key] for key in sorted(last)]
    statement = """
        INSERT INTO images (owner_id, kind, url, page_url, host, wanted_at, ready_at)
        SELECT owner_id, 'icon', url, page_url, host, %(now)s, %(now)s
        FROM unnest(%(ids)s::uuid[], %(urls)s::text[], %(pages)s::text[], %(hosts)s::text[])
            AS wanted (owner_id, url, page_url, host)
        WHERE NOT EXISTS (
            SELECT FROM images
            WHERE images.owner_id = wanted.owner_id
                AND (images.url, images.page_url) IS NOT DISTINCT FROM (wanted.url, wanted.page_url)
        )
        ON CONFLICT (owner_id) DO UPDATE
        SET url = excluded.url, page_url = excluded.page_url, host = excluded.host, wanted_at = excluded.wanted_at,
            ready_at = excluded.ready_at, lease = NULL, tries = 0
        WHERE images.wanted_at < %(settled)s
    """
    hosts = [host_of(icon.url or icon.page_url or "") for icon in ordered]
    values = {
        "ids": [icon.source_id for icon in ordered], "urls": [icon.url for icon in ordered],
        "pages": [icon.page_url for icon in ordered], "hosts": hosts, "now": now, "settled": settled,
    }  # fmt: skip
    await conn.execute(statement, values)


async def want_leads(conn: Connection, *, leads: Sequence[WantedLead], now: datetime) -> None:
    """Queue the lead images of articles, where they are new or their URL has changed."""
    if not leads:
        return
    last = {lead.article_id: lead.url for lead in leads}
    ids = sorted(last)
    statement = """
        INSERT INTO images (owner_id, kind, url, host, wanted_at, ready_at)
        SELECT owner_id, 'lead', url, host, %(now)s, %(now)s
        FROM unnest(%(ids)s::uuid[], %(urls)s::text[], %(hosts)s::text[]) AS wanted (owner_id, url, host)
        WHERE NOT EXISTS (SELECT FROM images WHERE images.owner_id = wanted.owner_id AND images.url = wanted.url)
        ON CONFLICT (owner_id) DO UPDATE
        SET url = excluded.url, host = excluded.host, wanted_at = excluded.wanted_at, ready_at = excluded.ready_at,
            lease = NULL, tries = 0
    """
    urls = [last[one] for one in ids]
    await conn.execute(statement, {"ids": ids, "urls": urls, "hosts": [host_of(url) for url in urls], "now": now})


async def list_sources_without(conn: Connection, *, before: datetime, limit: int) -> list[SourceAddress]:
    """Sources older than that whose icon was never looked for: those without a feed, or whose feed does not change."""
    statement = """
        SELECT id, coalesce(url, feed_url) AS url
        FROM sources
        WHERE enabled AND created_at < %(before)s AND NOT EXISTS (SELECT FROM images WHERE images.owner_id = sources.id)
        LIMIT %(limit)s
    """
    return await fetch_all(conn, SourceAddress, statement, {"before": before, "limit": limit})


async def claim(
    conn: Connection, *, kinds: Sequence[ImageKind], busy_hosts: Collection[str], lease: UUID, now: datetime,
    leased_until: datetime, limit: int,
) -> list[ClaimedImage]:  # fmt: skip
    """Due images under a lease, at most one of each host: the newest first, since they are at the top of lists."""
    statement = """
        WITH due AS MATERIALIZED (
            SELECT owner_id, host, ready_at
            FROM images
            WHERE ready_at <= %(now)s AND kind = ANY (%(kinds)s) AND host <> ALL (%(busy)s)
            ORDER BY ready_at DESC LIMIT %(look)s
            FOR UPDATE SKIP LOCKED
        ), chosen AS (
            SELECT owner_id
            FROM (SELECT DISTINCT ON (host) owner_id, ready_at FROM due ORDER BY host, ready_at DESC) AS one
            ORDER BY ready_at DESC LIMIT %(limit)s
        )
        UPDATE images SET lease = %(lease)s, ready_at = %(leased_until)s
        FROM chosen WHERE images.owner_id = chosen.owner_id
        RETURNING images.owner_id, kind, url, page_url, host, tries, lease
    """
    values = {
        "kinds": [kind.value for kind in kinds], "busy": sorted(busy_hosts), "lease": lease, "now": now,
        "leased_until": leased_until, "look": LOOKED_AT, "limit": limit,
    }  # fmt: skip
    rows = await fetch_all(conn, ClaimedImage, statement, values)
    return [replace(row, kind=ImageKind(row.kind)) for row in rows]


async def find_same(conn: Connection, *, url: str) -> StoredImage | None:
    """The lead image of another article with the same URL."""
    statement = """
        SELECT data, digest FROM images WHERE url = %(url)s AND data IS NOT NULL AND kind = 'lead' LIMIT 1
    """
    return await fetch_one(conn, StoredImage, statement, {"url": url})


async def save(conn: Connection, *, image: ClaimedImage, found: StoredImage, again_at: datetime | None) -> None:
    """Store an image, unless its lease was lost."""
    statement = """
        UPDATE images
        SET data = %(data)b, digest = %(digest)s, ready_at = %(again_at)s, lease = NULL, tries = 0, reason = NULL
        WHERE owner_id = %(id)s AND lease = %(lease)s
    """
    values = {"id": image.owner_id, "lease": image.lease, "again_at": again_at}
    await conn.execute(statement, {**values, "data": found.data, "digest": found.digest})


async def note_failure(conn: Connection, *, image: ClaimedImage, reason: str, again_at: datetime | None) -> None:
    """An image that was stored before stays."""
    statement = """
        UPDATE images SET ready_at = %(again_at)s, lease = NULL, tries = tries + 1, reason = %(reason)s
        WHERE owner_id = %(id)s AND lease = %(lease)s
    """
    values = {"id": image.owner_id, "lease": image.lease, "again_at": again_at, "reason": reason}
    await conn.execute(statement, values)


async def put_off(conn: Connection, *, image: ClaimedImage, until: datetime) -> None:
    """The host is busy: that is no failure of the image."""
    statement = """
        UPDATE images SET ready_at = %(until)s, lease = NULL WHERE owner_id = %(id)s AND lease = %(lease)s
    """
    await conn.execute(statement, {"id": image.owner_id, "lease": image.lease, "until": until})


async def oldest_due_at(conn: Connection, *, now: datetime) -> datetime | None:
    statement = "SELECT min(ready_at) FROM images WHERE ready_at <= %(now)s"
    return await fetch_value(conn, statement, {"now": now})


async def remove_expired(conn: Connection, *, limit: int) -> int:
    """Delete images of articles that expired with their month. Kept articles are older than the first month."""
    statement = """
        WITH gone AS (
            SELECT owner_id
            FROM images
            WHERE kind = 'lead' AND owner_id < (SELECT first_id_of(min(month)) FROM article_months() AS month)
                AND NOT EXISTS (SELECT FROM articles WHERE articles.id = images.owner_id OFFSET 0)
            LIMIT %(limit)s
        ), deleted AS (
            DELETE FROM images USING gone WHERE images.owner_id = gone.owner_id RETURNING 1
        )
        SELECT count(*) FROM deleted
    """
    return await fetch_value(conn, statement, {"limit": limit})


async def remove_unfetched(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete lead images that have been waiting since before that time: their articles are no longer read."""
    statement = """
        WITH gone AS (
            SELECT owner_id
            FROM images
            WHERE kind = 'lead' AND data IS NULL AND ready_at IS NOT NULL AND wanted_at < %(before)s LIMIT %(limit)s
        ), deleted AS (
            DELETE FROM images USING gone WHERE images.owner_id = gone.owner_id RETURNING 1
        )
        SELECT count(*) FROM deleted
    """
    return await fetch_value(conn, statement, {"before": before, "limit": limit})


async def remove_beyond(conn: Connection, *, budget_bytes: int, limit: int) -> int:
    """Delete the lead images of the oldest articles, so that the others have at most so many bytes."""
    statement = """
        WITH ranked AS (
            SELECT owner_id, sum(octet_length(data)) OVER (ORDER BY owner_id DESC) AS total
            FROM images WHERE kind = 'lead' AND data IS NOT NULL
        ), gone AS (
            SELECT owner_id FROM ranked WHERE total > %(budget)s ORDER BY owner_id LIMIT %(limit)s
        ), deleted AS (
            DELETE FROM images USING gone WHERE images.owner_id = gone.owner_id RETURNING 1
        )
        SELECT count(*) FROM deleted
    """
    return await fetch_value(conn, statement, {"budget": budget_bytes, "limit": limit})


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime) -> int:
    """Make images due that wait beyond `latest`, or are leased for more than an hour, as a clock that was ahead wrote
    it; none counts as queued later than now. Returns how many."""
    statement = """
        UPDATE images
        SET wanted_at = least(wanted_at, %(now)s), lease = NULL,
            ready_at = CASE WHEN ready_at IS NOT NULL THEN %(now)s::timestamptz END
        WHERE ready_at > %(latest)s
            OR (lease IS NOT NULL AND ready_at > %(now)s::timestamptz + interval '1 hour')
            OR wanted_at > %(now)s::timestamptz + interval '1 hour'
    """
    return (await conn.execute(statement, {"now": now, "latest": latest})).rowcount
