"""`headwater user`: accounts, managed by an operator."""

import re

import pytest

from headwater.accounts.access import Access, LoggedIn
from headwater.accounts.types import AccountOptions, Visitor
from headwater.audit import store as audit
from headwater.db import Database
from headwater.errors import WrongPassword
from headwater.sources.subscribe import add_feed
from tests.builders import another_administrator
from tests.clock import MovableClock
from tests.headwater_process import Headwater

pytestmark = pytest.mark.database

PASSWORD = "correct horse battery"
HERE = Visitor("192.0.2.1", "a browser")


@pytest.fixture
def headwater(conninfo: str, tmp_path_factory: pytest.TempPathFactory) -> Headwater:
    return Headwater(tmp_path_factory.mktemp("headwater"), DATABASE_URL=conninfo)


@pytest.fixture
def access(database: Database, clock: MovableClock) -> Access:
    return Access(database, clock, AccountOptions(confirm_email=True))


def test_a_first_account_that_is_no_super_admin_is_reported(headwater: Headwater) -> None:
    create = ("user", "create", "--password-stdin")
    first = headwater.run(*create, "ann@example.com", "--role", "reader", typed=PASSWORD)
    second = headwater.run(*create, "bob@example.com", "--role", "super_admin", typed=PASSWORD)

    assert "There is no super_admin." in first.stdout
    assert "headwater user role ann@example.com super_admin" in first.stdout
    assert "There is no super_admin." not in second.stdout


async def test_accounts_are_created_listed_changed_and_deleted(headwater: Headwater, access: Access) -> None:
    empty = headwater.run("user", "list")
    first = headwater.run("user", "create", "Ann@example.com", "--password-stdin", typed=f"{PASSWORD}\n")
    second = headwater.run("user", "create", "bob@example.com", "--password-stdin", typed=PASSWORD)
    came = await access.log_in("ann@example.com", PASSWORD, HERE)
    promoted = headwater.run("user", "role", "BOB@example.com", "moderator")
    listed = headwater.json("user", "list")
    shown = headwater.run("user", "list").stdout
    removed = headwater.run("user", "remove", "bob@example.com", "--yes")
    left = headwater.json("user", "list")

    assert "No accounts yet" in empty.stdout
    assert "Ann@example.com can log in now, as super_admin." in first.stdout
    assert "bob@example.com can log in now, as reader." in second.stdout
    assert isinstance(came, LoggedIn)  # though addresses are to be confirmed: the operator vouches for it
    assert "bob@example.com was reader, and is moderator now." in promoted.stdout
    assert [(user["email"], user["role"]) for user in listed] == [
        ("Ann@example.com", "super_admin"),
        ("bob@example.com", "moderator"),
    ]
    assert set(listed[0]) == {"id", "email", "role", "confirmed_at", "created_at"}
    assert re.search(r"bob@example\.com +moderator +\d{4}-\d\d-\d\d +yes", shown)
    assert "bob@example.com is deleted" in removed.stdout
    assert [user["email"] for user in left] == ["Ann@example.com"]


async def test_a_changed_role_is_in_the_audit_log(headwater: Headwater, database: Database) -> None:
    headwater.run("user", "create", "ann@example.com", "--password-stdin", typed=PASSWORD)
    await another_administrator(database)
    headwater.run("user", "role", "ann@example.com", "moderator")

    async with database.as_system() as conn:
        (entry,) = (await audit.list_entries(conn, limit=10)).entries
    told = (entry.actor_name, str(entry.action), entry.subject_name)
    assert told == ("command line", "role.changed", "ann@example.com")
    assert entry.detail == {"from": "super_admin", "to": "moderator"}


async def test_a_new_password_ends_every_session(headwater: Headwater, access: Access) -> None:
    headwater.run("user", "create", "ann@example.com", "--password-stdin", typed=PASSWORD)
    came = await access.log_in("ann@example.com", PASSWORD, HERE)
    assert isinstance(came, LoggedIn)

    done = headwater.run("user", "password", "ann@example.com", "--password-stdin", typed="another sentence of mine\n")

    assert done.returncode == 0, done.stderr
    assert await access.recognise(came.tokens.access) is None
    with pytest.raises(WrongPassword):
        await access.log_in("ann@example.com", PASSWORD, HERE)
    assert isinstance(await access.log_in("ann@example.com", "another sentence of mine", HERE), LoggedIn)


