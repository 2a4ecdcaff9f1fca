"""Hosts for fetching: claimed by the band of their due URLs, released with the time of the next one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from psycopg.rows import args_row

from headwater.db import Connection, fetch_value
from headwater.hosts.arrays import key_columns, numbers, times, uuids
from headwater.hosts.keys import ALL_SHARDS, host_id_of, sorted_keys
from headwater.hosts.types import HeldHost, Release

EVERY_BAND = (0, 1, 2, 3)
FIRST_OF_BAND: Final = """
    SELECT next_fetch_at AS due_at FROM frontier_url
    WHERE shard = given.shard AND host_id = given.host_id AND next_fetch_at < 'infinity' AND band
"""
BY_TIME: Final = "ORDER BY next_fetch_at LIMIT 1"
FEEDS_FIRST = timedelta(minutes=1)
"""A feed that has been due for less than this goes before pages; after that they compete. So feeds are first where a
poller runs, and where none does, pages are fetched all the same."""


def parts(bands: Sequence[int], shards: Sequence[int]) -> dict[str, str]:
    """Every part of the queue, band by band."""
    return {
        "every_band": numbers([band for band in bands for _ in shards]),
        "every_shard": numbers([shard for _ in bands for shard in shards]),
    }


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, hosts: int, urls: int,
    bands: Sequence[int], shards: Sequence[int],
) -> list[HeldHost]:  # fmt: skip
    """Claim up to so many ready hosts, for so many URLs of each; for one URL where the lease before was lost. LATERAL
    joins run in the order given: band by band, no more than is needed."""
    cur = conn.cursor(binary=True, row_factory=args_row(HeldHost))
    statement = """
        WITH ready AS MATERIALIZED (
            SELECT free.*
            FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
            CROSS JOIN LATERAL (
                SELECT hosts.shard, host_id, pages_ready_at, free_at, lease IS NOT NULL AS was_lost,
                    strikes + (lease IS NOT NULL AND claimed > 0)::integer AS strikes
                FROM hosts
                WHERE hosts.shard = part.shard AND hosts.band = part.band AND page_due_at < 'infinity'
                    AND pages_ready_at <= %(now)s
                    AND (feed_due_at > %(now)s OR feed_due_at <= %(feeds_first)s)
                ORDER BY pages_ready_at LIMIT %(hosts)s FOR UPDATE SKIP LOCKED
            ) AS free
            LIMIT %(hosts)s
        )
        UPDATE hosts SET lease = %(lease)s, free_at = %(leased_until)s, strikes = ready.strikes,
            claimed = CASE WHEN ready.strikes = 0 THEN %(urls)s ELSE 1 END
        FROM ready WHERE hosts.shard = ready.shard AND hosts.host_id = ready.host_id
        RETURNING hosts.host_id, name, slowed, successes, robots_delay_ms, answered_at, hosts.strikes,
            ready.pages_ready_at, CASE WHEN was_lost THEN ready.free_at END
    """
    await cur.execute(
        statement,
        {**parts(bands, shards), "lease": lease, "now": now, "leased_until": leased_until,
         "feeds_first": now - FEEDS_FIRST, "hosts": hosts, "urls": urls},
    )  # fmt: skip
    return await cur.fetchall()


async def release(conn: Connection, *, releases: Sequence[Release]) -> None:
    """Release hosts whose lease is still held. They are locked, and the results of their URLs are written."""
    by_id = {host_id_of(one.host): one for one in releases}
    rows = [by_id[host_id] for _, host_id in sorted_keys(by_id)]
    await conn.execute(
        f"""
        WITH given AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(shards)s::smallint[], %(host_ids)s::bigint[], %(leases)s::uuid[], %(times)s::timestamptz[],
                %(paused)s::timestamptz[], %(answered)s::timestamptz[], %(slowed)s::smallint[],
                %(successes)s::smallint[]
            ) AS given (shard, host_id, lease, not_before, paused_until, answered_at, slowed, successes)
        ), first AS MATERIALIZED (
            SELECT given.*, band_0.due_at AS due_0, band_1.due_at AS due_1, band_2.due_at AS due_2,
                coalesce(least(band_0.due_at, band_1.due_at, band_2.due_at, band_3.due_at), 'infinity') AS due_at
            FROM given
            LEFT JOIN LATERAL ({FIRST_OF_BAND} = 0 {BY_TIME}) AS band_0 ON true
            LEFT JOIN LATERAL ({FIRST_OF_BAND} = 1 {BY_TIME}) AS band_1 ON true
            LEFT JOIN LATERAL ({FIRST_OF_BAND} = 2 {BY_TIME}) AS band_2 ON true
            LEFT JOIN LATERAL ({FIRST_OF_BAND} = 3 {BY_TIME}) AS band_3 ON true
        )
        UPDATE hosts
        SET lease = NULL, strikes = 0, claimed = 0, slowed = first.slowed, successes = first.successes,
            not_before = greatest(hosts.not_before, first.not_before),
            free_at = greatest(hosts.not_before, first.not_before, hosts.paused_until),
            pages_paused_until = first.paused_until,
            answered_at = greatest(hosts.answered_at, first.answered_at), page_due_at = first.due_at,
            band = CASE
                WHEN due_0 <= greatest(first.not_before, first.due_at) THEN 0
                WHEN due_1 <= greatest(first.not_before, first.due_at) THEN 1
                WHEN due_2 <= greatest(first.not_before, first.due_at) THEN 2
                ELSE 3
            END
        FROM first
        WHERE hosts.shard = first.shard AND hosts.host_id = first.host_id AND hosts.lease = first.lease
        """,
        {
            **key_columns(by_id),
            "leases": uuids([one.lease for one in rows]),
            "times": times([one.not_before for one in rows]),
            "paused": times([one.pages_paused_until for one in rows]),
            "answered": times([one.answered_at for one in rows]),
            "slowed": numbers([one.pace.slowed for one in rows]),
            "successes": numbers([one.pace.successes for one in rows]),
        },
    )


async def next_ready_at(conn: Connection, *, shards: Sequence[int] = ALL_SHARDS) -> datetime | None:
    """When the next host can be claimed, perhaps in the past; None if none waits."""
    statement = """
        SELECT min(pages_ready_at)
        FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
        CROSS JOIN LATERAL (
            SELECT pages_ready_at FROM hosts
            WHERE hosts.shard = part.shard AND hosts.band = part.band AND page_due_at < 'infinity'
            ORDER BY pages_ready_at LIMIT 1
        ) AS soonest
    """
    return await fetch_value(conn, statement, parts(EVERY_BAND, shards))
