"""The frontier on a real PostgreSQL: submit, claim, renew, answer, settle."""

from collections import Counter
from datetime import timedelta

import pytest

from headwater.db import Connection
from headwater.frontier.store import changes, claims, listing, queue
from headwater.frontier.types import (
    FetchFailed,
    FrontierOptions,
    GivenUp,
    Origin,
    Redirected,
    Settled,
    Status,
    SubmitOutcome,
    Unchanged,
)
from headwater.hosts.store.pages import next_ready_at
from headwater.ids import new_id
from headwater.types import PageKind, SourceId
from headwater.urls import parse_url
from tests.builders import a_source
from tests.clock import START
from tests.frontier.builders import (
    FETCHED,
    LEASE,
    PAGE,
    a_submission,
    all_urls,
    an_answer,
    ask_all,
    claim,
    counted,
    found,
    renew,
    submit,
)

pytestmark = pytest.mark.database

DAY = timedelta(days=1)
GONE = GivenUp("gone", "410")
DOWN = FetchFailed("upstream_failure", "503")


async def test_a_new_url_is_queued_and_claimed(conn: Connection) -> None:
    (submitted,) = await submit(conn, PAGE)
    (host,) = await claim(conn)

    assert submitted.result is SubmitOutcome.QUEUED
    assert host.host == "example.com"
    assert [url.id for url in host.urls] == [submitted.id]
    assert host.urls[0].url == PAGE
    assert host.urls[0].priority == 7
    assert host.delay == timedelta(seconds=1)
    assert await counted(conn) == {Status.FETCHING: 1}


async def test_equal_urls_are_stored_once(conn: Connection) -> None:
    results = [
        one.result for one in await submit(conn, "http://example.com/a/", "https://EXAMPLE.com/a?utm_source=x", PAGE)
    ]

    assert results == [SubmitOutcome.QUEUED, SubmitOutcome.KNOWN, SubmitOutcome.KNOWN]
    assert await all_urls(conn) == ["http://example.com/a/"]


async def test_an_invalid_submission_has_a_reason(conn: Connection) -> None:
    results = await submit(conn, "mailto:a@example.com", "http://", PAGE, "https://u:p@example.com/")

    assert [one.result for one in results] == [
        SubmitOutcome.INVALID,
        SubmitOutcome.INVALID,
        SubmitOutcome.QUEUED,
        SubmitOutcome.INVALID,
    ]
    assert results[0].reason == "only http and https are followed"


async def test_a_pending_url_is_raised_and_brought_forward(conn: Connection) -> None:
    await submit(conn, PAGE, origin=Origin.SPIDER, priority=3, not_before=START + DAY)

    (again,) = await submit(conn, PAGE, origin=Origin.FEED)

    assert again.result is SubmitOutcome.KNOWN
    one = await found(conn)
    assert (one.priority, one.next_fetch_at) == (7, START)
    assert len(await claim(conn)) == 1


async def test_a_pending_url_is_never_lowered_or_postponed(conn: Connection) -> None:
    await submit(conn, PAGE)

    await submit(conn, PAGE, origin=Origin.SPIDER, priority=1, not_before=START + DAY)

    one = await found(conn)
    assert (one.priority, one.next_fetch_at) == (7, START)


async def test_a_fetched_url_is_not_queued_again(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn)

    (again,) = await submit(conn, PAGE, priority=10)

    assert again.result is SubmitOutcome.KNOWN
    assert await claim(conn, now=START + timedelta(hours=1)) == []
    assert await counted(conn) == {Status.FETCHED: 1}


async def test_an_article_submitted_as_a_list_is_fetched_again(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn)
    later = START + timedelta(seconds=1)

    (again,) = await submit(conn, PAGE, origin=Origin.SPIDER, kind=PageKind.LIST, now=later)
    (host,) = await claim(conn, now=later)
    await submit(conn, PAGE, now=later)

    assert again.result is SubmitOutcome.KNOWN
    assert [(url.kind, url.etag) for url in host.urls] == [(PageKind.LIST, None)]
    assert (await found(conn)).kind is PageKind.LIST
    assert await counted(conn, now=later) == {Status.FETCHED: 1}


