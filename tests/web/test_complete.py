"""/read/complete: what may be meant where a query is being written."""

from collections.abc import AsyncIterator

import pytest

from headwater.db import Database
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> AsyncIterator[Person]:
    async with a_person(create_app(database, clock)) as ada:
        await ada.register("ada@example.com")
        await ada.submit(
            "/feeds", name="Daily <b>News</b>", url="https://example.com/feed.xml", category="World/Europe"
        )
        yield ada


async def texts(ada: Person, query: str, at: str = "") -> list[str]:
    response = await ada.open("/read/complete", params={"q": query, "at": at})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    return [one["text"] for one in response.json()["items"]]


async def test_fields_values_and_own_names_are_completed(ada: Person) -> None:
    assert await texts(ada, "to") == ["topic:"]
    assert await texts(ada, "storm topic:wea") == ["topic:weather "]
    assert await texts(ada, "lang:welsh") == ["lang:cy "]
    assert await texts(ada, "source:news") == ['source:"Daily <b>News</b>" ']
    assert await texts(ada, "category:eur") == ["category:World/Europe "]
    assert await texts(ada, "tag:x") == []
    assert await texts(ada, "topic:we storm", "8") == ["topic:weather "]


async def test_odd_texts_are_answered(ada: Person) -> None:
    for query in ("é" * 1000, '"', "source:%_\\", "tag:'"):
        for at in ("", "-1", "x", "999999", "9" * 30):
            assert isinstance(await texts(ada, query, at), list)


async def test_names_of_others_are_not_offered(ada: Person, database: Database, clock: MovableClock) -> None:
    async with a_person(create_app(database, clock)) as bob:
        await bob.register("bob@example.com")

        assert await texts(bob, "source:news") == []
        assert await texts(bob, "category:world") == []
