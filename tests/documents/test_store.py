"""What waits for the search index: nothing before one listens, one row per URL, leases, the filling of a new index."""

import asyncio
from datetime import timedelta

import pytest

from headwater.db import Connection, Database
from headwater.documents import store
from headwater.documents.types import Action, ClaimedEntry, DocumentEntry
from headwater.ids import new_id
from headwater.types import ArticleId
from tests.clock import START
from tests.publishing.stored import extract, forget

pytestmark = pytest.mark.database

LATER = START + timedelta(minutes=5)


def an_entry(name: str = "a", *, version: int = 1, action: Action = Action.INDEX) -> DocumentEntry:
    return DocumentEntry(ArticleId(new_id()), name.encode().ljust(32), version, action)


async def queue(conn: Connection, *entries: DocumentEntry) -> None:
    await store.listen(conn, target="index")
    await store.enqueue(conn, entries=entries, now=START)


async def take(conn: Connection, *, limit: int = 10, minutes: float = 0) -> list[ClaimedEntry]:
    now = START + timedelta(minutes=minutes)
    return await store.claim(conn, lease=new_id(), now=now, leased_until=now + timedelta(minutes=1), limit=limit)


def names(claimed: list[ClaimedEntry]) -> list[str]:
    return sorted(entry.url_key.decode().strip() for entry in claimed)


async def test_nothing_is_queued_while_no_index_listens(conn: Connection) -> None:
    await store.enqueue(conn, entries=[an_entry()], now=START)

    assert await take(conn) == []


async def test_an_entry_is_claimed_once_and_again_when_the_lease_is_over(conn: Connection) -> None:
    await queue(conn, an_entry("a"))

    first, meanwhile, after = await take(conn), await take(conn), await take(conn, minutes=2)

    assert (names(first), names(meanwhile), names(after)) == (["a"], [], ["a"])
    assert [entry.attempts for entry in first + after] == [0, 1]


async def test_one_url_has_one_row_and_a_later_change_has_a_higher_version(conn: Connection) -> None:
    await queue(conn, an_entry("a", version=1))
    (first,) = await take(conn)

    await queue(conn, an_entry("a", version=2, action=Action.DELETE))
    (second,) = await take(conn)

    assert second.queued_version > first.queued_version
    assert (second.version, second.action) == (2, Action.DELETE)


async def test_the_last_of_two_changes_in_one_call_counts(conn: Connection) -> None:
    await queue(conn, an_entry("a", version=1), an_entry("b"), an_entry("a", version=2))

    assert sorted((entry.url_key[:1], entry.version) for entry in await take(conn)) == [(b"a", 2), (b"b", 1)]


async def test_what_changed_while_it_was_sent_is_not_acknowledged(conn: Connection) -> None:
    await queue(conn, an_entry("a"), an_entry("b"))
    claimed = await take(conn)
    await queue(conn, an_entry("a", version=2))

    gone = await store.acknowledge(conn, entries=claimed)

    assert gone == 1
    assert names(await take(conn)) == ["a"]


async def test_a_lost_lease_acknowledges_postpones_and_buries_nothing(conn: Connection) -> None:
    await queue(conn, an_entry("a"))
    late = await take(conn)
    current = await take(conn, minutes=2)

    await store.acknowledge(conn, entries=late)
    await store.postpone(conn, entries=late, until=START + timedelta(days=1))
    await store.postpone(conn, entries=late, until=START + timedelta(days=1), was_sent=False)
    await store.reject(conn, rejected=[(one, "too late") for one in late])

    assert (await store.count(conn)).dead == 0
    assert await store.acknowledge(conn, entries=current) == 1


async def test_a_postponed_entry_waits_and_counts_its_attempts(conn: Connection) -> None:
    await queue(conn, an_entry("a"))
    await store.postpone(conn, entries=await take(conn), until=LATER)

    early, due = await take(conn, minutes=4), await take(conn, minutes=5)

    assert (names(early), [entry.attempts for entry in due]) == ([], [1])


async def test_a_released_entry_has_no_failed_attempt(conn: Connection) -> None:
    await queue(conn, an_entry("a"))
    await store.postpone(conn, entries=await take(conn), until=START, was_sent=False)

    assert [entry.attempts for entry in await take(conn)] == [0]


async def test_a_buried_entry_is_kept_with_its_reason_until_a_newer_version_comes(conn: Connection) -> None:
    await queue(conn, an_entry("a"), an_entry("b"))
    await store.reject(conn, rejected=[(one, "why") for one in await take(conn)])

    dead = await store.list_refused(conn, limit=10)
    never = await take(conn, minutes=10**6)
    await queue(conn, an_entry("a", version=2))
    counts = await store.count(conn)

    assert [one.reason for one in dead] == ["why", "why"]
    assert never == []
    assert (counts.waiting, counts.dead) == (1, 1)
    assert names(await take(conn)) == ["a"]


async def test_the_dead_can_be_revived(conn: Connection) -> None:
    await queue(conn, an_entry("a"))
    await store.reject(conn, rejected=[(one, "why") for one in await take(conn)])

    assert await store.revive(conn, now=START) == 1
    assert names(await take(conn)) == ["a"]


async def test_the_oldest_entry_counts_also_while_it_is_postponed_or_changed_again(conn: Connection) -> None:
    await queue(conn, an_entry("a"))
    await store.postpone(conn, entries=await take(conn), until=LATER)
    await store.enqueue(conn, entries=[an_entry("a", version=2)], now=LATER)

    assert await store.oldest_at(conn) == START
    assert (await store.count(conn)).oldest_at == START


