"""The rows of `deliveries`, and the columns of `channels` that say how far a channel is.

One worker at a time sends the deliveries of a channel, in the order of their revisions, under a lease. What is settled
is delivered or refused; `settled_to` spares a claim the rows that are settled. A replay goes over a range of revisions
once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from headwater.channels.types import (
    ChannelCounts,
    ChannelId,
    ChannelRevision,
    DeliveryRow,
    DeliveryState,
    DestinationKind,
    HourCount,
)
from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value

LAST_REVISION: Final = 2**63 - 1
_IS_WAITING: Final = "delivered_at IS NULL AND reason IS NULL"
_ROW: Final = "channel_id, revision, article_id, queued_at, delivered_at, attempts, reason"


@dataclass(frozen=True, slots=True)
class LeasedChannel:
    """What is needed to send its deliveries. `secret` is never logged."""

    id: ChannelId
    name: str
    destination: DestinationKind
    options: dict[str, Any]
    secret: str | None
    version: int
    failures: int
    lease: UUID

    def __repr__(self) -> str:
        return f"LeasedChannel({self.name!r})"


@dataclass(frozen=True, slots=True)
class DueDeliveries:
    """The next deliveries of a channel, all after a revision."""

    rows: Sequence[DeliveryRow]
    after: int
    is_replay: bool
    is_last: bool  # nothing else is due


async def lease_channels(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, limit: int
) -> list[LeasedChannel]:
    """Channels that have something to send, the longest ready first. Not that of the search index: its deliveries need
    no order, so workers share them (`documents`)."""
    statement = f"""
        WITH ready AS MATERIALIZED (
            SELECT id FROM channels
            WHERE ready_at <= %(now)s AND NOT is_paused AND destination <> 'search_index' AND (
                replay_to IS NOT NULL OR EXISTS (
                    SELECT FROM deliveries
                    WHERE channel_id = channels.id AND revision > channels.settled_to AND {_IS_WAITING}
                )
            )
            ORDER BY ready_at LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE channels SET ready_at = %(leased_until)s, lease = %(lease)s
        FROM ready WHERE channels.id = ready.id
        RETURNING channels.id, name, destination, options, secret, version, failures, lease
    """
    values = {"lease": lease, "now": now, "leased_until": leased_until, "limit": limit}
    rows = await fetch_all(conn, LeasedChannel, statement, values)
    return [replace(row, destination=DestinationKind(row.destination)) for row in rows]


async def read_due(
    conn: Connection, *, channel_id: ChannelId, lease: UUID, version: int, limit: int, after: int | None = None
) -> DueDeliveries | None:
    """The next deliveries, in order. None: the lease is lost, or the channel paused, changed or deleted.

    `after`: those after this revision, to read ahead of what is not settled yet.
    """
    state = await fetch_one(conn, _Position, _POSITION, {"id": channel_id, "lease": lease, "version": version})
    if state is None:
        return None
    if state.replay_after is None or state.replay_to is None:
        start = state.settled_to if after is None else after
        rows = await _read_waiting(conn, channel_id, start, limit)
        return DueDeliveries(rows, start, is_replay=False, is_last=len(rows) < limit)
    rows = await _read_again(conn, channel_id, state.replay_after, state.replay_to, limit)
    return DueDeliveries(rows, state.replay_after, is_replay=True, is_last=False)


@dataclass(frozen=True, slots=True)
class _Position:
    settled_to: int
    replay_after: int | None
    replay_to: int | None


_POSITION: Final = """
    SELECT settled_to, replay_after, replay_to FROM channels
    WHERE id = %(id)s AND lease = %(lease)s AND version = %(version)s AND NOT is_paused
"""


async def _read_waiting(conn: Connection, channel_id: ChannelId, after: int, limit: int) -> list[DeliveryRow]:
    statement = f"""
        SELECT {_ROW} FROM deliveries
        WHERE channel_id = %(id)s AND revision > %(after)s AND {_IS_WAITING} ORDER BY revision LIMIT %(limit)s
    """
    return await fetch_all(conn, DeliveryRow, statement, {"id": channel_id, "after": after, "limit": limit})


async def _read_again(conn: Connection, channel_id: ChannelId, after: int, to: int, limit: int) -> list[DeliveryRow]:
    statement = f"""
        SELECT {_ROW} FROM deliveries
        WHERE channel_id = %(id)s AND revision > %(after)s AND revision <= %(to)s AND reason IS NULL
        ORDER BY revision LIMIT %(limit)s
    """
    values = {"id": channel_id, "after": after, "to": to, "limit": limit}
    return await fetch_all(conn, DeliveryRow, statement, values)


async def settle(
    conn: Connection,
    *,
    channel_id: ChannelId,
    lease: UUID,
    version: int,
    due: DueDeliveries,
    delivered: Sequence[int],
    refused: Sequence[tuple[int, str]],
    leased_until: datetime,
    now: datetime,
) -> bool | None:
    """Write what became of the first of these deliveries: all up to the last one given here are settled.

    The lease is renewed. False if the channel was paused or changed meanwhile. None if the lease is lost; what was sent
    is marked in any case, so that it is not sent again.
    """
    last = max([*delivered, *(revision for revision, _ in refused)], default=None)
    if last is None and due.rows:
        return True
    # An operator may have moved the position back meanwhile, to retry or replay: then it stays.
    statement = """
        UPDATE channels
        SET ready_at = %(leased_until)s, delivered = delivered + %(count)s,
            delivered_at = CASE WHEN %(count)s > 0 THEN %(now)s ELSE delivered_at END,
            failures = 0, failed_since = NULL, reason = NULL,
            settled_to = CASE
                WHEN NOT %(is_replay)s AND settled_to = %(after)s AND NOT %(is_empty)s THEN %(last)s ELSE settled_to
            END,
            replay_after = CASE
                WHEN NOT %(is_replay)s OR replay_after <> %(after)s THEN replay_after
                WHEN NOT %(is_empty)s AND %(last)s < replay_to THEN %(last)s
            END,
            replay_to = CASE
                WHEN NOT %(is_replay)s OR replay_after <> %(after)s OR (NOT %(is_empty)s AND %(last)s < replay_to)
                THEN replay_to
            END
        WHERE id = %(id)s AND lease = %(lease)s
        RETURNING NOT is_paused AND version = %(version)s
    """
    values = {
        "id": channel_id, "lease": lease, "version": version, "leased_until": leased_until, "now": now,
        "count": len(delivered), "after": due.after, "last": last or 0, "is_replay": due.is_replay,
        "is_empty": not due.rows,
    }  # fmt: skip
    goes_on: bool | None = await fetch_value(conn, statement, values)  # the channel first, as operators lock them
    await _mark(conn, channel_id=channel_id, delivered=delivered, refused=refused, now=now)
    return goes_on


async def _mark(
    conn: Connection,
    *,
    channel_id: ChannelId,
    delivered: Sequence[int],
    refused: Sequence[tuple[int, str]],
    now: datetime,
) -> None:
    done = """
        UPDATE deliveries SET delivered_at = %(now)s, reason = NULL
        WHERE channel_id = %(id)s AND revision = ANY(%(revisions)s)
    """
    if delivered:
        await conn.execute(done, {"id": channel_id, "revisions": list(delivered), "now": now})
    if not refused:
        return
    statement = """
        UPDATE deliveries SET delivered_at = NULL, reason = given.reason, attempts = attempts + 1
        FROM unnest(%(revisions)s::bigint[], %(reasons)s::text[]) AS given (revision, reason)
        WHERE channel_id = %(id)s AND deliveries.revision = given.revision
    """
    revisions, reasons = [revision for revision, _ in refused], [reason for _, reason in refused]
    await conn.execute(statement, {"id": channel_id, "revisions": revisions, "reasons": reasons})


async def count_attempt(conn: Connection, *, channel_id: ChannelId, revision: int) -> None:
    """This delivery was refused alone, and no other was accepted: it may be the destination that fails."""
    statement = """
        UPDATE deliveries SET attempts = least(attempts + 1, 1000)
        WHERE channel_id = %(id)s AND revision = %(revision)s
    """
    await conn.execute(statement, {"id": channel_id, "revision": revision})


async def fail(
    conn: Connection, *, channel_id: ChannelId, lease: UUID, reason: str, until: datetime, now: datetime
) -> None:
    """The destination failed: nothing is sent to it until then, and the lease ends."""
    statement = """
        UPDATE channels
        SET ready_at = %(until)s, lease = NULL, failures = failures + 1, reason = %(reason)s,
            failed_since = coalesce(failed_since, %(now)s)
        WHERE id = %(id)s AND lease = %(lease)s
    """
    values = {"id": channel_id, "lease": lease, "reason": reason, "until": until, "now": now}
    await conn.execute(statement, values)


async def release(conn: Connection, *, channel_id: ChannelId, lease: UUID, now: datetime) -> None:
    statement = "UPDATE channels SET ready_at = %(now)s, lease = NULL WHERE id = %(id)s AND lease = %(lease)s"
    await conn.execute(statement, {"id": channel_id, "lease": lease, "now": now})


async def replay(conn: Connection, *, channel_id: ChannelId, since: datetime, now: datetime) -> int:
    """Send what was queued since a time again, in order, under the same ids; not what was refused. Returns how many.

    The channel is locked. A replay that is not finished yet is extended. One begins no later than with what waits, so
    that nothing is sent for the first time before what was queued earlier.
    """
    statement = """
        SELECT count(*) AS count, min(revision) AS first, max(revision) AS last FROM deliveries
        WHERE channel_id = %(id)s AND queued_at >= %(since)s AND reason IS NULL
    """
    found = await fetch_one(conn, _Range, statement, {"id": channel_id, "since": since})
    if found is None or found.first is None:
        return 0
    begin = f"""
        UPDATE channels
        SET replay_after = least(replay_after, %(after)s, (
                SELECT revision - 1 FROM deliveries
                WHERE channel_id = channels.id AND revision > channels.settled_to AND {_IS_WAITING}
                ORDER BY revision LIMIT 1
            )), replay_to = greatest(replay_to, %(to)s),
            ready_at = CASE WHEN lease IS NULL THEN %(now)s ELSE ready_at END
        WHERE id = %(id)s
    """
    await conn.execute(begin, {"id": channel_id, "after": found.first - 1, "to": found.last, "now": now})
    return found.count


@dataclass(frozen=True, slots=True)
class _Range:
    count: int
    first: int | None
    last: int | None


async def retry(conn: Connection, *, channel_id: ChannelId, revision: int | None, now: datetime) -> int:
    """Send dead letters again: one of them, or all. Returns how many. The channel is locked."""
    statement = """
        WITH again AS (
            UPDATE deliveries SET reason = NULL, attempts = 0
            WHERE channel_id = %(id)s AND reason IS NOT NULL
                AND revision = coalesce(%(revision)s::bigint, revision)
            RETURNING revision
        )
        SELECT count(*) AS count, min(revision) AS first, max(revision) AS last FROM again
    """
    found = await fetch_one(conn, _Range, statement, {"id": channel_id, "revision": revision})
    if found is None or found.first is None:
        return 0
    begin = """
        UPDATE channels
        SET settled_to = least(settled_to, %(after)s),
            ready_at = CASE WHEN lease IS NULL THEN %(now)s ELSE ready_at END
        WHERE id = %(id)s
    """
    await conn.execute(begin, {"id": channel_id, "after": found.first - 1, "now": now})
    return found.count


async def count(conn: Connection, *, channel_ids: Sequence[ChannelId], most: int, now: datetime) -> list[ChannelCounts]:
    """The deliveries of these channels; of those that wait or were refused, at most so many are counted."""
    statement = f"""
        SELECT channels.id AS channel_id, waiting.count AS waiting, refused.count AS refused, done.count AS last_hour,
            oldest.queued_at AS oldest_waiting_at
        FROM channels
        CROSS JOIN LATERAL (
            SELECT count(*) FROM (
                SELECT FROM deliveries
                WHERE channel_id = channels.id AND revision > channels.settled_to AND {_IS_WAITING} LIMIT %(most)s
            ) AS counted
        ) AS waiting
        CROSS JOIN LATERAL (
            SELECT count(*) FROM (
                SELECT FROM deliveries WHERE channel_id = channels.id AND reason IS NOT NULL LIMIT %(most)s
            ) AS counted
        ) AS refused
        CROSS JOIN LATERAL (
            SELECT count(*) FROM (
                SELECT FROM deliveries
                WHERE channel_id = channels.id AND delivered_at > %(hour_ago)s LIMIT %(most)s
            ) AS counted
        ) AS done
        LEFT JOIN LATERAL (
            SELECT queued_at FROM deliveries
            WHERE channel_id = channels.id AND revision > channels.settled_to AND {_IS_WAITING}
            ORDER BY revision LIMIT 1
        ) AS oldest ON true
        WHERE channels.id = ANY(%(ids)s)
        ORDER BY channels.name
    """
    values = {"ids": list(channel_ids), "most": most, "hour_ago": now - timedelta(hours=1)}
    return await fetch_all(conn, ChannelCounts, statement, values)


async def count_by_hour(conn: Connection, *, channel_id: ChannelId, since: datetime) -> list[HourCount]:
    """What a channel delivered since a time, by hours; hours without any are left out."""
    statement = """
        SELECT date_trunc('hour', delivered_at, 'UTC') AS at, count(*) AS delivered FROM deliveries
        WHERE channel_id = %(id)s AND delivered_at >= %(since)s GROUP BY 1 ORDER BY 1
    """
    return await fetch_all(conn, HourCount, statement, {"id": channel_id, "since": since})


async def oldest_waiting_at(conn: Connection) -> datetime | None:
    """When the delivery was queued that has waited longest, of channels that are not paused."""
    statement = f"""
        SELECT min(oldest.queued_at)
        FROM channels
        CROSS JOIN LATERAL (
            SELECT queued_at FROM deliveries
            WHERE channel_id = channels.id AND revision > channels.settled_to AND {_IS_WAITING}
            ORDER BY revision LIMIT 1
        ) AS oldest
        WHERE NOT is_paused
    """
    return await fetch_value(conn, statement)


async def list_page(
    conn: Connection, *, channel_id: ChannelId, state: DeliveryState | None, before: int | None, limit: int
) -> list[DeliveryRow]:
    """The newest deliveries of a channel in a state, or those before a revision."""
    revisions = await _list_revisions(conn, channel_id, state, before or LAST_REVISION, limit)
    statement = f"""
        SELECT page.*, articles.url, coalesce(nullif(content.title, ''), nullif(articles.title, ''), articles.url)
            AS title
        FROM (
            SELECT {_ROW} FROM deliveries WHERE channel_id = %(id)s AND revision = ANY(%(revisions)s)
        ) AS page
        LEFT JOIN LATERAL (
            SELECT url, title FROM articles WHERE articles.id = page.article_id OFFSET 0
        ) AS articles ON true
        LEFT JOIN LATERAL (
            SELECT title FROM content WHERE content.article_id = page.article_id OFFSET 0
        ) AS content ON true
        ORDER BY revision DESC
    """
    return await fetch_all(conn, DeliveryRow, statement, {"id": channel_id, "revisions": revisions})


async def _list_revisions(
    conn: Connection, channel_id: ChannelId, state: DeliveryState | None, before: int, limit: int
) -> list[int]:
    values = {"id": channel_id, "before": before, "limit": limit}
    match state:  # one statement each, so that each uses its own index
        case None:
            return await fetch_column(conn, f"{_REVISIONS} ORDER BY revision DESC LIMIT %(limit)s", values)
        case DeliveryState.WAITING:
            statement = f"{_REVISIONS} AND {_IS_WAITING} ORDER BY revision DESC LIMIT %(limit)s"
            return await fetch_column(conn, statement, values)
        case DeliveryState.REFUSED:
            return await fetch_column(
                conn, f"{_REVISIONS} AND reason IS NOT NULL ORDER BY revision DESC LIMIT %(limit)s", values
            )
        case DeliveryState.DELIVERED:
            return await fetch_column(
                conn, f"{_REVISIONS} AND delivered_at IS NOT NULL ORDER BY revision DESC LIMIT %(limit)s", values
            )


_REVISIONS: Final = "SELECT revision FROM deliveries WHERE channel_id = %(id)s AND revision < %(before)s"


async def list_after(conn: Connection, *, channel_id: ChannelId, after: int, limit: int) -> list[ChannelRevision]:
    """The articles of a channel after a revision, in order: nothing is added before what this returns."""
    statement = """
        SELECT revision, article_id, queued_at FROM deliveries
        WHERE channel_id = %(id)s AND revision > %(after)s ORDER BY revision LIMIT %(limit)s
    """
    return await fetch_all(conn, ChannelRevision, statement, {"id": channel_id, "after": after, "limit": limit})


async def list_newest(conn: Connection, *, channel_id: ChannelId, limit: int) -> list[ChannelRevision]:
    """The last articles of a channel, each once, the newest first."""
    statement = """
        SELECT revision, article_id, queued_at
        FROM (
            SELECT revision, article_id, queued_at,
                row_number() OVER (PARTITION BY article_id ORDER BY revision DESC) AS place
            FROM (
                SELECT revision, article_id, queued_at FROM deliveries
                WHERE channel_id = %(id)s ORDER BY revision DESC LIMIT 5 * %(limit)s
            ) AS newest
        ) AS placed
        WHERE place = 1 ORDER BY revision DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, ChannelRevision, statement, {"id": channel_id, "limit": limit})


