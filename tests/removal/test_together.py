"""Following, leaving, deleting and removing at the same time, on connections of their own."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headwater.accounts.store import users as users_store
from headwater.articles.store import links, records
from headwater.db import Connection, Database
from headwater.errors import AlreadySubscribed, FeedNotFound
from headwater.library.types import Subscription
from headwater.sources.mover import merge
from headwater.sources.store import sources
from headwater.sources.subscribe import add_feed, drop_feed, leave_unwanted
from headwater.types import SourceId, UserId
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.removal.builders import a_full_source, a_user, count, list_articles, subscribe, tables_with
from tests.removals import remove_all

pytestmark = pytest.mark.database

FEED = "https://shared.example/feed"


async def follows(database: Database, user_id: UserId, url: str = FEED) -> Subscription:
    async with database.as_system() as conn:
        return await add_feed(conn, user_id=user_id, name="Shared", url=url, now=START)


async def leaves(database: Database, user_id: UserId, subscription: Subscription) -> None:
    async with database.as_system() as conn:
        source_id = await drop_feed(conn, user_id=user_id, subscription_id=subscription.id)
    async with database.as_system() as conn:
        await leave_unwanted(conn, [source_id], START)


async def users(database: Database, number: int) -> list[UserId]:
    async with database.as_system() as conn:
        return [await a_user(conn, f"{one}@example.com") for one in range(number)]


async def followed(database: Database) -> set[tuple[UserId, str]]:
    """Who follows which feed that exists."""
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            SELECT user_id, sources.feed_url
            FROM subscriptions
            JOIN sources ON sources.id = subscriptions.source_id
            JOIN feed_state ON feed_state.source_id = sources.id
            """
        )
        return set(await cur.fetchall())


async def waits_for_a_lock(database: Database) -> None:
    """Returns when a connection waits for a lock."""
    while True:
        async with database.as_system() as conn:
            cur = await conn.execute(
                """
                SELECT
                FROM pg_locks
                WHERE NOT granted
                    AND pid IN (
                        SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database
                        WHERE datname = current_database()
                    )
                """
            )
            if cur.rowcount:
                return
        await asyncio.sleep(0.01)


async def test_a_feed_that_is_followed_while_its_last_reader_leaves_is_followed(database: Database) -> None:
    ada, bob = await users(database, 2)
    hers = await follows(database, ada)
    async with database.as_system() as conn:
        await drop_feed(conn, user_id=ada, subscription_id=hers.id)

    async with database.as_system() as conn:  # the source is locked and deleted, and that is not committed yet
        await leave_unwanted(conn, [hers.source_id], START)
        following = asyncio.create_task(follows(database, bob))
        await waits_for_a_lock(database)
    his = await following
    await remove_all(database)

    assert his.source_id != hers.source_id
    assert await followed(database) == {(bob, FEED)}


async def test_a_last_reader_who_leaves_while_the_feed_is_followed_leaves_it_to_the_other(database: Database) -> None:
    ada, bob = await users(database, 2)
    hers = await follows(database, ada)

    async with database.as_system() as conn:  # the subscription is added, and that is not committed yet
        his = await add_feed(conn, user_id=bob, name="Shared", url=FEED, now=START)
        leaving = asyncio.create_task(leaves(database, ada, hers))
        await waits_for_a_lock(database)
    await leaving
    await remove_all(database)

    assert his.source_id == hers.source_id
    assert await followed(database) == {(bob, FEED)}


async def test_a_source_goes_when_its_last_two_readers_leave_at_the_same_time(database: Database) -> None:
    readers = await users(database, 2)
    subscriptions = [await follows(database, reader) for reader in readers]

    await asyncio.gather(*(leaves(database, *pair) for pair in zip(readers, subscriptions, strict=True)))
    await remove_all(database)

    assert await count(database, "sources") == 0
    assert await count(database, "source_ids") == 0


async def test_two_readers_who_add_the_same_new_feed_at_the_same_time_share_it(database: Database) -> None:
    ada, bob = await users(database, 2)

    async with database.as_system() as conn:
        hers = await add_feed(conn, user_id=ada, name="Shared", url=FEED, now=START)
        following = asyncio.create_task(follows(database, bob))
        await waits_for_a_lock(database)
    his = await following

    assert his.source_id == hers.source_id
    assert await followed(database) == {(ada, FEED), (bob, FEED)}


async def test_a_source_left_by_a_process_that_died_before_deleting_it_is_deleted(database: Database) -> None:
    (ada,) = await users(database, 1)
    hers = await follows(database, ada)
    async with database.as_system() as conn:
        await drop_feed(conn, user_id=ada, subscription_id=hers.id)

    await remove_all(database)

    assert await count(database, "sources") == 0


@pytest.mark.parametrize("seed", range(3))
async def test_no_subscription_is_lost_however_following_leaving_and_removing_meet(
    seed: int, conninfo: str, database: Database
) -> None:
    """Each reader knows what they follow by what they were told; in the end that is what is there."""
    chance = random.Random(seed)
    readers = await users(database, 4)
    feeds = [f"https://{name}.example/feed" for name in "abc"]
    told: dict[tuple[UserId, str], Subscription] = {}
    is_over = False

    async def read(reader: UserId, steps: list[tuple[str, float]]) -> None:
        for feed, pause in steps:
            held = told.pop((reader, feed), None)
            if held is None:
                try:
                    told[reader, feed] = await follows(database, reader, feed)
                except AlreadySubscribed:
                    pytest.fail("it was told that they do not follow it")
            else:
                try:
                    await leaves(database, reader, held)
                except FeedNotFound:
                    pytest.fail("a subscription vanished")
            await asyncio.sleep(pause)

    async def remove() -> None:
        clock = MovableClock()
        while not is_over:
            await remove_all(database, clock, rows_at_once=2)

    steps = {one: [(chance.choice(feeds), chance.random() / 200) for _ in range(25)] for one in readers}
    removing = [asyncio.create_task(remove()) for _ in range(2)]
    await asyncio.gather(*(read(reader, steps[reader]) for reader in readers))
    is_over = True
    await asyncio.gather(*removing)
    await remove_all(database)

    assert await followed(database) == set(told)
    assert await count(database, "sources") == len({feed for _, feed in told})
    assert await count(database, "source_ids") == await count(database, "sources")


