"""A clock that jumps loses nothing, and what it scheduled is due again once it is right."""

from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from headwater.articles.store import records
from headwater.articles.store import state as article_state
from headwater.articles.types import ListedEntry
from headwater.db import Database, fetch_value
from headwater.frontier.store import claims, queue
from headwater.frontier.types import Origin, Submission
from headwater.ids import new_id
from headwater.images import store as images
from headwater.images.types import ImageKind, WantedIcon, WantedLead
from headwater.library.store import lists, marks
from headwater.library.types import ArticlesQuery, Shelf
from headwater.polling.decide import BY_HAND_ONLY
from headwater.polling.store import claims as feed_claims
from headwater.polling.store import schedule as feed_schedule
from headwater.removal.worker import Remover
from headwater.retention import store
from headwater.retention.types import RetentionOptions, RetentionTurn
from headwater.retention.worker import Retainer, repair_schedules
from headwater.sources.follow import disable
from headwater.sources.health.counter import Counter
from headwater.sources.health.store import counts
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import ClockOptions
from headwater.types import ArticleId, SourceId
from tests.builders import a_source, an_article
from tests.retention.world import ADA, World

pytestmark = pytest.mark.database

IN_MARCH = datetime(2026, 3, 10, 8, tzinfo=UTC)
PAGE = "https://pages.example/page"
JUMPS = ClockOptions(apart=timedelta.max)  # the tests' clock is not the database's
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
KEPT = RetentionOptions(articles=90 * DAY, events=90 * DAY, polls=90 * DAY, clicks=90 * DAY)


def a_retainer(world: World, clock: ClockOptions = JUMPS) -> Retainer:
    return world.retainer(clock=clock)


def a_turn(world: World) -> RetentionTurn:
    return RetentionTurn(new_id(), world.clock() + timedelta(minutes=10))


async def claim(retainer: Retainer) -> None:
    for turn in await retainer.claim(1):
        await retainer.work(turn)


async def test_a_clock_200_days_ahead_deletes_nothing_and_is_reported(world: World) -> None:
    await world.see(PAGE, IN_MARCH)
    world.clock.now = IN_MARCH
    retainer = a_retainer(world)
    await claim(retainer)
    world.clock.move(days=200)

    with capture_logs() as logs:
        claimed = await retainer.claim(1)
        report = await retainer.run(a_turn(world))

    assert list(claimed) == []
    assert (report.months, report.rows, report.is_done) == ([], {"events": 0, "polls": 0, "clicks": 0}, False)
    assert "200 days ahead" in report.left
    assert await world.urls() == {PAGE}
    assert [line["log_level"] for line in logs if line["event"] == "clock cannot be trusted"] == ["error"]


async def test_a_process_that_starts_with_a_clock_200_days_ahead_deletes_nothing(world: World) -> None:
    await world.see(PAGE, IN_MARCH)
    world.clock.now = IN_MARCH
    await claim(a_retainer(world))
    world.clock.move(days=200)

    assert list(await a_retainer(world).claim(1)) == []
    assert await world.urls() == {PAGE}


async def test_a_clock_that_differs_from_the_databases_deletes_nothing(world: World) -> None:
    await world.see(PAGE, IN_MARCH)
    world.clock.now = IN_MARCH + timedelta(days=200)

    report = await a_retainer(world, ClockOptions()).run(a_turn(world))

    assert (report.months, report.is_done) == ([], False)
    assert "and the database's differ" in report.left
    assert await world.urls() == {PAGE}


async def test_a_clock_jump_that_an_operator_confirms_is_accepted(world: World) -> None:
    await world.see(PAGE, IN_MARCH)
    world.clock.now = IN_MARCH
    await claim(a_retainer(world))
    world.clock.move(days=200)
    async with world.database.as_system() as conn:
        await clocks.confirm(conn, now=world.clock())

    report = await a_retainer(world).run(a_turn(world))

    assert [one.month.month for one in report.months][-1] >= 3
    assert await world.urls() == set()


