"""The first account of an instance that others can reach needs the code on its console."""

import asyncio
from datetime import timedelta

import pytest
from litestar import Litestar

from headwater.accounts.access import Access, LoggedIn
from headwater.accounts.changes import create_account, current_setup_code
from headwater.accounts.store import users
from headwater.accounts.types import AccountOptions, Role, Visitor
from headwater.db import Database
from headwater.errors import RegistrationClosed, SetupCodeNeeded, TooManyAttempts
from headwater.runtime import listens_on_loopback_only, web_options
from headwater.server import listen, serve
from headwater.settings import Settings
from headwater.web import WebOptions
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.visitor import PAGE, PASSWORD, a_person, setup_code_of

STRANGER = Visitor("203.0.113.7", "a browser", is_remote=True)
LOCAL = Visitor("127.0.0.1", "a browser")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, True),
        ({"host": "::1"}, True),
        ({"host": "localhost", "public_url": "http://127.0.0.1:8000"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "::"}, False),
        ({"host": "192.0.2.1"}, False),
        ({"public_url": "https://reader.example"}, False),
        ({"trusted_proxies": "127.0.0.1"}, False),
    ],
)
def test_only_an_instance_on_loopback_asks_for_no_code(given: dict[str, str], expected: bool) -> None:
    settings = Settings.model_validate(given)

    assert listens_on_loopback_only(settings) is expected
    assert web_options(settings).accounts.setup_code is not expected


@pytest.fixture
def access(database: Database, clock: MovableClock) -> Access:
    return Access(database, clock, AccountOptions(registration=False))


@pytest.mark.database
@pytest.mark.parametrize("typed", ["", "wrong-code1", "aaaaa-aaaaa", "\0", "é" * 200, "\ud800"])
async def test_the_first_account_needs_the_setup_code(access: Access, typed: str) -> None:
    with pytest.raises(SetupCodeNeeded):
        await access.register("thief@example.com", PASSWORD, STRANGER, code=typed)


@pytest.mark.database
async def test_the_code_makes_one_super_admin_however_it_is_typed_and_is_used_up(
    access: Access, database: Database, clock: MovableClock
) -> None:
    code = await setup_code_of(database)

    came = await access.register("ada@example.com", PASSWORD, STRANGER, code=f" {code.upper().replace('-', ' ')} ")

    assert isinstance(came, LoggedIn)
    assert came.user.role is Role.SUPER_ADMIN
    with pytest.raises(RegistrationClosed):
        await access.register("bob@example.com", PASSWORD, STRANGER, code=code)
    assert await setup_code_of(database) != code


@pytest.mark.database
async def test_after_the_last_account_is_gone_the_old_code_does_not_do(access: Access, database: Database) -> None:
    code = await setup_code_of(database)
    await access.register("ada@example.com", PASSWORD, STRANGER, code=code)
    async with database.as_system() as conn:
        await conn.execute("DELETE FROM users")

    for typed in ("", code):
        with pytest.raises(SetupCodeNeeded):
            await access.register("thief@example.com", PASSWORD, STRANGER, code=typed)


@pytest.mark.database
async def test_all_processes_have_the_same_code(database: Database) -> None:
    async def in_another_process() -> str:
        async with database.as_system() as conn:
            return await current_setup_code(conn)

    assert len(set(await asyncio.gather(*(in_another_process() for _ in range(5))))) == 1


@pytest.mark.database
async def test_of_two_who_have_the_code_one_becomes_super_admin(access: Access, database: Database) -> None:
    code = await setup_code_of(database)

    ended = await asyncio.gather(
        *(access.register(f"{name}@example.com", PASSWORD, STRANGER, code=code) for name in ("ada", "bob")),
        return_exceptions=True,
    )

    assert sorted(type(one).__name__ for one in ended) == ["LoggedIn", "RegistrationClosed"]


@pytest.mark.database
async def test_guessing_the_code_ends_soon(access: Access, database: Database) -> None:
    for number in range(10):
        with pytest.raises(SetupCodeNeeded):
            await access.register("thief@example.com", PASSWORD, STRANGER, code=f"aaaaa-aaaa{number}")

    with pytest.raises(TooManyAttempts):
        await access.register("thief@example.com", PASSWORD, STRANGER, code=await setup_code_of(database))


@pytest.mark.database
async def test_an_account_made_on_the_command_line_uses_the_code_up(database: Database, clock: MovableClock) -> None:
    code = await setup_code_of(database)

    await create_account(database, clock, email="ada@example.com", password=PASSWORD, role=None)

    assert await setup_code_of(database) != code


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    """As on loopback, where a proxy that is not configured may be in front."""
    return create_app(database, clock, web=WebOptions())


@pytest.mark.database
@pytest.mark.parametrize(
    ("base_url", "header"),
    [
        ("http://127.0.0.1:8000", ""),
        ("https://reader.example", ""),
        ("http://127.0.0.1:8000", "X-Forwarded-For"),
        ("http://127.0.0.1:8000", "Forwarded"),
        ("http://127.0.0.1:8000", "Via"),
        ("http://127.0.0.1:8000", "X-Real-IP"),
    ],
)
async def test_what_comes_through_a_proxy_is_asked_for_the_code_also_on_loopback(
    app: Litestar, database: Database, base_url: str, header: str
) -> None:
    is_local = base_url.endswith("8000") and not header
    async with a_person(app) as person:
        person.client.base_url = base_url  # pyright: ignore[reportAttributeAccessIssue]
        if header:
            person.client.headers[header] = "203.0.113.7"
        page = await person.client.get("/auth/register", headers=PAGE)
        came = await person.register()

    assert ('name="setup_code"' in page.text) is not is_local
    assert came.status_code == (303 if is_local else 403)
    assert is_local or 'name="setup_code"' in came.text
    async with database.as_system() as conn:
        assert await users.has_any(conn) is is_local


@pytest.mark.database
@pytest.mark.parametrize(("version", "is_asked"), [("1.0", True), ("1.1", False)])
async def test_an_http_1_0_client_is_treated_as_a_proxy(app: Litestar, version: str, is_asked: bool) -> None:
    """nginx with nothing but `proxy_pass`: no header shows it, and the Host is that of the upstream."""
    stop = asyncio.Event()
    with listen("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(serve(app, listener, stop, timedelta(seconds=1)))
        host, port = listener.getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        head = f"GET /auth/register HTTP/{version}\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        answer = (await reader.read()).decode()
        writer.close()
        stop.set()
        await serving

    assert ("200 OK" in answer, 'name="setup_code"' in answer) == (True, is_asked)


@pytest.mark.database
async def test_the_code_is_asked_for_and_taken_on_the_page(database: Database, clock: MovableClock) -> None:
    app = create_app(database, clock, web=WebOptions(accounts=AccountOptions(setup_code=True)))
    async with a_person(app) as person:
        refused = await person.register()
        person.setup_code = await setup_code_of(database)
        came = await person.register()
        again = await person.open("/auth/register")

    assert refused.status_code == 403
    assert "headwater user setup-code" in refused.text
    assert (came.status_code, again.headers["location"]) == (303, "/dashboard")
