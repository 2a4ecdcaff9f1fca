import pytest

from headwater.articles import store as articles
from headwater.articles.types import Listed
from headwater.db import Database
from headwater.sources.mover import Mover
from headwater.sources.store import list_all, list_health
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database


async def move(database: Database, old: str, new: str) -> None:
    async with database.transaction() as conn:
        moved = "UPDATE feed_state SET adopt_url = %(new)s WHERE feed_url = %(old)s"
        await conn.execute(moved, {"new": new, "old": old})
    mover = Mover(database)
    for feed in await mover.claim(10):
        await mover.work(feed)
    assert await mover.claim(10) == []


async def test_a_feed_that_moved_gets_its_new_address_and_keeps_its_state(database: Database) -> None:
    async with database.transaction() as conn:
        await a_source(conn, url="https://old.example/feed")

    await move(database, "https://old.example/feed", "https://new.example/feed")

    async with database.transaction() as conn:
        (source,) = await list_all(conn)
        rows = await conn.execute("SELECT feed_url, host FROM feed_state")
        hosts = await conn.execute("SELECT host FROM poll_hosts ORDER BY host")
        assert source.feed_url == "https://new.example/feed"
        assert await rows.fetchall() == [("https://new.example/feed", "new.example")]
        assert await hosts.fetchall() == [("new.example",), ("old.example",)]


async def test_a_feed_that_moved_to_where_another_source_is_joins_it(database: Database) -> None:
    async with database.transaction() as conn:
        old = await a_source(conn, url="https://old.example/feed", name="Old")
        new = await a_source(conn, url="https://new.example/feed", name="New")
        own, shared = an_article("https://example.com/own"), an_article("https://example.com/shared")
        listed = [Listed(old.id, own), Listed(old.id, shared), Listed(new.id, shared)]
        await articles.keep(conn, seen_at=START, listed=listed)

    await move(database, "https://old.example/feed", "http://NEW.example/feed/")

    async with database.transaction() as conn:
        assert [source.name for source in await list_health(conn)] == ["New"]
        found = await articles.latest(conn, limit=10)
        assert {article.url: article.sources for article in found} == {own.url: ["New"], shared.url: ["New"]}


async def test_a_move_to_nowhere_is_forgotten(database: Database) -> None:
    async with database.transaction() as conn:
        await a_source(conn, url="https://old.example/feed")

    await move(database, "https://old.example/feed", "javascript:alert(1)")

    async with database.transaction() as conn:
        assert [source.feed_url for source in await list_all(conn)] == ["https://old.example/feed"]