async def test_after_a_jump_ahead_and_back_all_is_due_at_once_and_retention_runs(
    world: World, database: Database
) -> None:
    clock = world.clock
    clock.now = IN_MARCH
    async with database.as_system() as conn:
        feeds = [await a_source(conn, url=f"https://h{number}.example/feed", now=clock()) for number in range(4)]
    retainer = a_retainer(world)
    await claim(retainer)
    clock.move(days=200)
    await retainer.claim(1)
    async with database.as_system() as conn:  # what the stages write meanwhile
        for feed in feeds[:3]:
            await feed_schedule.reschedule(
                conn, source_id=feed.id, next_poll_at=clock() + timedelta(hours=1), now=clock()
            )
        await feed_schedule.disable(
            conn, source_id=feeds[1].id, at=clock(), reason="gone", until=clock() + timedelta(days=3)
        )
        await feed_schedule.reschedule(conn, source_id=feeds[3].id, next_poll_at=BY_HAND_ONLY, now=clock())
        await conn.execute(
            "UPDATE hosts SET paused_until = %(until)s, free_at = %(until)s WHERE name = 'h2.example'",
            {"until": clock() + timedelta(days=1)},
        )
        await queue.submit(conn, submissions=[Submission(PAGE, Origin.FEED)], now=clock())
        await store.finish(conn, lease=new_id(), now=clock(), due_at=clock())
        await conn.execute("UPDATE retention_state SET due_at = %s", (clock() + timedelta(days=1),))
    clock.move(days=-200)
    clock.move(seconds=40)

    turns = await retainer.claim(1)

    async with database.as_system() as conn:
        claimed = await feed_claims.claim(
            conn, lease=new_id(), now=clock(), leased_until=clock() + timedelta(minutes=1), limit=10
        )
        hosts = await claims.claim(
            conn, lease=new_id(), now=clock(), leased_until=clock() + timedelta(minutes=1), hosts=5, urls_per_host=5
        )
    assert {feed.source_id for feed in claimed} - {world.source} == {feed.id for feed in feeds[:3]}
    assert [url.url for host in hosts for url in host.urls] == [PAGE]
    assert len(turns) == 1


async def test_articles_queued_for_classifying_by_a_clock_that_was_ahead_are_due(
    world: World, database: Database
) -> None:
    await world.see(PAGE, IN_MARCH)
    async with database.transaction() as conn:
        ids = [await world.id_of(PAGE)]
        await conn.execute("UPDATE article_state SET classify_at = NULL")
        await article_state.queue_classifying(conn, ids=ids, at=IN_MARCH + timedelta(days=200))

    await repair_schedules(database, KEPT, IN_MARCH)

    assert await world.rows("SELECT classify_at FROM article_state") == [(IN_MARCH,)]


@pytest.mark.parametrize("since", [None, IN_MARCH - timedelta(hours=1), IN_MARCH + timedelta(days=200)])
async def test_articles_queued_for_tagging_by_a_clock_that_was_ahead_are_due(
    database: Database, world: World, since: datetime | None
) -> None:
    await world.see(PAGE, IN_MARCH)
    ahead = {"since": since, "due_at": IN_MARCH + timedelta(days=200)}
    async with database.transaction() as conn:
        await conn.execute("UPDATE article_state SET ai_due_at = %(due_at)s, ai_since = %(since)s", ahead)

    await repair_schedules(database, KEPT, IN_MARCH)

    waits_since = min(since, IN_MARCH) if since else None
    assert await world.rows("SELECT ai_due_at, ai_since FROM article_state") == [(IN_MARCH, waits_since)]


@pytest.mark.parametrize("ahead", [timedelta(days=5), timedelta(days=200)])
async def test_feeds_polled_by_a_clock_that_was_ahead_are_due_however_far_it_was(
    database: Database, world: World, ahead: timedelta
) -> None:
    clock = world.clock
    clock.now = IN_MARCH
    retainer = a_retainer(world)
    await claim(retainer)
    async with database.as_system() as conn:
        source = await a_source(conn, url="https://h.example/feed", now=clock())
        wrong = clock() + ahead
        await conn.execute(
            """
            UPDATE feed_state
            SET last_polled_at = %(at)s, last_full_at = %(at)s, next_poll_at = %(next)s
            WHERE host = 'h.example'
            """,
            {"at": wrong, "next": wrong + timedelta(hours=1)},
        )
        await conn.execute(
            "UPDATE hosts SET not_before = %(at)s, free_at = %(at)s WHERE name = 'h.example'", {"at": wrong}
        )
        await clocks.note(conn, now=wrong, is_trusted=False)
    clock.move(seconds=40)

    await retainer.claim(1)

    async with database.as_system() as conn:
        claimed = await feed_claims.claim(conn, lease=new_id(), now=clock(), leased_until=clock() + SECOND, limit=10)
    (of_ours,) = (feed for feed in claimed if feed.source_id == source.id)
    assert of_ours.state.last_full_at == clock()


