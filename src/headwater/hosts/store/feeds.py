"""Hosts for polling: claimed when a feed is due, released with the breaker's state."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import args_row

from headwater.db import Connection
from headwater.hosts.keys import host_id_of, shard_of
from headwater.hosts.store.due import named_columns
from headwater.hosts.store.turns import HELD
from headwater.hosts.types import FeedRelease, HeldHost

FEED_DUE_AT: Final = (
    "coalesce((SELECT min(next_poll_at) FROM feed_state WHERE feed_state.host = hosts.name), 'infinity')"
)


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int, new_limit: int
) -> list[HeldHost]:
    """Claim hosts with a due feed; at most `new_limit` of them never answered, unless no others are ready."""
    cur = conn.cursor(binary=True, row_factory=args_row(HeldHost))
    statement = f"""
        WITH answering AS MATERIALIZED (
            SELECT shard, host_id, feeds_ready_at FROM hosts
            WHERE answered_at IS NOT NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
            ORDER BY feeds_ready_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        ), new AS MATERIALIZED (
            SELECT shard, host_id, feeds_ready_at FROM hosts
            WHERE answered_at IS NULL AND feed_due_at < 'infinity' AND feeds_ready_at <= %(now)s
            ORDER BY feeds_ready_at
            LIMIT greatest(%(new_limit)s, %(limit)s - (SELECT count(*) FROM answering))
            FOR UPDATE SKIP LOCKED
        ), ready AS MATERIALIZED (
            SELECT shard, host_id FROM (SELECT * FROM new UNION ALL SELECT * FROM answering) AS both_kinds
            ORDER BY feeds_ready_at LIMIT %(limit)s
        )
        UPDATE hosts SET lease = %(lease)s, free_at = %(leased_until)s, has_new_feed = false, claimed = 0,
            strikes = strikes + (lease IS NOT NULL AND claimed > 0)::integer
        FROM ready WHERE hosts.shard = ready.shard AND hosts.host_id = ready.host_id RETURNING {HELD}
    """
    values = {"lease": lease, "now": now, "leased_until": leased_until, "limit": limit, "new_limit": new_limit}
    await cur.execute(statement, values)
    return await cur.fetchall()


async def release_idle(conn: Connection, *, lease: UUID, hosts: Sequence[HeldHost]) -> None:
    """Release hosts of which no feed is due after all."""
    statement = f"""
        UPDATE hosts SET lease = NULL, free_at = greatest(not_before, paused_until), feed_due_at = {FEED_DUE_AT}
        FROM unnest(%(ids)s::bigint[]) AS given (host_id)
        WHERE hosts.shard = shard_of(given.host_id) AND hosts.host_id = given.host_id AND lease = %(lease)s
    """
    await conn.execute(statement, {"lease": lease, "ids": [host.host_id for host in hosts]})


async def release(conn: Connection, *, releases: Sequence[FeedRelease]) -> None:
    """Release hosts whose lease is still held. They are locked, and the results of their feeds are written."""
    statement = f"""
        UPDATE hosts SET lease = NULL, not_before = greatest(hosts.not_before, given.not_before),
            free_at = greatest(hosts.not_before, given.not_before, given.paused_until), feed_due_at = {FEED_DUE_AT},
            slowed = coalesce(given.slowed, 0), successes = coalesce(given.successes, 0), failing_sources = CASE
                WHEN EXISTS (SELECT FROM sources WHERE sources.id = given.source_id) THEN given.failing_sources
                ELSE array_remove(given.failing_sources, given.source_id)
            END,
            failure_class = given.failure_class, paused_until = given.paused_until, pauses = coalesce(given.pauses, 0),
            answered_at = coalesce(given.answered_at, hosts.answered_at)
        FROM jsonb_to_recordset(%(rows)s::jsonb) AS given (
            shard smallint, host_id bigint, lease uuid, source_id uuid, not_before timestamptz,
            answered_at timestamptz, slowed smallint, successes smallint, failing_sources uuid[], failure_class text,
            paused_until timestamptz, pauses integer
        )
        WHERE hosts.shard = given.shard AND hosts.host_id = given.host_id AND hosts.lease = given.lease
    """
    await conn.execute(statement, {"rows": msgspec.json.encode([_row(one) for one in releases]).decode()})


def _row(one: FeedRelease) -> dict[str, object]:
    release, state, host_id = one.release, one.state, host_id_of(one.release.host)
    row: dict[str, object] = {
        "shard": shard_of(host_id), "host_id": host_id, "lease": release.lease, "source_id": one.source_id,
        "not_before": release.not_before, "answered_at": release.answered_at,
    }  # fmt: skip
    if release.pace.slowed:
        row |= {"slowed": release.pace.slowed, "successes": release.pace.successes}
    if state.failure_class or state.paused_until:
        row |= {"failing_sources": state.failing_sources, "failure_class": state.failure_class, "pauses": state.pauses}
        row["paused_until"] = state.paused_until
    return row


async def bring_forward(conn: Connection, *, hosts: Sequence[str]) -> None:
    """Bring forward the next feed of these hosts, where one is due earlier than before."""
    statement = """
        UPDATE hosts SET feed_due_at = due.next_poll_at
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(names)s::text[]) AS given (shard, host_id, name)
        CROSS JOIN LATERAL (
            SELECT next_poll_at FROM feed_state WHERE feed_state.host = given.name ORDER BY next_poll_at LIMIT 1
        ) AS due
        WHERE hosts.shard = given.shard AND hosts.host_id = given.host_id AND feed_due_at > due.next_poll_at
    """
    await conn.execute(statement, named_columns(hosts))
