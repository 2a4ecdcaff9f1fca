"""The account page."""

import re
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar

from headwater.accounts.bearers import TOKENS_MOST
from headwater.accounts.secrets import digest
from headwater.accounts.store import tokens
from headwater.accounts.types import Scope
from headwater.db import Database
from tests.app import create_app
from tests.builders import another_administrator
from tests.clock import MovableClock
from tests.removals import remove_all
from tests.web.visitor import PASSWORD, Person, a_person

pytestmark = pytest.mark.database

ANOTHER = "another good one"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


async def elsewhere(app: Litestar, person: Person) -> None:
    await person.open("/auth/login")
    await person.submit("/auth/login", email="ada@example.com", password=PASSWORD)


async def test_a_changed_password_logs_out_everywhere_else(app: Litestar, ada: Person) -> None:
    async with a_person(app) as other:
        await elsewhere(app, other)

        changed = await ada.submit(
            "/account/password", current_password=PASSWORD, password=ANOTHER, password_confirm=ANOTHER
        )

        assert "Password changed" in changed.text
        assert (await other.open("/account")).status_code == 303
    assert (await ada.open("/account")).status_code == 200


async def test_copied_cookies_are_refused_after_a_password_change(app: Litestar, ada: Person) -> None:
    async with a_person(app) as thief:
        thief.client.cookies.update(ada.client.cookies)
        assert (await thief.open("/account")).status_code == 200

        await ada.submit("/account/password", current_password=PASSWORD, password=ANOTHER, password_confirm=ANOTHER)

        assert (await thief.open("/account")).status_code == 303
    assert (await ada.submit("/account/analytics", answer="no")).status_code == 303


async def test_a_user_has_a_limited_number_of_tokens_and_may_revoke_one_for_another(
    ada: Person, database: Database
) -> None:
    await ada.submit("/account/tokens", name="first", scopes="read")
    async with database.as_system() as conn:
        await conn.execute(
            """
            INSERT INTO api_tokens (id, user_id, name, token_hash, scopes, created_at)
            SELECT gen_random_uuid(), user_id, number::text, sha256(number::text::bytea), scopes, created_at
            FROM api_tokens CROSS JOIN generate_series(2, %(most)s) AS number
            """,
            {"most": TOKENS_MOST},
        )
        token = await (await conn.execute("SELECT id FROM api_tokens WHERE name = 'first'")).fetchone()

    refused = await ada.submit("/account/tokens", name="one more", scopes="read")
    assert token is not None
    await ada.submit(f"/account/tokens/{token[0]}/revoke")
    made = await ada.submit("/account/tokens", name="one more", scopes="read")

    assert refused.status_code == 409
    assert "You have 100 tokens. Revoke one first." in refused.text
    assert made.status_code == 200


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"current_password": "wrong"}, 401, "The current password is wrong."),
        ({"password": "short", "password_confirm": "short"}, 400, "at least 8 characters"),
        ({"password_confirm": "different"}, 400, "Passwords do not match"),
    ],
    ids=["wrong", "short", "differ"],
)
async def test_an_invalid_password_is_refused(ada: Person, fields: dict[str, str], status: int, message: str) -> None:
    given = {"current_password": PASSWORD, "password": ANOTHER, "password_confirm": ANOTHER, **fields}

    refused = await ada.submit("/account/password", **given)

    assert refused.status_code == status
    assert message in refused.text


async def test_another_session_is_listed_and_can_be_ended(app: Litestar, ada: Person) -> None:
    async with a_person(app) as other:
        await elsewhere(app, other)
        page = (await ada.open("/account")).text
        there = re.findall(r"/account/sessions/([0-9a-f-]+)/end", page)
        assert len(there) == 1

        await ada.submit(f"/account/sessions/{there[0]}/end")

        assert (await other.open("/account")).status_code == 303