async def test_repairing_the_times_of_a_feed_and_its_host_invents_none(database: Database, world: World) -> None:
    clock = world.clock
    clock.now = IN_MARCH
    wrong = clock() + timedelta(days=200)
    async with database.as_system() as conn:
        source = await a_source(conn, url="https://h.example/feed", now=clock())
        await conn.execute(
            "UPDATE feed_state SET last_polled_at = %(at)s, next_poll_at = %(at)s WHERE host = 'h.example'",
            {"at": wrong},
        )
        await conn.execute(
            "UPDATE hosts SET not_before = %(at)s, free_at = %(at)s WHERE name = 'h.example'", {"at": wrong}
        )
        await queue.submit(conn, submissions=[Submission(PAGE, Origin.FEED)], now=wrong)
    await repair_schedules(database, KEPT, clock(), thoroughly=True)
    async with database.as_system() as conn:
        claimed = await feed_claims.claim(conn, lease=new_id(), now=clock(), leased_until=clock() + SECOND, limit=10)
    (of_ours,) = (feed for feed in claimed if feed.source_id == source.id)
    state = of_ours.state
    assert (state.disabled, state.failing_since, state.moved, state.last_full_at) == (None, None, None, None)
    assert of_ours.host_answered_at is None
    assert await world.rows("SELECT last_succeeded_at, last_new_at FROM feed_state WHERE host = 'h.example'") == [
        (None, None)
    ]
    assert await world.rows("SELECT last_fetched_at, failing_since FROM frontier_url") == [(None, None)]


async def test_a_feed_disabled_by_a_clock_that_was_ahead_counts_as_disabled_now(
    database: Database, world: World
) -> None:
    clock = world.clock
    clock.now = IN_MARCH
    async with database.as_system() as conn:
        source = await a_source(conn, url="https://h.example/feed", now=clock())
        await disable(conn, source, "by hand", clock() + timedelta(days=200))

    await repair_schedules(database, KEPT, clock())

    assert await world.rows("SELECT feed_disabled_at FROM sources WHERE feed_disable_reason = 'by hand'") == [
        (clock(),)
    ]


@pytest.mark.parametrize("marks_all", [True, False])
async def test_articles_after_a_clock_that_was_ahead_are_unread_and_the_newest(
    world: World, database: Database, marks_all: bool
) -> None:
    clock, undated = world.clock, an_article("https://example.com/undated", published_at=None)
    clock.now = IN_MARCH
    retainer = a_retainer(world)
    await claim(retainer)
    clock.move(days=100)
    await retainer.claim(1)
    async with database.as_system() as conn:
        await records.keep(conn, seen_at=clock(), listed=[ListedEntry(world.source, undated)])
    async with database.as_user(ADA) as conn:
        if marks_all:
            await marks.mark_all_read(conn, feed=None, category=None, until=clock())
        else:
            article_id = await world.id_of(undated.url)
            await marks.mark(conn, user_id=ADA, article_id=article_id, now=clock(), is_read=True)
            await marks.advance(conn, article_id=article_id)
    clock.move(days=-100)
    await retainer.claim(1)

    clock.move(hours=1)
    await world.see(PAGE, clock())

    async with database.as_user(ADA) as conn:
        lines = await lists.list_newest(conn, query=ArticlesQuery(shelf=Shelf.ALL))
    assert [(line.url, line.is_read) for line in lines] == [(PAGE, False), (undated.url, True)]


async def test_a_clock_far_behind_makes_nothing_due_early_and_is_reported(world: World, database: Database) -> None:
    clock = world.clock
    clock.now = IN_MARCH
    async with database.as_system() as conn:
        source = await a_source(conn, url="https://h.example/feed", now=clock())
        await feed_schedule.reschedule(
            conn, source_id=source.id, next_poll_at=clock() + timedelta(hours=1), now=clock()
        )
    await claim(a_retainer(world))
    clock.move(days=-200)

    with capture_logs() as logs:
        await a_retainer(world).claim(1)

    assert await world.rows("SELECT next_poll_at FROM feed_state WHERE host = 'h.example'") == [
        (IN_MARCH + timedelta(hours=1),)
    ]
    assert "clock cannot be trusted" in {line["event"] for line in logs}


