"""The last super_admin cannot be removed or demoted, by any command and by concurrent ones."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from headwater.accounts.access import Access
from headwater.accounts.changes import change_role, create_account, remove_account
from headwater.accounts.store import users
from headwater.accounts.types import AccountOptions, Role, User
from headwater.db import Database
from headwater.errors import LastAdministrator
from tests.builders import another_administrator
from tests.clock import START, MovableClock
from tests.owner import until_waiting

pytestmark = pytest.mark.database

PASSWORD = "correct horse battery"
Removal = Callable[[Database, User], Awaitable[object]]


async def demote_by_page(database: Database, user: User) -> None:
    async with database.as_system() as conn:
        await change_role(conn, user_id=user.id, role=Role.READER)


async def demote_by_command(database: Database, user: User) -> None:
    async with database.as_system() as conn:
        await change_role(conn, user_id=user.id, role=Role.MODERATOR)


async def remove_by_command(database: Database, user: User) -> None:
    async with database.as_system() as conn:
        await remove_account(conn, email=user.email)


async def delete_own_account(database: Database, user: User) -> None:
    await Access(database, lambda: START, AccountOptions()).delete_account(user, PASSWORD)


WAYS = [demote_by_page, demote_by_command, remove_by_command, delete_own_account]


async def administrators(database: Database) -> list[str]:
    async with database.as_system() as conn:
        return [user.email for user in await users.list_all(conn) if user.role is Role.SUPER_ADMIN]


async def an_administrator(database: Database, clock: MovableClock, email: str) -> User:
    return await create_account(database, clock, email=email, password=PASSWORD, role=Role.SUPER_ADMIN)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_the_last_super_admin_is_neither_removed_nor_demoted(
    database: Database, clock: MovableClock, way: Removal
) -> None:
    ann = await an_administrator(database, clock, "ann@example.com")

    with pytest.raises(LastAdministrator, match=r"ann@example\.com is the only super_admin"):
        await way(database, ann)

    assert await administrators(database) == ["ann@example.com"]
    await another_administrator(database)
    await way(database, ann)
    assert await administrators(database) == ["root@example.com"]


@pytest.mark.parametrize("second", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("first", WAYS, ids=lambda way: way.__name__)
async def test_two_super_admins_who_remove_each_other_at_the_same_time_leave_one(
    database: Database, clock: MovableClock, first: Removal, second: Removal
) -> None:
    ann = await an_administrator(database, clock, "ann@example.com")
    bob = await an_administrator(database, clock, "bob@example.com")

    ended = await asyncio.gather(first(database, ann), second(database, bob), return_exceptions=True)

    assert [type(one) for one in ended if one is not None] == [LastAdministrator]
    assert len(await administrators(database)) == 1


async def test_the_second_of_two_waits_for_the_first_and_is_refused(database: Database, clock: MovableClock) -> None:
    ann = await an_administrator(database, clock, "ann@example.com")
    bob = await an_administrator(database, clock, "bob@example.com")
    async with database.as_system() as conn:
        await change_role(conn, user_id=bob.id, role=Role.READER)
        waiting = asyncio.create_task(demote_by_page(database, ann))
        await until_waiting(database)
        assert not waiting.done()

    with pytest.raises(LastAdministrator):
        await waiting
    assert await administrators(database) == ["ann@example.com"]
