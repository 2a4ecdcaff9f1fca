"""Changes to known URLs: their schedule once their page was read, retries, deletion, another source, repair."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from headwater.db import Connection
from headwater.errors import InvalidUrl
from headwater.frontier.decide import recrawl
from headwater.frontier.keys import UrlKey, locate, url_key_of
from headwater.frontier.store.tables import GIVEN_KEYS, IS_GIVEN, KIND_OF, UrlChanges, key_columns, write_changes
from headwater.frontier.types import DEFAULTS, FrontierOptions, Settled
from headwater.hosts.arrays import numbers, texts, times
from headwater.hosts.keys import host_id_of, shard_of
from headwater.hosts.types import Wake
from headwater.types import SourceId

_RETRIED: Final = """
    SET status = 'p', next_fetch_at = %(now)s, retry_count = 0, failing_since = NULL, last_error = NULL
"""
_REPAIRED: Final = """
    next_fetch_at = CASE WHEN next_fetch_at < 'infinity' THEN %(now)s ELSE next_fetch_at END,
    last_fetched_at = CASE WHEN last_fetched_at > %(now)s THEN %(now)s ELSE last_fetched_at END
"""


async def settle(
    conn: Connection, *, contents: Sequence[Settled], now: datetime, options: FrontierOptions = DEFAULTS
) -> None:
    """Schedule fetched pages once they were read: how often they are fetched from now on, or never again."""
    by_key = {key: one for one in contents if (key := _key_or_none(one.url)) is not None}
    if not by_key:
        return
    changes = UrlChanges()
    pages: list[tuple[UrlKey, Settled, timedelta, datetime | None]] = []
    rows = await _fetched(conn, keys=sorted(by_key))
    for *columns, kind, interval_s, fetch_count, fetched_at, due_at, source_id, band in rows:
        key = UrlKey(*columns)
        page = by_key[key]
        before = None if interval_s is None else timedelta(seconds=interval_s)
        has_changed = page.changed if fetch_count > 1 else None
        interval, next_fetch_at = recrawl(
            KIND_OF[kind], before, fetched_at or now, has_changed=has_changed, options=options
        )
        if page.dead_reason:
            next_fetch_at = None
            changes.move(source_id, "f", "d")
        pages.append((key, page, interval, next_fetch_at))
        if next_fetch_at is not None and (due_at is None or next_fetch_at < due_at):
            changes.wake(key.host_id, band, next_fetch_at)
    if pages:
        await _settle(conn, pages=pages)
        await write_changes(conn, changes=changes)


def _key_or_none(url: str) -> UrlKey | None:
    try:
        return locate(url).key
    except InvalidUrl:
        return None


async def _fetched(conn: Connection, *, keys: Sequence[UrlKey]) -> list[tuple[Any, ...]]:
    statement = f"""
        SELECT page.*
        FROM {GIVEN_KEYS}
        CROSS JOIN LATERAL (
            SELECT shard, host_id, url_id, kind::text, interval_s, fetch_count, last_fetched_at,
                nullif(next_fetch_at, 'infinity'), source_id, band
            FROM frontier_url WHERE {IS_GIVEN} AND status = 'f' FOR UPDATE
        ) AS page
    """
    cur = await conn.execute(statement, key_columns(keys))
    return await cur.fetchall()


async def _settle(conn: Connection, *, pages: Sequence[tuple[UrlKey, Settled, timedelta, datetime | None]]) -> None:
    statement = f"""
        UPDATE frontier_url
        SET content_hash = coalesce(given.content_hash, frontier_url.content_hash), interval_s = given.interval_s,
            next_fetch_at = coalesce(given.next_fetch_at, 'infinity'), last_error = given.reason,
            status = CASE WHEN given.reason IS NULL THEN 'f' ELSE 'd' END::"char"
        FROM unnest(
            %(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[], %(times)s::timestamptz[],
            %(intervals)s::integer[], %(hashes)b::bytea[], %(reasons)s::text[]
        ) AS given (shard, host_id, url_id, next_fetch_at, interval_s, content_hash, reason)
        WHERE {IS_GIVEN}
    """
    await conn.execute(
        statement,
        {
            **key_columns([key for key, _, _, _ in pages]),
            "times": times([next_fetch_at for _, _, _, next_fetch_at in pages]),
            "intervals": numbers([int(interval.total_seconds()) for _, _, interval, _ in pages]),
            "hashes": [page.content_hash for _, page, _, _ in pages],
            "reasons": texts([page.dead_reason for _, page, _, _ in pages]),
        },
    )


async def revive_blocked(conn: Connection, *, host: str, now: datetime) -> int:
    """Retry the URLs of a host that robots.txt disallowed. Returns how many."""
    host_id = host_id_of(host)
    statement = f"""
        UPDATE frontier_url {_RETRIED} WHERE shard = %(shard)s AND host_id = %(host_id)s AND status = 'b'
        RETURNING source_id, band
    """
    cur = await conn.execute(statement, {"now": now, "shard": shard_of(host_id), "host_id": host_id})
    changes = UrlChanges()
    for source_id, band in await cur.fetchall():
        changes.requeue(host_id, source_id, band, now, "b")
    await write_changes(conn, changes=changes)
    return len(changes.wakes)


async def retry(
    conn: Connection, *, ids: Sequence[UUID], now: datetime, wakes: list[Wake] | None = None, is_unread: bool = False
) -> list[UUID]:
    """Retry URLs at once, with all their retries. Returns those that exist. `wakes` as in `write_changes`.

    `is_unread`: without validators, since the page is needed also if it has not changed.
    """
    statement = f"""
        WITH given AS MATERIALIZED (
            SELECT url.*
            FROM {GIVEN_KEYS}
            CROSS JOIN LATERAL (
                SELECT shard, host_id, url_id, status FROM frontier_url WHERE {IS_GIVEN} FOR UPDATE
            ) AS url
        )
        UPDATE frontier_url {_RETRIED}, etag = CASE WHEN NOT %(is_unread)s THEN etag END,
            last_modified = CASE WHEN NOT %(is_unread)s THEN last_modified END
        FROM given WHERE {IS_GIVEN}
        RETURNING frontier_url.host_id, frontier_url.url_id, source_id, band, given.status::text
    """
    keys = key_columns(sorted({url_key_of(one) for one in ids}))
    cur = await conn.execute(statement, {**keys, "now": now, "is_unread": is_unread})
    changes = UrlChanges()
    retried: set[UUID] = set()
    for host_id, url_id, source_id, band, letter in await cur.fetchall():
        changes.requeue(host_id, source_id, band, now, letter)
        retried.add(UrlKey(0, host_id, url_id).id)
    await write_changes(conn, changes=changes, wakes=wakes)
    return [one for one in ids if one in retried]


async def delete(conn: Connection, *, ids: Sequence[UUID], wakes: list[Wake] | None = None) -> list[UUID]:
    """Delete URLs and their aliases. Returns those that existed. `wakes` as in `write_changes`."""
    statement = f"""
        WITH given AS MATERIALIZED (SELECT * FROM {GIVEN_KEYS}), gone AS (
            DELETE FROM frontier_url USING given WHERE {IS_GIVEN}
            RETURNING frontier_url.host_id, frontier_url.url_id, source_id, status::text AS letter
        ), pointing AS (
            DELETE FROM frontier_alias USING given
            WHERE frontier_alias.to_host_id = given.host_id AND frontier_alias.to_url_id = given.url_id
        ), aliases AS (
            DELETE FROM frontier_alias USING given
            WHERE frontier_alias.shard = given.shard AND frontier_alias.host_id = given.host_id
                AND frontier_alias.url_id = given.url_id
            RETURNING frontier_alias.host_id, frontier_alias.url_id
        )
        SELECT host_id, url_id, source_id, letter FROM gone
        UNION ALL
        SELECT host_id, url_id, NULL, NULL FROM aliases
    """
    cur = await conn.execute(statement, key_columns(sorted({url_key_of(one) for one in ids})))
    changes = UrlChanges()
    deleted: set[UUID] = set()
    for host_id, url_id, source_id, letter in await cur.fetchall():
        deleted.add(UrlKey(0, host_id, url_id).id)
        if letter is not None:
            changes.remove(host_id, source_id, letter)
    await write_changes(conn, changes=changes, wakes=wakes)
    return [one for one in ids if one in deleted]


async def set_sources(conn: Connection, *, sources: Mapping[UUID, SourceId | None]) -> None:
    """Give URLs another source. Without one, what was not submitted stays only for readers who keep its article."""
    rows = sorted((url_key_of(one), to) for one, to in sources.items())
    statement = f"""
        WITH keys AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[], %(source_ids)b::uuid[]
            ) AS given (shard, host_id, url_id, source_id)
        ), given AS MATERIALIZED (
            SELECT url.*, given.source_id AS new_source_id
            FROM keys AS given
            CROSS JOIN LATERAL (
                SELECT shard, host_id, url_id, source_id FROM frontier_url WHERE {IS_GIVEN} FOR UPDATE
            ) AS url
        )
        UPDATE frontier_url
        SET source_id = given.new_source_id,
            origin = CASE WHEN given.new_source_id IS NULL AND origin <> 'm' THEN 'v' ELSE origin END
        FROM given WHERE {IS_GIVEN} RETURNING given.source_id, given.new_source_id, status::text
    """
    cur = await conn.execute(statement, {**key_columns([key for key, _ in rows]), "source_ids": [to for _, to in rows]})
    changes = UrlChanges()
    for before, after, letter in await cur.fetchall():
        changes.count(before, letter, -1)
        changes.count(after, letter, 1)
    await write_changes(conn, changes=changes)


async def find_submitted(conn: Connection, *, urls: Sequence[str], except_for: SourceId | None = None) -> set[str]:
    """Those of these URLs that were submitted manually, other than for the given source, or that a sitemap or list of
    links without a source names."""
    by_key = {key: url for url in urls if (key := _key_or_none(url)) is not None}
    if not by_key:
        return set()
    statement = f"""
        SELECT shard, host_id, url_id
        FROM {GIVEN_KEYS}
        JOIN frontier_url USING (shard, host_id, url_id)
        WHERE (origin = 'm' AND source_id IS DISTINCT FROM %(except_for)s::uuid)
            OR (origin IN ('x', 's') AND source_id IS NULL)
    """
    cur = await conn.execute(statement, {**key_columns(sorted(by_key)), "except_for": except_for})
    return {by_key[UrlKey(*row)] for row in await cur.fetchall()}


async def delete_counts(conn: Connection, *, source_id: SourceId) -> None:
    """Delete the counters of a removed source. Waits for a `tidy` that is summing them up."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtext('frontier_tally'))")
    await conn.execute("DELETE FROM frontier_tally WHERE source_id = %(source_id)s", {"source_id": source_id})