async def last_revision(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT last_revision FROM publishing_state")


async def sweep(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete some of what was delivered before a time, and of what deleted channels left. Returns how many."""
    old = """
        DELETE FROM deliveries USING (
            SELECT channels.id, found.revision
            FROM channels
            CROSS JOIN LATERAL (
                SELECT revision FROM deliveries
                WHERE channel_id = channels.id AND delivered_at < %(before)s ORDER BY delivered_at LIMIT %(limit)s
            ) AS found
            WHERE replay_to IS NULL LIMIT %(limit)s
        ) AS found
        WHERE channel_id = found.id AND deliveries.revision = found.revision
    """
    orphaned = """
        WITH RECURSIVE known (channel_id) AS (
            (SELECT channel_id FROM deliveries ORDER BY channel_id LIMIT 1)
            UNION ALL
            SELECT (
                SELECT channel_id FROM deliveries WHERE channel_id > known.channel_id ORDER BY channel_id LIMIT 1
            )
            FROM known WHERE known.channel_id IS NOT NULL
        ), orphan AS (
            SELECT channel_id FROM known
            WHERE channel_id IS NOT NULL AND NOT EXISTS (SELECT FROM channels WHERE id = channel_id)
        )
        DELETE FROM deliveries USING (
            SELECT found.channel_id, found.revision
            FROM orphan
            CROSS JOIN LATERAL (
                SELECT channel_id, revision FROM deliveries
                WHERE channel_id = orphan.channel_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
            ) AS found
            LIMIT %(limit)s
        ) AS found
        WHERE deliveries.channel_id = found.channel_id AND deliveries.revision = found.revision
    """
    values = {"before": before, "limit": limit}
    return (await conn.execute(old, values)).rowcount + (await conn.execute(orphaned, values)).rowcount


async def repair_schedules(conn: Connection, *, now: datetime) -> int:
    """Make channels ready that wait for more than a day, as a clock that was ahead wrote it. Returns how many."""
    statement = """
        UPDATE channels SET ready_at = %(now)s, lease = NULL WHERE ready_at > %(now)s::timestamptz + interval '1 day'
    """
    return (await conn.execute(statement, {"now": now})).rowcount
