"""A reader has a feed polled now; operators and the site can forbid it."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from headwater.accounts.quotas import Quotas
from headwater.db import Database
from headwater.web import WebOptions
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

REFRESH = 'aria-label="Refresh Example"'


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> AsyncIterator[Person]:
    web = WebOptions(quotas=Quotas(retries_per_hour=2))
    async with a_person(create_app(database, clock, web=web)) as person:
        await person.register()
        yield person


async def add(person: Person) -> str:
    response = await person.send("POST", "/feeds", name="Example", url="https://example.com/feed")
    return response.headers["headwater-added"]


async def change(database: Database, sql: str) -> None:
    async with database.as_system() as conn:
        await conn.execute(sql.encode(), {"now": START, "later": START + timedelta(hours=2)})


async def polled(database: Database) -> None:
    await change(database, "UPDATE feed_state SET last_polled_at = %(now)s, next_poll_at = %(later)s")


async def next_poll(database: Database) -> datetime:
    async with database.as_system() as conn:
        ((at,),) = await (await conn.execute("SELECT next_poll_at FROM feed_state")).fetchall()
    return at


async def test_a_feed_is_polled_now_and_its_line_is_watched_until_then(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    feed = await add(ada)
    pending = (await ada.part("/feeds")).text
    await polled(database)
    clock.move(hours=1)
    idle = (await ada.part("/feeds")).text

    response = await ada.send("POST", f"/feeds/{feed}/retry")
    due = (await ada.part("/feeds")).text
    unchanged = await ada.part("/feeds/changed", params={"watched": f"{feed}:due"})
    is_due_at = await next_poll(database)
    await polled(database)
    done = (await ada.part("/feeds/changed", params={"watched": f"{feed}:due"})).text

    assert response.headers["hx-trigger"] == "refreshFeedList"
    assert is_due_at == clock()
    assert [REFRESH in page for page in (pending, idle, due, done)] == [False, True, True, True]
    assert [f'value="{feed}:due"' in page for page in (idle, due, done)] == [False, True, False]
    assert "polling now…" in due
    assert "feed-watch" in due
    assert unchanged.status_code == 204


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE feed_state SET asked_until = %(later)s", "The site allows no request before"),
        ("UPDATE hosts SET paused_until = %(later)s", "All feeds of this site fail in the same way"),
        ("UPDATE sources SET enabled = false", "An operator has disabled this feed."),
    ],
    ids=["retry-after", "pause", "disabled"],
)
async def test_what_the_site_or_an_operator_forbids_is_not_polled(
    ada: Person, database: Database, statement: str, message: str
) -> None:
    feed = await add(ada)
    await polled(database)
    await change(database, statement)

    response = await ada.send("POST", f"/feeds/{feed}/retry")

    assert response.status_code == 409
    assert response.headers["hx-retarget"] == f"#feed-item-{feed}-errors"
    assert message in response.text
    assert await next_poll(database) == START + timedelta(hours=2)


async def test_refreshing_has_a_quota(ada: Person, database: Database) -> None:
    feed = await add(ada)
    await polled(database)

    statuses = [(await ada.send("POST", f"/feeds/{feed}/retry")).status_code for _ in range(3)]

    assert statuses == [204, 204, 429]
