"""Quotas of one user per day or hour: the limit is exact, also for concurrent requests."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import DAY, HOUR, Quotas, spend
from headwater.accounts.store import attempts
from headwater.db import Database
from headwater.errors import AlreadySubscribed, QuotaReached, TooManyFeeds
from headwater.sources.opml import OpmlLine, write_opml
from headwater.sources.opml_import import Importer
from headwater.sources.subscribe import add_feed
from headwater.types import UserId
from headwater.web import WebOptions
from tests.api.test_custom import a_user
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import PAGE, Person, a_person

pytestmark = pytest.mark.database

FEW = Quotas(subscriptions=3, imports_per_day=2, suggestions_per_day=2, retries_per_hour=2, additions_per_hour=6)


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock, web=WebOptions(quotas=FEW))


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


async def follow(database: Database, user_id: UserId, number: int, most: int = 3) -> bool:
    try:
        async with database.as_system() as conn:
            url = f"https://{number}.example/feed"
            await add_feed(conn, user_id=user_id, name="x", url=url, now=START, most=most)
    except TooManyFeeds:
        return False
    return True


async def test_those_who_add_feeds_at_the_same_time_get_no_more_than_allowed(
    database: Database, clock: MovableClock
) -> None:
    ada = await a_user(database, clock, "ada@example.com")

    added = await asyncio.gather(*(follow(database, ada.id, number) for number in range(5)))

    assert sum(added) == 3
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT (SELECT count(*) FROM subscriptions), (SELECT count(*) FROM sources)")
        assert await cur.fetchone() == (3, 3)


async def test_a_feed_that_is_followed_already_is_reported_as_that(database: Database, clock: MovableClock) -> None:
    ada = await a_user(database, clock, "ada@example.com")
    await follow(database, ada.id, 1, most=1)

    with pytest.raises(AlreadySubscribed):
        await follow(database, ada.id, 1, most=1)


async def test_the_page_says_how_many_feeds_are_allowed(ada: Person) -> None:
    answers = [await ada.send("POST", "/feeds", name="x", url=f"https://{n}.example/feed") for n in range(4)]

    assert [answer.status_code for answer in answers] == [204, 204, 204, 409]
    assert "You follow 3 feeds, the maximum on this server." in answers[3].text


async def test_an_import_reports_the_lines_beyond_the_limit(database: Database, clock: MovableClock) -> None:
    ada = await a_user(database, clock, "ada@example.com")
    importer = Importer(database, clock, quotas=FEW)
    lines = [OpmlLine(f"Feed {n}", f"https://{n}.example/feed") for n in range(5)]
    import_id = await importer.begin(ada.id, "x.opml", write_opml("x", lines, START))
    await importer.finish(ada.id, import_id)

    async with database.as_system() as conn:
        cur = await conn.execute("SELECT outcome, reason FROM import_lines ORDER BY number")
        outcomes = await cur.fetchall()

    assert [outcome for outcome, _ in outcomes] == ["added"] * 3 + ["invalid"] * 2
    assert "the maximum on this server" in outcomes[4][1]


async def test_imports_a_day_are_limited_and_the_page_says_so(ada: Person, clock: MovableClock) -> None:
    async def bring() -> tuple[int, str]:
        files = {"file": ("x.opml", b"<opml/>", "text/x-opml")}
        answer = await ada.client.post("/opml", headers={**PAGE, "X-CSRF-Token": ada.token}, files=files)
        return answer.status_code, answer.text

    answers = [await bring() for _ in range(3)]
    clock.move(hours=25)
    await ada.open("/opml")
    later, _ = await bring()

    assert [status for status, _ in answers] == [400, 400, 429]
    assert "2 imports a day are allowed. Try again in 24 hours." in answers[2][1]
    assert later == 400


async def test_retries_an_hour_are_limited(ada: Person, database: Database) -> None:
    await ada.send("POST", "/feeds", name="x", url="https://1.example/feed")
    async with database.as_system() as conn:
        row = await (await conn.execute("SELECT id FROM subscriptions")).fetchone()
    assert row is not None

    answers = [await ada.send("POST", f"/feeds/{row[0]}/retry") for _ in range(3)]

    assert answers[2].status_code == 429
    assert "2 retries an hour are allowed." in answers[2].text


async def test_a_feed_cannot_be_polled_without_end_by_deleting_and_adding_it_again(
    ada: Person, database: Database
) -> None:
    async def add_and_delete() -> int:
        status = (await ada.send("POST", "/feeds", name="x", url="https://1.example/feed")).status_code
        async with database.as_system() as conn:
            for (feed_id,) in await (await conn.execute("SELECT id FROM subscriptions")).fetchall():
                await ada.send("DELETE", f"/feeds/{feed_id}")
        return status

    assert [await add_and_delete() for _ in range(7)] == [204] * 6 + [429]


async def test_a_feed_cannot_be_given_new_urls_without_end(ada: Person, database: Database) -> None:
    await ada.send("POST", "/feeds", name="x", url="https://1.example/feed")
    async with database.as_system() as conn:
        row = await (await conn.execute("SELECT id FROM subscriptions")).fetchone()
    assert row is not None

    async def edit(name: str, url: str) -> int:
        return (await ada.send("PATCH", f"/feeds/{row[0]}", name=name, url=url)).status_code

    moved = [await edit("x", f"https://1.example/{number}") for number in range(6)]

    assert moved == [204] * 5 + [429]
    assert await edit("y", "https://1.example/4") == 204  # another name is no poll


async def test_uses_at_the_same_time_are_each_counted(database: Database, clock: MovableClock) -> None:
    ada = await a_user(database, clock, "ada@example.com")

    async def use() -> bool:
        try:
            await spend(database, user_id=ada.id, what="things", limit=Limit(3, HOUR), now=clock())
        except QuotaReached:
            return False
        return True

    assert sum(await asyncio.gather(*(use() for _ in range(8)))) == 3


async def test_suggestions_are_counted_for_each_user(database: Database, clock: MovableClock) -> None:
    ada, bob = await a_user(database, clock, "a@example.com"), await a_user(database, clock, "b@example.com")
    for user in (ada, bob):
        await spend(database, user_id=user.id, what="suggestions", limit=Limit(1, DAY), now=clock())

    with pytest.raises(QuotaReached, match="1 suggestions a day are allowed"):
        await spend(database, user_id=ada.id, what="suggestions", limit=Limit(1, DAY), now=clock())
    async with database.as_system() as conn:
        await attempts.clear(conn, bucket=f"suggestions:{ada.id}")