async def test_a_dead_url_is_revived_when_a_feed_lists_it_a_day_later(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, GONE)
    assert await counted(conn) == {Status.DEAD: 1}

    results = [
        (await submit(conn, PAGE, origin=origin, now=START + after))[0].result
        for origin, after in [
            (Origin.FEED, timedelta(hours=1)),
            (Origin.SITEMAP, DAY),
            (Origin.MANUAL, DAY),
            (Origin.FEED, DAY),
        ]
    ]

    assert results == [SubmitOutcome.KNOWN, SubmitOutcome.KNOWN, SubmitOutcome.KNOWN, SubmitOutcome.REVIVED]
    assert await counted(conn) == {Status.PENDING: 1}
    assert len(await claim(conn, now=START + DAY)) == 1


async def test_a_host_is_not_claimed_twice(conn: Connection) -> None:
    await submit(conn, PAGE, "https://example.com/b")

    first, second = await claim(conn), await claim(conn)

    assert len(first) == 1
    assert second == []


async def test_a_host_waits_for_its_delay(conn: Connection) -> None:
    await submit(conn, PAGE, "https://example.com/b")
    (host,) = await claim(conn, urls=1)
    await claims.answer(conn, answers=[an_answer(host, FETCHED)], now=START)

    too_early = await claim(conn, now=START + timedelta(milliseconds=999))
    in_time = await claim(conn, now=START + timedelta(seconds=1))

    assert too_early == []
    assert [len(host.urls) for host in in_time] == [1]


async def test_a_host_is_ready_again_when_its_lease_ends(conn: Connection) -> None:
    await submit(conn, PAGE)
    await claim(conn)

    before = await claim(conn, now=START + LEASE - timedelta(seconds=1))
    (host,) = await claim(conn, now=START + LEASE)

    assert before == []
    assert host.not_before == START + LEASE + host.delay  # it may have been asked just before the lease ended


async def test_a_renewed_lease_lasts_longer(conn: Connection) -> None:
    await submit(conn, PAGE)
    hosts = await claim(conn)

    ours = [host.host for host in hosts if await renew(conn, host, START + 2 * LEASE)]

    assert ours == ["example.com"]
    assert await claim(conn, now=START + LEASE) == []


async def test_a_lost_lease_is_not_renewed(conn: Connection) -> None:
    await submit(conn, PAGE)
    lost = await claim(conn)
    await claim(conn, now=START + LEASE)

    assert [await renew(conn, host, START + 3 * LEASE) for host in lost] == [False] * len(lost)


async def test_an_answer_under_a_lost_lease_records_and_does_not_release(conn: Connection) -> None:
    await submit(conn, PAGE, "https://example.com/b")
    (lost,) = await claim(conn, urls=1)
    (held,) = await claim(conn, now=START + LEASE)

    await claims.answer(conn, answers=[an_answer(lost, FETCHED)], now=START + LEASE)

    assert (await found(conn, lost.urls[0].url)).status is Status.FETCHED
    assert await claim(conn, now=START + LEASE + timedelta(minutes=1)) == []
    assert await renew(conn, held, START + 3 * LEASE)


async def test_after_a_lost_lease_only_the_first_url_is_claimed(conn: Connection) -> None:
    await submit(conn, *(f"https://example.com/{n}" for n in range(5)))
    await claim(conn)

    (host,) = await claim(conn, now=START + LEASE)

    assert len(host.urls) == 1


async def test_three_lost_leases_make_the_first_url_dead(conn: Connection) -> None:
    await submit(conn, PAGE, priority=9)
    await submit(conn, "https://example.com/b")
    for strike in range(3):
        assert len(await claim(conn, now=START + strike * LEASE, choice=0.99)) == 1

    at_the_third = await claim(conn, now=START + 3 * LEASE)
    (host,) = await claim(conn, now=START + 3 * LEASE + timedelta(seconds=2))

    assert at_the_third == []
    assert (await found(conn)).last_error == "poison"
    assert (await found(conn)).status is Status.DEAD
    assert [url.url for url in host.urls] == ["https://example.com/b"]
    assert (await submit(conn, PAGE, now=START + 9 * DAY))[0].result is SubmitOutcome.KNOWN  # a feed does not revive it


