"""Reading statistics: consent is asked for, given and withdrawn; without it nothing is counted."""

import json
import re
from collections.abc import AsyncIterator
from io import BytesIO
from zipfile import ZipFile

import pytest
from litestar import Litestar

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.sources.store import sources
from tests.app import create_app
from tests.builders import an_article, another_administrator
from tests.clock import START, MovableClock
from tests.removals import remove_all
from tests.web.visitor import PASSWORD, Person, a_person

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"
QUESTION = "May we count"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


@pytest.fixture
async def article(ada: Person, database: Database) -> str:
    """The path of an article that Ada has."""
    await ada.send("POST", "/feeds", name="Example", url=FEED)
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=FEED)
        await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, an_article())])
    found = re.search(r"/articles/[0-9a-f-]{36}", (await ada.open("/read")).text)
    assert found is not None
    return found[0]


async def counted(database: Database) -> list[str]:
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT kind FROM feed_item_clicks ORDER BY kind")
        return [row[0] for row in await cur.fetchall()]


async def do_everything(person: Person, article: str, **headers: str) -> None:
    sent = {"X-CSRF-Token": person.token, "HX-Request": "true", **headers}
    await person.client.get(article, headers={"Accept": "text/html", **headers})
    for deed in ("click", "star", "unstar", "read", "unread"):
        assert (await person.client.post(f"{article}/{deed}", headers=sent)).status_code in {200, 204}


async def test_the_dashboard_asks_for_consent_until_answered(ada: Person) -> None:
    before = [(await ada.open("/dashboard")).text for _ in range(2)]
    answered = await ada.send("POST", "/account/analytics", answer="no")
    after = (await ada.open("/dashboard")).text

    assert all(QUESTION in page for page in before)
    assert answered.status_code == 200
    assert "not be asked again" in answered.text
    assert QUESTION not in after


async def test_nothing_is_counted_without_consent(ada: Person, article: str, database: Database) -> None:
    await do_everything(ada, article)

    assert await counted(database) == []


async def test_opens_clicks_and_stars_are_counted_with_consent(ada: Person, article: str, database: Database) -> None:
    agreed = await ada.submit("/account/analytics", answer="yes")

    await do_everything(ada, article)
    await do_everything(ada, article)

    assert agreed.headers["location"] == "/account#analytics"
    assert await counted(database) == ["click", "open", "star"]


@pytest.mark.parametrize("answer", ["", "no", "YES", "maybe", "yes\0"], ids=["nothing", "no", "loud", "maybe", "nul"])
async def test_any_answer_but_yes_is_a_no(ada: Person, article: str, database: Database, answer: str) -> None:
    await ada.submit("/account/analytics", answer=answer)

    await do_everything(ada, article)

    assert await counted(database) == []


async def test_withdrawing_consent_deletes_the_counts(ada: Person, article: str, database: Database) -> None:
    await ada.submit("/account/analytics", answer="yes")
    await do_everything(ada, article)
    page = (await ada.open("/account")).text
    assert "You agreed." in page
    assert "Withdraw" in page

    await ada.submit("/account/analytics", answer="no")

    assert await counted(database) == []
    assert "as you chose" in (await ada.open("/account")).text


async def test_deleting_the_account_deletes_the_counts(ada: Person, article: str, database: Database) -> None:
    await ada.submit("/account/analytics", answer="yes")
    await do_everything(ada, article)
    await another_administrator(database)

    await ada.submit("/account/delete", current_password=PASSWORD)
    await remove_all(database)

    assert await counted(database) == []


@pytest.mark.parametrize("header", ["Sec-GPC", "DNT"])
async def test_privacy_headers_of_a_browser_are_respected(
    ada: Person, article: str, database: Database, header: str
) -> None:
    asks = {header: "1", "Accept": "text/html"}
    question = (await ada.client.get("/dashboard", headers=asks)).text
    await ada.submit("/account/analytics", answer="yes")

    await do_everything(ada, article, **{header: "1"})

    assert QUESTION not in question
    assert await counted(database) == []
    assert "data-counted" not in (await ada.client.get("/read?shelf=all", headers=asks)).text
    assert "data-counted" not in (await ada.client.get(article, headers=asks)).text
    assert "sends Do Not Track or Global Privacy Control" in (await ada.client.get("/account", headers=asks)).text


async def test_pages_send_no_clicks_without_consent(ada: Person, article: str) -> None:
    before = [(await ada.open(path)).text for path in ("/read?shelf=all", article)]
    await ada.submit("/account/analytics", answer="yes")
    after = [(await ada.open(path)).text for path in ("/read?shelf=all", article)]

    assert [("data-counted" in page) for page in before] == [False, False]
    assert [("data-counted" in page) for page in after] == [True, True]
    for page in (*before, *after):  # every link leads where it says
        assert 'href="https://example.com/1"' in page


async def test_articles_of_another_user_are_not_counted(
    app: Litestar, ada: Person, article: str, database: Database
) -> None:
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        await bob.submit("/account/analytics", answer="yes")

        refused = await bob.send("POST", f"{article}/click")

    assert refused.status_code == 404
    assert await counted(database) == []


async def test_counts_are_part_of_the_export(ada: Person, article: str) -> None:
    await ada.submit("/account/analytics", answer="yes")
    await do_everything(ada, article)

    with ZipFile(BytesIO((await ada.open("/account/export")).content)) as found:
        clicks = json.loads(found.read("clicks.json"))
        profile = json.loads(found.read("profile.json"))

    assert sorted(one["kind"] for one in clicks) == ["click", "open", "star"]
    assert {(one["url"], one["source"]) for one in clicks} == {("https://example.com/1", "example.com")}
    assert profile["counting"] == {"given_at": "2026-03-01T12:00:00Z", "refused_at": None}


async def test_the_privacy_page_says_what_is_counted(ada: Person) -> None:
    page = (await ada.open("/privacy")).text

    assert 'id="counting"' in page
    assert "Global Privacy Control" in page
