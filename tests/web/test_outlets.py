"""What an account shows without a log-in ends with the access to it: a thief who was in the account reads no longer."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from headwater.accounts.changes import find_account, give_password, sign_out
from headwater.accounts.store import users
from headwater.db import Database, fetch_rows, fetch_value
from tests.app import create_app
from tests.clock import MovableClock
from tests.library.notifications.browser import PushBrowser
from tests.owner import until_waiting
from tests.web.visitor import PASSWORD, Person, a_person

pytestmark = pytest.mark.database

EMAIL, NEW = "ada@example.com", "another good sentence"
TARGETS = "SELECT kind, is_enabled FROM notification_targets ORDER BY kind"


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> AsyncIterator[Person]:
    async with a_person(create_app(database, clock)) as person:
        await person.register(EMAIL)
        yield person


async def a_view(ada: Person, database: Database) -> str:
    """Returns its path."""
    await ada.submit("/views", name="All", icon="star", query="*")
    async with database.as_system() as conn:
        return f"/views/{await fetch_value(conn, 'SELECT id FROM views')}"


async def a_feed(ada: Person, database: Database) -> str:
    """The path of a view's feed."""
    came = await ada.submit(f"{await a_view(ada, database)}/feed")
    found = re.search(r"/view-feeds/[\w-]+", came.text)
    assert found is not None, came.text
    return f"{found[0]}/atom.xml"


async def add_targets(ada: Person) -> None:
    keys = PushBrowser().keys
    assert (await ada.submit("/notifications/webhook", url="https://hooks.example.com/in")).status_code == 200
    await ada.submit(
        "/notifications/browser", endpoint="https://push.example.com/1", key=keys["push_key"], auth=keys["push_auth"]
    )


async def change(_database: Database, _clock: MovableClock, ada: Person) -> None:
    came = await ada.submit("/account/password", current_password=PASSWORD, password=NEW, password_confirm=NEW)
    assert "Password changed." in came.text


async def set_by_operator(database: Database, clock: MovableClock, _ada: Person) -> None:
    await give_password(database, clock, email=EMAIL, password=NEW, site="https://reader.example")


async def log_out_everywhere(database: Database, _clock: MovableClock, _ada: Person) -> None:
    async with database.as_system() as conn:
        await sign_out(conn, user_id=(await find_account(conn, EMAIL)).id)


@pytest.mark.parametrize("end", [change, set_by_operator, log_out_everywhere], ids=lambda one: one.__name__)
async def test_feed_addresses_webhooks_and_browsers_end_with_the_access(
    ada: Person, database: Database, clock: MovableClock,
    end: Callable[[Database, MovableClock, Person], Awaitable[None]],
) -> None:  # fmt: skip
    feed = await a_feed(ada, database)
    await add_targets(ada)
    async with database.as_system() as conn:
        await conn.execute("INSERT INTO notification_targets (id, user_id, kind) SELECT id, id, 'email' FROM users")
    assert (await ada.client.get(feed)).status_code == 200

    await end(database, clock, ada)

    assert (await ada.client.get(feed)).status_code == 404
    async with database.as_system() as conn:
        assert [tuple(row.values()) for row in await fetch_rows(conn, TARGETS)] == [
            ("email", True), ("push", False), ("webhook", False)
        ]  # fmt: skip


async def test_the_owner_enables_a_webhook_of_theirs_again(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    await add_targets(ada)
    await change(database, clock, ada)
    page = await ada.open("/notifications")
    assert "Enable it only if it is yours." in page.text

    enable = re.search(r'action="(/notifications/[\w-]+/enable)"', page.text)
    assert enable is not None
    await ada.submit(enable[1])

    async with database.as_system() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM notification_targets WHERE is_enabled") == 1


@pytest.mark.parametrize("path", ["{view}/feed", "/notifications/webhook"])
async def test_what_is_added_while_a_new_password_is_set_is_not_there_after_it(
    ada: Person, database: Database, clock: MovableClock, path: str
) -> None:
    path = path.format(view=await a_view(ada, database))
    async with database.as_system() as conn:
        user = await find_account(conn, EMAIL)
        await users.lock_credentials(conn, user_id=user.id)
        setting = asyncio.create_task(set_by_operator(database, clock, ada))
        await until_waiting(database, 1)
        adding = asyncio.create_task(ada.submit(path, url="https://hooks.example.com/in"))
        await until_waiting(database, 2)
    await setting
    await adding

    async with database.as_system() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM views WHERE feed_key IS NOT NULL") == 0
        assert await fetch_value(conn, "SELECT count(*) FROM notification_targets WHERE is_enabled") == 0
