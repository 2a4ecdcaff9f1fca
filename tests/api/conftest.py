"""The whole app with a token, on a database of the test's own."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from httpx import AsyncClient
from pydantic import SecretStr

from headwater.db import Database
from headwater.sources import follow
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock

TOKEN = "a-token-for-tests-0123456789"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
FRONTIER = "/api/v1/frontier"


@pytest.fixture
async def api(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock, SecretStr(TOKEN))) as client:
        client.headers.update(BEARER)
        yield client


@pytest.fixture
async def source_id(database: Database, clock: MovableClock) -> UUID:
    async with database.as_system() as conn:
        return (await follow.follow(conn, url="https://news.example/feed", name=None, now=clock())).id
