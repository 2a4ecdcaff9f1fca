"""A URL that only a reader saved, or a user's feed lists, belongs to everyone once an operator submits it or a public
source without a feed finds it."""

from datetime import timedelta

import pytest

from headwater.db import Connection
from headwater.frontier.store import listing, queue
from headwater.frontier.types import GivenUp, Origin, Status
from headwater.types import SourceId
from tests.builders import a_source
from tests.clock import START
from tests.frontier.builders import PAGE, ask_all, found, submit

pytestmark = pytest.mark.database

LATER = START + timedelta(hours=1)


async def a_feed(conn: Connection, *, is_system: bool) -> SourceId:
    source = await a_source(conn, url="https://feeds.example/feed?key=0123456789abcdef")
    await conn.execute("UPDATE sources SET is_system = %(is_system)s", {"is_system": is_system})
    return source.id


@pytest.mark.parametrize("origin", [Origin.SAVED, Origin.FEED])
@pytest.mark.parametrize("by", [Origin.MANUAL, Origin.SITEMAP, Origin.SPIDER])
async def test_a_fetched_page_is_taken_over_and_fetched_again(conn: Connection, origin: Origin, by: Origin) -> None:
    of = await a_feed(conn, is_system=False) if origin is Origin.FEED else None
    site = await a_source(conn, url="https://site.example/feed")
    await submit(conn, PAGE, origin=origin, source_id=of)
    await ask_all(conn)

    (result,) = await submit(conn, PAGE, origin=by, source_id=site.id, now=LATER)
    (again,) = await submit(conn, PAGE, origin=by, source_id=site.id, now=LATER)

    url = await found(conn, now=LATER)
    assert (result.published_url, again.published_url) == (PAGE, None)
    assert (url.origin, url.source_id, url.status, url.next_fetch_at) == (by, site.id, Status.FETCHED, LATER)
    (host,) = await ask_all(conn, now=LATER)
    assert host.urls[0].etag is None
    stats = await listing.stats(conn, now=LATER)
    assert [(one.source_id, one.fetched) for one in stats.by_source if one.fetched] == [(site.id, 1)]


async def test_a_page_of_a_public_feed_stays_its_own(conn: Connection) -> None:
    of = await a_feed(conn, is_system=True)
    await submit(conn, PAGE, source_id=of)

    (result,) = await submit(conn, PAGE, origin=Origin.MANUAL)

    url = await found(conn)
    assert (result.published_url, url.origin, url.source_id) == (None, Origin.FEED, of)
    assert PAGE in await queue.find_known(conn, urls=[PAGE], source_id=of)


async def test_what_a_user_s_source_finds_is_not_public_for_that(conn: Connection) -> None:
    of = await a_feed(conn, is_system=False)
    await submit(conn, PAGE, origin=Origin.SAVED)

    (result,) = await submit(conn, PAGE, origin=Origin.SPIDER, source_id=of)

    assert (result.published_url, (await found(conn)).origin) == (None, Origin.SAVED)
    assert PAGE in await queue.find_known(conn, urls=[PAGE], source_id=of)


async def test_a_dead_page_stays_dead(conn: Connection) -> None:
    await submit(conn, PAGE, origin=Origin.SAVED)
    await ask_all(conn, GivenUp("gone", "Gone."))

    (result,) = await submit(conn, PAGE, origin=Origin.MANUAL, now=LATER)

    url = await found(conn, now=LATER)
    assert (result.published_url, url.origin, url.status, url.next_fetch_at) == (
        PAGE, Origin.MANUAL, Status.DEAD, None,
    )  # fmt: skip
