"""Files that feeds list with an article: what is stored of them, and when it is updated."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.articles.enclosures import MAX_ENCLOSURES, MAX_TITLE, MAX_URL, as_json, from_stored
from headwater.articles.store import links, records
from headwater.articles.types import ListedEntry, NewArticle
from headwater.db import Connection, fetch_value
from headwater.feeds.types import Enclosure
from headwater.types import SourceId
from tests.builders import a_source, an_article
from tests.clock import START

AUDIO = Enclosure("https://cdn.example/1.mp3", "audio/mpeg", 12_345_678, timedelta(minutes=62, seconds=3), "Part one")
HOUR = timedelta(hours=1)


def test_what_is_stored_is_read_back() -> None:
    bare = Enclosure("https://cdn.example/2.mp3")

    stored = as_json([AUDIO, bare])

    assert stored is not None
    assert json.loads(stored)[1] == {"url": "https://cdn.example/2.mp3"}
    assert from_stored([json.loads(stored)]) == [AUDIO, bare]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "data:text/html,x", "ftp://cdn.example/1", "magnet:?xt=1", "//cdn.example/1", "https://",
        "https:///x", "https://cdn.example/a b", "https://cdn.example/\n", "https://cdn.example/\0",
        "https://cdn.example/\ud800", "https://cdn.example/" + "x" * MAX_URL,
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_a_link_is_left_out(url: str) -> None:
    assert as_json([Enclosure(url)]) is None
    assert from_stored([[{"url": url}]]) == []


def test_number_and_lengths_are_limited() -> None:
    many = [Enclosure(f"https://cdn.example/{n}", title="x" * 999) for n in range(99)]

    found = from_stored([json.loads(as_json(many) or "")])

    assert [one.url for one in found] == [one.url for one in many[:MAX_ENCLOSURES]]
    assert {len(one.title or "") for one in found} == {MAX_TITLE}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (Enclosure("https://a.example/", type="Audio/MPEG; codecs=x"), Enclosure("https://a.example/", "audio/mpeg")),
        (Enclosure("https://a.example/", type="<b>"), Enclosure("https://a.example/")),
        (Enclosure("https://a.example/", length=0), Enclosure("https://a.example/")),
        (Enclosure("https://a.example/", length=10**300), Enclosure("https://a.example/")),
        (Enclosure("https://a.example/", duration=timedelta.max), Enclosure("https://a.example/")),
        (Enclosure("https://a.example/", title=" a\n\0b "), Enclosure("https://a.example/", title="a b")),
    ],
)
def test_an_implausible_value_is_left_out(given: Enclosure, kept: Enclosure) -> None:
    assert from_stored([json.loads(as_json([given]) or "")]) == [kept]


@given(st.builds(Enclosure, st.text(), st.none() | st.text(), st.none() | st.integers(), st.none() | st.timedeltas()))
def test_nothing_that_a_feed_says_breaks_what_is_stored(one: Enclosure) -> None:
    stored = as_json([one])

    assert stored is None or len(from_stored([json.loads(stored)])) == 1


def test_a_url_that_two_sources_list_is_shown_once() -> None:
    assert from_stored([[{"url": AUDIO.url}], None, [{"url": AUDIO.url, "type": "audio/mpeg"}]]) == [
        Enclosure(AUDIO.url)
    ]


async def keep(conn: Connection, source_id: SourceId, article: NewArticle, hours: int = 0) -> None:
    await records.keep(conn, seen_at=START + hours * HOUR, listed=[ListedEntry(source_id, article, "example.com")])


async def stored(conn: Connection, source_id: SourceId) -> object:
    statement = "SELECT enclosures FROM article_sources WHERE source_id = %(id)s"
    return await fetch_value(conn, statement, {"id": source_id})


async def due(conn: Connection) -> object:
    return await fetch_value(conn, "SELECT classify_at FROM article_state")


@pytest.mark.database
@pytest.mark.parametrize("is_own", [True, False])
async def test_enclosures_are_stored_with_the_link_and_updated_when_they_change(conn: Connection, is_own: bool) -> None:
    source = await a_source(conn)
    await keep(conn, source.id, an_article(is_own=is_own))
    assert await stored(conn, source.id) is None

    await keep(conn, source.id, an_article(is_own=is_own, enclosures=as_json([AUDIO]) or ""), hours=1)
    assert from_stored([await stored(conn, source.id)]) == [AUDIO]

    await keep(conn, source.id, an_article(is_own=is_own), hours=2)
    assert from_stored([await stored(conn, source.id)]) == [AUDIO]

    other = Enclosure("https://cdn.example/2.mp3")
    await keep(conn, source.id, an_article(is_own=is_own, enclosures=as_json([other]) or ""), hours=3)
    assert from_stored([await stored(conn, source.id)]) == [other]


@pytest.mark.database
async def test_an_unchanged_enclosure_writes_nothing(conn: Connection) -> None:
    source = await a_source(conn)
    article = an_article(enclosures=as_json([AUDIO]) or "")
    await keep(conn, source.id, article)
    before = await fetch_value(conn, "SELECT ctid::text FROM article_sources")

    await keep(conn, source.id, article, hours=1)

    assert await fetch_value(conn, "SELECT ctid::text FROM article_sources") == before


@pytest.mark.database
async def test_the_first_enclosures_of_a_known_article_queue_it_and_a_new_url_of_them_does_not(
    conn: Connection,
) -> None:
    source = await a_source(conn)
    await keep(conn, source.id, an_article())
    await conn.execute("UPDATE article_state SET classify_at = NULL")

    await keep(conn, source.id, an_article(enclosures=as_json([AUDIO]) or ""), hours=1)
    assert await due(conn) == START + HOUR + records.AFTER_LISTING
    await conn.execute("UPDATE article_state SET classify_at = NULL")

    signed = Enclosure(AUDIO.url + "?signature=2")
    await keep(conn, source.id, an_article(enclosures=as_json([signed]) or ""), hours=2)
    assert await due(conn) is None


@pytest.mark.database
async def test_each_source_has_its_own_and_a_merged_source_takes_them_along(conn: Connection) -> None:
    first = await a_source(conn, url="https://example.com/feed")
    second = await a_source(conn, url="https://other.example/feed")
    third = await a_source(conn, url="https://third.example/feed")
    other = Enclosure("https://other.example/1.mp3")
    await keep(conn, first.id, an_article(enclosures=as_json([AUDIO]) or ""))
    await keep(conn, second.id, an_article(is_own=False, enclosures=as_json([other]) or ""), hours=1)

    await links.relink(conn, source_id=second.id, to=third.id)

    assert from_stored([await stored(conn, first.id)]) == [AUDIO]
    assert from_stored([await stored(conn, third.id)]) == [other]
