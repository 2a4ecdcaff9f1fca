"""Read later: any page is saved after a question, fetched as any other, and seen by the reader who saved it alone."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from typing import LiteralString
from uuid import UUID

import pytest

from headwater.accounts.changes import remove_account
from headwater.accounts.quotas import Quotas
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.channels.visible import find_saved_only, find_visible
from headwater.db import Database
from headwater.extraction.types import ExtractionOptions
from headwater.extraction.worker import Extractor
from headwater.fetching.worker import Fetcher
from headwater.frontier.store import queue
from headwater.frontier.types import FrontierOptions, Origin, Submission
from headwater.library.saved.types import UNDONE_WITHIN
from headwater.net import Client
from headwater.removal.worker import Remover
from headwater.sandbox import Sandbox
from headwater.sources.store import sources
from headwater.types import ArticleId
from headwater.web import WebOptions
from tests.app import create_app
from tests.builders import an_article
from tests.clock import MovableClock
from tests.extraction.pages import PARAGRAPHS, a_page
from tests.fetching.claims import OPTIONS
from tests.site import Site, a_site
from tests.web.visitor import PASSWORD, Person, a_person

pytestmark = pytest.mark.database

FRONTIER = FrontierOptions(min_delay=timedelta(milliseconds=20))
HTML = "text/html; charset=utf-8"


@dataclass
class Desk:
    """A reader, another one, and the stages that fetch and read what they save."""

    ada: Person
    bob: Person
    site: Site
    database: Database
    clock: MovableClock
    client: Client
    sandbox: Sandbox

    async def work(self) -> None:
        """Fetch and read what is due, redirects followed."""
        for _ in range(4):
            self.clock.move(minutes=1)
            fetcher = Fetcher(self.database, self.client, self.clock, OPTIONS, FRONTIER)
            for claimed in await fetcher.claim(10):
                await fetcher.work(claimed)
        options = ExtractionOptions(concurrency=1, lease=timedelta(minutes=1))
        extractor = Extractor(self.database, self.sandbox, self.clock, options, FRONTIER)
        while pages := await extractor.claim(10):
            await asyncio.gather(*map(extractor.work, pages))

    async def saved(self, person: Person) -> list[ArticleId]:
        """The articles in the list of a reader, the latest first."""
        text = (await person.open("/read?shelf=later")).text
        return [ArticleId(UUID(one)) for one in re.findall(r'id="line-([0-9a-f-]{36})"', text)]

    async def count(self, table: LiteralString) -> int:
        async with self.database.as_system() as conn:
            row = await (await conn.execute(f"SELECT count(*) FROM {table}")).fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    limits = {"time_limit": timedelta(seconds=20), "memory_limit": 1_000_000_000}
    async with Sandbox(processes=1, **limits) as sandbox:  # pyright: ignore[reportArgumentType]
        yield sandbox


@pytest.fixture
async def desk(database: Database, clock: MovableClock, sandbox: Sandbox) -> AsyncIterator[Desk]:
    app = create_app(database, clock)
    async with (
        a_person(app) as ada,
        a_person(app) as bob,
        a_site() as site,
        Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client,
    ):
        await ada.register()
        await bob.register("bob@example.com")
        site.answers["essay.example/otters"] = (200, HTML, a_page())
        yield Desk(ada, bob, site, database, clock, client, sandbox)


async def test_a_page_is_saved_after_a_question_fetched_and_read(desk: Desk) -> None:
    url = desk.site.url("essay.example/otters")

    asked = await desk.ada.open("/later", params={"url": url, "title": "Otters <b>"})
    assert (asked.status_code, url in asked.text, "Otters &lt;b&gt;" in asked.text) == (200, True, True)
    assert await desk.saved(desk.ada) == []

    came = await desk.ada.submit("/later", url=url)
    assert came.headers["location"] == "/read?shelf=later&saved=new"
    (article_id,) = await desk.saved(desk.ada)
    waiting = (await desk.ada.open(f"/articles/{article_id}?shelf=later")).text
    assert "Headwater is fetching this page" in waiting
    assert (await desk.ada.part(f"/later/{article_id}/text")).headers.get("hx-refresh") is None

    await desk.work()

    assert (await desk.ada.part(f"/later/{article_id}/text")).headers["hx-refresh"] == "true"
    page = (await desk.ada.open(f"/articles/{article_id}?shelf=later")).text
    assert PARAGRAPHS[0] in page
    assert "Remove from Read later" in page
    assert f'id="line-{article_id}"' in (await desk.ada.open("/read?shelf=later&q=mayor")).text
    assert (await desk.ada.submit("/later", url=url)).headers["location"] == "/read?shelf=later&saved=known"


async def test_nobody_else_sees_what_one_reader_saved(desk: Desk) -> None:
    await desk.ada.submit("/later", url=desk.site.url("essay.example/otters"))
    await desk.work()
    (article_id,) = await desk.saved(desk.ada)

    assert await desk.saved(desk.bob) == []
    for path in (f"/articles/{article_id}", f"/later/{article_id}/text", f"/articles/{article_id}/epub"):
        assert (await desk.bob.open(path)).status_code == 404
    for path in (f"/articles/{article_id}/save", f"/articles/{article_id}/unsave", f"/later/{article_id}/undo"):
        assert (await desk.bob.send("POST", path)).status_code == 404
    assert "Tarn" not in (await desk.bob.open("/read?shelf=all&q=mayor")).text
    async with desk.database.as_system() as conn:
        assert await find_visible(conn, [article_id], desk.clock()) == []
        assert await find_saved_only(conn, [article_id], desk.clock()) == {article_id}


async def test_a_page_that_an_operator_submits_too_is_public(desk: Desk) -> None:
    url = desk.site.url("essay.example/otters")
    await desk.ada.submit("/later", url=url)
    await desk.work()
    (article_id,) = await desk.saved(desk.ada)

    async with desk.database.as_system() as conn:
        await queue.submit(conn, submissions=[Submission(url, Origin.MANUAL)], now=desk.clock())
        visible = await find_visible(conn, [article_id], desk.clock())

    assert visible == [article_id]


async def test_a_saved_page_follows_its_redirects(desk: Desk) -> None:
    end = desk.site.url("essay.example/otters")
    desk.site.answers |= {
        "short.example/a": (302, "text/plain", desk.site.url("other.example/b").encode()),
        "short.example/c": (301, "text/plain", end.encode()),
        "other.example/b": (301, "text/plain", end.encode()),
    }
    await desk.ada.submit("/later", url=desk.site.url("short.example/a"))
    await desk.work()
    await desk.bob.submit("/later", url=desk.site.url("short.example/c"))
    await desk.work()
    await desk.work()

    (first,), (second,) = await desk.saved(desk.ada), await desk.saved(desk.bob)
    assert first == second
    assert PARAGRAPHS[0] in (await desk.ada.open(f"/articles/{first}")).text
    assert await desk.count("articles") == await desk.count("article_urls") == 1
    async with desk.database.as_system() as conn:
        assert await find_visible(conn, [first], desk.clock()) == []
    await desk.ada.submit("/later", url=desk.site.url("short.example/a"))
    assert await desk.saved(desk.ada) == [first]


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("essay.example/missing", "The site says that it does not exist."),
        ("essay.example/data", "It is not a web page."),
        ("closed.example/page", "The site does not allow programs to fetch it."),
    ],
)
async def test_a_page_that_cannot_be_fetched_says_why(desk: Desk, place: str, says: str) -> None:
    desk.site.answers |= {
        "essay.example/data": (200, "application/zip", b"PK\x03\x04"),
        "closed.example/robots.txt": (200, "text/plain", b"User-agent: *\nDisallow: /\n"),
        "closed.example/page": (200, HTML, a_page()),
    }
    await desk.ada.submit("/later", url=desk.site.url(place))
    await desk.work()
    (article_id,) = await desk.saved(desk.ada)

    assert says in (await desk.ada.open(f"/articles/{article_id}")).text


async def test_removing_is_undone_for_a_day_and_then_deletes_the_page(desk: Desk) -> None:
    await desk.ada.submit("/later", url=desk.site.url("essay.example/otters"))
    await desk.work()
    (article_id,) = await desk.saved(desk.ada)

    gone = await desk.ada.send("POST", f"/articles/{article_id}/unsave")
    assert (gone.status_code, "Undo" in gone.text) == (200, True)
    assert await desk.saved(desk.ada) == []
    assert (await desk.ada.open(f"/articles/{article_id}")).status_code == 404
    back = await desk.ada.send("POST", f"/later/{article_id}/undo")
    assert "Remove from Read later" in back.text
    assert await desk.saved(desk.ada) == [article_id]

    await desk.ada.send("POST", f"/articles/{article_id}/unsave")
    desk.clock.move(seconds=(UNDONE_WITHIN + timedelta(seconds=1)).total_seconds())
    await Remover(desk.database, desk.clock).sweep()

    assert (await desk.ada.send("POST", f"/later/{article_id}/undo")).status_code == 404
    tables = ("articles", "article_urls", "content", "frontier_url")
    assert [await desk.count(table) for table in tables] == [0, 0, 0, 0]


async def test_a_page_that_another_reader_saved_too_stays(desk: Desk) -> None:
    for person in (desk.ada, desk.bob):
        await person.submit("/later", url=desk.site.url("essay.example/otters"))
    await desk.work()
    (article_id,) = await desk.saved(desk.ada)
    await desk.ada.send("POST", f"/articles/{article_id}/unsave")
    desk.clock.move(days=2)

    await Remover(desk.database, desk.clock).sweep()

    assert PARAGRAPHS[0] in (await desk.bob.open(f"/articles/{article_id}")).text


async def test_deleting_an_account_deletes_what_only_it_saved(desk: Desk) -> None:
    await desk.bob.submit("/later", url=desk.site.url("essay.example/otters"))
    await desk.work()
    async with desk.database.as_system() as conn:
        await remove_account(conn, email="bob@example.com")

    await Remover(desk.database, desk.clock).remove_all()

    assert [await desk.count(table) for table in ("articles", "content", "frontier_url")] == [0, 0, 0]


async def test_an_article_of_a_feed_is_saved_and_removed_with_its_button(desk: Desk) -> None:
    await desk.ada.send("POST", "/feeds", name="Otters", url="https://feed.example/rss")
    async with desk.database.as_system() as conn:
        source = await sources.find_by_url(conn, url="https://feed.example/rss")
        article = an_article("https://feed.example/1", title="An otter")
        await records.keep(conn, seen_at=desk.clock(), listed=[ListedEntry(source.id, article)])
        found = await (await conn.execute("SELECT id FROM articles")).fetchone()
        assert found is not None
    saved = await desk.ada.send("POST", f"/articles/{found[0]}/save")
    assert "Remove from Read later" in saved.text
    assert await desk.saved(desk.ada) == [found[0]]

    removed = await desk.ada.send("POST", f"/articles/{found[0]}/unsave")

    assert 'aria-label="Read later"' in removed.text
    assert await desk.saved(desk.ada) == []


@pytest.mark.parametrize("url", ["", "javascript:alert(1)", "ftp://essay.example/a", "http://", "/etc/passwd"])
async def test_what_is_not_the_address_of_a_page_is_refused(desk: Desk, url: str) -> None:
    refused = await desk.ada.submit("/later", url=url)

    assert (refused.status_code, 'role="alert"' in refused.text) == (400, True)
    assert await desk.count("articles") == 0


async def test_apps_share_the_address_in_the_text(desk: Desk) -> None:
    asked = await desk.ada.open("/later", params={"text": "An essay: https://essay.example/otters."})

    assert 'value="https://essay.example/otters"' in asked.text


async def test_what_is_shared_with_a_reader_who_is_logged_out_is_asked_after_the_login(desk: Desk) -> None:
    shared = "/later?url=https%3A%2F%2Fessay.example%2Fotters%3Fa%3D1%26b&title=Otters+%26c"
    await desk.ada.submit("/auth/logout")

    login = (await desk.ada.open(shared)).headers["location"]
    form = (await desk.ada.open(login)).text
    back = unescape(re.findall(r'name="back" value="([^"]*)"', form)[0])
    came = await desk.ada.submit("/auth/login", email="ada@example.com", password=PASSWORD, back=back)

    assert came.headers["location"] == shared
    assert 'value="https://essay.example/otters?a=1&amp;b"' in (await desk.ada.open(shared)).text


@pytest.mark.parametrize(
    "back",
    ["//evil.example/later?a", "https://evil.example", "/later", "/later?a\r\nb", "/later/../x?a", "/admin?a", "ä"],
)
async def test_a_login_leads_to_nothing_else_that_a_link_names(desk: Desk, back: str) -> None:
    await desk.ada.submit("/auth/logout")
    await desk.ada.open("/auth/login")
    came = await desk.ada.submit("/auth/login", email="ada@example.com", password=PASSWORD, back=back)

    assert (came.status_code, came.headers["location"]) == (303, "/dashboard")


async def test_quotas_are_explained(database: Database, clock: MovableClock) -> None:
    app = create_app(database, clock, web=WebOptions(quotas=Quotas(saved=1, saved_per_day=3)))
    async with a_person(app) as ada:
        await ada.register()
        assert (await ada.submit("/later", url="https://essay.example/1")).status_code == 303
        full = await ada.submit("/later", url="https://essay.example/2")
        assert (full.status_code, "You have 1 articles in Read later" in full.text) == (409, True)
        assert (await ada.submit("/later", url="https://essay.example/1")).status_code == 303
        spent = await ada.submit("/later", url="https://essay.example/3")
    assert (spent.status_code, "3 saved pages a day are allowed" in spent.text) == (429, True)


async def test_the_bookmarklet_and_the_manifest_lead_to_the_question(desk: Desk) -> None:
    settings = (await desk.ada.open("/settings")).text
    manifest = json.loads((await desk.ada.open("/static/headwater.webmanifest")).text)

    assert "/later?url=" in settings
    assert manifest["share_target"]["action"] == "/later"
    assert manifest["share_target"]["method"] == "GET"
