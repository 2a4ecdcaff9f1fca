"""The extracting stage: from fetched pages to articles and their content; every page ends, none is read for ever."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from headwater.articles.store.content import search
from headwater.articles.store.records import keep as keep_articles
from headwater.articles.store.records import keep_pages
from headwater.articles.types import ContentChange, ListedEntry
from headwater.bodies import store as bodies
from headwater.bodies.types import NewBody
from headwater.db import Database
from headwater.documents import store as documents
from headwater.extraction.types import ExtractionOptions, ExtractionReport, Failed
from headwater.extraction.worker import MOST_LOST_PROCESSES, Extractor
from headwater.frontier.store import claims, listing, queue
from headwater.frontier.types import (
    Answered,
    Fetched,
    FrontierOptions,
    FrontierUrl,
    HostAnswer,
    Origin,
    Submission,
    UrlFilter,
)
from headwater.ids import new_id
from headwater.sandbox import Sandbox
from headwater.types import PageKind, SourceId
from tests.builders import a_source, an_article
from tests.clock import START, MovableClock
from tests.extraction.pages import CANONICAL, JSON_LD, PARAGRAPHS, a_page

pytestmark = pytest.mark.database

LEASE = timedelta(minutes=1)
OPTIONS = ExtractionOptions(concurrency=4, lease=LEASE)
URL = "https://river.example/flood"


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(
        processes=2,
        time_limit=timedelta(seconds=4),
        memory_limit=700_000_000,
        preload=("headwater.extraction.extract",),
    ) as sandbox:
        yield sandbox


@pytest.fixture
def extractor(database: Database, sandbox: Sandbox, clock: MovableClock) -> Extractor:
    return Extractor(database, sandbox, clock, OPTIONS, FrontierOptions())


@pytest.fixture
async def source(database: Database) -> SourceId:
    async with database.transaction() as conn:
        return (await a_source(conn, url="https://river.example/feed.xml")).id


async def fetched(
    database: Database, body: bytes, url: str = URL, *, source: SourceId | None = None, final_url: str | None = None,
    origin: Origin | None = None,
) -> None:  # fmt: skip
    """Put a page where the fetcher leaves it: its URL fetched in the frontier, its body waiting to be read."""
    async with database.transaction() as conn:
        origin = origin or (Origin.FEED if source else Origin.MANUAL)
        await queue.submit(conn, submissions=[Submission(url, origin, source)], now=START)
        claimed = await claims.claim(
            conn, lease=new_id(), now=START, leased_until=START + LEASE, hosts=5, urls_per_host=5
        )
        for host in claimed:
            answered = [Answered(one, Fetched(None, None), START) for one in host.urls]
            await claims.answer(conn, answers=[HostAnswer(host, START, answered)], now=START)
        page = NewBody(url, final_url or url, PageKind.ARTICLE, source, 0, "text/html; charset=utf-8", body, START)
        await bodies.keep(conn, bodies=[page])


async def run(extractor: Extractor) -> list[ExtractionReport]:
    reports: list[ExtractionReport] = []
    while claimed := await extractor.claim(10):
        reports += await asyncio.gather(*(extractor.work(page) for page in claimed))
    return reports


async def test_the_page_of_an_expired_article_creates_no_article(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    await fetched(database, a_page(JSON_LD), source=source)
    await run(extractor)
    async with database.transaction() as conn:  # as when its month is dropped: nothing is left but the URL
        await conn.execute("CREATE TEMPORARY TABLE known ON COMMIT DROP AS SELECT * FROM article_urls")
        await conn.execute("DELETE FROM articles")
        await conn.execute("INSERT INTO article_urls SELECT * FROM known")

    await fetched(database, a_page(JSON_LD), source=source)
    (report,) = await run(extractor)

    assert report.saved is None
    assert await rows(database, "SELECT count(*) FROM articles") == [(0,)]
    assert await rows(database, "SELECT count(*) FROM content") == [(0,)]


async def rows(database: Database, statement: str) -> Sequence[tuple[Any, ...]]:
    async with database.transaction() as conn:
        return await (await conn.execute(statement.encode())).fetchall()


async def in_frontier(database: Database, url: str = URL) -> FrontierUrl:
    async with database.transaction() as conn:
        listed = await listing.list_urls(conn, wanted=UrlFilter(), now=START, limit=100)
    return next(one for one in listed.urls if one.url == url)


async def test_a_page_becomes_an_article_that_can_be_found(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    await fetched(database, a_page(JSON_LD), source=source)

    (report,) = await run(extractor)

    assert report.saved is not None
    assert report.saved.change is ContentChange.NEW
    async with database.transaction() as conn:
        (hit,) = await search(conn, words="boats mill")
    assert (hit.title, hit.url) == ("High water at Tarn", URL)
    assert await rows(database, "SELECT title, author, url FROM articles") == [
        ("High water at Tarn", "Ann Author, Bo Writer", URL)
    ]
    assert await rows(database, "SELECT source_id, entry_id FROM article_sources") == [(source, URL)]
    assert await rows(database, "SELECT count(*) FROM bodies") == [(0,)]


async def test_the_lead_image_of_a_page_is_queued(database: Database, extractor: Extractor, source: SourceId) -> None:
    await fetched(database, a_page(JSON_LD), source=source)

    await run(extractor)

    assert await rows(database, "SELECT owner_id = articles.id, kind, images.url, host FROM images, articles") == [
        (True, "lead", "https://river.example/pictures/flood.jpg", "river.example")
    ]


async def test_the_frontier_learns_of_the_text(database: Database, extractor: Extractor) -> None:
    await fetched(database, a_page())

    (report,) = await run(extractor)

    known = await in_frontier(database)
    assert not isinstance(report.found, Failed)
    assert (known.content_hash, known.last_error) == (report.found.content_hash, None)


async def test_an_article_of_a_feed_keeps_what_the_feed_says_and_gets_what_it_lacks(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    async with database.transaction() as conn:
        article = an_article(URL, title="As the feed has it", published_at=None, entry_id="guid-1")
        await keep_articles(conn, seen_at=START, listed=[ListedEntry(source, article)])
    await fetched(database, a_page(JSON_LD), source=source)

    await run(extractor)

    ((title, author, published_at),) = await rows(database, "SELECT title, author, published_at FROM articles")
    assert (title, author) == ("As the feed has it", "Ann Author, Bo Writer")
    assert published_at.isoformat() == "2024-03-01T06:30:00+00:00"
    assert await rows(database, "SELECT count(*) FROM content") == [(1,)]


async def test_an_article_that_its_feed_knows_by_this_url_is_the_same(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    """The feed's id is the URL that was fetched, its link another."""
    async with database.transaction() as conn:
        article = an_article("https://river.example/short", entry_id=URL)
        await keep_articles(conn, seen_at=START, listed=[ListedEntry(source, article)])
    await fetched(database, a_page(), source=source)

    await run(extractor)

    assert await rows(database, "SELECT url FROM articles") == [("https://river.example/short",)]
    assert await rows(database, "SELECT url FROM content") == [("https://river.example/short",)]


