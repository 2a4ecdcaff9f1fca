"""Icons and lead images on the pages of a reader, and who may load them."""

import re
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.db import Database
from headwater.sources.store import sources
from tests.app import create_app
from tests.builders import keep_image
from tests.clock import MovableClock
from tests.web.newsroom import Newsroom, open_newsroom
from tests.web.visitor import a_person

pytestmark = pytest.mark.database

IMAGE = b"RIFF....WEBP and more"
ICON = re.compile(r'<img class="feed-icon" src="(/images/feeds/[^"]+)" alt="" width="20" height="20"')
LEAD = re.compile(r'<img src="(/images/articles/[^"]+)" alt="" width="640" height="360"')


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def room(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    """One feed has an icon, and two articles a lead image: one of them only another user may see."""
    async with open_newsroom(app, database, clock) as room:
        async with database.as_system() as conn:
            for name in ("daily", "secret"):
                source = await sources.find_by_url(conn, url=f"https://{name}.example/feed")
                await keep_image(conn, source.id, "icon", IMAGE)
            for title in ("Cake for beginners", "Storm: the leaked report"):
                await keep_image(conn, room.articles[title], "lead", IMAGE)
        yield room


async def test_a_list_shows_icons_and_letters_where_there_is_none(room: Newsroom) -> None:
    shown = (await room.ada.open("/read?shelf=all")).text

    assert len(set(ICON.findall(shown))) == 1
    assert {'data-letter="W"', 'data-letter="E"'} <= set(re.findall(r'data-letter="\w"', shown))


@pytest.mark.parametrize("path", ["/read/feeds", "/feeds"])
async def test_the_side_bar_and_the_list_of_feeds_show_icons(room: Newsroom, path: str) -> None:
    assert len(ICON.findall((await room.ada.part(path)).text)) == 1


async def test_an_article_shows_the_icon_of_its_feed(room: Newsroom) -> None:
    shown = await room.ada.open(f"/articles/{room.articles['Cake for beginners']}")
    assert len(ICON.findall(shown.text)) == 1


@pytest.mark.parametrize(("density", "leads"), [("cards", 1), ("rows", 0), ("compact", 0)])
async def test_only_cards_have_lead_images(room: Newsroom, density: str, leads: int) -> None:
    await room.ada.submit("/settings", density=density)
    assert len(LEAD.findall((await room.ada.open("/read?shelf=all")).text)) == leads


async def test_an_image_is_cached_for_ever_under_its_digest(room: Newsroom) -> None:
    [url] = set(ICON.findall((await room.ada.open("/read?shelf=all")).text))

    found = await room.ada.client.get(url)

    assert (found.status_code, found.content, found.headers["content-type"]) == (200, IMAGE, "image/webp")
    assert found.headers["cache-control"] == "private, max-age=31536000, immutable"
    again = await room.ada.client.get(url, headers={"If-None-Match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = await room.ada.client.get(url.partition("?")[0])
    assert other.headers["cache-control"] == "private, no-cache"


async def test_the_images_of_a_private_feed_are_those_of_its_readers(room: Newsroom, database: Database) -> None:
    secret = room.articles["Storm: the leaked report"]
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT id FROM subscriptions WHERE name = 'Secret'")
        [(feed,)] = await cur.fetchall()

    paths = [f"/images/articles/{secret}", f"/images/feeds/{feed}"]
    assert [(await room.ada.client.get(path)).status_code for path in paths] == [404, 404]


async def test_images_need_a_login(app: Litestar, room: Newsroom) -> None:
    async with a_person(app) as visitor:
        found = await visitor.client.get(f"/images/articles/{room.articles['Cake for beginners']}")
    assert found.status_code in {303, 401}


@pytest.mark.parametrize("action", ["star", "save"])
async def test_a_kept_article_keeps_its_image_after_its_feed_is_left(
    room: Newsroom, database: Database, action: str
) -> None:
    article = room.articles["Cake for beginners"]
    await room.ada.send("POST", f"/articles/{article}/{action}")
    async with database.as_system() as conn:
        await conn.execute("DELETE FROM subscriptions WHERE name = 'Daily'")

    assert (await room.ada.client.get(f"/images/articles/{article}")).status_code == 200
    assert (await room.ada.client.get(f"/images/articles/{UUID(int=3)}")).status_code == 404


async def test_a_reader_who_hides_images_loads_none_of_an_article(room: Newsroom, database: Database) -> None:
    article = room.articles["Cake for beginners"]
    async with database.as_system() as conn:
        html = '<p>Cake</p><img src="https://a.example/1.png" alt="A cake">'
        await conn.execute("UPDATE articles SET content = %(html)s WHERE id = %(id)s", {"html": html, "id": article})
    shown = (await room.ada.open(f"/articles/{article}")).text
    await room.ada.submit("/settings", article_images="hide")
    hidden = (await room.ada.open(f"/articles/{article}")).text

    assert [("a.example/1.png" in page, 'alt="A cake"' in page) for page in (shown, hidden)] == [
        (True, True), (False, True),
    ]  # fmt: skip