async def test_the_dead_do_not_count_as_waiting(conn: Connection) -> None:
    await queue(conn, an_entry("a"))
    await store.reject(conn, rejected=[(one, "why") for one in await take(conn)])

    assert await store.oldest_at(conn) is None


async def test_listening_again_to_the_same_index_changes_nothing(conn: Connection) -> None:
    assert [await store.listen(conn, target=target) for target in ("one", "one", "two")] == [True, False, True]


async def test_without_an_index_the_queue_is_emptied(conn: Connection) -> None:
    await queue(conn, an_entry("a"), an_entry("b"))

    assert await store.stop_listening(conn) == 2
    await store.enqueue(conn, entries=[an_entry()], now=START)
    assert (await store.count(conn)).waiting == 0


async def test_two_claims_at_once_share_nothing(database: Database) -> None:
    async with database.transaction() as conn:
        await queue(conn, *(an_entry(f"{number:02}") for number in range(20)))

    async with database.transaction() as one, database.transaction() as other:
        taken, rest = await take(one, limit=12), await take(other, limit=12)

    assert (len(taken), len(rest)) == (12, 8)
    assert not set(names(taken)) & set(names(rest))


async def fill(database: Database, *, limit: int = 2) -> int:
    async with database.transaction() as conn:
        return await store.fill(conn, now=START, limit=limit)


async def older_transactions_end(database: Database) -> None:
    """Other tests may use the same server at the same time."""
    async with asyncio.timeout(300):
        while True:
            async with database.transaction() as conn:
                cur = await conn.execute("SELECT since < pg_snapshot_xmin(pg_current_snapshot()) FROM search_index")
                if await cur.fetchone() == (True,):
                    return
            await asyncio.sleep(0.01)


async def test_older_content_is_queued_in_batches_for_a_new_index(database: Database) -> None:
    async with database.transaction() as conn:
        for number in range(5):
            await extract(conn, f"https://example.com/{number}", text=f"Text {number}")
        await store.listen(conn, target="index")

    await older_transactions_end(database)
    filled = [await fill(database) for _ in range(5)]

    async with database.transaction() as conn:
        counts = await store.count(conn)
    assert filled == [2, 2, 1, 0, 0]
    assert (counts.waiting, counts.is_listening, counts.is_filling) == (5, True, False)


async def test_what_a_transaction_wrote_that_knew_of_no_index_is_not_left_out(database: Database) -> None:
    async with database.transaction() as writer:
        await extract(writer, "https://example.com/1")
        async with database.transaction() as conn:
            await store.listen(conn, target="index")
        early = await fill(database)

    await older_transactions_end(database)
    assert early == 0
    assert await fill(database) == 1


async def test_filling_goes_on_after_a_restore_on_a_server_with_fewer_transactions(database: Database) -> None:
    async with database.transaction() as conn:
        await extract(conn, "https://example.com/1")
        await store.listen(conn, target="index")
        await conn.execute("UPDATE search_index SET since = '9000000000000'")  # as in the dump of a busy server

    async with database.transaction() as conn:
        is_due = await store.is_due(conn, now=START)

    assert (is_due, await fill(database)) == (True, 1)


async def test_filling_leaves_what_is_queued_already_and_revives_the_dead(database: Database) -> None:
    async with database.transaction() as conn:
        await store.listen(conn, target="index")
        await extract(conn, "https://example.com/1", text="One")
        await extract(conn, "https://example.com/2", text="Two")
        buried, queued = await take(conn)
        await store.reject(conn, rejected=[(buried, "why")])
        await store.postpone(conn, entries=[queued], until=START, was_sent=False)

    await older_transactions_end(database)
    await fill(database, limit=10)

    async with database.transaction() as conn:
        again = {entry.url_key: entry.queued_version for entry in await take(conn)}
    assert again == {entry.url_key: entry.queued_version for entry in (buried, queued)}


async def test_all_content_can_be_queued_again(database: Database) -> None:
    async with database.transaction() as conn:
        await store.listen(conn, target="index")
        await extract(conn, "https://example.com/1")
    await older_transactions_end(database)
    await fill(database)
    await fill(database)
    async with database.transaction() as conn:
        await store.acknowledge(conn, entries=await take(conn))
        assert await store.refill(conn)
    await older_transactions_end(database)

    assert await fill(database) == 1


async def test_a_forgotten_article_is_queued_as_a_deletion_that_is_newer(database: Database) -> None:
    async with database.transaction() as conn:
        await store.listen(conn, target="index")
        await extract(conn, "https://example.com/1")
        (before,) = await take(conn)

    await forget(database, "https://example.com/1")

    async with database.transaction() as conn:
        (after,) = await take(conn)
    assert (before.action, after.action) == (Action.INDEX, Action.DELETE)
    assert after.queued_version > before.queued_version


async def test_an_article_that_is_found_again_is_newer_than_its_deletion(database: Database) -> None:
    async with database.transaction() as conn:
        await store.listen(conn, target="index")
        await extract(conn, "https://example.com/1")
    await forget(database, "https://example.com/1")
    async with database.transaction() as conn:
        (deletion,) = await take(conn)
        await store.acknowledge(conn, entries=[deletion])

        await extract(conn, "https://example.com/1")

        (found,) = await take(conn)
    assert (found.action, found.version) == (Action.INDEX, 1)
    assert found.queued_version > deletion.queued_version


async def test_deleted_articles_are_not_queued_without_an_index(database: Database) -> None:
    async with database.transaction() as conn:
        await extract(conn, "https://example.com/1")

    await forget(database, "https://example.com/1")

    async with database.transaction() as conn:
        assert (await store.count(conn)).waiting == 0
