"""Pages wait for who reads them: each is read once, and none is lost."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, LiteralString

import pytest

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role
from headwater.bodies import store
from headwater.bodies.types import ClaimedBody, NewBody
from headwater.db import Connection
from headwater.ids import new_id
from headwater.sources.store.custom import set_submitter
from headwater.types import PageKind, SourceId, UserId
from tests.builders import a_source
from tests.clock import START

pytestmark = pytest.mark.database

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def a_page(url: str = "https://example.com/a", **more: Any) -> NewBody:
    page = NewBody(url, url, PageKind.ARTICLE, None, 0, "text/html", b"<p>\x00\xff", START)
    return replace(page, **more)


async def claim(
    conn: Connection, *, kind: PageKind = PageKind.ARTICLE, minutes: int = 0, limit: int = 10
) -> list[ClaimedBody]:
    now = START + minutes * MINUTE
    return await store.claim(conn, kind=kind, lease=new_id(), now=now, leased_until=now + MINUTE, limit=limit)


async def test_a_page_is_claimed_as_it_was_kept(conn: Connection) -> None:
    kept = a_page(final_url="https://example.com/b", depth=3, content_type="text/html; charset=x")
    await store.keep(conn, bodies=[kept])

    (page,) = await claim(conn)

    assert replace(kept) == NewBody(
        page.url, page.final_url, page.kind, page.source_id, page.depth, page.content_type, page.body, page.fetched_at
    )
    assert page.attempts == 0


async def test_nothing_is_kept_of_nothing(conn: Connection) -> None:
    await store.keep(conn, bodies=[])

    assert await claim(conn) == []


async def test_a_reader_gets_its_kind_the_longest_waiting_first(conn: Connection) -> None:
    late, early = a_page("https://example.com/late", fetched_at=START + MINUTE), a_page("https://example.com/early")
    await store.keep(conn, bodies=[late, early, a_page(kind=PageKind.SITEMAP)])

    first = await claim(conn, minutes=1, limit=1)
    second = await claim(conn, minutes=1)
    sitemaps = await claim(conn, kind=PageKind.SITEMAP)

    assert [page.url for page in first + second] == [early.url, late.url]
    assert [page.kind for page in sitemaps] == [PageKind.SITEMAP]


async def test_pages_that_one_reader_saved_take_turns_with_those_of_another(conn: Connection) -> None:
    ann, bob = UserId(new_id()), UserId(new_id())
    large = b"x" * 1_000_000  # two seconds of reading
    hers = [a_page(f"https://example.com/hers/{number}", body=large) for number in range(3)]
    his = a_page("https://example.com/his", body=large, fetched_at=START + SECOND)
    await store.keep(conn, bodies=[*hers, his], readers={page.url: ann for page in hers} | {his.url: bob})

    first, second, *_ = [(await claim(conn, minutes=1, limit=1))[0].url for _ in range(4)]

    assert (first, second) == (hers[0].url, his.url)


async def test_a_page_whose_reader_dies_is_claimed_again_with_its_attempts(conn: Connection) -> None:
    await store.keep(conn, bodies=[a_page()])

    (first,) = await claim(conn)
    meanwhile = await claim(conn)
    (second,) = await claim(conn, minutes=2)

    assert meanwhile == []
    assert (first.attempts, second.attempts) == (0, 1)
    assert await store.done(conn, bodies=[first]) == []
    assert await store.done(conn, bodies=[second]) == [second.id]
    assert await claim(conn, minutes=9) == []


SPIDERED = {
    "feed": ("UPDATE sources SET ingestion_mode = 'feed'", 0, 0),
    "both": ("UPDATE sources SET ingestion_mode = 'both', max_depth = 2", 1, 1),
    "spider": ("UPDATE sources SET ingestion_mode = 'spider', max_depth = 2", 0, 1),
    "as deep as it may": ("UPDATE sources SET ingestion_mode = 'spider', max_depth = 2", 2, 0),
}


@pytest.mark.parametrize(("change", "depth", "lists"), SPIDERED.values(), ids=SPIDERED)
async def test_an_article_of_a_spidered_source_is_kept_for_its_links_too(
    change: LiteralString, depth: int, lists: int, conn: Connection
) -> None:
    source = await a_source(conn)
    await conn.execute(change)

    await store.keep(conn, bodies=[a_page(source_id=source.id, depth=depth)])

    assert len(await claim(conn)) == 1
    assert len(await claim(conn, kind=PageKind.LIST)) == lists


async def test_a_page_of_a_source_that_was_deleted_is_dropped(conn: Connection) -> None:
    await store.keep(conn, bodies=[a_page(source_id=SourceId(new_id())), a_page("https://example.com/nobodys")])

    (page,) = await claim(conn)

    assert page.url == "https://example.com/nobodys"


async def test_since_when_the_longest_waiting_page_waits_is_known(conn: Connection) -> None:
    nothing = await store.oldest_ready_at(conn, kind=PageKind.ARTICLE, now=START)
    await store.keep(conn, bodies=[a_page(fetched_at=START + MINUTE), a_page()])

    assert nothing is None
    assert await store.oldest_ready_at(conn, kind=PageKind.ARTICLE, now=START + MINUTE) == START


async def test_a_page_waits_from_when_it_was_kept_and_not_while_the_fetcher_had_it(conn: Connection) -> None:
    await store.keep(conn, bodies=[a_page()], now=START + 3 * MINUTE)

    before = await store.oldest_ready_at(conn, kind=PageKind.ARTICLE, now=START + 2 * MINUTE)
    waiting = await store.oldest_ready_at(conn, kind=PageKind.ARTICLE, now=START + 5 * MINUTE)

    assert (before, waiting) == (None, START + 3 * MINUTE)


async def test_large_pages_of_one_owner_take_turns_with_the_pages_of_others(conn: Connection) -> None:
    owner, other = await a_source(conn, url="https://a.example/"), await a_source(conn, url="https://b.example/")
    large = [a_page(f"https://a.example/{n}", body=b"x" * 1_000_000, source_id=owner.id) for n in range(3)]
    later = START + timedelta(seconds=3)
    await store.keep(conn, bodies=large)
    await store.keep(conn, bodies=[a_page("https://b.example/", source_id=other.id, fetched_at=later)])
    await store.keep(conn, bodies=[a_page("https://a.example/small", source_id=owner.id, fetched_at=later)])

    claimed = [(await claim(conn, minutes=1, limit=1))[0].url for _ in range(5)]

    assert claimed[0] in {one.url for one in large}
    assert claimed[1] == "https://b.example/"
    assert claimed[-1] == "https://a.example/small"


async def test_all_sources_of_a_user_have_one_turn(conn: Connection) -> None:
    user = await add_user(conn, "eve@example.com", None, Role.READER, START)
    theirs = [await a_source(conn, url=f"https://a{n}.example/") for n in range(3)]
    for one in theirs:
        await set_submitter(conn, source_id=one.id, user_id=user.id)
    other = await a_source(conn, url="https://b.example/")
    for one in theirs:
        await store.keep(conn, bodies=[a_page(one.address, body=b"x" * 1_000_000, source_id=one.id)])
    await store.keep(conn, bodies=[a_page(other.address, source_id=other.id, fetched_at=START + 3 * SECOND)])

    claimed = [(await claim(conn, minutes=1, limit=1))[0].url for _ in range(4)]

    assert claimed.index(other.address) == 1


async def test_pages_without_a_source_do_not_wait_for_each_other(conn: Connection) -> None:
    await store.keep(conn, bodies=[a_page(f"https://a.example/{n}", body=b"x" * 1_000_000) for n in range(3)])
    await store.keep(conn, bodies=[a_page("https://b.example/", fetched_at=START + 3 * SECOND)])

    claimed = [(await claim(conn, minutes=1, limit=1))[0].url for _ in range(4)]

    assert claimed[-1] == "https://b.example/"


async def test_sources_are_backlogged_while_their_owner_has_much_to_be_read(conn: Connection) -> None:
    owner, other = await a_source(conn, url="https://a.example/"), await a_source(conn, url="https://b.example/")
    await store.keep(conn, bodies=[a_page(body=b"x" * 1_000_000, source_id=owner.id) for _ in range(3)])
    both = [owner.id, other.id]

    assert await store.list_backlogged(conn, source_ids=both, after=START + 5 * SECOND) == {owner.id}
    assert await store.list_backlogged(conn, source_ids=both, after=START + 6 * SECOND) == set()
    await store.done(conn, bodies=await claim(conn))
    assert await store.list_backlogged(conn, source_ids=both, after=START) == set()


async def test_a_page_stored_by_a_clock_that_was_hours_ahead_is_read_and_delays_no_other(conn: Connection) -> None:
    source = await a_source(conn)
    await store.keep(conn, bodies=[a_page(source_id=source.id, fetched_at=START + timedelta(hours=2))])
    before = await store.list_backlogged(conn, source_ids=[source.id], after=START + timedelta(minutes=30))

    await store.repair_schedules(conn, now=START)

    assert before == {source.id}
    assert await store.list_backlogged(conn, source_ids=[source.id], after=START + timedelta(minutes=30)) == set()
    assert len(await claim(conn)) == 1
