"""From when a host has feeds to poll or URLs to fetch."""

from collections.abc import Collection, Iterable
from datetime import datetime

from headwater.db import Connection
from headwater.hosts.arrays import key_columns, numbers, texts, times
from headwater.hosts.keys import host_id_of, host_key, sorted_keys
from headwater.hosts.types import Wake


async def lock(conn: Connection, *, host_ids: Iterable[int]) -> None:
    """Lock these hosts in the order of their keys. The next statement sees what others have committed."""
    statement = """
        SELECT
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[]) AS mine (shard, host_id)
        CROSS JOIN LATERAL (
            SELECT FROM hosts WHERE hosts.shard = mine.shard AND hosts.host_id = mine.host_id FOR UPDATE
        ) AS locked
    """
    await conn.execute(statement, key_columns(host_ids))


async def wake(
    conn: Connection, *, host: str, due_at: datetime, now: datetime, is_new: bool = False, lifts_pause: bool = False,
    wakes: Collection[Wake] = (),
) -> None:  # fmt: skip
    """`wake_for_feed` and `wake_for_pages` in one transaction, which may concern several hosts. All are locked first,
    in the order of their keys, so that two transactions do not deadlock. Missing rows are inserted for that."""
    if wakes:
        await _insert_missing(conn, names={host, *(one.name for one in wakes if one.name)})
        await lock(conn, host_ids={host_id_of(host), *(one.host_id for one in wakes)})
        await wake_for_pages(conn, wakes=wakes)
    await wake_for_feed(conn, host=host, due_at=due_at, now=now, is_new=is_new, lifts_pause=lifts_pause)


async def _insert_missing(conn: Connection, *, names: Iterable[str]) -> None:
    statement = """
        INSERT INTO hosts (shard, host_id, name)
        SELECT * FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(names)s::text[])
        ON CONFLICT ON CONSTRAINT hosts_pkey DO NOTHING
    """
    await conn.execute(statement, named_columns(names))


def named_columns(names: Iterable[str]) -> dict[str, str]:
    """The primary keys and names of hosts as arrays, in the order in which every transaction locks them."""
    by_id = {host_id_of(name): name for name in names}
    return {**key_columns(by_id), "names": texts([by_id[host_id] for _, host_id in sorted_keys(by_id)])}


async def wake_for_pages(conn: Connection, *, wakes: Iterable[Wake]) -> None:
    columns = wake_columns(wakes)
    if columns is None:
        return
    statement = """
        INSERT INTO hosts AS h (shard, host_id, name, band, page_due_at, url_count)
        SELECT shard, host_id, name, band, coalesce(due_at, 'infinity'), more
        FROM unnest(
            %(shards)s::smallint[], %(host_ids)s::bigint[], %(names)s::text[], %(bands)s::smallint[],
            %(times)s::timestamptz[], %(more)s::integer[]
        ) AS given (shard, host_id, name, band, due_at, more)
        ORDER BY shard, host_id
        ON CONFLICT ON CONSTRAINT hosts_pkey DO UPDATE
        SET url_count = h.url_count + excluded.url_count, band = CASE
                WHEN excluded.page_due_at = 'infinity' THEN h.band
                WHEN h.page_due_at = 'infinity' THEN excluded.band
                ELSE least(h.band, excluded.band)
            END, page_due_at = least(h.page_due_at, excluded.page_due_at)
        WHERE excluded.url_count <> 0 OR h.page_due_at > excluded.page_due_at
            OR (excluded.page_due_at < 'infinity' AND h.band > excluded.band)
    """
    await conn.execute(statement, columns)


def wake_columns(wakes: Iterable[Wake]) -> dict[str, str] | None:
    """One row per host as arrays, in the order of their keys; None if there are none."""
    hosts: dict[int, Wake] = {}
    for wake in wakes:
        other = hosts.get(wake.host_id)
        hosts[wake.host_id] = wake if other is None else _both(wake, other)
    if not hosts:
        return None
    rows = [hosts[host_id] for _, host_id in sorted_keys(hosts)]
    return {
        **key_columns(hosts),
        "names": texts([wake.name for wake in rows]),
        "bands": numbers([wake.band for wake in rows]),
        "times": times([wake.due_at for wake in rows]),
        "more": numbers([wake.more for wake in rows]),
    }


def _both(one: Wake, other: Wake) -> Wake:
    due = [wake.due_at for wake in (one, other) if wake.due_at is not None]
    return Wake(one.name, one.host_id, min(one.band, other.band), min(due, default=None), one.more + other.more)


async def wake_for_feed(
    conn: Connection, *, host: str, due_at: datetime, now: datetime, is_new: bool = False, lifts_pause: bool = False
) -> None:
    """A feed of this host is due then. A new feed is polled before all others. A user's request may end a pause of the
    breaker, never the delay, what the site asked for, or a lease."""
    await conn.execute(
        """
        INSERT INTO hosts AS h (shard, host_id, name, feed_due_at, has_new_feed)
        VALUES (%(shard)s, %(host_id)s, %(name)s, %(due_at)s, %(is_new)s)
        ON CONFLICT ON CONSTRAINT hosts_pkey DO UPDATE
        SET feed_due_at = least(h.feed_due_at, excluded.feed_due_at),
            has_new_feed = h.has_new_feed OR excluded.has_new_feed, free_at = CASE
                WHEN h.lease IS NOT NULL OR NOT %(lifts_pause)s THEN h.free_at
                WHEN %(is_new)s AND h.not_before <= %(now)s THEN '-infinity'
                ELSE least(h.free_at, h.not_before)
            END
        """,
        {**host_key(host), "name": host, "due_at": due_at, "now": now, "is_new": is_new, "lifts_pause": lifts_pause},
    )
