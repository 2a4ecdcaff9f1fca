"""Around the list of articles: undo, news, numbers, a feed that fails, links to feeds."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape
from urllib.parse import quote

import pytest
from litestar import Litestar

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.asgi.handlers import encode_cursor
from headwater.db import Database
from headwater.sources.store import sources
from tests.app import create_app
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.web.newsroom import Newsroom, open_newsroom, without_icons
from tests.web.test_read import shown
from tests.web.visitor import PASSWORD, a_person

pytestmark = pytest.mark.database

ALL = ["Cake for beginners", "Harbour of Bremvik flooded", "Chess champion resigns", "Bremvik after the storm",
       "Storm hits Bremvik"]  # fmt: skip


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def room(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(app, database, clock) as opened:
        await opened.ada.submit("/read/stories", grouped="no")
        yield opened


async def unread(room: Newsroom) -> list[str]:
    return shown((await room.ada.open("/read")).text)


def feed_of(page: str, name: str) -> str:
    found = re.search(rf'feed=([0-9a-f-]+)"[^>]*>{name}<', unescape(without_icons(page)))
    assert found
    return found[1]


async def undo(room: Newsroom, location: str) -> None:
    page = (await room.ada.open(location)).text
    found = re.search(r'name="marked" value="([0-9a-f-]+)"', page)
    assert found
    assert (await room.ada.submit("/read/undo", marked=found[1], back="/read")).headers["location"] == "/read"


async def test_marking_all_as_read_says_how_many_and_can_be_undone(room: Newsroom) -> None:
    await room.ada.send("POST", f"/articles/{room.articles['Chess champion resigns']}/read")
    before = await unread(room)

    location = (await room.ada.submit("/read/all", back="/read?shelf=unread")).headers["location"]
    page = (await room.ada.open(location)).text
    emptied = await unread(room)
    await undo(room, location)

    assert "4 marked as read." in page
    assert (emptied, await unread(room)) == ([], before)


async def test_undo_restores_one_feed_and_what_was_marked_unread(room: Newsroom) -> None:
    feed = feed_of((await room.ada.open("/read?shelf=all")).text, "Evening")
    await room.ada.submit("/read/all")
    await room.ada.send("POST", f"/articles/{room.articles['Chess champion resigns']}/unread")

    location = (await room.ada.submit("/read/all", feed=feed)).headers["location"]
    emptied = await unread(room)
    await undo(room, location)

    assert (emptied, await unread(room)) == ([], ["Chess champion resigns"])


async def test_what_was_marked_by_itself_after_marking_all_stays_read_after_an_undo(room: Newsroom) -> None:
    location = (await room.ada.submit("/read/all")).headers["location"]
    await room.ada.send("POST", f"/articles/{room.articles['Cake for beginners']}/read")

    await undo(room, location)

    assert await unread(room) == ALL[1:]


async def test_marking_above_can_be_undone(room: Newsroom) -> None:
    until = encode_cursor(START + timedelta(minutes=3), room.articles["Chess champion resigns"])

    sent = await room.ada.send("POST", "/read/all", until=until, back="/read?shelf=all")
    left = await unread(room)
    page = (await room.ada.open(sent.headers["hx-redirect"])).text
    await undo(room, sent.headers["hx-redirect"])

    assert left == ALL[3:]
    assert "3 marked as read." in page
    assert await unread(room) == ALL


async def test_only_the_user_who_marked_can_undo_and_only_once(app: Litestar, room: Newsroom) -> None:
    location = (await room.ada.submit("/read/all")).headers["location"]
    marked = location.partition("marked=")[2]
    async with a_person(app) as bob:
        await bob.open("/auth/login")
        await bob.submit("/auth/login", email="bob@example.com", password=PASSWORD)
        await bob.open("/read")

        refused = await bob.submit("/read/undo", marked=marked)
    await undo(room, location)

    assert refused.status_code == 404
    assert (await room.ada.submit("/read/undo", marked=marked)).status_code == 404
    assert (await room.ada.submit("/read/undo", marked="x")).status_code == 404


async def test_a_list_reports_articles_that_came_since_it_was_shown(
    room: Newsroom, database: Database, clock: MovableClock
) -> None:
    page = unescape((await room.ada.open("/read")).text)
    asked = re.search(r'hx-get="(/read/news\?[^"]+)"', page)
    assert asked
    before = (await room.ada.part(asked[1])).text

    clock.move(minutes=5)
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url="https://daily.example/feed")
        for number in (8, 9):
            article = an_article(f"https://daily.example/{number}", title=f"New {number}", published_at=START)
            await records.keep(conn, seen_at=clock(), listed=[ListedEntry(source.id, article)])
    after = (await room.ada.part(asked[1])).text

    assert "Show" not in before
    assert "5 unread articles" in before
    assert "2 new articles · Show" in after
    assert "7 unread articles" in after
    assert (await room.ada.part(f"/read/news?since={quote('x')}")).status_code == 400


async def test_numbers_of_feeds_are_exact(room: Newsroom, database: Database, clock: MovableClock) -> None:
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url="https://daily.example/feed")
        listed = [
            ListedEntry(source.id, an_article(f"https://daily.example/many{number}", title=str(number)))
            for number in range(130)
        ]
        await records.keep(conn, seen_at=clock(), listed=listed)

    page = unescape((await room.ada.open("/read")).text)
    asked = re.search(r'hx-get="(/read/feeds\?[^"]+)"', page)
    assert asked

    exact = (await room.ada.part(asked[1])).text

    assert "99+" in page
    assert 'aria-label="132 unread">132<' in exact
    assert 'aria-label="135 unread">135<' in exact  # of the category


async def test_a_failing_feed_says_why_it_cannot_be_updated(room: Newsroom, database: Database) -> None:
    feed = feed_of((await room.ada.open("/read?shelf=all")).text, "Daily")
    healthy = (await room.ada.open(f"/read?feed={feed}")).text
    async with database.as_system() as conn:
        await conn.execute(
            """
            UPDATE feed_state
            SET last_error = 'HTTP 500', last_error_type = 'upstream_failure', last_polled_at = %(now)s
            WHERE feed_url = 'https://daily.example/feed'
            """,
            {"now": START},
        )

    failing = (await room.ada.open(f"/read?feed={feed}")).text
    retried = await room.ada.send("POST", f"/feeds/{feed}/retry")

    assert "This feed cannot be updated." not in healthy
    assert "This feed cannot be updated.</b> HTTP 500" in failing
    assert f'hx-post="/feeds/{feed}/retry"' in failing
    assert 'href="/dashboard?search=Daily"' in failing
    assert retried.status_code == 204


async def test_the_name_of_a_feed_leads_to_its_articles(room: Newsroom) -> None:
    page = without_icons((await room.ada.open("/read")).text)
    links = dict(re.findall(r'<a class="from" href="([^"]+)">([^<]+)<', page))

    opened = [shown((await room.ada.open(unescape(path))).text) for path, name in links.items() if name == "Evening"]
    article = without_icons((await room.ada.open(f"/articles/{room.articles['Cake for beginners']}")).text)

    assert opened == [["Harbour of Bremvik flooded", "Chess champion resigns"]]
    assert re.search(
        r'<p class="over"><a href="/read\?shelf=all&amp;feed=[0-9a-f-]+">Daily</a></p>', without_icons(article)
    )


async def test_titles_have_their_language_and_how_long_the_text_is_read(room: Newsroom, database: Database) -> None:
    async with database.as_system() as conn:
        await conn.execute(
            """
            INSERT INTO content (article_id, url, url_key, text, html, language, keywords, authors, open_graph,
                linked_data, origins, word_count, richness, extracted_at)
            SELECT id, url, url_key, 'x', '<p>x</p>', 'nb', '{}', '{}', '{}', '{}', '{}', 500, 1, %(now)s
            FROM articles WHERE id = %(id)s
            """,
            {"id": room.articles["Chess champion resigns"], "now": START},
        )

    pages = [(await room.ada.open(path)).text for path in ("/read", "/read?shelf=all&q=chess")]

    assert [page.count('<h2 dir="auto" lang="nb">') for page in pages] == [1, 1]
    assert [page.count("3 minutes to read") for page in pages] == [1, 1]


async def test_the_skip_link_of_a_list_leads_past_the_side_bar(room: Newsroom) -> None:
    page = (await room.ada.open("/read")).text

    assert '<a class="skip" href="#stream">' in page
    assert page.index('class="shelves"') < page.index('id="stream" tabindex="-1"')


async def test_a_deleted_account_is_confirmed(app: Litestar, room: Newsroom) -> None:
    await room.ada.open("/account")
    wrong = await room.ada.submit("/account/delete", current_password="wrong")
    gone = await room.ada.submit("/account/delete", current_password=PASSWORD)

    assert "The current password is wrong." in wrong.text
    assert "Your account and your data are deleted." in (await room.ada.open(gone.headers["location"])).text