async def test_a_token_is_shown_once_and_only_its_digest_is_kept(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    made = await ada.submit("/account/tokens", name="my script", scopes="read")
    found = re.search(r'id="new-token">(hw_[\w-]+)<', made.text)
    assert found is not None

    async with database.as_system() as conn:
        known = await tokens.find(conn, token_hash=digest(found[1]), now=clock())

    assert known is not None
    assert known[0].email == "ada@example.com"
    assert known[1] == {Scope.READ}
    assert found[1] not in (await ada.open("/account")).text


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"name": "", "scopes": "read"}, 400, "A token needs a name"),
        ({"name": "x", "scopes": "everything"}, 400, "There is no scope"),
        ({"name": "x", "scopes": ""}, 400, "Choose what the token may do"),
    ],
    ids=["no-name", "odd", "none"],
)
async def test_an_invalid_token_is_refused(ada: Person, fields: dict[str, str], status: int, message: str) -> None:
    refused = await ada.submit("/account/tokens", **fields)

    assert refused.status_code == status
    assert message in refused.text


async def test_a_readers_token_cannot_do_more_than_the_reader(app: Litestar, ada: Person) -> None:
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        refused = await bob.submit("/account/tokens", name="x", scopes="admin")

    assert refused.status_code == 400
    assert "more than you may do yourself" in refused.text


async def test_a_user_cannot_end_another_users_session_or_token(app: Litestar, ada: Person, database: Database) -> None:
    await ada.submit("/account/tokens", name="hers", scopes="read")
    async with database.as_system() as conn:
        session = await (await conn.execute("SELECT id FROM sessions")).fetchone()
        token = await (await conn.execute("SELECT id FROM api_tokens")).fetchone()
    assert session is not None
    assert token is not None
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        ended = await bob.submit(f"/account/sessions/{session[0]}/end")
        revoked = await bob.submit(f"/account/tokens/{token[0]}/revoke")

    assert (ended.status_code, revoked.status_code) == (404, 404)
    assert (await ada.open("/account")).status_code == 200


async def test_deleting_an_account_needs_the_password_and_leaves_no_rows(ada: Person, database: Database) -> None:
    await ada.send("POST", "/feeds", name="A", url="https://a.example/feed")
    wrong = await ada.submit("/account/delete", current_password="wrong")
    await another_administrator(database)

    gone = await ada.submit("/account/delete", current_password=PASSWORD)
    await remove_all(database)

    assert wrong.status_code == 401
    assert gone.headers["location"] == "/auth/login?deleted=yes"
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT email FROM users")
        assert await cur.fetchall() == [("root@example.com",)]
        for table in ("sessions", "subscriptions", "events", "api_tokens", "marks", "summaries"):
            row = await (await conn.execute(f"SELECT count(*) FROM {table}".encode())).fetchone()
            assert row == (0,), table


async def test_the_last_super_admin_may_not_delete_their_account(ada: Person) -> None:
    refused = await ada.submit("/account/delete", current_password=PASSWORD)

    assert refused.status_code == 409
    assert "ada@example.com is the only super_admin" in refused.text
    assert (await ada.open("/account")).status_code == 200


async def test_the_dashboard_shows_the_email(ada: Person) -> None:
    assert re.search(r'id="user-email">Logged in as <b>ada@example\.com</b>', (await ada.open("/dashboard")).text)


@pytest.mark.parametrize(("method", "path"), [("POST", "/feeds"), ("POST", "/summaries"), ("GET", "/dashboard")])
async def test_a_form_of_an_ended_session_asks_to_log_in(ada: Person, method: str, path: str) -> None:
    """Its form has the CSRF token of the ended session; the message is to log in, not that the form has expired."""
    token = ada.token
    await ada.submit("/auth/logout")
    ada.token = token

    part = await ada.send(method, path, name="A", url="https://a.example/feed")

    assert part.status_code == 401
    assert part.headers["location"] == "/auth/login"
    assert "form has expired" not in part.text
