"""Deliveries: sent in order by one worker at a time, replayed and retried without losing any."""

from datetime import timedelta
from uuid import UUID

from headwater.channels.store import deliveries, records
from headwater.channels.store.deliveries import DueDeliveries
from headwater.channels.types import ChannelId, DeliveryState
from headwater.db import Connection, fetch_value
from headwater.ids import new_id
from tests.channels.given import a_channel, queue
from tests.clock import START

LEASE = timedelta(minutes=1)


async def take(conn: Connection, *, after: timedelta = timedelta(0), lease: UUID | None = None) -> list[ChannelId]:
    now = START + after
    found = await deliveries.lease_channels(
        conn, lease=lease or new_id(), now=now, leased_until=now + LEASE, limit=10
    )  # fmt: skip
    return [one.id for one in found]


async def due(conn: Connection, channel_id: ChannelId, lease: UUID, limit: int = 10) -> DueDeliveries:
    found = await deliveries.read_due(conn, channel_id=channel_id, lease=lease, version=1, limit=limit)
    assert found is not None
    return found


def revisions(found: DueDeliveries) -> list[int]:
    return [row.revision for row in found.rows]


async def settle(
    conn: Connection,
    channel_id: ChannelId,
    lease: UUID,
    found: DueDeliveries,
    delivered: list[int],
    refused: list[tuple[int, str]] | None = None,
) -> bool | None:
    return await deliveries.settle(
        conn, channel_id=channel_id, lease=lease, version=1, due=found, delivered=delivered, refused=refused or [],
        leased_until=START + LEASE, now=START,
    )  # fmt: skip


async def test_one_worker_at_a_time_has_a_channel_until_its_lease_ends(conn: Connection) -> None:
    channel = await a_channel(conn)
    await queue(conn, channel.id, [1])
    assert await take(conn) == [channel.id]
    assert await take(conn) == []
    assert await take(conn, after=LEASE) == [channel.id]


async def test_channels_that_are_paused_or_have_nothing_to_send_are_not_leased(conn: Connection) -> None:
    await a_channel(conn, "idle")
    paused = await a_channel(conn, "paused")
    await queue(conn, paused.id, [1])
    await records.set_paused(conn, channel_id=paused.id, is_paused=True, now=START)
    assert await take(conn) == []
    await records.set_paused(conn, channel_id=paused.id, is_paused=False, now=START)
    assert await take(conn) == [paused.id]


async def test_deliveries_are_read_in_order_and_each_once(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [5, 3, 9, 7])
    await take(conn, lease=lease)

    first = await due(conn, channel.id, lease, limit=3)
    assert (revisions(first), first.is_last) == ([3, 5, 7], False)
    assert await settle(conn, channel.id, lease, first, [3, 5], [(7, "too long")])
    second = await due(conn, channel.id, lease, limit=3)
    assert (revisions(second), second.is_last) == ([9], True)
    assert await settle(conn, channel.id, lease, second, [9])
    assert revisions(await due(conn, channel.id, lease)) == []

    [count] = await deliveries.count(conn, channel_ids=[channel.id], most=100, now=START)
    assert (count.waiting, count.refused, count.last_hour, count.oldest_waiting_at) == (0, 1, 3, None)
    assert (await records.find(conn, channel_id=channel.id)).delivered == 3


async def test_what_was_not_settled_stays_first(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1, 2, 3])
    await take(conn, lease=lease)
    found = await due(conn, channel.id, lease)
    await settle(conn, channel.id, lease, found, [1])
    assert revisions(await due(conn, channel.id, lease)) == [2, 3]


async def test_a_lost_lease_reads_nothing_and_marks_what_was_sent(conn: Connection) -> None:
    channel, lease, other = await a_channel(conn), new_id(), new_id()
    await queue(conn, channel.id, [1, 2])
    await take(conn, lease=lease)
    found = await due(conn, channel.id, lease)
    await take(conn, after=LEASE, lease=other)

    assert not await settle(conn, channel.id, lease, found, [1])
    assert await deliveries.read_due(conn, channel_id=channel.id, lease=lease, version=1, limit=10) is None
    assert revisions(await due(conn, channel.id, other)) == [2]


async def test_a_failing_destination_waits_and_keeps_since_when_and_why(conn: Connection) -> None:
    channel = await a_channel(conn)
    await queue(conn, channel.id, [1])
    for attempt in (1, 2):
        lease, now = new_id(), START + attempt * timedelta(minutes=5)
        await take(conn, after=attempt * timedelta(minutes=5), lease=lease)
        until = now + timedelta(minutes=5)
        await deliveries.fail(
            conn, channel_id=channel.id, lease=lease, reason=f"refused {attempt}", until=until, now=now
        )
        assert await take(conn, after=attempt * timedelta(minutes=5)) == []
    failed = await records.find(conn, channel_id=channel.id)
    assert (failed.failures, failed.reason, failed.failed_since) == (2, "refused 2", START + timedelta(minutes=5))

    lease = new_id()
    await take(conn, after=timedelta(minutes=15), lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease), [1])
    assert (await records.find(conn, channel_id=channel.id)).failures == 0


async def test_a_replay_sends_the_same_revisions_again_before_what_is_new(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1, 2, 3, 4])
    await take(conn, lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease), [1, 2, 4], [(3, "no")])
    await deliveries.release(conn, channel_id=channel.id, lease=lease, now=START)
    assert await take(conn) == []

    since = START + timedelta(seconds=1)
    assert await deliveries.replay(conn, channel_id=channel.id, since=since, now=START) == 2
    await queue(conn, channel.id, [5])
    await take(conn, lease=lease)
    again = await due(conn, channel.id, lease, limit=1)
    assert (revisions(again), again.is_replay) == ([2], True)
    await settle(conn, channel.id, lease, again, [2])
    again = await due(conn, channel.id, lease)
    assert (revisions(again), again.is_replay) == ([4], True)
    await settle(conn, channel.id, lease, again, [4])
    after = await due(conn, channel.id, lease)
    assert (revisions(after), after.is_replay) == ([5], False)
    assert not (await records.find(conn, channel_id=channel.id)).is_replaying