async def test_nothing_is_counted_by_a_clock_that_jumped(world: World, database: Database) -> None:
    world.clock.now = IN_MARCH
    await claim(a_retainer(world))
    counter = Counter(database, world.clock, JUMPS)
    for state in await counter.claim(1):
        await counter.work(state)
    async with database.as_system() as conn:
        before = await counts.find_counting(conn)
    world.clock.move(days=200)

    assert list(await counter.claim(1)) == []
    async with database.as_system() as conn:
        assert await counts.find_counting(conn) == before


async def test_nothing_is_counted_by_a_clock_that_differs_from_the_databases(world: World, database: Database) -> None:
    world.clock.now = datetime.now(UTC) + timedelta(hours=7)

    assert list(await Counter(database, world.clock).claim(1)) == []
    world.clock.now = datetime.now(UTC)
    assert len(await Counter(database, world.clock).claim(1)) == 1


async def test_an_article_is_kept_for_its_time_after_the_date_it_carries(world: World) -> None:
    seen = datetime(2026, 1, 31, tzinfo=UTC)
    await world.see(PAGE, seen)
    await world.rows_changed("UPDATE articles SET published_at = %(at)s", at=datetime(2026, 2, 20, tzinfo=UTC))
    world.clock.now = datetime(2026, 2, 20, tzinfo=UTC) + timedelta(days=90) - SECOND

    before = await world.retain()
    world.clock.move(seconds=1)
    after = await world.retain()

    assert (before.months, len(after.months)) == ([], 1)


async def test_an_article_dated_far_in_the_future_does_not_keep_its_month_for_ever(world: World) -> None:
    await world.see(PAGE, datetime(2026, 1, 31, tzinfo=UTC))
    await world.rows_changed("UPDATE articles SET published_at = %(at)s", at=datetime(2099, 1, 1, tzinfo=UTC))
    world.clock.now = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(days=31 + 90)

    assert (await world.retain()).months
    assert await world.urls() == set()


async def test_images_that_a_clock_that_was_ahead_queued_or_leased_are_due(world: World, database: Database) -> None:
    clock = world.clock
    clock.now = IN_MARCH
    article, source = ArticleId(new_id()), SourceId(new_id())
    later = clock() + 200 * DAY
    async with database.as_system() as conn:
        await images.want_leads(conn, leads=[WantedLead(article, "https://a.example/1.png")], now=later)
        icon = WantedIcon(source, "https://b.example/", None)
        await images.want_icons(conn, icons=[icon], now=clock(), settled=clock())
        await images.claim(
            conn, kinds=[ImageKind.ICON], busy_hosts=(), lease=new_id(), now=clock(), leased_until=later, limit=9
        )
    await repair_schedules(database, KEPT, clock())
    async with database.as_system() as conn:
        claimed = await images.claim(
            conn, kinds=list(ImageKind), busy_hosts=(), lease=new_id(), now=clock(), leased_until=later, limit=9
        )

    assert {image.owner_id for image in claimed} == {article, source}


async def test_a_clock_200_days_ahead_deletes_no_page_that_can_be_restored(world: World, database: Database) -> None:
    world.clock.now = IN_MARCH
    await world.see(PAGE, IN_MARCH)
    async with database.as_system() as conn:
        article_id = ArticleId(await fetch_value(conn, "SELECT id FROM articles"))
        await conn.execute("DELETE FROM article_sources")
        for is_saved in (True, False):
            await marks.mark(conn, user_id=ADA, article_id=article_id, now=IN_MARCH, is_saved=is_saved)
    await claim(a_retainer(world))
    world.clock.move(days=200)

    await Remover(database, world.clock).sweep()

    world.clock.now = IN_MARCH
    assert await world.urls() == {PAGE}
    async with database.as_system() as conn:
        assert await marks.restore_saved(conn, article_id=article_id, since=IN_MARCH - DAY, now=IN_MARCH)