async def test_bands_take_turns(conn: Connection) -> None:
    await submit(conn, "https://low.example/1", priority=1)
    await submit(conn, "https://high.example/1", priority=10)

    (mostly,) = await claim(conn, hosts=1, choice=0.0)
    (sometimes,) = await claim(conn, hosts=1, choice=0.99)

    assert (mostly.host, sometimes.host) == ("high.example", "low.example")


async def test_a_url_of_low_priority_is_claimed_on_a_busy_host(conn: Connection) -> None:
    await submit(conn, "https://example.com/low", priority=1)
    await submit(conn, *(f"https://example.com/{n}" for n in range(5)), priority=10)

    (host,) = await claim(conn, urls=3, choice=0.99)

    assert [url.priority for url in host.urls] == [1, 10, 10]


async def test_a_failing_url_is_retried_for_a_day_and_then_dead(conn: Connection) -> None:
    await submit(conn, PAGE)
    now, tries = START, 0
    while (one := await found(conn, now=now)).status is not Status.DEAD:
        assert one.next_fetch_at is not None
        now, tries = max(now, one.next_fetch_at), tries + 1
        assert len(await ask_all(conn, DOWN, now=now)) == 1

    assert tries == 9
    assert now - START >= DAY
    assert one.last_error == "upstream_failure: 503"
    assert await counted(conn) == {Status.DEAD: 1}


async def test_429_slows_the_host_and_success_eases_it(conn: Connection) -> None:
    await submit(conn, *(f"https://example.com/{n}" for n in range(50)))
    (host,) = await claim(conn, urls=1)
    limited = an_answer(host, FetchFailed("rate_limited", "429"), was_rate_limited=True)
    await claims.answer(conn, answers=[limited], now=START)
    assert await claim(conn, now=START + timedelta(seconds=1)) == []

    now = START + timedelta(seconds=2)
    (slow,) = await claim(conn, now=now, urls=20)
    await claims.answer(conn, answers=[an_answer(slow, *[FETCHED] * 20, at=now)], now=now)
    (eased,) = await claim(conn, now=now + timedelta(seconds=2))

    assert slow.delay == timedelta(seconds=2)
    assert eased.delay == timedelta(seconds=1)


async def test_retry_after_blocks_the_host(conn: Connection) -> None:
    await submit(conn, PAGE, "https://example.com/b")
    (host,) = await claim(conn, urls=1)
    until = START + timedelta(hours=1)
    await claims.answer(conn, answers=[an_answer(host, FETCHED, blocked_until=until)], now=START)
    await submit(conn, "https://example.com/c", priority=10, now=START + timedelta(minutes=1))

    assert await claim(conn, now=until - timedelta(seconds=1)) == []
    assert len(await claim(conn, now=until)) == 1


async def test_a_redirect_queues_its_target_and_stores_an_alias(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, Redirected("https://other.example/b", is_permanent=True))

    (again,) = await submit(conn, PAGE, now=START + DAY)

    assert again.result is SubmitOutcome.KNOWN
    assert await all_urls(conn) == ["https://other.example/b"]
    assert (await found(conn)).url == "https://other.example/b"
    assert (await found(conn)).parent_url == PAGE
    assert await counted(conn) == {Status.PENDING: 1}
    assert [host.host for host in await claim(conn)] == ["other.example"]


async def test_an_alias_of_a_temporary_redirect_expires(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, Redirected("https://other.example/b", is_permanent=False))

    (again,) = await submit(conn, PAGE, now=START + 31 * DAY)

    assert again.result is SubmitOutcome.QUEUED


async def test_a_redirect_to_the_same_page_changes_its_url(conn: Connection) -> None:
    await submit(conn, "http://example.com/a")
    await ask_all(conn, Redirected(PAGE, is_permanent=True))

    (host,) = await claim(conn, now=START + timedelta(seconds=1))

    assert [url.url for url in host.urls] == [PAGE]


