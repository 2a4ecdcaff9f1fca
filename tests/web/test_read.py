"""Reading: lists, an article, marks and search, each of the user's own articles."""

import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.articles.store import content, records
from headwater.articles.types import Extracted, ListedEntry, NewContent
from headwater.asgi.handlers import encode_cursor
from headwater.db import Database
from headwater.library import search
from headwater.sources.store import sources
from headwater.types import ArticleId, PageCursor
from headwater.urls import url_key
from tests.app import create_app
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.web.visitor import PAGE, Person, a_person

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Person]:
    """Follows one feed with three articles; the second has been extracted."""
    async with a_person(app) as person:
        await person.register()
        await person.send("POST", "/feeds", name="Example", url=FEED, category="News")
        async with database.as_system() as conn:
            source = await sources.find_by_url(conn, url=FEED)
            listed = [
                ListedEntry(
                    source.id,
                    an_article(
                        f"https://example.com/{n}",
                        title=f"Story {n}",
                        published_at=START + timedelta(minutes=n),
                        content=f'<p>Feed text {n}</p><img src="https://example.com/{n}.png">',
                    ),
                )
                for n in (1, 2, 3)
            ]
            await records.keep(conn, seen_at=START + timedelta(hours=1), listed=listed)
            row = await (await conn.execute("SELECT id FROM articles WHERE title = 'Story 2'")).fetchone()
            assert row is not None
            extracted = Extracted(
                title="Story 2",
                text="Otters swim at night",
                html="<p>Otters swim at night</p>",
                language="en",
                word_count=4,
                content_hash=bytes(32),
            )
            record = NewContent(ArticleId(row[0]), "https://example.com/2", url_key("https://example.com/2"), extracted)
            await content.save(conn, records=[record], now=START)
        clock.move(hours=2)
        yield person


def shown(page: str) -> list[str]:
    return re.findall(r"data-open>([^<]+)<", page)


def ids(page: str) -> dict[str, str]:
    found = re.findall(r'/articles/([0-9a-f-]+)(?:\?[^"]*)?" data-open>([^<]+)<', page)
    return {title: article for article, title in found}


async def test_the_newest_unread_come_first(ada: Person) -> None:
    page = (await ada.open("/read")).text

    assert shown(page) == ["Story 3", "Story 2", "Story 1"]
    assert 'aria-label="3 unread"' in page


async def test_opening_an_article_reads_it_and_shows_the_extracted_text(ada: Person) -> None:
    article = ids((await ada.open("/read")).text)["Story 2"]

    page = await ada.open(f"/articles/{article}")

    assert page.status_code == 200
    assert "Otters swim at night" in page.text
    assert 'href="https://example.com/2"' in page.text
    assert shown((await ada.open("/read")).text) == ["Story 3", "Story 1"]
    assert shown((await ada.open("/read?shelf=all")).text) == ["Story 3", "Story 2", "Story 1"]


async def test_head_does_not_mark_an_article_as_read(ada: Person) -> None:
    article = ids((await ada.open("/read")).text)["Story 2"]

    answer = await ada.client.head(f"/articles/{article}", headers=PAGE)

    assert answer.status_code == 200
    assert shown((await ada.open("/read")).text) == ["Story 3", "Story 2", "Story 1"]


async def test_the_text_of_the_feed_is_shown_without_an_extracted_one(ada: Person) -> None:
    article = ids((await ada.open("/read")).text)["Story 1"]

    page = (await ada.open(f"/articles/{article}")).text

    assert "Feed text 1" in page
    assert 'loading="lazy" decoding="async" referrerpolicy="no-referrer" alt="" src="https://example.com/1.png"' in page


async def test_an_article_is_starred_and_found_among_the_stars(ada: Person) -> None:
    article = ids((await ada.open("/read")).text)["Story 1"]

    buttons = await ada.send("POST", f"/articles/{article}/star")

    assert "Unstar" in buttons.text
    assert shown((await ada.open("/read?shelf=starred")).text) == ["Story 1"]
    await ada.send("POST", f"/articles/{article}/unstar")
    assert "No starred articles" in (await ada.open("/read?shelf=starred")).text