async def test_a_replay_does_not_send_what_waits_out_of_order(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1, 2, 3, 4])
    await take(conn, lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease), [1])
    since = START + timedelta(seconds=2)
    assert await deliveries.replay(conn, channel_id=channel.id, since=since, now=START) == 2
    assert revisions(await due(conn, channel.id, lease)) == [2, 3, 4]


async def test_a_replay_that_is_asked_for_during_another_is_not_lost(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1, 2, 3])
    await take(conn, lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease), [1, 2, 3])
    await deliveries.replay(conn, channel_id=channel.id, since=START + timedelta(seconds=2), now=START)
    found = await due(conn, channel.id, lease)
    await deliveries.replay(conn, channel_id=channel.id, since=START, now=START)
    await settle(conn, channel.id, lease, found, [3])
    assert revisions(await due(conn, channel.id, lease)) == [1, 2, 3]


async def test_a_replay_whose_deliveries_are_deleted_ends(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1])
    await deliveries.replay(conn, channel_id=channel.id, since=START, now=START)
    await conn.execute("DELETE FROM deliveries")
    assert await take(conn, lease=lease) == [channel.id]
    found = await due(conn, channel.id, lease)
    await settle(conn, channel.id, lease, found, [])
    assert not (await records.find(conn, channel_id=channel.id)).is_replaying


async def test_dead_letters_are_retried_also_while_others_are_sent(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1, 2, 3, 4])
    await take(conn, lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease, 3), [2], [(1, "a"), (3, "b")])
    found = await due(conn, channel.id, lease)
    assert revisions(found) == [4]
    assert await deliveries.retry(conn, channel_id=channel.id, revision=3, now=START) == 1
    await settle(conn, channel.id, lease, found, [4])
    assert revisions(await due(conn, channel.id, lease)) == [3]
    assert await deliveries.retry(conn, channel_id=channel.id, revision=None, now=START) == 1
    assert revisions(await due(conn, channel.id, lease)) == [1, 3]


async def test_the_page_of_deliveries_lists_each_state_newest_first(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1, 2, 3, 4])
    await take(conn, lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease), [1], [(2, "no")])

    async def page(state: DeliveryState | None, before: int | None = None) -> list[tuple[int, DeliveryState]]:
        rows = await deliveries.list_page(conn, channel_id=channel.id, state=state, before=before, limit=3)
        return [(row.revision, row.state) for row in rows]

    waiting, refused, done = DeliveryState.WAITING, DeliveryState.REFUSED, DeliveryState.DELIVERED
    assert await page(None) == [(4, waiting), (3, waiting), (2, refused)]
    assert await page(None, before=2) == [(1, done)]
    assert await page(waiting) == [(4, waiting), (3, waiting)]
    assert await page(refused) == [(2, refused)]
    assert await page(done) == [(1, done)]


async def test_a_channel_is_read_in_order_after_any_revision(conn: Connection) -> None:
    channel = await a_channel(conn)
    article = new_id()
    await queue(conn, channel.id, [2, 4, 6], article_ids=[article, new_id(), article])
    after = await deliveries.list_after(conn, channel_id=channel.id, after=2, limit=10)
    assert [one.revision for one in after] == [4, 6]
    newest = await deliveries.list_newest(conn, channel_id=channel.id, limit=10)
    assert [one.revision for one in newest] == [6, 4]


async def test_what_was_delivered_long_ago_and_what_deleted_channels_left_is_deleted(conn: Connection) -> None:
    channel, gone, lease = await a_channel(conn), await a_channel(conn, "gone"), new_id()
    await queue(conn, channel.id, [1, 2, 3])
    await queue(conn, gone.id, [1, 2])
    await records.remove(conn, channel_id=gone.id)
    await take(conn, lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease), [1], [(2, "no")])

    assert await deliveries.sweep(conn, before=START, limit=10) == 2
    assert await deliveries.sweep(conn, before=START + timedelta(seconds=1), limit=10) == 1
    assert await fetch_value(conn, "SELECT array_agg(revision ORDER BY revision) FROM deliveries") == [2, 3]


async def test_nothing_is_deleted_during_a_replay(conn: Connection) -> None:
    channel, lease = await a_channel(conn), new_id()
    await queue(conn, channel.id, [1])
    await take(conn, lease=lease)
    await settle(conn, channel.id, lease, await due(conn, channel.id, lease), [1])
    await deliveries.replay(conn, channel_id=channel.id, since=START, now=START)
    assert await deliveries.sweep(conn, before=START + timedelta(days=9), limit=10) == 0


async def test_a_lease_of_a_clock_that_was_ahead_is_repaired(conn: Connection) -> None:
    channel = await a_channel(conn)
    await queue(conn, channel.id, [1])
    await take(conn, after=timedelta(days=400))
    assert await take(conn) == []
    assert await deliveries.repair_schedules(conn, now=START) == 1
    assert await take(conn) == [channel.id]


async def test_the_lag_is_that_of_the_oldest_waiting_delivery(conn: Connection) -> None:
    channel = await a_channel(conn)
    assert await deliveries.oldest_waiting_at(conn) is None
    await queue(conn, channel.id, [1, 2])
    assert await deliveries.oldest_waiting_at(conn) == START
    await records.set_paused(conn, channel_id=channel.id, is_paused=True, now=START)
    assert await deliveries.oldest_waiting_at(conn) is None
