"""Refused before a handler is called: large or slow bodies, forms of many fields, invalid hosts."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from httpx import AsyncClient
from litestar import Litestar, get
from litestar._parsers import parse_url_encoded_form_data  # pyright: ignore[reportPrivateImportUsage]
from litestar.di import NamedDependency
from pydantic import SecretStr

from headwater.asgi import guard
from headwater.asgi.csrf import FIELDS_MAX, FORM_BYTES
from headwater.asgi.handlers import AnyRequest
from headwater.db import Database, RequestDatabase
from headwater.server import create_health_app
from headwater.text import text_problem
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock
from tests.web.visitor import PAGE, a_person

pytestmark = pytest.mark.database

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PIECE = b"a&" * 8_192


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def web(app: Litestar) -> AsyncIterator[AsyncClient]:
    async with visit(app, "http://127.0.0.1:8000") as client:
        yield client


async def test_a_form_whose_length_is_too_large_is_refused_without_reading_it(web: AsyncClient) -> None:
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(600):  # 9.8 MB
            read += 1
            yield PIECE

    headers = {**FORM, **PAGE, "Content-Length": str(600 * len(PIECE))}
    refused = await web.post("/auth/login", content=body(), headers=headers)

    assert refused.status_code == 413
    assert "too large" in refused.text
    assert read == 0


async def test_a_form_without_a_length_is_read_no_further_than_allowed(web: AsyncClient) -> None:
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(600):
            read += 1
            yield PIECE

    refused = await web.post("/auth/login", content=body(), headers={**FORM, **PAGE})

    assert refused.status_code == 413
    assert read <= FORM_BYTES // len(PIECE) + 2


async def test_the_number_of_fields_is_limited(web: AsyncClient) -> None:
    refused = await web.post("/auth/login", content=b"a&" * (FIELDS_MAX + 1), headers={**FORM, **PAGE})

    assert refused.status_code == 413


async def test_an_upload_without_a_login_is_not_read(web: AsyncClient) -> None:
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield b"--b\r\n" + PIECE

    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    refused = await web.post("/opml", content=body(), headers={**PAGE, **kind})

    assert refused.headers["location"] == "/auth/login"
    assert read == 0


async def test_values_of_forms_are_not_cached(app: Litestar) -> None:
    before = parse_url_encoded_form_data.cache_info().misses
    async with a_person(app) as person:
        assert (await person.register()).status_code == 303

    assert parse_url_encoded_form_data.cache_info().misses == before


async def test_a_body_that_pauses_times_out(web: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_PAUSE", 0.05)

    async def body() -> AsyncIterator[bytes]:
        yield b"email="
        await asyncio.Event().wait()

    refused = await web.post("/auth/login", content=body(), headers={**FORM, **PAGE})

    assert refused.status_code == 408
    assert "did not arrive in time" in refused.text


async def test_a_slow_body_times_out(web: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_TIME", 0.05)

    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b"a"
            await asyncio.sleep(0)

    refused = await web.post("/auth/login", content=body(), headers={**FORM, **PAGE})

    assert refused.status_code in {408, 413}


async def test_the_api_refuses_a_large_body_as_a_problem(database: Database, clock: MovableClock) -> None:
    async with visit(create_app(database, clock, SecretStr("a-token-for-tests-0123456789"))) as api:
        headers = {"Authorization": "Bearer a-token-for-tests-0123456789", "Content-Type": "application/json"}
        refused = await api.post("/api/v1/frontier/submit", content=b" " * 1_000_001, headers=headers)

    assert refused.status_code == 413
    assert refused.headers["content-type"].startswith("application/problem+json")


async def test_bodies_of_suggestions_are_small(database: Database, clock: MovableClock) -> None:
    fields = b",".join(b'"k%d":1' % n for n in range(90_000))
    async with visit(create_app(database, clock, SecretStr("a-token-for-tests-0123456789"))) as api:
        headers = {"Authorization": "Bearer a-token-for-tests-0123456789", "Content-Type": "application/json"}
        refused = await api.post("/api/feeds/custom", content=b"{%s}" % fields, headers=headers)

    assert refused.status_code == 413


async def test_a_response_lists_at_most_a_hundred_errors(database: Database, clock: MovableClock) -> None:
    async with visit(create_app(database, clock, SecretStr("a-token-for-tests-0123456789"))) as api:
        headers = {"Authorization": "Bearer a-token-for-tests-0123456789"}
        refused = await api.post("/api/v1/sources", json={f"k{n}": 1 for n in range(1_000)}, headers=headers)

    assert refused.status_code == 422
    assert len(refused.json()["errors"]) == 100


@pytest.mark.parametrize("host", [b"x:99999999", b"x y", b"\xff", b"[::1"])
async def test_an_invalid_host_is_refused_on_every_kind_of_path(host: bytes, web: AsyncClient) -> None:
    page = await web.get("/auth/login", headers={b"Accept": b"text/html", b"Host": host})
    program = await web.get("/api/v1/frontier/urls", headers={b"Host": host})
    missing = await web.get("/nothing", headers={b"Accept": b"text/html", b"Host": host})

    assert [page.status_code, program.status_code, missing.status_code] == [400, 400, 400]
    assert "Host header is invalid" in page.text
    assert program.json()["detail"] == "The Host header is invalid."


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "reader.example:65535", "a_b.example."])
async def test_a_valid_host_is_accepted(host: str, web: AsyncClient) -> None:
    assert (await web.get("/auth/login", headers={"Host": host})).status_code in {200, 303}


async def test_a_worker_without_pages_is_guarded_too(database: Database) -> None:
    async with visit(create_health_app(database)) as client:
        assert (await client.head("/healthz")).status_code == 200
        assert (await client.get("/healthz", headers={**PAGE, "Host": "x:99999999"})).status_code == 400


def characters() -> Iterator[int]:
    yield from range(0x20)
    yield from range(0x7F, 0xA0)
    yield from (0xD800, 0xDFFF)


def test_control_characters_except_tab_and_line_breaks_are_refused() -> None:
    refused = [number for number in characters() if text_problem(f"a{chr(number)}b")]

    assert sorted(set(characters()) - set(refused)) == [0x09, 0x0A, 0x0D]
    assert text_problem("Ünïcödé 😀 \u200d \u202e") is None
    assert text_problem("x" * 11, most=10) == "has more than 10 characters"


async def test_cookies_have_no_escapes_which_take_long_to_read(database: Database, clock: MovableClock) -> None:
    @get("/cookies")
    async def show(request: AnyRequest) -> str:
        return request.headers["cookie"]

    app = create_app(database, clock)
    app.register(show)
    cookie = 'a="' + "\\" * 60_000 + '"; headwater_visitor=x-_1; b="\\054"'
    async with visit(app, "http://127.0.0.1:8000") as client:
        seen = await client.get("/cookies", headers={"Cookie": cookie})
        refused = await client.get("/%00", headers={"Cookie": cookie})

    assert seen.text == 'a=""; headwater_visitor=x-_1; b="054"'
    assert refused.status_code == 400


async def test_a_slow_statement_is_503(database: Database, clock: MovableClock) -> None:
    @get(["/slow", "/api/slow"])
    async def slow(database: NamedDependency[Database]) -> None:
        async with database.transaction() as conn:
            await conn.execute("SELECT pg_sleep(600)")

    app = create_app(RequestDatabase(database, statement_timeout=timedelta(milliseconds=100)), clock)
    app.register(slow)
    async with visit(app) as client:
        page, program = await client.get("/slow", headers=PAGE), await client.get("/api/slow")

    assert (page.status_code, program.status_code) == (503, 503)
    assert "database query took too long" in page.text
    assert "refresh" not in page.text
    assert "database query took too long" in program.json()["detail"]


async def test_the_limit_ends_with_the_request(database: Database) -> None:
    limited = RequestDatabase(database, statement_timeout=timedelta(milliseconds=100))
    async with limited.transaction() as conn:
        during = await (await conn.execute("SHOW statement_timeout")).fetchone()
    async with database.transaction() as conn:
        after = await (await conn.execute("SHOW statement_timeout")).fetchone()

    assert (during, after) == (("100ms",), ("0",))
