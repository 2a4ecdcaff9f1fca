"""/admin/people: users, their roles, and ending their sessions."""

import re
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar

from headwater.audit import store as audit
from headwater.db import Database
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def admin(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register("first@example.com")
        yield person


@pytest.fixture
async def bob(app: Litestar, admin: Person) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register("bob@example.com")
        await person.send("POST", "/feeds", name="Example", url="https://example.com/feed.xml")
        await person.submit("/account/tokens", name="robot", scopes="read")
        yield person


async def id_of(admin: Person, email: str) -> str:
    page = (await admin.open("/admin/people", params={"q": email})).text
    found = re.search(r'id="person-([0-9a-f-]{36})"', page)
    assert found is not None
    return found[1]


async def actions(database: Database) -> list[tuple[str, str, str, dict[str, object]]]:
    async with database.as_system() as conn:
        found = await audit.list_entries(conn, limit=50)
    return [(str(one.action), one.actor_name, one.subject_name, dict(one.detail)) for one in found.entries]


async def test_users_are_listed_with_their_activity(admin: Person, bob: Person) -> None:
    page = (await admin.open("/admin/people")).text
    found = (await admin.part("/admin/people/list", params={"q": "BOB@"})).text

    assert "first@example.com" in page
    assert "(you)" in page
    assert "first@example.com" not in found
    assert re.search(r"feeds </span>1<", found)
    assert "1 session, 1 token" in found


async def test_an_empty_search_says_so(admin: Person) -> None:
    assert "No users match." in (await admin.open("/admin/people?q=zzz")).text


@pytest.mark.parametrize("query", ["page=0", "page=x", "page=-1", "q=" + "x" * 300, "q=%00"])
async def test_invalid_filters_are_refused_with_a_message(admin: Person, query: str) -> None:
    assert (await admin.open(f"/admin/people?{query}")).status_code == 400


async def test_a_role_applies_from_the_next_request(admin: Person, bob: Person, database: Database) -> None:
    assert (await bob.open("/admin/moderation")).status_code == 403
    bobs = await id_of(admin, "bob@")

    said = await admin.send("POST", f"/admin/people/{bobs}/role", role="moderator")

    assert "bob@example.com is moderator now." in said.text
    assert (await bob.open("/admin/moderation")).status_code == 200
    expected = {"from": "reader", "to": "moderator"}
    assert await actions(database) == [("role.changed", "first@example.com", "bob@example.com", expected)]


async def test_an_unchanged_role_is_not_recorded(admin: Person, bob: Person, database: Database) -> None:
    await admin.send("POST", f"/admin/people/{await id_of(admin, 'bob@')}/role", role="reader")

    assert await actions(database) == []


async def test_the_last_administrator_cannot_be_demoted(admin: Person, bob: Person, database: Database) -> None:
    first, bobs = await id_of(admin, "first@"), await id_of(admin, "bob@")

    refused = await admin.send("POST", f"/admin/people/{first}/role", role="reader")

    assert (refused.status_code, refused.headers["hx-retarget"]) == (409, f"#person-{first}-errors")
    assert "only super_admin" in refused.text
    assert await actions(database) == []
    await admin.send("POST", f"/admin/people/{bobs}/role", role="super_admin")
    assert (await admin.send("POST", f"/admin/people/{first}/role", role="reader")).status_code == 200
    assert (await admin.open("/admin/people")).status_code == 403


async def test_two_administrators_cannot_demote_each_other(admin: Person, bob: Person) -> None:
    first, bobs = await id_of(admin, "first@"), await id_of(admin, "bob@")
    await admin.send("POST", f"/admin/people/{bobs}/role", role="super_admin")
    await bob.open("/admin/people")

    await admin.send("POST", f"/admin/people/{bobs}/role", role="reader")
    refused = await bob.send("POST", f"/admin/people/{first}/role", role="reader")

    assert refused.status_code == 403


async def test_an_unknown_role_and_an_unknown_user_are_refused(admin: Person) -> None:
    nobody = "00000000-0000-0000-0000-000000000007"
    first = await id_of(admin, "first@")

    assert (await admin.send("POST", f"/admin/people/{first}/role", role="emperor")).status_code == 400
    assert (await admin.send("POST", f"/admin/people/{nobody}/role", role="reader")).status_code == 404
    assert (await admin.send("POST", f"/admin/people/{nobody}/sign-out")).status_code == 404


async def test_a_user_is_logged_out_everywhere(admin: Person, bob: Person, database: Database) -> None:
    bobs = await id_of(admin, "bob@")

    said = await admin.send("POST", f"/admin/people/{bobs}/sign-out")

    assert "0 sessions, 0 tokens" in said.text
    assert (await bob.open("/dashboard")).headers["location"] == "/auth/login"
    assert [(action, subject) for action, _, subject, _ in await actions(database)] == [
        ("account.signed_out", "bob@example.com")
    ]


async def test_forms_work_without_scripts(admin: Person, bob: Person) -> None:
    bobs = await id_of(admin, "bob@")

    went = await admin.submit(f"/admin/people/{bobs}/role", role="moderator")

    assert (went.status_code, went.headers["location"]) == (303, "/admin/people")
    assert (await bob.open("/admin/moderation")).status_code == 200


async def test_many_people_have_pages(admin: Person, bob: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.web.routes.admin.people.PAGE", 1)

    first, second = (await admin.open("/admin/people")).text, (await admin.open("/admin/people?page=2")).text

    assert "Page 1 of 2, 2 users" in first
    assert "bob@example.com" not in first
    assert "bob@example.com" in second
