"""Nothing is counted without consent, nothing outlives it, and no number of fewer than three readers is shown."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from headwater.analytics import store
from headwater.analytics.types import PopularityOrder, PopularityPeriod, ReaderAction
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.ids import new_id
from headwater.types import UserId
from tests.analytics.crowd import a_crowd, does, follow
from tests.builders import a_source, an_article
from tests.clock import START
from tests.removals import remove_all

pytestmark = pytest.mark.database

LATER = START + timedelta(hours=1)


async def count(database: Database) -> int:
    async with database.as_system() as conn:
        row = await (await conn.execute("SELECT count(*) FROM feed_item_clicks")).fetchone()
    return row[0] if row else -1


async def answer_of(database: Database, user_id: UserId) -> bool | None:
    async with database.as_user(user_id) as conn:
        return await store.find_answer(conn)


async def test_a_new_user_has_given_no_answer(database: Database) -> None:
    crowd = await a_crowd(database, size=1, agree=False)

    assert await answer_of(database, crowd.readers[0].id) is None


async def test_nothing_is_counted_without_consent(database: Database) -> None:
    crowd = await a_crowd(database, size=2, agree=False)
    async with database.as_user(crowd.readers[1].id) as conn:
        await store.answer(conn, user_id=crowd.readers[1].id, consents=False, now=START)

    for reader in crowd.readers:
        for deed in ReaderAction:
            await does(database, reader, deed, crowd.articles[0])

    assert await count(database) == 0


async def test_the_database_refuses_clicks_without_consent(database: Database) -> None:
    """Whatever a mistake in the code would try, and as whom."""
    crowd = await a_crowd(database, size=1, agree=False)
    values = {"id": new_id(), "user": crowd.readers[0].id, "source": crowd.source.id, "now": START}
    insert = """
        INSERT INTO feed_item_clicks (id, user_id, article_id, source_id, kind, clicked_at)
        VALUES (%(id)s, %(user)s, %(id)s, %(source)s, 'open', %(now)s)
    """

    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="feed_item_clicks_need_consent"):
        async with database.as_system() as conn:
            await conn.execute(insert, values)
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="feed_item_clicks_need_consent"):
        async with database.as_user(crowd.readers[0].id) as conn:
            await conn.execute(insert, values)


async def test_the_same_action_is_counted_once(database: Database) -> None:
    crowd = await a_crowd(database, size=1)

    for _ in range(3):
        await does(database, crowd.readers[0], ReaderAction.OPEN, crowd.articles[0])
    await does(database, crowd.readers[0], ReaderAction.CLICK, crowd.articles[0])

    assert await count(database) == 2


async def test_withdrawing_consent_deletes_the_clicks_of_that_user_only(database: Database) -> None:
    crowd = await a_crowd(database, size=2)
    for reader in crowd.readers:
        await does(database, reader, ReaderAction.OPEN, crowd.articles[0])

    async with database.as_user(crowd.readers[0].id) as conn:
        await store.answer(conn, user_id=crowd.readers[0].id, consents=False, now=LATER)

    assert await count(database) == 1
    assert await answer_of(database, crowd.readers[0].id) is False
    assert await answer_of(database, crowd.readers[1].id) is True


async def test_a_user_who_consents_again_starts_without_clicks(database: Database) -> None:
    crowd = await a_crowd(database, size=1)
    reader = crowd.readers[0]
    await does(database, reader, ReaderAction.OPEN, crowd.articles[0])

    async with database.as_user(reader.id) as conn:
        await store.answer(conn, user_id=reader.id, consents=False, now=LATER)
        await store.answer(conn, user_id=reader.id, consents=False, now=LATER)
        await store.answer(conn, user_id=reader.id, consents=True, now=LATER)
        await store.answer(conn, user_id=reader.id, consents=True, now=LATER)

    assert await answer_of(database, reader.id) is True
    assert await count(database) == 0


async def test_a_click_during_a_withdrawal_is_not_counted(database: Database) -> None:
    crowd = await a_crowd(database, size=1)
    reader = crowd.readers[0]
    async with database.as_user(reader.id) as conn:
        await store.answer(conn, user_id=reader.id, consents=False, now=LATER)
        click = asyncio.create_task(does(database, reader, ReaderAction.CLICK, crowd.articles[0]))
        done, _ = await asyncio.wait({click}, timeout=0.2)
        assert not done  # it waits for the answer

    await click
    assert await count(database) == 0


async def test_clicks_are_deleted_with_the_account(database: Database) -> None:
    crowd = await a_crowd(database, size=1)
    await does(database, crowd.readers[0], ReaderAction.OPEN, crowd.articles[0])

    async with database.as_system() as conn:
        await conn.execute("DELETE FROM users")
    await remove_all(database)

    assert await count(database) == 0


async def test_an_article_of_several_sources_counts_for_the_subscribed_one(database: Database) -> None:
    crowd = await a_crowd(database, size=1)
    async with database.as_system() as conn:
        earlier = await a_source(conn, url="https://earlier.example/feed", name="Earlier")
        url = "https://daily.example/0"
        listed = [ListedEntry(earlier.id, an_article(url, title=url, published_at=START))]
        await records.keep(conn, seen_at=START - timedelta(days=1), listed=listed)

    await does(database, crowd.readers[0], ReaderAction.OPEN, crowd.articles[0])
    async with database.as_system() as conn:
        await follow(conn, crowd.readers[0], earlier)
    await does(database, crowd.readers[0], ReaderAction.CLICK, crowd.articles[0])

    async with database.as_system() as conn:
        cur = await conn.execute("SELECT kind, source_id FROM feed_item_clicks")
        assert dict(await cur.fetchall()) == {"open": crowd.source.id, "click": earlier.id}


async def test_numbers_per_source_are_those_of_readers_who_agreed(database: Database) -> None:
    crowd = await a_crowd(database, size=4)
    quiet = await a_crowd(database, name="quiet", size=4, agree=False)
    for reader in (*crowd.readers, *quiet.readers):
        for article in crowd.articles[:2]:
            await does(database, reader, ReaderAction.OPEN, article)
    for reader in crowd.readers[:3]:
        await does(database, reader, ReaderAction.CLICK, crowd.articles[0])
        await does(database, reader, ReaderAction.CLICK, crowd.articles[4])  # straight from the list
        await does(database, reader, ReaderAction.STAR, crowd.articles[0])

    async with database.as_system() as conn:
        ranking = await store.rank(conn, since=START, order=PopularityOrder.READS, limit=10)
        readers = await store.count_readers(conn)

    [told] = ranking.sources
    assert (told.name, told.followers) == ("Daily", 4)
    assert (told.opens, told.clicks, told.reads, told.stars) == (8, 6, 8 + 3, 3)
    assert told.rate == pytest.approx(6 / 11)
    assert (ranking.shown, ranking.hidden) == (1, 0)
    assert (readers.consenting, readers.total) == (4, 8)


async def test_numbers_of_fewer_than_three_readers_are_hidden(database: Database) -> None:
    small = await a_crowd(database, name="small", size=2)
    large = await a_crowd(database, name="large", size=3)
    for reader in small.readers:
        await does(database, reader, ReaderAction.OPEN, small.articles[0])
    for reader in large.readers:
        await does(database, reader, ReaderAction.OPEN, large.articles[0])
    for reader in large.readers[:2]:
        for article in large.articles:
            await does(database, reader, ReaderAction.CLICK, article)
            await does(database, reader, ReaderAction.STAR, article)

    async with database.as_system() as conn:
        ranking = await store.rank(conn, since=START, order=PopularityOrder.READS, limit=10)

    [told] = ranking.sources
    assert told.name == "Large"
    assert (told.followers, told.opens) == (3, 3)
    assert (told.clicks, told.stars, told.rate) == (None, None, None)
    assert (ranking.shown, ranking.hidden) == (1, 1)


async def test_only_what_was_done_in_the_period_counts(database: Database) -> None:
    crowd = await a_crowd(database, size=3)
    for reader in crowd.readers:
        await does(database, reader, ReaderAction.OPEN, crowd.articles[0], START - timedelta(days=2))
        await does(database, reader, ReaderAction.OPEN, crowd.articles[1], START)

    async with database.as_system() as conn:
        [day] = (await store.rank(conn, since=START - timedelta(days=1), order=PopularityOrder.NAME, limit=1)).sources
        [week] = (await store.rank(conn, since=START - timedelta(days=7), order=PopularityOrder.NAME, limit=1)).sources

    assert (day.opens, week.opens) == (3, 6)


@pytest.mark.parametrize("order", PopularityOrder)
async def test_every_order_lists_the_highest_first_and_hidden_numbers_last(
    database: Database, order: PopularityOrder
) -> None:
    less = await a_crowd(database, name="less", size=3)
    more = await a_crowd(database, name="bore" if order is PopularityOrder.NAME else "more", size=4)
    await a_crowd(database, name="none", size=3)
    for crowd, number in ((less, 1), (more, 3)):
        for reader in crowd.readers:
            for article in crowd.articles[:number]:
                for deed in ReaderAction:
                    if deed is not ReaderAction.CLICK or crowd is more or order is not PopularityOrder.RATE:
                        await does(database, reader, deed, article)

    async with database.as_system() as conn:
        ranking = await store.rank(conn, since=START, order=order, limit=2)

    assert [one.name for one in ranking.sources] == [more.source.name, less.source.name]
    assert ranking.shown == 3


@pytest.mark.parametrize("period", PopularityPeriod)
async def test_the_plot_has_every_step_and_hides_few_readers(database: Database, period: PopularityPeriod) -> None:
    crowd = await a_crowd(database, size=3)
    end = period.end(START)
    for reader in crowd.readers:
        await does(database, reader, ReaderAction.OPEN, crowd.articles[0], START)
        await does(database, reader, ReaderAction.CLICK, crowd.articles[0], START)
    await does(database, crowd.readers[0], ReaderAction.OPEN, crowd.articles[1], START - period.step)

    async with database.as_system() as conn:
        moments = await store.list_moments(conn, period=period, until=end)

    assert len(moments) == period.length // period.step
    assert START < moments[-1].at + period.step == end <= START + period.step
    assert (moments[-1].reads, moments[-1].clicks) == (3, 3)
    assert {(one.reads, one.clicks) for one in moments[:-1]} == {(None, None)}


async def test_old_clicks_are_deleted_in_batches(database: Database) -> None:
    crowd = await a_crowd(database, size=1)
    for days, article in enumerate(crowd.articles):
        await does(database, crowd.readers[0], ReaderAction.OPEN, article, START + timedelta(days=days))

    async with database.as_system() as conn:
        before = START + timedelta(days=3)
        forgotten = [await store.remove_before(conn, before=before, limit=2) for _ in range(3)]

    assert forgotten == [2, 1, 0]
    assert await count(database) == 2
