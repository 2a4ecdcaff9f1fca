"""/api/v1/saved: Read later of the token's user, and of nobody else."""

from collections.abc import AsyncIterator

import pytest
from httpx import AsyncClient

from headwater.db import Database
from tests.api.test_rules import bearer
from tests.app import create_app
from tests.browser import visit
from tests.builders import a_reader
from tests.clock import MovableClock

pytestmark = pytest.mark.database
SAVED = "/api/v1/saved"
URL = "https://essay.example/otters"


@pytest.fixture
async def api(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    ada = await a_reader(database)
    async with visit(create_app(database, clock)) as client:
        client.headers.update(await bearer(database, clock, ada, "read", "write"))
        yield client


async def test_a_page_is_saved_listed_and_removed(api: AsyncClient, clock: MovableClock) -> None:
    made = await api.post(SAVED, json={"url": URL})
    clock.move(minutes=1)
    later = await api.post(SAVED, json={"url": f"{URL}/2"})

    assert (made.status_code, made.json()["url"], made.json()["word_count"]) == (201, URL, None)
    assert (await api.post(SAVED, json={"url": URL})).json() == made.json()
    first = (await api.get(SAVED, params={"limit": 1})).json()
    rest = (await api.get(SAVED, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert (first["articles"], rest["articles"], rest["next_cursor"]) == ([later.json()], [made.json()], None)

    assert (await api.delete(f"{SAVED}/{made.json()['id']}")).status_code == 204
    assert (await api.delete(f"{SAVED}/{made.json()['id']}")).status_code == 404
    assert (await api.get(SAVED)).json()["articles"] == [later.json()]


async def test_what_is_not_a_page_names_the_field(api: AsyncClient) -> None:
    refused = await api.post(SAVED, json={"url": "ftp://essay.example/a"})

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["where"] == "body.url"


async def test_another_users_list_is_out_of_reach(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    made = (await api.post(SAVED, json={"url": URL})).json()
    bob = await a_reader(database, "bob@example.com")
    theirs = await bearer(database, clock, bob, "read", "write")

    assert (await api.get(SAVED, headers=theirs)).json()["articles"] == []
    assert (await api.delete(f"{SAVED}/{made['id']}", headers=theirs)).status_code == 404
    assert (await api.get(SAVED)).json()["articles"] == [made]
