"""What all responses have in common, and responses during an outage."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from httpx import AsyncClient
from litestar import get
from litestar.params import FromPath
from structlog.testing import capture_logs

from headwater.asgi.errors import SECRET_PATHS
from headwater.asgi.session import PUBLIC
from headwater.db import Connection, Database
from headwater.errors import Conflict, NotFound, QueryTimedOut, Unavailable
from headwater.server import create_app, create_health_app
from tests.browser import visit
from tests.clock import MovableClock

pytestmark = pytest.mark.database

HTML = {"Accept": "text/html"}


@pytest.fixture
async def web(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock)) as client:
        yield client


@pytest.fixture
async def without_database(clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with (
        Database("host=127.0.0.1 port=1 dbname=x user=x", pool_size=2, wait=timedelta(milliseconds=200)) as database,
        visit(create_app(database, clock)) as client,
    ):
        yield client


@pytest.mark.parametrize(
    "path", ["/privacy", "/healthz", "/readyz", "/metrics", "/static/headwater.css", "/vendor/htmx.min.js", "/nothing"]
)
async def test_every_response_carries_the_security_headers(path: str, web: AsyncClient) -> None:
    response = await web.get(path)

    assert response.status_code == (404 if path == "/nothing" else 200)
    assert "script-src 'self'" in response.headers["content-security-policy"]
    assert "unsafe" not in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"


async def test_healthz_and_readyz_respond(web: AsyncClient) -> None:
    assert (await web.get("/healthz")).json() == {"status": "ok"}
    assert (await web.get("/readyz")).json() == {"status": "ready"}


class CountedDatabase(Database):
    """Counts its transactions."""

    begun = 0

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        self.begun += 1
        async with super().transaction() as conn:
            yield conn


@pytest.mark.parametrize("path", ["/readyz", "/metrics"])
async def test_many_who_ask_at_once_share_one_look_at_the_database(
    path: str, database: Database, clock: MovableClock
) -> None:
    """Three hundred connections of a stranger made every page respond with 503."""
    async with (
        CountedDatabase(database.conninfo, pool_size=1, wait=timedelta(seconds=30)) as counted,
        visit(create_app(counted, clock)) as client,
    ):
        responses = await asyncio.gather(*(client.get(path) for _ in range(40)))
        at_once = counted.begun
        await client.get(path)

    assert {response.status_code for response in responses} == {200}
    assert at_once < 10
    assert counted.begun == at_once + 1


async def test_without_the_database_only_healthz_succeeds(without_database: AsyncClient) -> None:
    alive, ready = await without_database.get("/healthz"), await without_database.get("/readyz")

    assert alive.status_code == 200
    assert ready.status_code == 503
    assert ready.json() == {"status": "unavailable", "reason": "DatabaseUnavailable"}


async def test_without_the_database_a_page_says_so_and_reloads(without_database: AsyncClient) -> None:
    page = await without_database.get("/", headers=HTML)

    assert page.status_code == 503
    assert page.headers["retry-after"] == "5"
    assert '<meta http-equiv="refresh" content="5">' in page.text
    assert "The database is unavailable" in page.text
    assert "127.0.0.1" not in page.text


async def test_programs_get_errors_as_json(web: AsyncClient) -> None:
    response = await web.get("/nothing")

    assert response.json() == {"status": 404, "detail": "This page does not exist."}


async def test_browsers_get_errors_as_a_page(web: AsyncClient) -> None:
    response = await web.get("/nothing", headers=HTML)

    assert response.status_code == 404
    assert "Page not found" in response.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_wrong_method_is_refused(method: str, web: AsyncClient) -> None:
    assert (await web.request(method, "/")).status_code == 405


@pytest.mark.parametrize(
    ("error", "status"),
    [(NotFound("no such thing"), 404), (Conflict("already there"), 409), (ZeroDivisionError("secret"), 500)],
)
async def test_an_error_has_its_status_and_a_bug_reveals_nothing(
    error: Exception, status: int, database: Database, clock: MovableClock
) -> None:
    @get("/raise")
    async def fail() -> None:
        raise error

    app = create_app(database, clock)
    app.register(fail)
    async with visit(app) as client:
        response = await client.get("/raise")

    assert response.status_code == status
    assert "secret" not in response.text


@pytest.mark.parametrize(
    "error",
    [None, QueryTimedOut("slow"), Unavailable("busy"), ZeroDivisionError("bug")],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("prefix", SECRET_PATHS)
async def test_the_secret_of_an_address_is_in_no_line_of_the_log(
    prefix: str, error: Exception | None, database: Database, clock: MovableClock
) -> None:
    @get(prefix + "{secret:str}/raise", role=PUBLIC)
    async def fail(secret: FromPath[str]) -> None:
        assert secret
        if error:
            raise error

    app = create_app(database, clock)
    app.register(fail)
    async with visit(app) as client:
        with capture_logs() as lines:
            await client.get(f"{prefix}my-secret/raise")
            await client.get(f"{prefix}my-secret/nothing")

    assert len(lines) >= 2
    assert "my-secret" not in str(lines)


def test_every_path_with_a_secret_is_known_to_the_log(database: Database, clock: MovableClock) -> None:
    secret = [
        one.path for one in create_app(database, clock).routes if re.search(r"\{(secret|code|token)[:}]", one.path)
    ]

    assert len(secret) >= 5
    assert [one for one in secret if not one.startswith(SECRET_PATHS)] == []


async def test_requests_are_counted(web: AsyncClient) -> None:
    await web.get("/static/nothing.css")

    told = (await web.get("/metrics")).text
    assert 'headwater_http_requests_total{method="GET",route="/static/{file_path}",status="404"}' in told
    assert "headwater_build_info{version=" in told


async def test_a_worker_without_pages_serves_health_and_metrics_only(database: Database) -> None:
    async with visit(create_health_app(database)) as client:
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/metrics")).status_code == 200
        assert (await client.get("/")).status_code == 404


@pytest.mark.parametrize(
    "path", ["/static/../pages/front.py", "/static/%2e%2e/templates/base.html", "/vendor/../../apps.py"]
)
async def test_static_files_are_served_from_their_folder_only(path: str, web: AsyncClient) -> None:
    assert (await web.get(path)).status_code == 404