async def tidy(conn: Connection, *, now: datetime) -> int:
    """Sum up the counters that batches inserted, and delete expired aliases. Returns how many counters are left."""
    statement = """
        WITH turn AS MATERIALIZED (
            SELECT pg_try_advisory_xact_lock(hashtext('frontier_tally')) AS is_mine
        ), noted AS (
            DELETE FROM frontier_tally WHERE (SELECT is_mine FROM turn)
            RETURNING source_id, pending, fetched, failed, dead
        )
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT source_id, sum(pending), sum(fetched), sum(failed), sum(dead) FROM noted GROUP BY source_id
    """
    cur = await conn.execute(statement)
    await conn.execute("DELETE FROM frontier_alias WHERE expires_at <= %(now)s", {"now": now})
    return cur.rowcount


async def postpone(
    conn: Connection, *, hosts: Sequence[str], source_ids: Sequence[SourceId], url_ids: Sequence[UUID] = (),
    now: datetime, until: datetime,
) -> set[str]:  # fmt: skip
    """Postpone due URLs of the owners of these sources, and these URLs, at the hosts where URLs of others are due.
    Returns these hosts. Of each host the first 1,000 due URLs are looked at: there may be 500,000."""
    statement = """
        WITH due AS MATERIALIZED (
            SELECT first.*, coalesce(coalesce(submitted_by, id) IN (
                SELECT coalesce(submitted_by, id) FROM sources WHERE id = ANY(%(source_ids)s::uuid[])
            ), false) OR (first.host_id, first.url_id) IN (
                SELECT * FROM unnest(%(key_host_ids)s::bigint[], %(key_url_ids)s::bigint[])
            ) AS is_theirs
            FROM unnest(%(host_ids)s::bigint[]) AS given (host_id)
            CROSS JOIN LATERAL (
                SELECT shard, frontier_url.host_id, url_id, source_id FROM frontier_url
                WHERE shard = shard_of(given.host_id) AND frontier_url.host_id = given.host_id
                    AND band = ANY ('{0,1,2,3}') AND next_fetch_at <= %(now)s AND next_fetch_at < 'infinity'
                LIMIT 1000
            ) AS first
            LEFT JOIN sources ON sources.id = first.source_id
        ), locked AS MATERIALIZED (
            SELECT shard, host_id, url_id FROM frontier_url JOIN due USING (shard, host_id, url_id)
            WHERE is_theirs AND host_id IN (SELECT host_id FROM due WHERE NOT is_theirs)
            ORDER BY shard, host_id, url_id FOR UPDATE OF frontier_url
        )
        UPDATE frontier_url AS url SET next_fetch_at = %(until)s FROM locked
        WHERE (url.shard, url.host_id, url.url_id) = (locked.shard, locked.host_id, locked.url_id)
        RETURNING url.host_id
    """
    by_id = {host_id_of(host): host for host in hosts}
    keys = [url_key_of(one) for one in url_ids]
    values = {
        "host_ids": list(by_id), "source_ids": list(source_ids), "now": now, "until": until,
        "key_host_ids": [key.host_id for key in keys], "key_url_ids": [key.url_id for key in keys],
    }  # fmt: skip
    return {by_id[row[0]] for row in await (await conn.execute(statement, values)).fetchall()}


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime, thoroughly: bool) -> None:
    """Make URLs due whose wait is longer than any allowed, as a clock that was ahead wrote it. URLs discovered by that
    clock are always repaired; all others only `thoroughly`, which reads the whole table."""
    discovered = f"""
        UPDATE frontier_url SET {_REPAIRED}, discovered_at = %(now)s
        WHERE discovered_at > %(now)s::timestamptz + interval '1 hour'
    """
    await conn.execute(discovered, {"now": now})
    if thoroughly:
        others = f"""
            UPDATE frontier_url
            SET {_REPAIRED}, failing_since = CASE WHEN failing_since > %(now)s THEN %(now)s ELSE failing_since END
            WHERE (next_fetch_at > %(latest)s AND next_fetch_at < 'infinity')
                OR greatest(last_fetched_at, failing_since) > %(now)s::timestamptz + interval '1 hour'
        """
        await conn.execute(others, {"now": now, "latest": latest})
