"""Tags of articles and feeds: added and removed on a page and in a list, searched, counted, and limited."""

import re
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar

from headwater.accounts.quotas import Quotas
from headwater.db import Database
from headwater.library.store import marks
from headwater.web import WebOptions
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.newsroom import Newsroom, open_newsroom
from tests.web.test_views import shown
from tests.web.visitor import a_person

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock, web=WebOptions(quotas=Quotas(tags=3)))


@pytest.fixture
async def room(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(app, database, clock) as room:
        yield room


def tags(page: str) -> list[str]:
    """Those of articles, without the side bar."""
    return re.findall(r'<li><a href="/read\?shelf=all&amp;q=tag[^"]*">([^<]+)</a>', page)


async def test_an_article_has_several_tags_which_find_it(room: Newsroom) -> None:
    article = room.articles["Cake for beginners"]
    for tag in ("Later", "#To Bake", "later"):
        came = await room.ada.send("POST", f"/articles/{article}/tags", tag=tag)
    assert tags(came.text) == ["later", "to bake"]

    listed = (await room.ada.open("/read?shelf=all&q=tag:%22TO+BAKE%22")).text
    assert shown(listed) == ["Cake for beginners"]
    assert tags(listed) == ["later", "to bake"]
    removed = await room.ada.send("POST", f"/articles/{article}/tags/remove", tag="later")

    assert tags(removed.text) == ["to bake"]
    assert tags((await room.ada.open(f"/articles/{article}")).text) == ["to bake"]


async def test_the_form_is_loaded_into_a_line_and_says_what_is_wrong(room: Newsroom) -> None:
    article = room.articles["Cake for beginners"]
    assert f'hx-get="/articles/{article}/tags"' in (await room.ada.open("/read")).text
    assert 'data-key="t" autofocus' in (await room.ada.part(f"/articles/{article}/tags")).text

    blank = await room.ada.send("POST", f"/articles/{article}/tags", tag=" # ")
    for tag in ("a", "b", "c"):
        await room.ada.send("POST", f"/articles/{article}/tags", tag=tag)
    many = await room.ada.send("POST", f"/articles/{article}/tags", tag="d")

    assert (blank.status_code, many.status_code) == (400, 409)
    assert "A tag needs a letter or digit." in blank.text
    assert "at most 3 tags" in many.text
    assert tags(many.text) == ["a", "b", "c"]


async def test_tags_of_a_feed_are_those_of_its_articles(room: Newsroom) -> None:
    page = (await room.ada.part("/feeds")).text
    feed = next(one for one in re.findall(r"/feeds/([0-9a-f-]{36})/edit", page))
    form = (await room.ada.part(f"/feeds/{feed}/edit")).text
    name, url = (re.findall(rf'name="{field}"[^>]* value="([^"]*)"', form)[0] for field in ("name", "url"))

    saved = await room.ada.send("PATCH", f"/feeds/{feed}", name=name, url=url, category="News", tags="Local, b")
    many = await room.ada.send("PATCH", f"/feeds/{feed}", name=name, url=url, category="News", tags="1,2,3,4")
    await room.ada.send("PATCH", f"/feeds/{feed}", name=name, url=url, category="News")  # keeps its tags

    assert (saved.status_code, many.status_code) == (204, 409)
    assert 'value="local, b"' in (await room.ada.part(f"/feeds/{feed}/edit")).text
    found = shown((await room.ada.open("/read?shelf=all&q=tag:local")).text)
    assert found == shown((await room.ada.open(f"/read?shelf=all&feed={feed}")).text) != []
    await room.ada.send("POST", f"/articles/{room.articles['Cake for beginners']}/tags", tag="b")
    listed = (await room.ada.open("/tags")).text
    assert re.findall(r">([^<]+)</a></th><td>(\d)</td><td>(\d)</td>", listed) == [("b", "1", "1"), ("local", "0", "1")]


async def test_an_article_of_other_feeds_has_no_tags_of_mine(app: Litestar, room: Newsroom) -> None:
    article = room.articles["Storm: the leaked report"]

    assert (await room.ada.send("POST", f"/articles/{article}/tags", tag="x")).status_code == 404
    assert (await room.ada.part(f"/articles/{article}/tags")).status_code == 404
    async with a_person(app) as eve:
        await eve.register("eve@example.com")
        mine = room.articles["Cake for beginners"]
        await room.ada.send("POST", f"/articles/{mine}/tags", tag="secret plan")
        assert "secret plan" not in (await eve.open("/tags")).text


async def test_a_hidden_article_is_listed_by_is_hidden_and_shown_again(room: Newsroom, database: Database) -> None:
    article = room.articles["Cake for beginners"]
    async with database.as_system() as conn:
        row = await (await conn.execute("SELECT id FROM users WHERE email = 'ada@example.com'")).fetchone()
        assert row is not None
        await marks.set_hidden(conn, user_id=row[0], article_ids=[article], hidden_at=START)

    assert "Cake for beginners" not in shown((await room.ada.open("/read?shelf=all")).text)
    assert shown((await room.ada.open("/read?shelf=all&q=cake")).text) == []
    assert shown((await room.ada.open("/read?shelf=all&q=is:hidden")).text) == ["Cake for beginners"]
    assert "A rule of yours hid this article." in (await room.ada.open(f"/articles/{article}")).text
    came = await room.ada.send("POST", f"/articles/{article}/show")

    assert came.headers["hx-refresh"] == "true"
    assert "Cake for beginners" in shown((await room.ada.open("/read?shelf=all")).text)


async def test_categories_are_nested_in_the_side_bar(room: Newsroom) -> None:
    page = (await room.ada.part("/feeds")).text
    feed = next(one for one in re.findall(r"/feeds/([0-9a-f-]{36})/edit", page))
    form = (await room.ada.part(f"/feeds/{feed}/edit")).text
    name, url = (re.findall(rf'name="{field}"[^>]* value="([^"]*)"', form)[0] for field in ("name", "url"))
    await room.ada.send("PATCH", f"/feeds/{feed}", name=name, url=url, category="news / Local")

    listed = (await room.ada.open("/read?shelf=all&category=NEWS")).text

    assert len(shown(listed)) == len(shown((await room.ada.open("/read?shelf=all")).text))
    outer, inner = re.findall(r'<details open data-category="([^"]+)">', listed)
    assert (outer, inner) == ("news", "news/local")
    assert re.search(r'aria-current="true">News</a><span class="unread"[^>]*>5</span></h2>', listed)