async def test_a_redirect_loop_is_dead(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, Redirected("https://example.com/b", is_permanent=True))
    later = START + timedelta(seconds=1)
    await ask_all(conn, Redirected(PAGE, is_permanent=True), now=later)

    assert await claim(conn, now=START + DAY) == []
    assert (await found(conn, "https://example.com/b")).last_error == f"redirect_loop: {PAGE}"


async def test_a_redirect_to_an_invalid_url_is_dead(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, Redirected("mailto:a@example.com", is_permanent=True))

    assert (await found(conn)).status is Status.DEAD


async def test_an_unchanged_article_is_fetched_less_often_and_then_never_again(conn: Connection) -> None:
    await submit(conn, PAGE)
    now, gaps = START, list[timedelta]()
    await ask_all(conn)
    while (one := await found(conn, now=now)).next_fetch_at is not None:
        gaps.append(one.next_fetch_at - now)
        now = one.next_fetch_at
        await ask_all(conn, Unchanged(), now=now)

    assert [gap / timedelta(hours=12) for gap in gaps] == [1, 2, 4, 8, 16, 32]
    assert now - START >= timedelta(days=30)
    assert one.status is Status.FETCHED
    assert one.fetch_count == 7
    assert one.etag == '"1"'


async def test_settling_stores_the_hash_and_adapts_the_schedule(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn)
    await changes.settle(conn, contents=[Settled(PAGE, b"1" * 32, changed=True)], now=START)
    first = await found(conn)
    await ask_all(conn, now=START + timedelta(hours=12))

    await changes.settle(conn, contents=[Settled(PAGE, b"2" * 32, changed=True)], now=START + timedelta(hours=12))

    assert first.content_hash == b"1" * 32
    assert first.next_fetch_at == START + timedelta(hours=12)
    second = await found(conn)
    assert second.content_hash == b"2" * 32
    assert second.next_fetch_at == START + timedelta(hours=18)
    assert len(await claim(conn, now=START + timedelta(hours=18))) == 1


async def test_a_page_that_cannot_be_read_is_dead(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn)

    await changes.settle(conn, contents=[Settled.dead(PAGE, "no_text")], now=START)

    one = await found(conn)
    assert (one.status, one.last_error, one.next_fetch_at) == (Status.DEAD, "no_text", None)
    assert await counted(conn) == {Status.DEAD: 1}


async def test_a_url_of_any_status_can_be_retried(conn: Connection) -> None:
    (one,) = await submit(conn, PAGE)
    assert one.id is not None
    await ask_all(conn, GONE)

    retried = await changes.retry(conn, ids=[one.id], now=START + timedelta(seconds=1))

    assert retried == [one.id]
    assert await counted(conn) == {Status.PENDING: 1}
    assert len(await claim(conn, now=START + timedelta(seconds=1))) == 1


async def test_deletion_removes_a_url_and_its_aliases(conn: Connection) -> None:
    await submit(conn, PAGE)
    await ask_all(conn, Redirected("https://example.com/b", is_permanent=True))
    target = await found(conn)

    deleted = await changes.delete(conn, ids=[target.id])

    assert deleted == [target.id]
    assert await all_urls(conn) == []
    assert await counted(conn) == {}
    assert await claim(conn, now=START + DAY) == []
    assert (await submit(conn, PAGE, now=START + DAY))[0].result is SubmitOutcome.QUEUED


async def test_the_urls_of_a_host_from_crawling_are_capped(conn: Connection) -> None:
    options = FrontierOptions(max_host_urls=2)
    wanted = [a_submission(f"https://example.com/{n}", Origin.SITEMAP) for n in range(3)]

    first = await queue.submit(conn, submissions=wanted, now=START, options=options)
    by_feed = await queue.submit(conn, submissions=[a_submission("https://example.com/9")], now=START, options=options)

    assert sorted(one.result for one in first) == [SubmitOutcome.INVALID, SubmitOutcome.QUEUED, SubmitOutcome.QUEUED]
    assert [one.reason for one in first if one.result is SubmitOutcome.INVALID] == ["host_full"]
    assert by_feed[0].result is SubmitOutcome.QUEUED


