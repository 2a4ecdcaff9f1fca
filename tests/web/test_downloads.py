"""A reader takes articles along as a book: one, or a list; never those of feeds that they do not follow."""

import io
import zipfile
from collections.abc import AsyncIterator

import pytest

from headwater.db import Database
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.newsroom import Newsroom, open_newsroom

pytestmark = pytest.mark.database


@pytest.fixture
async def room(database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(create_app(database, clock), database, clock) as opened:
        yield opened


def text_of(book: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        return "".join(packed.read(name).decode() for name in packed.namelist())


async def test_an_article_is_downloaded_as_a_book(room: Newsroom) -> None:
    title, article_id = next(iter(room.articles.items()))

    answer = await room.ada.open(f"/articles/{article_id}/epub")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/epub+zip"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert title in text_of(answer.content)
    assert f'href="/articles/{article_id}/epub"' in (await room.ada.open(f"/articles/{article_id}")).text


async def test_a_list_is_downloaded_as_a_book_of_what_the_reader_follows(room: Newsroom) -> None:
    listed = (await room.ada.open("/read?shelf=all")).text
    book = text_of((await room.ada.open("/read/epub?shelf=all")).content)
    found = text_of((await room.ada.open("/read/epub?shelf=all&q=cake")).content)

    assert 'href="/read/epub?' in listed
    assert "Storm hits Bremvik" in book
    assert "Storm: the leaked report" not in book
    assert "Cake for beginners" in found
    assert "Storm hits Bremvik" not in found


async def test_an_article_is_downloaded_as_markdown(room: Newsroom) -> None:
    article_id = room.articles["Storm hits Bremvik"]

    answer = await room.ada.open(f"/articles/{article_id}/markdown")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "Storm%20hits%20Bremvik.md" in answer.headers["content-disposition"]
    assert answer.text.startswith("# Storm hits Bremvik\n\nDaily · ")
    assert (await room.ada.open(f"/articles/{room.articles['Storm: the leaked report']}/markdown")).status_code == 404


async def test_the_page_of_an_article_offers_its_link_and_an_email(room: Newsroom) -> None:
    page = (await room.ada.open(f"/articles/{room.articles['Storm hits Bremvik']}")).text

    assert 'data-copy="https://daily.example/1"' in page
    subject, body = "Storm%20hits%20Bremvik", "Storm%20hits%20Bremvik%0A%0Ahttps%3A%2F%2Fdaily.example%2F1%0A"
    assert f'href="mailto:?subject={subject}&amp;body={body}"' in page


async def test_a_book_has_the_articles_in_the_order_of_the_list(room: Newsroom) -> None:
    newest = text_of((await room.ada.open("/read/epub?shelf=all")).content)
    await room.ada.submit("/settings", sort_order="oldest")

    listed = (await room.ada.open("/read?shelf=all")).text
    oldest = text_of((await room.ada.open("/read/epub?shelf=all")).content)

    titles = [title for title in room.articles if title in newest and title in listed]
    assert sorted(titles, key=oldest.index) == sorted(titles, key=listed.index)
    assert sorted(titles, key=newest.index) != sorted(titles, key=oldest.index)


async def test_a_book_has_only_as_many_articles_as_it_has_room_for(
    room: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.web.routes.downloads.BOOK_CHARACTERS", -1)

    book = (await room.ada.open("/read/epub?shelf=all")).content

    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        assert len([name for name in packed.namelist() if name.startswith("article-")]) == 1


async def test_an_empty_list_and_an_article_of_another_feed_are_not_found(room: Newsroom) -> None:
    secret = room.articles["Storm: the leaked report"]

    assert (await room.ada.open("/read/epub?shelf=starred")).status_code == 404
    assert (await room.ada.open(f"/articles/{secret}/epub")).status_code == 404