async def test_a_list_is_marked_read_whole_or_down_to_a_cursor(ada: Person) -> None:
    page = (await ada.open("/read")).text
    second = ids(page)["Story 2"]

    place = PageCursor(START + timedelta(minutes=2), ArticleId(UUID(second)))

    await ada.submit("/read/all", until=encode_cursor(*place))
    above = shown((await ada.open("/read")).text)
    await ada.submit("/read/all", back="https://evil.example/")
    after = await ada.open("/read")

    assert above == ["Story 1"]
    assert "No unread articles" in after.text


async def test_a_line_marks_itself_and_all_above_it_read(ada: Person) -> None:
    page = (await ada.open("/read")).text
    places = [json.loads(unescape(values)) for values in re.findall(r"hx-vals='([^']+)'", page)]

    response = await ada.send("POST", "/read/all", **places[1])

    assert response.status_code == 204
    assert response.headers["hx-redirect"].startswith("/read?shelf=unread&marked=")
    assert shown((await ada.open("/read")).text) == ["Story 1"]


async def test_marking_does_not_redirect_to_other_sites(ada: Person) -> None:
    for back in ("https://evil.example/", "//evil.example/", "/read\r\nX: y"):
        response = await ada.submit("/read/all", back=back)

        assert response.headers["location"].startswith("/read")
        assert "x" not in response.headers


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("otter", ["Story 2"]),
        ("story", ["Story 3", "Story 2", "Story 1"]),
        ("whale", []),
        ("'%\\ &|! otter", ["Story 2"]),
    ],
    ids=["stemmed", "title", "none", "odd"],
)
async def test_articles_are_found_by_their_words(ada: Person, words: str, found: list[str]) -> None:
    page = await ada.open("/read", params={"shelf": "all", "q": words})

    assert page.status_code == 200
    assert shown(page.text) == found


@pytest.mark.parametrize("step", [search.STEP, 1], ids=["newest", "index"])
async def test_an_excluded_word_excludes_articles_that_have_it_in_their_text_only(
    ada: Person, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "STEP", step)
    for article in ids((await ada.open("/read?shelf=all")).text).values():
        await ada.send("POST", f"/articles/{article}/star")

    for shelf in ("all", "starred"):
        found = (await ada.open("/read", params={"shelf": shelf, "q": "story -otter"})).text
        assert sorted(shown(found)) == ["Story 1", "Story 3"]


async def test_the_search_can_be_of_a_feed_a_period_or_the_stars(ada: Person, clock: MovableClock) -> None:
    assert shown((await ada.open("/read?shelf=starred&q=story")).text) == []
    assert len(shown((await ada.open("/read?shelf=all&q=story&category=News")).text)) == 3
    assert shown((await ada.open("/read?shelf=all&q=story&category=Other")).text) == []
    clock.move(days=2)
    assert shown((await ada.open("/read?shelf=all&q=story&period=day")).text) == []


@pytest.mark.parametrize(
    "query", ["shelf=odd", "feed=odd", "after=odd", "after=MjAyNnw", "after=%00"], ids=["shelf", "feed", "a", "b", "c"]
)
async def test_an_invalid_query_is_400(ada: Person, query: str) -> None:
    assert (await ada.open(f"/read?{query}")).status_code == 400


async def test_articles_of_another_user_cannot_be_read_or_marked(app: Litestar, ada: Person) -> None:
    article = ids((await ada.open("/read")).text)["Story 1"]
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        opened = await bob.open(f"/articles/{article}")
        starred = await bob.send("POST", f"/articles/{article}/star")
        listed = (await bob.open("/read?shelf=all")).text
        found = (await bob.open("/read?shelf=all&q=story")).text

    assert (opened.status_code, starred.status_code) == (404, 404)
    assert shown(listed) == shown(found) == []


async def test_more_articles_come_in_pages_that_do_not_overlap(ada: Person, database: Database) -> None:
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=FEED)
        listed = [
            ListedEntry(
                source.id, an_article(f"https://example.com/more/{n}", title=f"More {n:02}", published_at=START)
            )
            for n in range(40)
        ]
        await records.keep(conn, seen_at=START + timedelta(hours=1), listed=listed)
    first = (await ada.open("/read?shelf=all")).text
    onward = re.search(r'<li class="more" hx-get="([^"]+)"', first)
    assert onward is not None

    second = (await ada.part(onward[1].replace("&amp;", "&"))).text

    assert len(shown(first)) == 30
    assert len(shown(second)) == 13
    assert "<html" not in second
    assert not set(ids(first).values()) & set(ids(second).values())
