"""What a reader chooses at /settings: kept, applied by the server to every page, exported, deleted with the account."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from litestar import Litestar

from headwater.asgi.handlers import encode_cursor
from headwater.db import Database
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.newsroom import Newsroom, open_newsroom
from tests.web.test_read import shown
from tests.web.visitor import PASSWORD, Person, a_person

pytestmark = pytest.mark.database

CHOSEN = {
    "theme": "dark", "density": "compact", "font": "sans", "text_size": "large", "line_width": "wide",
    "layout": "three", "sort_order": "oldest", "start_page": "all", "article_text": "feed", "article_images": "hide",
    "email_digest": "off", "time_zone": "Europe/Berlin", "scroll_marks_read": "yes",
}  # fmt: skip


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


@pytest.fixture
async def room(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(app, database, clock) as opened:
        yield opened


def looks(page: str) -> dict[str, str]:
    """The attributes of <html> that the style sheet applies."""
    found = re.search(r"<html [^>]*>", page)
    assert found
    return dict(re.findall(r'data-([\w-]+)="(\w+)"', found[0]))


async def test_saved_settings_are_on_every_page_before_any_script_runs(ada: Person) -> None:
    before = looks((await ada.open("/read")).text)

    saved = await ada.submit("/settings", **CHOSEN)

    after = [looks((await ada.open(path)).text) for path in ("/read", "/dashboard", "/settings")]
    assert saved.headers["location"] == "/settings?saved=yes"
    assert before == {
        "theme": "auto", "density": "rows", "font": "serif", "text-size": "medium", "line-width": "medium",
        "layout": "one",
    }  # fmt: skip
    assert after == [
        {"theme": "dark", "density": "compact", "font": "sans", "text-size": "large", "line-width": "wide",
         "layout": "three"}
    ] * 3  # fmt: skip


async def test_the_form_shows_what_is_saved(ada: Person) -> None:
    await ada.submit("/settings", **CHOSEN)

    page = (await ada.open("/settings?saved=yes")).text

    chosen = dict(re.findall(r'name="(\w+)" value="(\w+)" checked', page))
    assert {**CHOSEN, **chosen} == CHOSEN
    assert {"theme", "density", "font", "text_size", "line_width", "sort_order", "start_page"} <= set(chosen)
    assert "<option selected>Europe/Berlin</option>" in page
    assert "Settings saved." in page
    assert 'name="groups_stories" value="yes">' in page  # an unticked box is off


@pytest.mark.parametrize(
    ("name", "value"), [("theme", "pink"), ("layout", ""), ("time_zone", "Mars/Base"), ("time_zone", "../etc/passwd")]
)
async def test_an_unknown_value_is_refused_and_nothing_is_changed(ada: Person, name: str, value: str) -> None:
    await ada.submit("/settings", theme="dark")

    refused = await ada.submit("/settings", **{"theme": "light", name: value})

    assert (refused.status_code, "Unknown" in refused.text) == (400, True)
    assert looks((await ada.open("/read")).text)["theme"] == "dark"


async def test_another_user_keeps_the_defaults(app: Litestar, ada: Person) -> None:
    await ada.submit("/settings", **CHOSEN)

    async with a_person(app) as bob:
        await bob.register("bob@example.com")

        assert looks((await bob.open("/read")).text)["theme"] == "auto"


async def test_times_are_shown_in_the_chosen_time_zone(room: Newsroom) -> None:
    before = (await room.ada.open("/read")).text
    await room.ada.submit("/settings", time_zone="Asia/Tokyo")

    after = (await room.ada.open("/read")).text

    assert "UTC" in before
    assert "JST" in after
    assert " UTC" not in after


async def test_without_an_article_the_start_page_is_the_dashboard(ada: Person) -> None:
    assert (await ada.open("/")).headers["location"] == "/dashboard"


async def test_with_an_article_the_start_page_is_what_is_unread(room: Newsroom) -> None:
    opened = await room.ada.open("/")
    await room.ada.submit("/auth/logout")
    await room.ada.open("/auth/login")
    logged_in = await room.ada.submit("/auth/login", email="ada@example.com", password=PASSWORD)

    assert [one.headers["location"] for one in (opened, logged_in)] == ["/read?shelf=unread"] * 2
    assert (await room.ada.open("/dashboard")).status_code == 200


@pytest.mark.parametrize(
    ("chosen", "place"), [("all", "/read?shelf=all"), ("starred", "/read?shelf=starred"), ("dashboard", "/dashboard")]
)
async def test_the_chosen_start_page_is_opened(room: Newsroom, chosen: str, place: str) -> None:
    await room.ada.submit("/settings", start_page=chosen)

    assert (await room.ada.open("/")).headers["location"] == place


async def test_lists_have_the_chosen_order_page_by_page_and_above_means_older(room: Newsroom) -> None:
    await room.ada.submit("/settings", sort_order="oldest")
    listed = shown((await room.ada.open("/read")).text)
    everything = shown((await room.ada.open("/read?shelf=all")).text)
    searched = shown((await room.ada.open("/read?shelf=all&q=bremvik")).text)
    until = encode_cursor(START + timedelta(minutes=2), room.articles["Bremvik after the storm"])

    await room.ada.send("POST", "/read/all", until=until)

    oldest = ["Storm hits Bremvik", "Bremvik after the storm", "Chess champion resigns", "Harbour of Bremvik flooded"]
    assert listed == everything == [*oldest, "Cake for beginners"]
    assert searched == [oldest[3], oldest[1], oldest[0]]
    assert shown((await room.ada.open("/read")).text) == [*oldest[2:], "Cake for beginners"]


async def test_the_text_of_the_feed_is_shown_if_chosen_and_there_is_one(room: Newsroom, database: Database) -> None:
    chess, cake = room.articles["Chess champion resigns"], room.articles["Cake for beginners"]
    async with database.as_system() as conn:
        for article in (chess, cake):
            await conn.execute(
                """
                INSERT INTO content (article_id, url, url_key, text, html, keywords, authors, open_graph, linked_data,
                    origins, word_count, richness, extracted_at)
                SELECT id, url, url_key, 'page', '<p>Of the page</p>', '{}', '{}', '{}', '{}', '{}', 3, 1, %(now)s
                FROM articles WHERE id = %(id)s
                """,
                {"id": article, "now": START},
            )
        statement = "UPDATE articles SET content = %(text)s, summary = %(text)s WHERE id = %(id)s"
        await conn.execute(statement, {"id": chess, "text": "<p>Of the feed</p>"})
        await conn.execute(statement, {"id": cake, "text": None})
    paths = (f"/articles/{chess}", f"/articles/{cake}")
    before = [(await room.ada.open(path)).text for path in paths]

    await room.ada.submit("/settings", article_text="feed")

    after = [(await room.ada.open(path)).text for path in paths]
    assert ["Of the page" in page for page in before] == [True, True]
    assert ["Of the page" in page for page in after] == [False, True]
    assert "Of the feed" in after[0]
    assert "This text comes from the feed." in after[0]


async def test_stories_are_grouped_as_chosen(room: Newsroom) -> None:
    await room.ada.submit("/settings", theme="dark")
    every = (await room.ada.open("/read")).text

    await room.ada.submit("/read/stories", grouped="yes")

    assert "Also in" not in every
    assert "Also in" in (await room.ada.open("/read")).text
    assert looks((await room.ada.open("/read")).text)["theme"] == "dark"