async def test_traps_are_checked_for_crawled_urls_only(conn: Connection) -> None:
    trap = "https://example.com/a/a/a/a"

    (by_spider,) = await submit(conn, trap, origin=Origin.SPIDER)
    (by_feed,) = await submit(conn, trap)

    assert (by_spider.result, by_spider.reason) == (SubmitOutcome.INVALID, "repeating_path")
    assert by_feed.result is SubmitOutcome.QUEUED


async def test_the_next_time_something_can_be_claimed(conn: Connection) -> None:
    nothing = await next_ready_at(conn)
    await submit(conn, PAGE, not_before=START + DAY)

    assert nothing is None
    assert await next_ready_at(conn) == START + DAY


async def test_the_delay_of_a_source_applies_to_its_urls(conn: Connection) -> None:
    source = await a_source(conn, url="https://feeds.example/")
    await conn.execute("UPDATE sources SET min_delay_ms = 9000")
    await submit(conn, PAGE, source_id=source.id)

    (host,) = await claim(conn)

    assert host.delay == timedelta(seconds=9)
    assert host.urls[0].source_id == source.id


async def test_nothing_is_queued_for_a_source_that_was_deleted(conn: Connection) -> None:
    (result,) = await submit(conn, PAGE, source_id=SourceId(new_id()))

    assert (result.result, result.reason) == (SubmitOutcome.INVALID, "source_deleted")
    assert await claim(conn) == []


async def test_the_target_of_a_redirect_is_not_queued_for_a_deleted_source(conn: Connection) -> None:
    source = await a_source(conn, url="https://feeds.example/")
    await submit(conn, PAGE, source_id=source.id)
    (host,) = await claim(conn)
    await conn.execute("DELETE FROM sources")

    redirect = Redirected("https://elsewhere.example/", is_permanent=True)
    await claims.answer(conn, answers=[an_answer(host, redirect)], now=START)

    cur = await conn.execute("SELECT count(*) FROM frontier_url WHERE status <> 'd'")
    assert await cur.fetchone() == (0,)


async def test_reassigned_urls_count_for_their_new_source(conn: Connection) -> None:
    one, other = await a_source(conn), await a_source(conn, url="https://b.example/feed")
    submitted = await submit(conn, *(f"https://a.example/{n}" for n in range(3)), source_id=one.id)
    ids = [result.id for result in submitted if result.id]

    await changes.set_sources(conn, sources={ids[0]: other.id, ids[1]: None})

    counted = {tally.source_id: tally.pending for tally in (await listing.stats(conn, now=START)).by_source}
    assert counted == {one.id: 1, other.id: 1, None: 1}


async def test_the_results_of_a_large_batch_are_in_its_order(conn: Connection) -> None:
    urls = [f"https://h{n % 5}.example/{n % 1500}" for n in range(3000)]

    results = await submit(conn, *urls)

    assert [one.url for one in results] == urls
    assert Counter(one.result for one in results) == {SubmitOutcome.QUEUED: 1500, SubmitOutcome.KNOWN: 1500}


@pytest.mark.parametrize(
    "url",
    [
        'https://example.com/a\\b?c="d"&e={f,g}',
        "https://example.com/é/日本",
        "https://example.com/a?NULL",
        "https://ex.com/",
    ],
    ids=["signs", "letters", "null", "root"],
)
async def test_any_url_is_stored_unchanged(conn: Connection, url: str) -> None:
    await submit(conn, url, parent_url='x"\\\x00{},\ud800')

    (host,) = await claim(conn)

    assert host.urls[0].url == parse_url(url)
    assert (await found(conn, url)).url == parse_url(url)


async def test_invalid_text_of_a_server_is_stored_without_invalid_characters(conn: Connection) -> None:
    await submit(conn, PAGE)

    await ask_all(conn, FetchFailed("network", 'a\x00b"c\\d\ud800' + "x" * 10_000))

    assert ((await found(conn)).last_error or "").startswith('network: ab"c\\d?')
