"""The audit log: entries stay readable after their user is deleted; pages neither skip nor repeat a line."""

from datetime import timedelta
from uuid import UUID

import pytest

from headwater.audit import store
from headwater.audit.types import COMMAND_LINE, Actor, AuditAction, AuditFilter
from headwater.db import Connection
from headwater.types import UserId
from tests.clock import START

pytestmark = pytest.mark.database

SOURCE = UUID(int=5)


async def a_user(conn: Connection) -> UserId:
    await conn.execute(
        "INSERT INTO users (id, email, email_key) VALUES (%(id)s, 'ada@example.com', 'ada@example.com')",
        {"id": UUID(int=1)},
    )
    return UserId(UUID(int=1))


async def write(
    conn: Connection, count: int, *, action: AuditAction = AuditAction.SOURCE_DISABLED, actor: Actor = COMMAND_LINE
) -> None:
    for number in range(count):
        now = START + timedelta(minutes=number // 2)  # two at the same moment: only the id tells them apart
        await store.record(conn, actor, action, now, subject=f"n{number}", subject_id=SOURCE, detail={"n": number})


async def test_a_line_says_who_did_what_to_what_and_how(conn: Connection) -> None:
    actor = Actor(await a_user(conn), "ada@example.com")

    detail = {"to": "moderator"}
    await store.record(conn, actor, AuditAction.ROLE_CHANGED, START, subject="bob@example.com", detail=detail)
    [line] = (await store.list_entries(conn, limit=10)).entries

    assert (line.at, line.actor_id, line.actor_name) == (START, actor.user_id, "ada@example.com")
    assert (line.action, line.subject_name, line.detail) == (
        AuditAction.ROLE_CHANGED,
        "bob@example.com",
        {"to": "moderator"},
    )


async def test_pages_show_every_line_once_and_the_newest_first(conn: Connection) -> None:
    await write(conn, 7)

    first = await store.list_entries(conn, limit=3)
    second = await store.list_entries(conn, limit=3, after=first.next)
    third = await store.list_entries(conn, limit=3, after=second.next)

    shown = [line.subject_name for page in (first, second, third) for line in page.entries]
    assert sorted(shown) == [f"n{number}" for number in range(7)]
    assert shown[0] == "n6"
    assert third.next is None


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (AuditFilter(action=AuditAction.SOURCE_ENABLED), 2),
        (AuditFilter(subject_id=SOURCE), 5),
        (AuditFilter(subject_id=UUID(int=6)), 0),
        (AuditFilter(actor_id=UserId(UUID(int=1))), 2),
    ],
    ids=["action", "subject", "another subject", "actor"],
)
async def test_lines_are_found_by_deed_subject_and_actor(conn: Connection, wanted: AuditFilter, count: int) -> None:
    await write(conn, 3)
    await write(conn, 2, action=AuditAction.SOURCE_ENABLED, actor=Actor(await a_user(conn), "ada@example.com"))

    assert len((await store.list_entries(conn, wanted=wanted, limit=10)).entries) == count


async def test_a_line_outlives_the_account_of_who_wrote_it(conn: Connection) -> None:
    await write(conn, 1, actor=Actor(await a_user(conn), "ada@example.com"))

    await conn.execute("DELETE FROM users")
    [line] = (await store.list_entries(conn, limit=10)).entries

    assert (line.actor_id, line.actor_name) == (None, "ada@example.com")