async def test_sources_that_only_a_deleted_user_followed_are_deleted(
    headwater: Headwater, database: Database, access: Access, clock: MovableClock
) -> None:
    headwater.run("user", "create", "ann@example.com", "--password-stdin", typed=PASSWORD)
    came = await access.log_in("ann@example.com", PASSWORD, HERE)
    assert isinstance(came, LoggedIn)
    async with database.as_system() as conn:
        await add_feed(conn, user_id=came.user.id, name="A", url="https://a.example/feed", now=clock())
    followed = headwater.json("source", "list")
    await another_administrator(database)

    headwater.run("user", "remove", "ann@example.com", "--yes")

    assert len(followed) == 1
    assert headwater.json("source", "list") == []


@pytest.mark.parametrize("arguments", [("role", "ann@example.com", "reader"), ("remove", "ann@example.com", "--yes")])
def test_the_command_line_neither_demotes_nor_removes_the_last_super_admin(
    headwater: Headwater, arguments: tuple[str, ...]
) -> None:
    headwater.run("user", "create", "ann@example.com", "--password-stdin", typed=PASSWORD)

    refused = headwater.run("user", *arguments)

    assert refused.returncode == 4
    assert "ann@example.com is the only super_admin" in refused.stderr
    assert [user["role"] for user in headwater.json("user", "list")] == ["super_admin"]


@pytest.mark.parametrize(
    ("arguments", "typed", "code", "message"),
    [
        (("create", "ann", "--password-stdin"), PASSWORD, 2, "Invalid email address"),
        (("create", "ann@example.com", "--password-stdin"), "", 2, "Password is required"),
        (("create", "ann@example.com", "--password-stdin"), "short", 2, "at least 8 characters"),
        (("create", "ann@example.com", "--password-stdin"), "x" * 5000, 2, "at most 1024 characters"),
        (("create", "ann@example.com"), PASSWORD, 2, "--password-stdin"),
        (("create", "ann@example.com", "--role", "king", "--password-stdin"), PASSWORD, 2, "super_admin"),
        (("create", "there@example.com", "--password-stdin"), PASSWORD, 4, "already exists"),
        (("role", "nobody@example.com", "reader"), "", 3, "There is no account 'nobody@example.com'"),
        (("role", "there@example.com", "king"), "", 2, "super_admin"),
        (("password", "nobody@example.com", "--password-stdin"), PASSWORD, 3, "There is no account"),
        (("remove", "nobody@example.com", "--yes"), "", 3, "There is no account"),
        (("remove", "there@example.com"), "", 2, "--yes"),
    ],
    ids=[
        "no-address", "no-password", "short", "novel", "nobody-to-ask", "role", "taken", "role-of-nobody",
        "no-such-role", "password-of-nobody", "remove-nobody", "unasked",
    ],
)  # fmt: skip
def test_errors_have_a_message_and_an_exit_code(
    headwater: Headwater, arguments: tuple[str, ...], typed: str, code: int, message: str
) -> None:
    if "there@example.com" in arguments:
        headwater.run("user", "create", "there@example.com", "--password-stdin", typed=PASSWORD)

    done = headwater.run("user", *arguments, typed=typed)

    assert done.returncode == code, done.stderr
    assert message in re.sub(r"[│\s]+", " ", done.stderr)
    assert "Traceback" not in done.stderr
    assert typed == "" or typed not in done.stdout + done.stderr


async def test_the_set_up_code_is_printed_while_there_is_no_account(
    headwater: Headwater, database: Database, access: Access
) -> None:
    shown = headwater.run("user", "setup-code").stdout.strip()

    remote = Visitor("203.0.113.7", "", is_remote=True)
    await access.register("ann@example.com", PASSWORD, remote, code=shown)

    assert re.fullmatch(r"[a-z2-7]{5}-[a-z2-7]{5}", shown)
    assert "No setup code is needed" in headwater.run("user", "setup-code").stdout


async def test_the_operator_changes_an_email_and_the_old_one_is_notified(
    headwater: Headwater, database: Database
) -> None:
    headwater.run("user", "create", "ann@example.com", "--password-stdin", typed=PASSWORD)

    done = headwater.run("user", "email", "ann@example.com", "ann@example.org")

    assert done.returncode == 0, done.stderr
    assert [user["email"] for user in headwater.json("user", "list")] == ["ann@example.org"]
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT kind, email, detail FROM outgoing_mail")
        assert await cur.fetchall() == [("email_changed", "ann@example.com", "ann@example.org")]
