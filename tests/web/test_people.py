"""/admin/people: users, their roles, and ending their sessions."""

import csv
import io
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest
from httpx import Response
from litestar import Litestar

from headwater.accounts.store import users
from headwater.accounts.types import PersonSort, Role, User
from headwater.audit import store as audit
from headwater.db import Database
from headwater.ids import new_id
from headwater.types import UserId
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
    found = (await admin.part("/admin/people/rows", params={"q": "BOB@"})).text

    assert "first@example.com" in page
    assert "(you)" in page
    assert "first@example.com" not in found
    assert re.search(r"feeds </span>1<", found)
    assert "1 session, 1 token" in found


async def test_an_empty_search_says_so(admin: Person) -> None:
    assert "No users match." in (await admin.open("/admin/people?q=zzz")).text


@pytest.mark.parametrize("query", ["q=" + "x" * 300, "q=%00"])
async def test_invalid_filters_are_refused_with_a_message(admin: Person, query: str) -> None:
    for path in ("/admin/people", "/admin/people.csv"):
        assert (await admin.open(f"{path}?{query}")).status_code == 400


@pytest.mark.parametrize(
    "query", ["role=emperor", "seen=x", "confirmed=x", "sort=--x", "after=x", "after=x:1", "sort=feeds&after=7:nan"]
)
async def test_an_unknown_filter_order_or_place_is_ignored(admin: Person, query: str) -> None:
    assert emails(await admin.open(f"/admin/people?{query}")) == ["first@example.com"]


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


@pytest.fixture
async def crowd(admin: Person, bob: Person, database: Database, clock: MovableClock) -> None:
    """Three more users, of whom one is confirmed, one is a moderator, and one was never seen."""
    async with database.as_system() as conn:
        for number, (name, karma) in enumerate([("cy", 7), ("di", 3), ("=eve", 3)]):
            joined = clock.now + timedelta(days=number + 1)
            role = Role.MODERATOR if name == "di" else Role.READER
            user = User(UserId(new_id()), f"{name}@example.com", role, joined if name == "cy" else None, joined)
            await users.add(conn, user, email_key=user.email, password_hash=None)
            await users.add_karma(conn, user_id=user.id, karma=karma)


def emails(answered: Response) -> list[str]:
    return re.findall(r'<th scope="row">([^ <]+)', unescape(answered.text))


async def read_on(admin: Person, address: str) -> list[str]:
    """The emails of all pages of the table."""
    found: list[str] = []
    while address:
        answered = await admin.open(address)
        found += emails(answered)
        more = re.search(r'id="more-rows" href="([^"]+)" hx-get="([^"]+)"', answered.text)
        if more:
            assert emails(await admin.part(unescape(more[2]))) == emails(await admin.open(unescape(more[1])))
        address = unescape(more[1]) if more else ""
    return [one.removesuffix("@example.com") for one in found]


ORDERS = {
    "email": ["=eve", "bob", "cy", "di", "first"],
    "joined": ["first", "bob", "cy", "di", "=eve"],
    "": ["first", "bob", "cy", "di", "=eve"],
}


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("sort", ["", *PersonSort])
@pytest.mark.parametrize("page", [1, 2, 50])
async def test_every_order_lists_every_user_once_and_its_reverse_is_the_reverse(
    admin: Person, sort: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.web.routes.admin.people.PAGE", page)

    up = await read_on(admin, f"/admin/people?sort={sort}")
    down = await read_on(admin, f"/admin/people?sort=-{sort or PersonSort.JOINED}")

    assert up == ORDERS.get(sort, up)
    assert sorted(up) == ["=eve", "bob", "cy", "di", "first"]
    assert down == up[::-1]


@pytest.mark.usefixtures("crowd")
async def test_users_are_sorted_by_numbers_and_by_their_last_visit(admin: Person) -> None:
    assert (await read_on(admin, "/admin/people?sort=-reputation"))[0] == "cy"
    assert (await read_on(admin, "/admin/people?sort=-feeds"))[0] == "bob"
    assert set((await read_on(admin, "/admin/people?sort=-seen"))[:2]) == {"bob", "first"}


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("role=moderator", ["di"]),
        ("q=E@EX", ["=eve"]),
        ("confirmed=no", ["first", "bob", "di", "=eve"]),
        ("seen=30d", ["cy", "di", "=eve"]),
        ("role=reader&confirmed=no", ["bob", "=eve"]),
        ("q=zzz", []),
    ],
)
async def test_users_are_filtered(admin: Person, query: str, found: list[str]) -> None:
    page = await admin.open(f"/admin/people?{query}")

    assert [one.removesuffix("@example.com") for one in emails(page)] == found
    assert (f"{len(found)} user{'' if len(found) == 1 else 's'}" in page.text) is bool(found)


@pytest.mark.usefixtures("crowd")
async def test_the_file_has_what_the_table_has_and_no_formula(admin: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.web.routes.admin.people.CSV_PAGE", 2)

    answered = await admin.open("/admin/people.csv?sort=email")

    rows = list(csv.reader(io.StringIO(answered.text, newline="")))
    assert answered.headers["content-disposition"] == 'attachment; filename="headwater-people.csv"'
    assert [row[0] for row in rows] == [
        "Email",
        "'=eve@example.com",
        *(f"{one}@example.com" for one in ORDERS["email"][1:]),
    ]
    assert rows[2][1:4] == ["reader", "0", "1"]


@pytest.mark.usefixtures("crowd")
async def test_a_filter_of_users_is_saved(admin: Person) -> None:
    await admin.send("POST", "/admin/filters", page="people", name="Moderators", query="role=moderator")

    assert '<a href="/admin/people?role=moderator">Moderators</a>' in (await admin.open("/admin/people")).text
