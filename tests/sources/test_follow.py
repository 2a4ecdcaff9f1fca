from datetime import timedelta

import pytest

from headwater.articles.store import listing, records
from headwater.articles.types import ListedEntry
from headwater.db import Connection
from headwater.errors import Invalid, InvalidUrl, SourceExists, SourceNotFound
from headwater.sources.follow import change, find, follow
from headwater.sources.store.details import list_health
from headwater.sources.store.sources import list_all
from headwater.sources.store.sources import remove as remove_source
from headwater.sources.types import Changes
from tests.builders import a_source, an_article
from tests.clock import START
from tests.removals import finish_removals

pytestmark = pytest.mark.database


async def test_a_source_is_named_by_its_host_unless_a_name_is_given(conn: Connection) -> None:
    plain = await follow(conn, url="example.com/feed", name=None, now=START)
    named = await follow(conn, url="https://example.com/other", name="  Mine ", now=START)

    assert (plain.name, plain.feed_url) == ("example.com", "https://example.com/feed")
    assert named.name == "Mine"


@pytest.mark.parametrize(
    "again", ["https://example.com/feed.xml", "http://EXAMPLE.com:80/feed.xml/", "example.com/feed.xml?utm_source=x"]
)
async def test_a_feed_is_followed_once_however_its_address_is_written(again: str, conn: Connection) -> None:
    await a_source(conn)

    with pytest.raises(SourceExists):
        async with conn.transaction():
            await follow(conn, url=again, name=None, now=START)


async def test_feeds_of_a_host_with_the_dot_of_the_root_wait_in_the_same_queue(conn: Connection) -> None:
    await follow(conn, url="https://dot.example/1", name=None, now=START)
    dotted = await follow(conn, url="https://dot.example./2", name=None, now=START)

    assert dotted.feed_url == "https://dot.example./2"
    assert await (await conn.execute("SELECT name FROM hosts")).fetchall() == [("dot.example",)]
    with pytest.raises(SourceExists):
        await follow(conn, url="https://dot.example./1", name=None, now=START)


async def test_what_is_no_address_is_refused(conn: Connection) -> None:
    with pytest.raises(InvalidUrl):
        await follow(conn, url="javascript:alert(1)", name=None, now=START)


async def test_a_name_that_is_too_long_is_refused(conn: Connection) -> None:
    with pytest.raises(Invalid, match="1 to 255 characters; this one has 256"):
        await follow(conn, url="example.com", name="x" * 256, now=START)


async def test_a_source_is_found_by_id_and_by_address(conn: Connection) -> None:
    source = await a_source(conn)

    assert (await find(conn, str(source.id))).id == source.id
    assert (await find(conn, "http://example.com/feed.xml")).id == source.id


@pytest.mark.parametrize("wanted", ["", "https://a.example/unknown", "ftp://x", "0198c0de-0000-7000-8000-000000000000"])
async def test_what_is_not_followed_is_not_found(wanted: str, conn: Connection) -> None:
    with pytest.raises(SourceNotFound):
        await find(conn, wanted)


async def test_a_source_takes_the_articles_with_it_that_only_it_listed(conn: Connection) -> None:
    leaving = await a_source(conn, url="https://a.example/feed")
    staying = await a_source(conn, url="https://b.example/feed")
    own, shared = an_article("https://example.com/own"), an_article("https://example.com/shared")
    listed = [ListedEntry(leaving.id, own), ListedEntry(leaving.id, shared), ListedEntry(staying.id, shared)]
    await records.keep(conn, seen_at=START, listed=listed)

    await remove_source(conn, source_id=leaving.id)
    hidden = [article.url for article in await listing.latest(conn, limit=10)]
    await finish_removals(conn)

    assert hidden == [shared.url], "at once, before anything is removed"
    assert [source.id for source in await list_all(conn)] == [staying.id]
    assert [article.url for article in await listing.latest(conn, limit=10)] == [shared.url]
    with pytest.raises(SourceNotFound):
        await remove_source(conn, source_id=leaving.id)


async def test_a_new_source_is_pending_and_due_now(conn: Connection) -> None:
    await a_source(conn)

    (health,) = await list_health(conn)

    assert (health.state, health.next_poll_at, health.article_count) == ("pending", START, 0)


@pytest.mark.parametrize(
    ("policy", "interval", "name", "message"),
    [
        ("perhaps", None, None, "There is no policy 'perhaps'"),
        (None, timedelta(minutes=1), None, "at least 15 minutes and at most a day"),
        (None, timedelta(days=2), None, "at least 15 minutes and at most a day"),
        (None, None, "", "1 to 255 characters; this one has 0"),
    ],
)
async def test_a_change_that_makes_no_sense_is_refused(
    policy: str | None, interval: timedelta | None, name: str | None, message: str, conn: Connection
) -> None:
    source = await a_source(conn)

    with pytest.raises(Invalid, match=message):
        await change(conn, source, Changes(name=name, policy=policy, interval=interval))


async def test_policy_and_interval_can_be_given_and_taken_back(conn: Connection) -> None:
    source = await a_source(conn)

    async def state() -> object:
        found = await conn.execute("SELECT name, policy, feed_poll_interval_minutes FROM sources")
        return await found.fetchone()

    await change(conn, source, Changes(name="New", policy="once", interval=timedelta(minutes=30)))
    given = await state()
    await change(conn, source, Changes(name=None, policy=None, interval=None))
    kept = await state()
    await change(conn, source, Changes(name=None, policy="", interval=timedelta(0)))

    assert given == kept == ("New", "once", 30)
    assert await state() == ("New", None, None)
