"""/api/feeds/custom as specified by seed 003 §2: every status, and only the user's own suggestions."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from httpx import AsyncClient
from pydantic import SecretStr

from headwater.accounts.bearers import make_token
from headwater.accounts.changes import add_user
from headwater.accounts.store import users
from headwater.accounts.types import Role, User
from headwater.audit.types import COMMAND_LINE
from headwater.db import Database
from headwater.sources.custom import moderate
from headwater.sources.custom.inspect import Inspector
from headwater.sources.follow import follow
from headwater.types import SourceId
from headwater.web import WebOptions
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock
from tests.site import MakeInspector, Site, a_site, inspectors, page, rss

pytestmark = pytest.mark.database
CUSTOM = "/api/feeds/custom"
NOBODYS = str(UUID(int=7))


@pytest.fixture(scope="module")
async def make_inspector() -> AsyncIterator[MakeInspector]:
    async with inspectors() as make:
        yield make


@pytest.fixture
def inspector(make_inspector: MakeInspector, database: Database, clock: MovableClock) -> Inspector:
    return make_inspector(database, clock)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as one:
        one.answers["good.example/feed"] = rss("Good News", "First", "Second")
        yield one


@pytest.fixture
async def api(database: Database, clock: MovableClock, inspector: Inspector) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock, web=WebOptions(inspector=inspector))) as client:
        yield client


async def a_user(database: Database, clock: MovableClock, email: str, role: Role = Role.READER) -> User:
    async with database.as_system() as conn:
        return await add_user(conn, email, None, role, clock())


async def bearer(database: Database, clock: MovableClock, user: User, *scopes: str) -> dict[str, str]:
    async with database.as_system() as conn:
        token = await make_token(conn, user=user, name="-".join(scopes), scopes=scopes, now=clock())
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> User:
    return await a_user(database, clock, "ada@example.com")


@pytest.fixture
async def hers(database: Database, clock: MovableClock, ada: User) -> dict[str, str]:
    return await bearer(database, clock, ada, "read", "write")


def proposal(site: Site, **more: object) -> dict[str, object]:
    return {"name": "Good News", "url": site.url("good.example/feed"), **more}


async def test_201_a_pending_suggestion(api: AsyncClient, hers: dict[str, str], site: Site) -> None:
    given = proposal(site, category="News", refresh_interval_minutes=30)

    response = await api.post(CUSTOM, json=given, headers=hers)

    assert response.status_code == 201
    told = response.json()
    assert UUID(told["id"])
    assert {name: told[name] for name in given} == given
    assert (told["is_system"], told["is_active"], told["moderation_status"]) == (False, False, "pending")
    assert told["sample"]["titles"] == ["First", "Second"]
    assert told["reason"] is None
    assert (await api.get(CUSTOM, headers=hers)).json() == {"feeds": [told], "next_cursor": None}


async def test_201_auto_approved_with_ten_karma(
    api: AsyncClient, hers: dict[str, str], site: Site, database: Database, ada: User
) -> None:
    async with database.as_system() as conn:
        await users.add_karma(conn, user_id=ada.id, karma=10)

    told = (await api.post(CUSTOM, json=proposal(site), headers=hers)).json()

    assert (told["is_active"], told["moderation_status"]) == (True, "approved")


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"name": ""}, "body.name"),
        ({"name": "x" * 256}, "body.name"),
        ({"name": None}, "body.name"),
        ({"url": "ftp://good.example/feed"}, "body.url"),
        ({"url": "good.example/feed"}, "body.url"),
        ({"url": "http://"}, "body.url"),
        ({"url": "http://nowhere.invalid/feed"}, "body.url"),
        ({"url": "http://10.0.0.1/feed"}, "body.url"),
        ({"refresh_interval_minutes": 14}, "body.refresh_interval_minutes"),
        ({"refresh_interval_minutes": 1441}, "body.refresh_interval_minutes"),
        ({"refresh_interval_minutes": "60"}, "body.refresh_interval_minutes"),
        ({"category": "x" * 101}, "body.category"),
        ({"odd": 1}, "body.odd"),
    ],
    ids=str,
)
async def test_422_lists_errors_by_field(
    api: AsyncClient, hers: dict[str, str], site: Site, given: dict[str, object], where: str
) -> None:
    response = await api.post(CUSTOM, json=proposal(site) | given, headers=hers)

    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert where in {fault["where"] for fault in response.json()["errors"]}


async def test_422_a_page_is_refused_with_its_feeds(api: AsyncClient, hers: dict[str, str], site: Site) -> None:
    site.answers["good.example/"] = page("<link rel=alternate type=application/rss+xml title=All href=/feed>")

    response = await api.post(CUSTOM, json=proposal(site, url=site.url("good.example/")), headers=hers)

    assert response.status_code == 422
    first, second = response.json()["errors"]
    assert "This is a web page" in first["problem"]
    assert site.url("good.example/feed") in second["problem"]


async def test_422_a_blocked_domain_is_refused(
    api: AsyncClient, hers: dict[str, str], site: Site, database: Database, clock: MovableClock
) -> None:
    async with database.as_system() as conn:
        await moderate.block(
            conn, domain="good.example", reason="Spam.", reject_waiting=False, actor=COMMAND_LINE, now=clock()
        )

    response = await api.post(CUSTOM, json=proposal(site), headers=hers)

    assert response.status_code == 422
    assert "The domain good.example is blocked" in response.json()["detail"]
    assert "Spam." not in response.text, "why is for moderators"


async def test_409_a_duplicate_comes_with_the_offer_to_subscribe(
    api: AsyncClient, hers: dict[str, str], site: Site, database: Database, clock: MovableClock
) -> None:
    async with database.as_system() as conn:
        source = await follow(conn, url=site.url("good.example/feed"), name="Ours", now=clock())

    response = await api.post(CUSTOM, json=proposal(site), headers=hers)

    assert response.status_code == 409
    told = response.json()
    assert (told["status"], told["source_id"]) == (409, str(source.id))
    assert told["subscribe_url"] == f"/discover?source={source.id}"
    assert "Subscribe to it instead" in told["detail"]


async def test_409_a_pending_duplicate_is_not_called_public(api: AsyncClient, hers: dict[str, str], site: Site) -> None:
    await api.post(CUSTOM, json=proposal(site), headers=hers)

    response = await api.post(CUSTOM, json=proposal(site), headers=hers)

    assert response.status_code == 409
    assert response.json()["subscribe_url"] == "/dashboard"


async def test_429_over_the_hourly_limit(api: AsyncClient, hers: dict[str, str], site: Site) -> None:
    for _ in range(20):
        await api.post(CUSTOM, json=proposal(site, url=site.url("good.example/none")), headers=hers)

    response = await api.post(CUSTOM, json=proposal(site), headers=hers)

    assert response.status_code == 429
    assert int(response.headers["retry-after"]) > 0


async def test_401_and_403(api: AsyncClient, database: Database, clock: MovableClock, ada: User, site: Site) -> None:
    reading = await bearer(database, clock, ada, "read")

    assert (await api.post(CUSTOM, json=proposal(site))).status_code == 401
    assert (await api.get(CUSTOM)).status_code == 401
    assert (await api.post(CUSTOM, json=proposal(site), headers=reading)).status_code == 403
    assert (await api.delete(f"{CUSTOM}/{NOBODYS}", headers=reading)).status_code == 403
    assert (await api.get(CUSTOM, headers=reading)).status_code == 200


async def test_403_the_operators_token_has_no_user(
    database: Database, clock: MovableClock, inspector: Inspector, site: Site
) -> None:
    token = SecretStr("a-token-for-tests-0123456789")
    async with visit(create_app(database, clock, token, web=WebOptions(inspector=inspector))) as client:
        headers = {"Authorization": f"Bearer {token.get_secret_value()}"}

        answers = [
            await client.post(CUSTOM, json=proposal(site), headers=headers),
            await client.get(CUSTOM, headers=headers),
            await client.delete(f"{CUSTOM}/{NOBODYS}", headers=headers),
        ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert all("has no user" in answer.json()["detail"] for answer in answers)


async def test_503_without_an_inspector(
    database: Database, clock: MovableClock, hers: dict[str, str], site: Site
) -> None:
    async with visit(create_app(database, clock)) as client:
        assert (await client.post(CUSTOM, json=proposal(site), headers=hers)).status_code == 503


async def test_users_list_and_withdraw_their_own_suggestions(
    api: AsyncClient, hers: dict[str, str], site: Site, database: Database, clock: MovableClock
) -> None:
    bob = await bearer(database, clock, await a_user(database, clock, "bob@example.com"), "read", "write")
    feed = (await api.post(CUSTOM, json=proposal(site), headers=hers)).json()

    assert (await api.get(CUSTOM, headers=bob)).json()["feeds"] == []
    assert (await api.delete(f"{CUSTOM}/{feed['id']}", headers=bob)).status_code == 404
    assert (await api.delete(f"{CUSTOM}/{NOBODYS}", headers=hers)).status_code == 404
    assert (await api.delete(f"{CUSTOM}/{feed['id']}", headers=hers)).status_code == 204
    assert (await api.get(CUSTOM, headers=hers)).json()["feeds"] == []
    assert (await api.post(CUSTOM, json=proposal(site), headers=bob)).status_code == 201


async def test_409_a_decided_suggestion_cannot_be_withdrawn(
    api: AsyncClient, hers: dict[str, str], site: Site, database: Database, clock: MovableClock
) -> None:
    feed = (await api.post(CUSTOM, json=proposal(site), headers=hers)).json()
    async with database.as_system() as conn:
        await moderate.reject(conn, SourceId(UUID(feed["id"])), reason="Spam.", actor=COMMAND_LINE, now=clock())

    assert (await api.delete(f"{CUSTOM}/{feed['id']}", headers=hers)).status_code == 409
    assert [one["reason"] for one in (await api.get(CUSTOM, headers=hers)).json()["feeds"]] == ["Spam."]


async def test_the_list_has_pages(api: AsyncClient, hers: dict[str, str], site: Site, clock: MovableClock) -> None:
    for number in range(3):
        clock.move(seconds=1)
        site.answers[f"n{number}.example/feed"] = rss(f"N{number}", "x")
        given = {"name": f"N{number}", "url": site.url(f"n{number}.example/feed")}
        assert (await api.post(CUSTOM, json=given, headers=hers)).status_code == 201

    first = (await api.get(CUSTOM, params={"limit": 2}, headers=hers)).json()
    second = (await api.get(CUSTOM, params={"limit": 2, "cursor": first["next_cursor"]}, headers=hers)).json()

    assert [one["name"] for one in (*first["feeds"], *second["feeds"])] == ["N2", "N1", "N0"]
    assert second["next_cursor"] is None
    for query in ({"cursor": "odd"}, {"limit": 0}, {"limit": 501}, {"odd": "1"}):
        assert (await api.get(CUSTOM, params=query, headers=hers)).status_code == 422
