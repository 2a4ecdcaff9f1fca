from datetime import datetime, timedelta

import pytest

from headwater.articles.store import listing, records
from headwater.articles.types import Kept, ListedEntry, NewArticle
from headwater.db import Connection
from headwater.ids import new_id
from headwater.types import SourceId
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database

DAY = timedelta(days=1)
SITE = "example.com"


async def keep(conn: Connection, *, source_id: SourceId, seen_at: datetime, articles: list[NewArticle]) -> Kept:
    kept = await records.keep(
        conn, seen_at=seen_at, listed=[ListedEntry(source_id, article, SITE) for article in articles]
    )
    return kept[source_id]


async def test_articles_are_listed_newest_first_with_their_sources(conn: Connection) -> None:
    source = await a_source(conn, name="Example")
    old, new = an_article("https://example.com/1", published_at=START - DAY), an_article("https://example.com/2")

    kept = await keep(conn, source_id=source.id, seen_at=START, articles=[old, new])

    assert kept == Kept(new=2, linked=2)
    assert [(a.url, a.sources) for a in await listing.latest(conn, limit=10)] == [
        (new.url, ["Example"]),
        (old.url, ["Example"]),
    ]


async def test_an_article_that_two_sources_list_is_one_with_two_sources(conn: Connection) -> None:
    first = await a_source(conn, url="https://a.example/feed", name="A")
    second = await a_source(conn, url="https://b.example/feed", name="B")

    await keep(conn, source_id=first.id, seen_at=START, articles=[an_article("http://example.com/1/")])
    kept = await keep(
        conn, source_id=second.id, seen_at=START + DAY, articles=[an_article("https://example.com/1?utm_source=b")]
    )

    (article,) = await listing.latest(conn, limit=10)
    assert kept == Kept(new=0, linked=1)
    assert (article.url, article.sources) == ("http://example.com/1/", ["A", "B"])


async def test_a_changed_entry_renews_its_article_and_nothing_is_lost_by_a_poorer_one(conn: Connection) -> None:
    source = await a_source(conn)
    await keep(
        conn, source_id=source.id, seen_at=START, articles=[an_article(title="First", summary="Long", author="Ann")]
    )

    await keep(conn, source_id=source.id, seen_at=START + DAY, articles=[an_article(title="Second", published_at=None)])

    (article,) = await listing.latest(conn, limit=10)
    assert (article.title, article.summary, article.author, article.published_at) == ("Second", "Long", "Ann", START)


async def test_the_same_url_twice_in_one_feed_is_kept_once(conn: Connection) -> None:
    source = await a_source(conn)

    kept = await keep(conn, source_id=source.id, seen_at=START, articles=[an_article(title="a"), an_article(title="b")])

    assert kept == Kept(new=1, linked=1)


async def test_an_article_dated_in_the_future_does_not_stick_to_the_top(conn: Connection) -> None:
    source = await a_source(conn)
    future = an_article("https://example.com/future", published_at=START + 365 * DAY)
    await keep(conn, source_id=source.id, seen_at=START, articles=[future])
    await keep(
        conn,
        source_id=source.id,
        seen_at=START + DAY,
        articles=[an_article("https://example.com/next", published_at=None)],
    )

    assert [a.url for a in await listing.latest(conn, limit=10)] == [
        "https://example.com/next",
        "https://example.com/future",
    ]


async def test_what_several_sources_list_is_kept_at_once_and_counted_for_each(conn: Connection) -> None:
    first = await a_source(conn, url="https://a.example/feed", name="A")
    second = await a_source(conn, url="https://b.example/feed", name="B")
    shared, own = an_article("https://example.com/shared"), an_article("https://example.com/own")
    listed = [ListedEntry(first.id, shared), ListedEntry(second.id, shared), ListedEntry(second.id, own)]

    kept = await records.keep(conn, seen_at=START, listed=listed)

    assert kept == {first.id: Kept(new=1, linked=1), second.id: Kept(new=1, linked=2)}
    assert await records.keep(conn, seen_at=START, listed=listed) == {first.id: Kept(0, 0), second.id: Kept(0, 0)}


async def test_articles_of_a_source_deleted_meanwhile_are_not_linked(conn: Connection) -> None:
    gone = SourceId(new_id())

    assert await keep(conn, source_id=gone, seen_at=START, articles=[an_article()]) == Kept(new=1, linked=0)


async def test_an_entry_whose_url_changes_stays_the_same_article(conn: Connection) -> None:
    source = await a_source(conn)
    before = an_article("https://example.com/old-name", title="Old", entry_id="tag:1")
    after = an_article("https://example.com/new-name", title="New", entry_id="tag:1")
    await keep(conn, source_id=source.id, seen_at=START, articles=[before])

    kept = await keep(conn, source_id=source.id, seen_at=START + DAY, articles=[after])

    (article,) = await listing.latest(conn, limit=10)
    assert kept == Kept(new=0, linked=0)
    assert (article.title, article.url) == ("New", before.url)


async def test_a_feed_that_gives_all_its_entries_one_id_loses_none(conn: Connection) -> None:
    source = await a_source(conn)
    entries = [an_article(f"https://example.com/{n}", entry_id="0") for n in range(3)]

    kept = [await keep(conn, source_id=source.id, seen_at=START, articles=entries) for _ in range(2)]

    assert kept == [Kept(new=3, linked=3), Kept(new=0, linked=0)]


async def test_keep_returns_the_articles_new_to_the_source(conn: Connection) -> None:
    source = await a_source(conn)
    old, new = an_article(), an_article("https://example.com/2")
    await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, old)])

    kept = await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, one) for one in (old, new, new)])

    assert kept[source.id].links == [new]
