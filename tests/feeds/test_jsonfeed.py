import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.feeds import Enclosure, ParsedFeed, UnreadableBody, parse_feed
from tests.feeds.feeds import URL

VERSION = "https://jsonfeed.org/version/1.1"


def parsed(**document: object) -> ParsedFeed:
    return parse_feed(json.dumps({"version": VERSION, **document}).encode(), url=URL)


def test_a_json_feed_is_read_whole():
    feed = parsed(
        title="A feed",
        home_page_url="/",
        feed_url="/feed.json",
        next_url="/feed.json?page=2",
        description="About < it",
        language="en",
        icon="/icon.png",
        hubs=[{"type": "WebSub", "url": "https://hub.example/"}],
        authors=[{"name": "Ann"}],
        items=[
            {
                "id": "1",
                "url": "/1",
                "title": "One",
                "content_html": '<p>Hi<script>x</script> <a href="/a">a</a></p>',
                "summary": "Hi",
                "image": "/1.jpg",
                "date_published": "2026-01-01T00:00:00Z",
                "tags": ["a", "b", "a"],
                "attachments": [
                    {"url": "/1.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 9, "duration_in_seconds": 61}
                ],
            }
        ],
    )
    entry = feed.entries[0]

    assert (feed.title, feed.site_url, feed.self_url) == (
        "A feed",
        "https://example.com/",
        "https://example.com/feed.json",
    )
    assert (feed.hub_urls, feed.description, feed.language) == (("https://hub.example/",), "About &lt; it", "en")
    assert (entry.id, entry.url, entry.title, entry.authors) == ("1", "https://example.com/1", "One", ("Ann",))
    assert entry.content == '<p>Hi <a href="https://example.com/a" rel="noopener noreferrer nofollow">a</a></p>'
    assert (entry.published_at, entry.categories) == (datetime(2026, 1, 1, tzinfo=UTC), ("a", "b"))
    assert entry.enclosures == (Enclosure("https://example.com/1.mp3", "audio/mpeg", 9, timedelta(seconds=61)),)


def test_plain_text_content_is_escaped():
    assert parsed(items=[{"id": 7, "content_text": "a < b"}]).entries[0].content == "a &lt; b"


def test_numbers_as_ids_and_wrong_types_are_forgiven():
    feed = parsed(
        title=5, items=[{"id": 7, "title": None, "authors": "Ann", "tags": {"a": 1}, "attachments": [3]}, "x", None]
    )

    assert [entry.id for entry in feed.entries] == ["7"]


@pytest.mark.parametrize("absurd", [900_000_000_000_000, 1e14, 10**400, -1, 1e-300, 0, True, "61", None, [61]])
def test_an_absurd_duration_is_left_out_and_the_attachment_stays(absurd: object):
    attachment = {"url": "/1.mp3", "duration_in_seconds": absurd}

    assert parsed(items=[{"id": "1", "attachments": [attachment]}]).entries[0].enclosures[0].duration is None


@pytest.mark.parametrize("absurd", [True, -1, 10**400, "9", None])
def test_a_size_that_is_no_number_of_bytes_is_left_out(absurd: object):
    attachment = {"url": "/1.mp3", "size_in_bytes": absurd}

    assert parsed(items=[{"id": "1", "attachments": [attachment]}]).entries[0].enclosures[0].length is None


@pytest.mark.parametrize(
    ("given", "authors"),
    [
        ({"author": "Ann"}, ("Ann",)),
        ({"author": {"name": "Ann"}}, ("Ann",)),
        ({"author": {"url": "https://ann.example/"}}, ("https://ann.example/",)),
        ({"authors": ["Bob", {"name": "Cy"}, "Bob", " ", 7, None]}, ("Bob", "Cy")),
        ({"authors": "Bob"}, ("Bob",)),
        ({"authors": {"name": "Bob"}}, ("Bob",)),
        ({"authors": [{"name": "Bob"}], "author": "Ann"}, ("Bob", "Ann")),
        ({"authors": [], "author": []}, ()),
    ],
)
def test_an_author_may_be_an_object_or_just_a_name(given: dict[str, object], authors: tuple[str, ...]):
    feed = parsed(items=[{"id": "1", **given}], **given)

    assert (feed.authors, feed.entries[0].authors) == (authors, authors)


@pytest.mark.parametrize("blanks", [" " * 100, "\n" * 5_000, "\ufeff \n"])
def test_blanks_in_front_of_a_json_feed_do_not_hide_it(blanks: str):
    assert parse_feed(f'{blanks}{{"version": "{VERSION}", "items": [{{"id": "1"}}]}}'.encode(), url=URL).entries


def test_a_line_break_or_tab_in_a_string_is_forgiven():
    body = f'{{"version": "{VERSION}", "items": [{{"id": "1", "title": "a\n\tb", "content_text": "a\nb"}}]}}'
    entry = parse_feed(body.encode(), url=URL).entries[0]

    assert (entry.title, entry.content) == ("a b", "a\nb")


def test_what_a_database_cannot_store_is_left_out():
    feed = parse_feed(b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": "a\\u0000b\\ud800c"}]}', url=URL)

    assert feed.entries[0].id == "ab?c"


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_keys = st.sampled_from(
    [
        "id",
        "url",
        "title",
        "content_html",
        "content_text",
        "summary",
        "date_published",
        "tags",
        "authors",
        "attachments",
        "image",
    ]
)


@given(st.lists(st.dictionaries(_keys, _values, max_size=6), max_size=3), st.dictionaries(_keys, _values, max_size=4))
@settings(max_examples=50)
def test_any_values_in_any_field_give_a_feed(items: list[dict[str, object]], head: dict[str, object]):
    assert len(parsed(**{**head, "items": items}).entries) == len(items)


@given(st.text(max_size=60))
def test_any_text_that_opens_like_json_gives_a_reason_or_a_feed(text: str):
    with suppress(UnreadableBody):
        assert parse_feed(("{" + text).encode("utf-8", "replace"), url=URL)
