"""What a reader adds, changes and drops, and what becomes of the source that all share."""

from datetime import timedelta

import pytest

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role, User
from headwater.db import Connection, Database
from headwater.errors import AlreadySubscribed, FeedNotFound, InvalidFeed
from headwater.library.store import subscriptions
from headwater.library.types import FeedItem, FeedsQuery, Subscription
from headwater.sources.subscribe import add_feed, change_feed, drop_feed, leave_unwanted
from tests.clock import START

pytestmark = pytest.mark.database

URL = "https://example.com/feed.xml"


async def a_reader(database: Database, email: str = "ada@example.com") -> User:
    async with database.as_system() as conn:
        return await add_user(conn, email, None, Role.READER, START)


async def adds(database: Database, reader: User, name: str = "Example", url: str = URL) -> Subscription:
    async with database.as_system() as conn:
        return await add_feed(conn, user_id=reader.id, name=name, url=url, now=START)


async def feeds(database: Database, reader: User) -> list[FeedItem]:
    async with database.as_user(reader.id) as conn:
        return await subscriptions.list_feeds(conn, query=FeedsQuery(), limit=20)


async def count(conn: Connection, table: str) -> int:
    row = await (await conn.execute(f"SELECT count(*) FROM {table}".encode())).fetchone()
    assert row is not None
    return row[0]


async def test_one_url_of_two_readers_is_one_source_that_is_polled_once(database: Database) -> None:
    ada, bob = await a_reader(database), await a_reader(database, "bob@example.com")

    hers = await adds(database, ada, "Hers")
    his = await adds(database, bob, " His ", " http://EXAMPLE.com/feed.xml ")

    assert hers.source_id == his.source_id
    assert [feed.name for feed in await feeds(database, bob)] == ["His"]
    async with database.as_system() as conn:
        assert await count(conn, "feed_state") == 1
        cur = await conn.execute("SELECT event_type, metadata->>'feed_id' FROM events ORDER BY created_at, id")
        assert await cur.fetchall() == [("feed_added", str(hers.id)), ("feed_added", str(his.id))]


async def test_the_same_feed_is_added_once(database: Database) -> None:
    ada = await a_reader(database)
    await adds(database, ada)

    with pytest.raises(AlreadySubscribed, match="You have already added this feed"):
        await adds(database, ada, url="http://example.com/feed.xml/")


@pytest.mark.parametrize(
    ("name", "url", "name_error", "url_error"),
    [
        (" ", URL, "Feed name is required", ""),
        ("x" * 256, URL, "Feed name must be less than 255 characters", ""),
        ("A", "", "", "Feed URL is required"),
        ("A", "example.com/feed", "", "Invalid URL format. Must start with http:// or https://"),
        ("A", "ftp://example.com/", "", "Invalid URL format. Must start with http:// or https://"),
        ("A", "https://", "", "Invalid URL format. Must start with http:// or https://"),
        ("", "javascript:alert(1)", "Feed name is required", "Invalid URL format. Must start with http:// or https://"),
    ],
    ids=["no-name", "long-name", "no-url", "no-scheme", "ftp", "no-host", "both"],
)
async def test_what_cannot_be_followed_is_refused_field_by_field(
    database: Database, name: str, url: str, name_error: str, url_error: str
) -> None:
    ada = await a_reader(database)

    with pytest.raises(InvalidFeed) as refusal:
        await adds(database, ada, name, url)

    assert (refusal.value.name, refusal.value.url) == (name_error, url_error)
    assert await feeds(database, ada) == []


async def test_a_changed_url_is_another_source_and_a_changed_name_the_same(database: Database) -> None:
    ada = await a_reader(database)
    first = await adds(database, ada)

    async with database.as_system() as conn:
        await change_feed(conn, user_id=ada.id, before=first, name="Renamed", url=URL, category="", now=START)
    renamed = await feeds(database, ada)
    async with database.as_system() as conn:
        moved_to = "https://example.com/other.xml"
        await change_feed(conn, user_id=ada.id, before=first, name="Moved", url=moved_to, category=" a  b ", now=START)
    moved = await feeds(database, ada)

    assert [(feed.name, feed.source_id) for feed in renamed] == [("Renamed", first.source_id)]
    assert [(feed.name, feed.url, feed.category) for feed in moved] == [("Moved", moved_to, "a b")]
    assert moved[0].source_id != first.source_id


async def test_a_change_of_a_subscription_that_was_deleted_meanwhile_is_refused_and_leaves_no_source(
    database: Database,
) -> None:
    ada = await a_reader(database)
    first = await adds(database, ada)
    async with database.as_system() as conn:
        await drop_feed(conn, user_id=ada.id, subscription_id=first.id)
    async with database.as_system() as conn:
        await leave_unwanted(conn, [first.source_id], START)

    with pytest.raises(FeedNotFound):
        async with database.as_system() as conn:
            other = "https://example.com/other.xml"
            await change_feed(conn, user_id=ada.id, before=first, name="Moved", url=other, category="", now=START)

    async with database.as_system() as conn:
        assert await count(conn, "sources") == 0


async def test_a_source_goes_with_its_last_reader(database: Database) -> None:
    ada, bob = await a_reader(database), await a_reader(database, "bob@example.com")
    hers, his = await adds(database, ada), await adds(database, bob)

    left: list[int] = []
    for reader, subscription in ((ada, hers), (bob, his)):
        async with database.as_system() as conn:
            await drop_feed(conn, user_id=reader.id, subscription_id=subscription.id)
        async with database.as_system() as conn:
            await leave_unwanted(conn, [subscription.source_id], START)
            left.append(await count(conn, "sources"))

    assert left == [1, 0]


async def test_a_user_cannot_unsubscribe_another(database: Database) -> None:
    ada, bob = await a_reader(database), await a_reader(database, "bob@example.com")
    hers = await adds(database, ada)

    with pytest.raises(FeedNotFound):
        async with database.as_system() as conn:
            await drop_feed(conn, user_id=bob.id, subscription_id=hers.id)

    assert len(await feeds(database, ada)) == 1


async def test_the_list_says_when_a_feed_of_a_paused_host_is_tried_again(database: Database) -> None:
    until = START + timedelta(hours=6)
    async with database.as_system() as conn:
        reader = await add_user(conn, "paused@example.com", None, Role.READER, START)
        await add_feed(conn, user_id=reader.id, name="Paused", url="https://paused.example/feed", now=START)
    async with database.as_system() as conn:
        await conn.execute("UPDATE hosts SET paused_until = %s WHERE name = 'paused.example'", (until,))
    async with database.as_user(reader.id) as conn:
        (feed,) = await subscriptions.list_feeds(conn, query=FeedsQuery(), limit=20)

    assert feed.next_poll_at == until
