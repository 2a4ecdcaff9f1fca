"""Registration, login, logout and password resets, through the pages."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from httpx import AsyncClient
from litestar import Litestar

from headwater.accounts.types import AccountOptions
from headwater.db import Database
from headwater.net.mail import Mailer, SmtpServer
from headwater.server import address_of, listen, serve
from headwater.web import WebOptions
from tests.accounts.mailbox import collect, deliver
from tests.app import create_app
from tests.clock import MovableClock
from tests.net.post_box import open_post_box
from tests.web.visitor import PASSWORD, Person, a_person, setup_code_of, without_token

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def person(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        yield person


async def test_without_any_account_the_front_page_leads_to_registration(person: Person) -> None:
    first = await person.open("/", follow_redirects=True)

    assert first.url.path == "/auth/register"
    assert "This is the first account" in first.text


async def test_registration_logs_the_user_in(person: Person) -> None:
    came = await person.register()

    assert came.status_code == 303
    assert came.headers["location"] == "/dashboard"
    assert (await person.open("/dashboard")).status_code == 200


async def test_session_cookies_are_http_only_and_same_site(person: Person) -> None:
    came = await person.register()

    cookies = [line for line in came.headers.get_list("set-cookie") if line.startswith("headwater_")]
    assert len(cookies) == 2
    assert all("HttpOnly" in line and "SameSite=lax" in line and "Path=/" in line for line in cookies)
    assert not any("Secure" in line for line in cookies)  # plain loopback


async def test_cookies_are_secure_except_on_loopback(app: Litestar, database: Database) -> None:
    async with a_person(app) as person:
        person.setup_code = await setup_code_of(database)
        person.client.base_url = "https://reader.example"  # pyright: ignore[reportAttributeAccessIssue]

        came = await person.register()

    assert all("Secure" in line for line in came.headers.get_list("set-cookie"))


async def test_cookies_are_secure_when_the_public_url_is_https(database: Database, clock: MovableClock) -> None:
    """A proxy in front uses https with the browser, and http with Headwater."""
    app = create_app(database, clock, web=WebOptions(site="https://reader.example"))
    async with a_person(app) as person:
        page = await person.open("/auth/register")

    assert page.headers.get_list("set-cookie")
    assert all("Secure" in line for line in page.headers.get_list("set-cookie"))


@pytest.mark.parametrize(
    ("trusted", "expected"),
    [((), {"127.0.0.1"}), (("127.0.0.1",), {"203.0.113.7"}), (("192.0.2.0/24",), {"127.0.0.1"})],
    ids=["nobody", "the-proxy", "another"],
)
async def test_only_a_trusted_proxy_sets_the_client_address(
    app: Litestar, database: Database, trusted: tuple[str, ...], expected: set[str]
) -> None:
    stop = asyncio.Event()
    with listen("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(serve(app, listener, stop, timedelta(seconds=1), proxies=trusted))
        async with AsyncClient(base_url=address_of(listener)) as client:
            client.headers["X-Forwarded-For"] = "203.0.113.7"
            person = Person(client)
            person.setup_code = await setup_code_of(database)
            await person.register()
        stop.set()
        await serving

    async with database.as_system() as conn:
        cur = await conn.execute("SELECT address FROM sessions")
        assert {address for (address,) in await cur.fetchall()} == expected


@pytest.mark.parametrize("trusted", ["127.0.0.1", "127.0.0.0/30"])
async def test_a_trusted_proxy_may_connect_by_ipv4_to_a_socket_of_ipv6(
    app: Litestar, database: Database, trusted: str
) -> None:
    """As with HEADWATER_HOST=::, where its address is ::ffff:127.0.0.1."""
    stop = asyncio.Event()
    with listen("::ffff:127.0.0.1", 0) as listener:
        serving = asyncio.create_task(serve(app, listener, stop, timedelta(seconds=1), proxies=[trusted]))
        async with AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            client.headers["X-Forwarded-For"] = "203.0.113.7"
            person = Person(client)
            person.setup_code = await setup_code_of(database)
            await person.register()
        stop.set()
        await serving

    async with database.as_system() as conn:
        cur = await conn.execute("SELECT address FROM sessions")
        assert {address for (address,) in await cur.fetchall()} == {"203.0.113.7"}


@pytest.mark.parametrize(
    ("changed", "status", "message"),
    [
        ({"email": "nobody"}, 400, "Invalid email address"),
        ({"password": "short", "password_confirm": "short"}, 400, "at least 8 characters"),
        ({"password_confirm": "another"}, 400, "Passwords do not match"),
        ({"privacy": ""}, 400, "Please accept the privacy policy"),
    ],
    ids=["email", "short", "differ", "privacy"],
)
async def test_an_invalid_registration_shows_the_reason(
    person: Person, changed: dict[str, str], status: int, message: str
) -> None:
    await person.open("/auth/register")
    fields = {"email": "ada@example.com", "password": PASSWORD, "password_confirm": PASSWORD, "privacy": "yes"}

    again = await person.submit("/auth/register", **{**fields, **changed})

    assert again.status_code == status
    assert message in again.text


async def test_a_taken_email_is_reported_as_the_specification_demands(app: Litestar, person: Person) -> None:
    await person.register()

    async with a_person(app) as another:
        again = await another.register()

    assert again.status_code == 409
    assert "An account with this email already exists" in again.text


async def test_hidden_accounts_are_confirmed_by_email_with_equal_responses(
    database: Database, clock: MovableClock
) -> None:
    app = create_app(database, clock, web=WebOptions(accounts=AccountOptions(hide_accounts=True)))
    async with a_person(app) as first, a_person(app) as second:
        new = await first.register()

        again = await second.register()

    assert (new.status_code, again.status_code) == (200, 200)
    pages = {re.sub(r"[0-9a-f]{64}", "", page.text) for page in (new, again)}
    assert len(pages) == 1
    assert "Check your email" in again.text
    assert not {"headwater_access", "headwater_refresh"} & (set(new.cookies) | set(again.cookies))
    subjects = [letter.subject for letter in await collect(database, clock)]
    assert subjects == ["Confirm your address for Headwater", "You already have an account"]


async def test_a_wrong_password_and_an_unknown_email_get_the_same_message(app: Litestar, person: Person) -> None:
    await person.register()
    async with a_person(app) as visitor:
        await visitor.open("/auth/login")
        wrong = await visitor.submit("/auth/login", email="ada@example.com", password="wrong")
        nobody = await visitor.submit("/auth/login", email="nobody@example.com", password="wrong")

    assert wrong.status_code == nobody.status_code == 401
    assert "Invalid email or password" in wrong.text
    assert without_token(wrong).replace("ada@example.com", "") == without_token(nobody).replace(
        "nobody@example.com", ""
    )


async def test_logging_out_ends_the_session_on_the_server_too(person: Person) -> None:
    await person.register()
    kept = dict(person.client.cookies)

    gone = await person.submit("/auth/logout")
    person.client.cookies.update(kept)
    after = await person.open("/dashboard")

    assert gone.headers["location"] == "/auth/login"
    assert after.status_code == 303
    assert after.headers["location"] == "/auth/login"


async def test_an_expired_access_token_is_renewed_silently(person: Person, clock: MovableClock) -> None:
    await person.register()
    before = person.client.cookies["headwater_access"]
    clock.move(minutes=20)

    page = await person.open("/dashboard")

    assert page.status_code == 200
    assert person.client.cookies["headwater_access"] != before


async def test_logging_in_replaces_any_session_cookie(app: Litestar, person: Person) -> None:
    await person.register()
    await person.submit("/auth/logout")
    await person.open("/auth/login")
    person.client.cookies.set("headwater_access", "planted", domain="127.0.0.1", path="/")

    came = await person.submit("/auth/login", email="ada@example.com", password=PASSWORD)

    assert came.status_code == 303
    assert "planted" not in {cookie.value for cookie in person.client.cookies.jar}


@pytest.mark.parametrize("path", ["/auth/login", "/auth/register", "/auth/forgot", "/auth/logout", "/feeds"])
async def test_a_change_without_a_csrf_token_is_refused(person: Person, path: str) -> None:
    await person.register()

    bare = await person.client.post(path, data={"email": "a@b.example", "name": "x", "url": "https://a.example/"})
    wrong = await person.client.post(path, data={"_csrf_token": "0" * 64})
    odd = await person.client.post(path, headers=[(b"X-CSRF-Token", "é".encode())])

    assert [bare.status_code, wrong.status_code, odd.status_code] == [403, 403, 403]


async def test_a_csrf_token_of_another_visitor_is_refused(app: Litestar, person: Person) -> None:
    await person.register()
    async with a_person(app) as visitor:
        await visitor.open("/auth/login")

        forged = await person.client.post("/feeds", headers={"X-CSRF-Token": visitor.token})

    assert forged.status_code == 403


async def test_a_reset_request_gets_the_same_response_with_and_without_an_account(
    app: Litestar, person: Person
) -> None:
    await person.register()
    async with a_person(app) as visitor:
        await visitor.open("/auth/forgot")
        known = await visitor.submit("/auth/forgot", email="ada@example.com")
        unknown = await visitor.submit("/auth/forgot", email="bob@example.com")

    assert known.status_code == unknown.status_code == 200
    assert without_token(known).replace("ada@", "bob@") == without_token(unknown)


async def test_a_forgotten_password_is_reset_by_email(database: Database, clock: MovableClock) -> None:
    async with open_post_box() as box:
        mailer = Mailer(SmtpServer.parse(f"smtp://127.0.0.1:{box.port}"), "headwater@example.com")
        app = create_app(database, clock, web=WebOptions(site="https://reader.example"))
        async with a_person(app) as person:
            person.setup_code = await setup_code_of(database)
            person.client.base_url = "https://reader.example"  # pyright: ignore[reportAttributeAccessIssue]
            await person.register()
            await person.submit("/auth/logout")
            await person.open("/auth/forgot")
            await person.submit("/auth/forgot", email="ada@example.com")
            await deliver(database, clock, mailer)
            (letter,) = box.emails
            link = re.search(r"https://reader\.example(/auth/reset\?token=(\S+))", letter.get_content())
            assert link is not None
            await person.open(link[1])
            fields = {"token": link[2], "password": "another sentence", "password_confirm": "another sentence"}
            changed = await person.submit("/auth/reset", **fields)
            again = await person.submit("/auth/reset", **fields)
            came = await person.submit("/auth/login", email="ada@example.com", password="another sentence")

    assert letter["To"] == "ada@example.com"
    assert (changed.status_code, again.status_code, came.status_code) == (200, 401, 303)


async def test_links_in_emails_do_not_use_the_host_header(database: Database, clock: MovableClock) -> None:
    async with open_post_box() as box:
        mailer = Mailer(SmtpServer.parse(f"smtp://127.0.0.1:{box.port}"), "headwater@example.com")
        app = create_app(database, clock)
        async with a_person(app) as person:
            await person.register()
        async with a_person(app) as visitor:
            await visitor.open("/auth/forgot")
            forged = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Accept": "text/html"}
            fields = {"email": "ada@example.com", "_csrf_token": visitor.token}
            await visitor.client.post("/auth/forgot", headers=forged, data=fields)
        await deliver(database, clock, mailer)

    (letter,) = box.emails
    assert "http://127.0.0.1:8000/auth/reset" in letter.get_content()
    assert "evil.example" not in letter.as_string()
