"""URLs are listed page by page through any filter, and counted without being read."""

from datetime import timedelta
from typing import Any

import pytest

from headwater.db import Connection
from headwater.frontier.store import changes, claims, listing, queue
from headwater.frontier.types import GivenUp, Origin, Status, Submission, UrlFilter
from headwater.ids import new_id
from headwater.types import PageCursor, SourceId
from tests.builders import a_source
from tests.clock import START
from tests.frontier.builders import PAGE, all_urls, ask_all, claim, submit

pytestmark = pytest.mark.database

ONE, OTHER = SourceId(new_id()), SourceId(new_id())


async def some_urls(conn: Connection) -> None:
    """Ten of one source, then five of another that a spider found, each batch a minute after the other."""
    for source_id in (ONE, OTHER):
        await conn.execute(
            "INSERT INTO sources (id, name, feed_url, feed_url_key) VALUES (%(id)s, 'x', 'x', %(key)s)",
            {"id": source_id, "key": source_id.bytes},
        )
    for batch in range(5):
        now = START + timedelta(minutes=batch)
        await submit(conn, *(f"https://one.example/{batch}-{n}" for n in range(2)), source_id=ONE, now=now)
        await submit(conn, f"http://other.example/{batch}", source_id=OTHER, origin=Origin.SPIDER, now=now)


async def pages(conn: Connection, limit: int, **wanted: Any) -> list[list[str]]:
    found: list[list[str]] = []
    after: PageCursor | None = None
    while True:
        page = await listing.list_urls(conn, wanted=UrlFilter(**wanted), now=START, limit=limit, after=after)
        found.append([one.url for one in page.urls])
        if page.next is None:
            return found
        after = page.next


@pytest.mark.parametrize(
    "wanted",
    [{}, {"source_id": ONE}, {"host": "one.example"}, {"origin": Origin.FEED}],
    ids=["all", "source", "host", "origin"],
)
async def test_pages_contain_every_url_once(conn: Connection, wanted: dict[str, Any]) -> None:
    await some_urls(conn)
    whole = await all_urls(conn, **wanted)

    parts = await pages(conn, 4, **wanted)

    assert [url for part in parts for url in part] == whole
    assert len(set(whole)) == len(whole) == (10 if wanted else 15)


async def test_the_newest_come_first(conn: Connection) -> None:
    await some_urls(conn)

    assert (await all_urls(conn))[0].split("/")[-1].startswith("4")


async def test_a_rare_match_is_found_on_a_later_page(conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LOOKED_THROUGH", 3)
    await some_urls(conn)

    parts = await pages(conn, 10, text="OTHER.example/0")

    assert [url for part in parts for url in part] == ["http://other.example/0"]
    assert len(parts) >= 5


async def test_filters_are_combined(conn: Connection) -> None:
    await some_urls(conn)

    every = {
        "host": "other.example",
        "source_id": OTHER,
        "origin": Origin.SPIDER,
        "status": Status.PENDING,
        "text": "3",
    }

    assert await all_urls(conn, **every) == ["http://other.example/3"]
    assert await all_urls(conn, **every | {"source_id": ONE}) == []


async def test_each_status_is_shown(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, GivenUp("robots_blocked", ""))
    await submit(conn, "https://example.org/")
    await claim(conn)

    assert await all_urls(conn, status=Status.DEAD) == [PAGE]
    assert await all_urls(conn, status=Status.FETCHING) == ["https://example.org/"]
    assert await all_urls(conn, status=Status.PENDING) == []


async def test_counters_are_by_source_and_stay_equal_when_summed_up(conn: Connection) -> None:
    await some_urls(conn)
    await ask_all(conn, now=START + timedelta(hours=1))
    before = await listing.stats(conn, now=START)

    left = await changes.tidy(conn, now=START)

    assert left == 2
    assert await listing.stats(conn, now=START) == before
    assert {one.source_id: (one.pending, one.fetched) for one in before.by_source} == {ONE: (0, 10), OTHER: (0, 5)}
    assert before.by_status[Status.FETCHED] == 15


async def test_stats_by_source_count_urls_being_fetched(conn: Connection) -> None:
    source = await a_source(conn, url="https://mine.example/feed")
    mine = [Submission(f"https://a.example/{n}", Origin.FEED, source.id) for n in range(3)]
    await queue.submit(conn, submissions=[*mine, Submission("https://b.example/1", Origin.MANUAL)], now=START)
    await claims.claim(
        conn, lease=new_id(), now=START, leased_until=START + timedelta(minutes=5), hosts=9, urls_per_host=2
    )

    counted = await listing.stats(conn, now=START)

    by_source = {one.source_id: (one.pending, one.fetching, one.total) for one in counted.by_source}
    assert by_source == {source.id: (1, 2, 3), None: (0, 1, 1)}
    assert (counted.by_status[Status.PENDING], counted.by_status[Status.FETCHING]) == (1, 3)


async def test_the_total_of_each_filter_is_exact(conn: Connection) -> None:
    source = await a_source(conn, url="https://mine.example/feed")
    mine = [Submission(f"https://a.example/{n}", Origin.FEED, source.id) for n in range(3)]
    await queue.submit(conn, submissions=[*mine, Submission("https://b.example/x", Origin.MANUAL)], now=START)

    async def total(**wanted: Any) -> tuple[int, bool]:
        found = await listing.count_urls(conn, wanted=UrlFilter(**wanted), now=START)
        return found.urls, found.is_exact

    assert await total() == (4, True)
    assert await total(status=Status.PENDING) == (4, True)
    assert await total(status=Status.DEAD) == (0, True)
    assert await total(source_id=source.id) == (3, True)
    assert await total(source_id=source.id, status=Status.PENDING) == (3, True)
    assert await total(source_id=SourceId(new_id())) == (0, True)
    assert await total(host="a.example") == (3, True)
    assert await total(host="a.example", source_id=source.id, status=Status.DEAD) == (0, True)
    assert await total(origin=Origin.MANUAL) == (1, True)
    assert await total(text="/X") == (1, True)


async def test_a_slow_total_is_a_lower_bound(conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "COUNTED_THROUGH", 2)
    await queue.submit(
        conn, submissions=[Submission(f"https://a.example/{n}", Origin.MANUAL) for n in range(3)], now=START
    )

    found = await listing.count_urls(conn, wanted=UrlFilter(host="a.example"), now=START)

    assert (found.urls, found.is_exact) == (2, False)
