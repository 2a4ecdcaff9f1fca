"""Months go when all in them is past its time; nothing else does, whatever happens meanwhile."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest

from headwater.accounts.store import events
from headwater.accounts.types import EventType
from headwater.articles.types import Kept
from headwater.db import Connection, Database
from headwater.documents import store as documents
from headwater.library.store import lists, marks
from headwater.library.types import ArticlesQuery, Shelf
from headwater.retention import store
from headwater.retention.store import Busy
from headwater.retention.types import Month, RetainedKind, RetentionTurn
from headwater.sources.follow import follow
from headwater.sources.store.sources import remove as remove_source
from headwater.types import ArticleId
from tests.builders import a_source
from tests.clock import MovableClock
from tests.owner import as_owner
from tests.removals import finish_removals
from tests.retention.world import ADA, BOB, FEBRUARY, JANUARY, MARCH, OTHER, TEXT, World

pytestmark = pytest.mark.database

IN_JANUARY = datetime(2026, 1, 20, 8, tzinfo=UTC)
IN_FEBRUARY = datetime(2026, 2, 10, 8, tzinfo=UTC)
IN_MARCH = datetime(2026, 3, 10, 8, tzinfo=UTC)
MAY = datetime(2026, 5, 2, tzinfo=UTC)  # ninety days after the last of January
LAST_OF_JANUARY = datetime(2026, 1, 31, 23, 59, 59, 999_000, tzinfo=UTC)
OLD, OLD_TOO, YOUNG = "https://example.com/old", "https://example.com/old-too", "https://example.com/young"


async def test_a_month_goes_with_all_that_is_of_its_articles_and_nothing_else(world: World) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(YOUNG, IN_FEBRUARY, text=OTHER)
    world.clock.now = MAY

    report = await world.retain()

    assert report.months == [Month(JANUARY, articles=1, starred=0)]
    assert report.is_done
    assert await world.urls() == {YOUNG}
    assert await world.counts() == {"articles": 1, "article_sources": 1, "content": 1, "marks": 0}
    assert (await world.months())[0] == FEBRUARY
    assert await world.rows("SELECT article_tables_gone()") == []


async def test_a_month_stays_until_its_last_article_is_past_its_time(world: World) -> None:
    await world.see(OLD, datetime(2026, 1, 1, tzinfo=UTC))
    await world.see(OLD_TOO, LAST_OF_JANUARY)
    world.clock.now = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(days=90) - timedelta(microseconds=1)

    before = await world.retain()
    world.clock.now += timedelta(microseconds=1)
    after = await world.retain()

    assert before.months == []
    assert after.months == [Month(JANUARY, articles=2, starred=0)]


async def test_age_counts_from_when_an_article_was_first_seen_not_from_its_own_date(world: World) -> None:
    """A blog that is followed for the first time lists posts of years ago."""
    await world.see(YOUNG, IN_MARCH)
    await world.rows("UPDATE articles SET published_at = '2019-01-01' RETURNING id")
    world.clock.now = MAY

    await world.retain()

    assert await world.urls() == {YOUNG}


async def test_several_months_go_in_one_run_the_oldest_first(world: World) -> None:
    await world.see(OLD, IN_JANUARY)
    await world.see(YOUNG, IN_MARCH)
    world.clock.now = MAY + timedelta(days=62)

    report = await world.retain()

    assert [one.month for one in report.months] == [JANUARY, FEBRUARY, MARCH]
    assert await world.urls() == set()


async def test_zero_keeps_everything_for_ever(world: World) -> None:
    await world.see(OLD, IN_JANUARY)
    world.clock.now = MAY + timedelta(days=2000)

    report = await world.retain(articles=timedelta(0), events=timedelta(0), polls=timedelta(0), clicks=timedelta(0))

    assert (report.months, report.rows) == ([], {})
    assert await world.urls() == {OLD}


async def test_a_starred_article_stays_with_its_text_feeds_and_marks(world: World) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(OLD_TOO, IN_JANUARY, text=OTHER)
    await world.star(OLD)
    async with world.database.as_user(BOB) as conn:
        await marks.mark(conn, user_id=BOB, article_id=await world.id_of(OLD), is_read=True, is_starred=None, now=MAY)
    before = await world.open(OLD)
    world.clock.now = MAY

    report = await world.retain()

    assert report.months == [Month(JANUARY, articles=2, starred=1)]
    assert await world.urls() == {OLD}
    assert await world.open(OLD) == before
    assert (opened := await world.open(OLD, BOB))
    assert opened.is_read
    async with world.database.as_user(ADA) as conn:
        starred = await lists.list_starred(conn, query=ArticlesQuery(Shelf.STARRED, None, None, None, 30))
    assert [line.url for line in starred] == [OLD]


async def test_a_starred_article_stays_until_its_last_star_is_removed(world: World) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(OLD_TOO, IN_JANUARY)
    await world.star(OLD)
    await world.star(OLD_TOO, BOB)
    world.clock.now = MAY
    await world.retain()
    await world.star(OLD_TOO, BOB, is_starred=False)
    world.clock.move(days=31)

    report = await world.retain()

    assert [one.month for one in report.months] == [FEBRUARY]
    assert await world.urls() == {OLD}
    assert (opened := await world.open(OLD))
    assert opened.html == f"<p>{TEXT}</p>"


@pytest.mark.parametrize("is_starred", [False, True], ids=["a younger one", "a starred one of the same month"])
async def test_a_text_shared_with_an_article_that_stays_is_reassigned(world: World, is_starred: bool) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(OLD_TOO, IN_JANUARY + timedelta(hours=1), text=TEXT)
    await world.see(YOUNG, IN_JANUARY + timedelta(hours=2) if is_starred else IN_FEBRUARY, text=TEXT)
    if is_starred:
        await world.star(YOUNG)
    world.clock.now = MAY

    report = await world.retain()

    assert report.reassigned == 1
    assert await world.rows("SELECT url, text, duplicate_of FROM content") == [(YOUNG, TEXT, None)]
    assert (opened := await world.open(YOUNG))
    assert opened.html == f"<p>{TEXT}</p>"


async def test_a_near_duplicate_of_a_deleted_article_is_unlinked(world: World) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(YOUNG, IN_FEBRUARY, text=OTHER)
    await world.rows(
        "UPDATE content SET near_duplicate_of = %(old)s WHERE url = %(url)s RETURNING url",
        old=await world.id_of(OLD), url=YOUNG,
    )  # fmt: skip
    world.clock.now = MAY

    await world.retain()

    assert await world.rows("SELECT url, near_duplicate_of FROM content") == [(YOUNG, None)]


async def test_deletions_of_expired_articles_only_are_queued_for_the_index(world: World) -> None:
    async with world.database.as_system() as conn:
        await documents.listen(conn, target="index")
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(OLD_TOO, IN_JANUARY, text=OTHER)
    await world.star(OLD_TOO)
    world.clock.now = MAY

    await world.retain()

    assert await world.rows("SELECT article_id, action FROM deliveries") == [(await world.id_of(OLD), "delete")]


async def test_nothing_is_queued_without_an_index(world: World) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    world.clock.now = MAY

    await world.retain()

    assert await world.rows("SELECT count(*) FROM deliveries") == [(0,)]


async def test_an_expired_article_that_is_still_listed_is_not_added_again(world: World) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    world.clock.now = MAY
    await world.retain()

    kept = await world.see(OLD, MAY)

    assert kept == Kept(new=0, linked=0)
    assert list(kept.links) == [], "nothing is fetched again"
    assert await world.urls() == set()


async def test_an_entry_of_a_source_that_was_left_and_followed_again_comes_back(world: World) -> None:
    async with world.database.as_system() as conn:
        other = await a_source(conn, url="https://example.org/feed")
    await world.see(OLD, IN_JANUARY, text=TEXT, source=other.id)
    async with world.database.as_system() as conn:
        await remove_source(conn, source_id=other.id)
        await finish_removals(conn)
        again = await follow(conn, url="https://example.org/feed", name=None, now=IN_FEBRUARY)

    kept = await world.see(OLD, IN_FEBRUARY, source=again.id)

    assert kept == Kept(new=1, linked=1)
    assert await world.counts() == {"articles": 1, "article_sources": 1, "content": 0, "marks": 0}


async def test_a_dry_run_reports_what_would_be_deleted_and_changes_nothing(world: World) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(OLD_TOO, IN_JANUARY)
    await world.star(OLD_TOO)
    world.clock.now = MAY
    before = await world.counts(), await world.months(), await world.rows("SELECT * FROM retention_state")

    planned = await world.retainer().plan()

    assert planned.months == [Month(JANUARY, articles=2, starred=1)]
    assert (await world.counts(), await world.months(), await world.rows("SELECT * FROM retention_state")) == before


@pytest.mark.parametrize("step", range(10))
async def test_a_run_that_was_killed_is_continued(world: World, step: int) -> None:
    """At the step of that number it is killed; the next run finds what is left, and the end is the same."""
    async with world.database.as_system() as conn:
        await documents.listen(conn, target="index")
    await world.see(OLD, IN_JANUARY, text=TEXT)
    await world.see(OLD_TOO, IN_JANUARY, text=OTHER)
    await world.see(YOUNG, IN_FEBRUARY, text=TEXT)
    await world.star(OLD_TOO)
    world.clock.now = MAY
    left = step

    def die(_: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise SystemExit(9)

    with pytest.raises(SystemExit):
        await world.retain(die)
    assert (opened := await world.open(YOUNG))
    assert opened.html == f"<p>{TEXT}</p>"
    assert await world.open(OLD_TOO)
    await world.retain()

    assert await world.urls() == {OLD_TOO, YOUNG}
    assert await world.counts() == {"articles": 2, "article_sources": 2, "content": 2, "marks": 1}
    assert await world.rows("SELECT article_id, action FROM deliveries") == [(await world.id_of(OLD), "delete")]
    assert await world.rows("SELECT article_tables_gone()") == []


async def test_a_run_whose_time_is_up_stops_and_is_due_again_soon(world: World) -> None:
    await world.see(OLD, IN_JANUARY)
    world.clock.now = MAY
    retainer = world.retainer(at_once=timedelta(0))
    (turn,) = await retainer.claim(1)

    report = await retainer.work(turn)

    assert (report.months, report.is_done, report.left) == ([], False, "the time is up")
    assert await world.urls() == {OLD}
    assert await world.rows("SELECT due_at, lease FROM retention_state") == [(MAY + timedelta(minutes=10), None)]


async def test_only_one_runs_at_a_time_and_one_that_died_is_replaced(world: World, clock: MovableClock) -> None:
    first, second = world.retainer(), world.retainer()

    (turn,) = await first.claim(1)
    meanwhile = await second.claim(1)
    clock.move(minutes=15)
    (again,) = await second.claim(1)
    await second.work(again)
    done = await first.claim(1)
    clock.move(days=1)

    assert meanwhile == []
    assert turn.lease != again.lease
    assert done == []
    assert len(await first.claim(1)) == 1
    assert await first.lag() == timedelta(0)


async def test_a_locked_month_is_retried_later(world: World, database: Database) -> None:
    await world.see(OLD, IN_JANUARY)
    world.clock.now = MAY
    async with database.as_system() as reader:
        await reader.execute("SELECT FROM articles LIMIT 1")

        report = await world.retain()

        assert (report.months, report.is_done, report.left) == ([], False, "2026-01 is being read")
    assert (await world.retain()).months == [Month(JANUARY, articles=1, starred=0)]


async def test_readers_do_not_wait_for_a_month_to_be_detached(world: World, database: Database, conninfo: str) -> None:
    await world.see(OLD, IN_JANUARY, text=TEXT)
    async with database.as_system() as reader, database.as_system() as conn:
        await reader.execute("SELECT FROM articles LIMIT 1")
        going = asyncio.create_task(gone(conn, JANUARY))

        opened = await world.open(OLD)

        assert opened
        assert await going is False, "it gave way"


async def gone(conn: Connection, month: date) -> bool:
    try:
        return await store.detach_month(conn, month=month) is not None
    except Busy:
        return False


async def test_a_star_is_either_kept_or_keeps_the_month(world: World, database: Database) -> None:
    """Who stars has looked the article up in the same transaction: from then on its month cannot go."""
    await world.see(OLD, IN_JANUARY, text=TEXT)
    article_id = await world.id_of(OLD)
    async with database.as_user(ADA) as reader:
        assert await lists.find_article(reader, article_id=article_id)
        async with database.as_system() as conn:
            assert not await gone(conn, JANUARY)
        await marks.mark(reader, user_id=ADA, article_id=article_id, is_read=None, is_starred=True, now=MAY)
        async with database.as_system() as conn:
            assert not await gone(conn, JANUARY)

    async with database.as_system() as conn:
        assert await gone(conn, JANUARY)
    assert (opened := await world.open(OLD))
    assert opened.is_starred


async def test_changes_while_starred_articles_are_copied_are_not_lost(world: World, database: Database) -> None:
    """The copying is over and it waits for the others to be out; at this moment stars come, go and change."""
    urls = [f"https://example.com/{name}" for name in ("stays", "changes", "unstarred", "late")]
    for url in urls:
        await world.see(url, IN_JANUARY, text=f"{TEXT} {url}")
    stays, changes, unstarred, late = urls
    for url in (stays, changes, unstarred):
        await world.star(url)
    async with as_owner(database) as conn:
        await conn.execute("ALTER FUNCTION let_article_month_go SET lock_timeout = '30s'")
    async with database.as_system() as going:
        async with database.as_user(ADA) as reader:
            await reader.execute("SELECT FROM articles LIMIT 1")
            task = asyncio.create_task(gone(going, JANUARY))
            while not await world.rows("SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted"):
                await asyncio.sleep(0.01)
            await mark(reader, await id_seen_by(reader, late), is_starred=True)
            await mark(reader, await id_seen_by(reader, unstarred), is_starred=False)
            await mark(reader, await id_seen_by(reader, changes), is_read=True)
        assert await task

    assert await world.urls() == {stays, changes, late}
    assert (changed := await world.open(changes))
    assert (changed.is_read, changed.is_starred) == (True, True)
    assert (opened := await world.open(late))
    assert opened.html == f"<p>{TEXT} {late}</p>"
    assert await world.counts() == {"articles": 3, "article_sources": 3, "content": 3, "marks": 3}


async def id_seen_by(conn: Connection, url: str) -> ArticleId:
    row = await (await conn.execute("SELECT id FROM articles WHERE url = %(url)s", {"url": url})).fetchone()
    assert row
    return row[0]


async def mark(
    conn: Connection, article_id: ArticleId, *, is_read: bool | None = None, is_starred: bool | None = None
) -> None:
    await marks.mark(conn, user_id=ADA, article_id=article_id, is_read=is_read, is_starred=is_starred, now=MAY)


async def test_what_comes_before_its_month_was_made_waits_and_is_moved(world: World) -> None:
    late = datetime(2026, 9, 3, tzinfo=UTC)
    await world.see(YOUNG, late, text=TEXT)
    await world.star(YOUNG)
    waiting = await world.rows(
        "SELECT count(*) FROM articles JOIN pg_class ON pg_class.oid = articles.tableoid"
        " WHERE relname = 'articles_default'"
    )
    before = await world.open(YOUNG)
    world.clock.now = late

    await world.retainer().claim(1)

    assert waiting == [(1,)]
    assert (await world.months())[-1] == date(2026, 10, 1)
    assert await world.rows("SELECT tableoid::regclass::text FROM articles") == [("months.articles_y2026m09",)]
    assert await world.open(YOUNG) == before
    assert await world.counts() == {"articles": 1, "article_sources": 1, "content": 1, "marks": 1}


async def test_months_are_made_ahead_and_once_however_many_make_them(world: World, clock: MovableClock) -> None:
    clock.now = datetime(2026, 11, 5, tzinfo=UTC)

    await asyncio.gather(*(world.retainer().claim(1) for _ in range(4)))
    await world.retainer().claim(1)

    assert (await world.months())[-1] == date(2026, 12, 1)
    assert len(await world.months()) == 12


async def test_events_polls_and_clicks_have_their_own_time_and_the_audit_log_has_none(world: World) -> None:
    now = world.clock()
    async with world.database.as_system() as conn:
        for age in (29, 31, 89, 91, 364, 366):
            at = now - timedelta(days=age)
            await events.record(conn, ADA, EventType.USER_REGISTERED, at)
            await conn.execute(
                """
                INSERT INTO poll_events (source_id, at, outcome, bytes, took_ms, new_articles)
                VALUES (%(source)s, %(at)s, 'polled', 1, 1, 0)
                """,
                {"source": world.source, "at": at},
            )
            await conn.execute(
                """
                INSERT INTO analytics_consents (user_id, given_at) VALUES (%(user)s, %(at)s) ON CONFLICT DO NOTHING
                """,
                {"user": ADA, "at": at},
            )
            await conn.execute(
                """
                INSERT INTO feed_item_clicks (id, user_id, article_id, source_id, kind, clicked_at)
                VALUES (gen_random_uuid(), %(user)s, gen_random_uuid(), %(source)s, 'open', %(at)s)
                """,
                {"user": ADA, "source": world.source, "at": at},
            )
    planned = await world.retainer().plan()

    report = await world.retain()

    assert report.rows == planned.rows == {RetainedKind.EVENTS: 1, RetainedKind.POLLS: 5, RetainedKind.CLICKS: 3}
    assert await world.rows(
        """
        SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM poll_events),
            (SELECT count(*) FROM feed_item_clicks)
        """
    ) == [(5, 1, 3)]


async def test_a_user_cannot_read_partitions_directly_or_the_marks_of_others(world: World) -> None:
    await world.see(OLD, IN_JANUARY)
    await world.star(OLD, ADA)
    await world.star(OLD, BOB)
    world.clock.now = MAY
    await world.retain()
    tables = await world.rows(
        "SELECT relname FROM pg_class WHERE relnamespace = 'months'::regnamespace AND relkind = 'r'"
    )

    assert len(tables) > 20
    for (table,) in tables:
        async with world.database.as_user(ADA) as conn:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await conn.execute(f"SELECT FROM months.{table}".encode())
            await conn.rollback()
    async with world.database.as_user(ADA) as conn:
        assert await (await conn.execute("SELECT DISTINCT user_id FROM marks")).fetchall() == [(ADA,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await conn.execute(
                "INSERT INTO marks (user_id, article_id) VALUES (%(bob)s, gen_random_uuid())", {"bob": BOB}
            )
        await conn.rollback()


async def test_a_turn_ends_before_its_lease_does(world: World) -> None:
    (turn,) = await world.retainer().claim(1)

    assert isinstance(turn, RetentionTurn)
    assert await world.rows("SELECT due_at > %(ends_at)s FROM retention_state", ends_at=turn.ends_at) == [(True,)]