async def test_a_page_is_not_taken_for_an_article_of_another_site_that_its_feed_lists_under_its_url(
    database: Database, extractor: Extractor
) -> None:
    async with database.transaction() as conn:
        hostile = (await a_source(conn, url="https://evil.example/feed.xml")).id
        article = an_article(URL, title="False", entry_id="https://evil.example/fake", is_own=False)
        await keep_articles(conn, seen_at=START, listed=[ListedEntry(hostile, article, "evil.example")])
    await fetched(database, a_page(JSON_LD), "https://evil.example/fake", source=hostile)

    await run(extractor)

    assert await rows(database, "SELECT url, title FROM articles ORDER BY url") == [
        ("https://evil.example/fake", "High water at Tarn"),
        (URL, ""),
    ]
    assert await rows(database, "SELECT url FROM content") == [("https://evil.example/fake",)]


async def test_a_page_replaces_the_title_and_author_given_by_a_feed_of_another_site(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    async with database.transaction() as conn:
        planet = (await a_source(conn, url="https://planet.example/feed.xml")).id
        article = an_article(URL, title="As another has it", author="Eve", is_own=False)
        await keep_articles(conn, seen_at=START, listed=[ListedEntry(planet, article, "planet.example")])
    await fetched(database, a_page(JSON_LD), source=planet)

    await run(extractor)

    assert await rows(database, "SELECT title, author FROM articles") == [
        ("High water at Tarn", "Ann Author, Bo Writer")
    ]
    assert await rows(database, "SELECT title, author FROM article_sources") == [("As another has it", "Eve")]


async def test_a_page_of_no_source_becomes_an_article_too(database: Database, extractor: Extractor) -> None:
    await fetched(database, a_page())

    await run(extractor)

    assert await rows(database, "SELECT url FROM articles") == [(URL,)]
    assert await rows(database, "SELECT count(*) FROM article_sources") == [(0,)]


async def test_pages_with_one_canonical_url_are_one_article(database: Database, extractor: Extractor) -> None:
    for url in (URL, f"{URL}?page=print", f"{URL}/amp"):
        await fetched(database, a_page(CANONICAL), url)

    reports = await run(extractor)

    assert await rows(database, "SELECT url FROM articles") == [("https://river.example/news/high-water",)]
    assert len({report.saved.article_id for report in reports if report.saved}) == 1


async def test_pages_that_wrongly_share_a_canonical_url_stay_apart(database: Database, extractor: Extractor) -> None:
    for number in range(3):
        told = (f"<p>Story {number} tells of boat {number * n} and of its way down to the sea.</p>" for n in range(9))
        other = "".join(told)
        await fetched(database, a_page(CANONICAL, f"<article>{other}</article>"), f"{URL}/{number}")

    await run(extractor)

    assert await rows(database, "SELECT count(*) FROM articles") == [(3,)]
    assert await rows(database, "SELECT count(*) FROM content WHERE text IS NOT NULL") == [(3,)]


async def test_the_selectors_of_its_source_count(database: Database, extractor: Extractor, source: SourceId) -> None:
    async with database.transaction() as conn:
        await conn.execute(
            "UPDATE sources SET selectors = %(selectors)s", {"selectors": Jsonb({"title": ".t", "body": [".x", ".b"]})}
        )
    await fetched(database, a_page(body="<p class=t>Mine</p><div class=b>Only this.</div>"), source=source)

    await run(extractor)

    assert await rows(database, "SELECT title, text, origins ->> 'text' FROM content") == [
        ("Mine", "Only this.", "selector")
    ]


async def test_selectors_are_not_applied_to_a_page_of_another_site(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    async with database.transaction() as conn:
        await conn.execute("UPDATE sources SET selectors = %(selectors)s", {"selectors": Jsonb({"title": "p"})})
    await fetched(database, a_page(JSON_LD), "https://elsewhere.example/flood", source=source)

    await run(extractor)

    assert await rows(database, "SELECT title FROM content") == [("High water at Tarn",)]


async def test_the_same_text_under_two_urls_is_stored_once(database: Database, extractor: Extractor) -> None:
    await fetched(database, a_page())
    await fetched(database, a_page(), "https://copy.example/flood")

    await run(extractor)

    assert await rows(database, "SELECT count(*), count(text), count(duplicate_of) FROM content") == [(2, 1, 1)]


async def test_a_page_that_comes_back_poorer_changes_nothing(database: Database, extractor: Extractor) -> None:
    await fetched(database, a_page())
    await run(extractor)
    await fetched(database, a_page(body="<article><p>Please subscribe to read this story.</p></article>"))

    (report,) = await run(extractor)

    assert report.saved is not None
    assert report.saved.change is ContentChange.UNCHANGED
    assert await rows(database, "SELECT text, version FROM content") == [("\n".join(PARAGRAPHS), 1)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html><head><title>Log in</title></head><body></body></html>", "no_text"),
        (b"PK\x03\x04" + bytes(100), "unreadable"),
        (b"<html><body><article>" + b"<p>" * 1_000_000, "extraction_overrun"),
    ],
    ids=["no text", "a zip", "a million paragraphs"],
)
async def test_a_page_without_an_article_is_dead_with_a_reason(
    database: Database, extractor: Extractor, body: bytes, reason: str
) -> None:
    await fetched(database, body)
    await fetched(database, a_page(), "https://river.example/well")

    with capture_logs():
        await run(extractor)

    known = await in_frontier(database)
    assert (known.status.value, known.last_error) == ("dead", reason)
    assert await rows(database, "SELECT url FROM articles") == [("https://river.example/well",)]
    assert await rows(database, "SELECT count(*) FROM bodies") == [(0,)]


async def test_a_page_without_text_still_adds_to_an_article_that_is_here(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    async with database.transaction() as conn:
        await keep_articles(conn, seen_at=START, listed=[ListedEntry(source, an_article(URL))])
    await fetched(database, a_page(JSON_LD, body=""), source=source)

    await run(extractor)

    assert await rows(database, "SELECT title, word_count, text FROM content") == [("High water at Tarn", 0, None)]


async def test_a_page_whose_readers_died_too_often_is_not_given_to_another(
    database: Database, extractor: Extractor, clock: MovableClock
) -> None:
    await fetched(database, a_page())
    for _ in range(MOST_LOST_PROCESSES):
        assert len(await extractor.claim(10)) == 1  # and is never heard of again
        assert await extractor.claim(10) == []
        clock.now += LEASE

    with capture_logs() as logs:
        (report,) = await run(extractor)

    assert isinstance(report.found, Failed)
    assert (await in_frontier(database)).last_error == "extraction_overrun"
    assert [line["log_level"] for line in logs] == ["warning"]
    assert await rows(database, "SELECT count(*) FROM bodies") == [(0,)]


async def test_an_answer_under_a_lost_lease_is_not_kept(
    database: Database, extractor: Extractor, clock: MovableClock
) -> None:
    await fetched(database, a_page())
    (late,) = await extractor.claim(1)
    clock.now += LEASE
    (mine,) = await extractor.claim(1)

    report = await extractor.work(late)

    assert report.saved is None
    assert await rows(database, "SELECT count(*) FROM content") == [(0,)]
    await extractor.work(mine)
    assert await rows(database, "SELECT count(*) FROM content") == [(1,)]


async def test_a_bug_of_ours_costs_one_page_and_is_an_error(
    database: Database, extractor: Extractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fetched(database, a_page())
    await fetched(database, a_page(JSON_LD), "https://river.example/well")
    monkeypatch.setattr("headwater.extraction.worker._listed", _broken_for(URL))

    with capture_logs() as logs:
        await run(extractor)

    assert (await in_frontier(database)).last_error == "extraction_broke"
    assert await rows(database, "SELECT url FROM articles") == [("https://river.example/well",)]
    assert "error" in [line["log_level"] for line in logs]


def _broken_for(url: str) -> Any:
    from headwater.extraction.worker import _listed

    def listed(placed: Any) -> ListedEntry:
        if placed.page.url == url:
            raise ZeroDivisionError
        return _listed(placed)

    return listed


async def test_lag_is_how_long_the_oldest_page_waits(
    database: Database, extractor: Extractor, clock: MovableClock
) -> None:
    assert await extractor.lag() == timedelta(0)
    await fetched(database, a_page())
    clock.move(minutes=5)

    assert await extractor.lag() == timedelta(minutes=5)


async def test_changes_are_queued_for_the_index(database: Database, extractor: Extractor) -> None:
    async with database.transaction() as conn:
        await documents.listen(conn, target="test")
    await fetched(database, a_page())
    await run(extractor)
    await fetched(database, a_page())
    await run(extractor)

    assert await rows(database, "SELECT action, version FROM deliveries") == [("index", 1)]


async def test_a_page_that_readers_removed_since_is_not_read_into_the_article_of_its_canonical_url(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    """It may be a gift link: the article of its canonical URL is read by others, and has no text yet."""
    async with database.transaction() as conn:
        public = an_article("https://river.example/news/high-water")
        await keep_articles(conn, seen_at=START, listed=[ListedEntry(source, public)])
    await fetched(database, a_page(CANONICAL), f"{URL}?gift=0123456789abcdef", origin=Origin.SAVED)

    await run(extractor)

    assert await rows(database, "SELECT count(*) FROM content") == [(0,)]
    assert await rows(database, "SELECT count(*) FROM articles") == [(1,)]


async def test_a_page_that_a_public_source_without_a_feed_finds_is_its_own_from_then_on(
    database: Database, extractor: Extractor, source: SourceId
) -> None:
    """Also if a reader saved it, or a private feed listed it, before; otherwise it would be hidden from all others."""
    async with database.transaction() as conn:
        page = replace(an_article(URL), is_own=None)
        await keep_pages(conn, seen_at=START, pages=[ListedEntry(None, page)])
    await fetched(database, a_page(), origin=Origin.SAVED)
    await run(extractor)
    async with database.transaction() as conn:
        known = await queue.find_known(conn, urls=[URL], source_id=source)
        await queue.submit(conn, submissions=[Submission(URL, Origin.SITEMAP, source)], now=START)
        stats = await listing.stats(conn, now=START)
    moved = await in_frontier(database)

    await fetched(database, a_page(), source=source)
    (report,) = await run(extractor)

    assert known == {}
    assert [(one.source_id, one.pending) for one in stats.by_source if one.pending] == [(source, 1)]
    assert (moved.origin, moved.source_id) == (Origin.SITEMAP, source)
    assert report.saved is not None
    assert report.saved.change is ContentChange.UNCHANGED
    assert await rows(database, "SELECT source_id FROM article_sources") == [(source,)]


@pytest.mark.parametrize("words", ["cr\u00e9puscule", "cre\u0301puscule"])
async def test_words_are_found_however_the_page_and_the_query_write_their_accents(
    database: Database, extractor: Extractor, words: str
) -> None:
    text = "".join(
        f"<p>Le cre\u0301puscule tombe sur la rivie\u0300re et le pont nume\u0301ro {n}.</p>" for n in range(9)
    )
    await fetched(database, a_page("", f"<article>{text}</article>"))
    await run(extractor)

    async with database.transaction() as conn:
        (hit,) = await search(conn, words=words)

    assert hit.url == URL