async def deleted(database: Database, source_id: SourceId) -> None:
    async with database.as_system() as conn:
        await sources.remove(conn, source_id=source_id)


async def test_two_workers_that_remove_the_same_at_the_same_time_leave_nothing(database: Database) -> None:
    async with database.as_system() as conn:
        source = await a_full_source(conn, count=40)
    await deleted(database, source.id)

    rows = await asyncio.gather(*(remove_all(database, rows_at_once=7) for _ in range(3)))

    assert sum(1 for one in rows if one) == 1, "one of them has the lease"
    assert await count(database, "source_ids") == 0
    assert await count(database, "articles") == 0


async def test_a_feed_that_is_deleted_and_added_again_at_once_keeps_what_it_lists_then(database: Database) -> None:
    async with database.as_system() as conn:
        source = await a_source(conn, url=FEED)
        await list_articles(conn, source.id, "https://x.example/1", "https://x.example/2")
    await deleted(database, source.id)
    async with database.as_system() as conn:
        again = await a_source(conn, url=FEED)
        await list_articles(conn, again.id, "https://x.example/1")

    await remove_all(database)

    assert await count(database, "articles") == 1
    async with database.as_system() as conn:
        assert await tables_with(conn, source.id) == set()
        cur = await conn.execute("SELECT source_id FROM article_sources UNION ALL SELECT source_id FROM frontier_url")
        assert await cur.fetchall() == [(again.id,), (again.id,)]


async def test_articles_that_are_removed_while_the_feed_that_was_added_again_is_kept_are_added_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = ["https://x.example/1", "https://x.example/2"]
    async with database.as_system() as conn:
        source = await a_source(conn, url=FEED)
        await list_articles(conn, source.id, *urls)
    await deleted(database, source.id)
    async with database.as_system() as conn:
        again = await a_source(conn, url=FEED)
    link = links.link

    async def link_late(conn: Connection, **given: Any) -> object:
        if given["listed"]:
            await remove_all(database)
        return await link(conn, **given)

    monkeypatch.setattr(records, "link", link_late)
    async with database.as_system() as conn:
        await list_articles(conn, again.id, *urls)

    async with database.as_system() as conn:
        cur = await conn.execute(
            "SELECT url, source_id FROM articles JOIN article_sources ON article_id = id ORDER BY 1"
        )
        assert await cur.fetchall() == [(url, again.id) for url in urls]


Deletion = Callable[[Connection, SourceId, SourceId], Awaitable[None]]


async def _the_moved(conn: Connection, moved: SourceId, _target: SourceId) -> None:
    await sources.remove(conn, source_id=moved)


async def _the_target(conn: Connection, _moved: SourceId, target: SourceId) -> None:
    await sources.remove(conn, source_id=target)


@pytest.mark.parametrize("delete", [_the_moved, _the_target])
async def test_a_source_that_is_deleted_while_a_merge_waits_for_it_is_not_merged(
    delete: Deletion, database: Database
) -> None:
    async with database.as_system() as conn:
        moved, target = await a_source(conn, url="https://shared.example/old"), await a_source(conn, url=FEED)
        await list_articles(conn, moved.id, "https://x.example/1")

    async def merging() -> bool:
        async with database.as_system() as conn:
            return await merge(conn, source_id=moved.id, into=target.id)

    async with database.as_system() as conn:
        await delete(conn, moved.id, target.id)
        merged = asyncio.create_task(merging())
        await waits_for_a_lock(database)
    is_merged = await merged
    await remove_all(database)

    assert not is_merged
    assert await count(database, "sources") == 1
    assert await count(database, "articles") == (0 if delete is _the_moved else 1)


async def test_a_merged_source_leaves_its_urls_to_the_other(database: Database) -> None:
    async with database.as_system() as conn:
        moved, target = await a_source(conn, url="https://shared.example/old"), await a_source(conn, url=FEED)
        await list_articles(conn, moved.id, "https://x.example/1")
    async with database.as_system() as conn:
        assert await merge(conn, source_id=moved.id, into=target.id)

    await remove_all(database)

    async with database.as_system() as conn:
        assert await tables_with(conn, moved.id) == set()
        cur = await conn.execute("SELECT source_id FROM article_sources UNION ALL SELECT source_id FROM frontier_url")
        assert await cur.fetchall() == [(target.id,), (target.id,)]


async def test_an_account_that_registers_again_while_the_old_one_is_removed_keeps_its_own(database: Database) -> None:
    async with database.as_system() as conn:
        old, source = await a_user(conn), await a_source(conn, url=FEED)
        await subscribe(conn, old, source.id)
    async with database.as_system() as conn:
        await users_store.remove(conn, user_id=old)
        new = await a_user(conn)
        await subscribe(conn, new, source.id)

    await asyncio.gather(remove_all(database, rows_at_once=1), remove_all(database, rows_at_once=1))

    assert await followed(database) == {(new, FEED)}
    assert await count(database, "user_ids") == 1
