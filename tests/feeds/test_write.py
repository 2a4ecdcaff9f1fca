"""A feed that we write is one that our own parser reads, whatever its texts are."""

from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds import parse_feed
from headwater.feeds.write import TEXT_MAX, WrittenEntry, WrittenFeed, write_atom, write_json_feed

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_feed(*entries: WrittenEntry) -> WrittenFeed:
    return WrittenFeed("urn:x:1", "https://h.example/f", "Rust & co <b>", AT, entries)


ONE = WrittenEntry(
    "urn:x:2", "https://a.example/1?a=1&b=2", "A <b>title</b> & more", AT, AT - timedelta(hours=1), "Ann Smith",
    "<p>Short</p>", "<p>Long &amp; <em>safe</em></p>", ["to read"],
)  # fmt: skip


def test_our_parser_reads_the_atom_that_we_write() -> None:
    parsed = parse_feed(write_atom(a_feed(ONE)), url="https://h.example/f")

    (entry,) = parsed.entries
    assert parsed.title == "Rust & co <b>"
    assert (entry.id, entry.url, entry.title) == (ONE.id, ONE.url, ONE.title)
    assert (entry.authors, entry.published_at) == (("Ann Smith",), ONE.published_at)
    assert entry.content == "<p>Long &amp; <em>safe</em></p>"


def test_our_parser_reads_the_json_feed_that_we_write() -> None:
    parsed = parse_feed(write_json_feed(a_feed(ONE)), url="https://h.example/f")

    (entry,) = parsed.entries
    assert (entry.id, entry.url, entry.title) == (ONE.id, ONE.url, ONE.title)
    assert (entry.authors, entry.published_at) == (("Ann Smith",), ONE.published_at)
    assert entry.content == "<p>Long &amp; <em>safe</em></p>"


def test_a_text_that_is_too_long_is_left_out() -> None:
    much = "x" * (TEXT_MAX + 1)
    long = WrittenEntry("urn:1", "https://example.com/1", "Long", AT, summary="Short.", html=much)
    longer = WrittenEntry("urn:2", "https://example.com/2", "Longer", AT, summary=much, html="x" * TEXT_MAX)
    feed = a_feed(long, longer)

    atom, json = write_atom(feed), write_json_feed(feed)

    for written in (atom, json):
        entries = parse_feed(written, url="https://h.example/").entries
        assert [one.title for one in entries] == ["Long", "Longer"]
        assert b"Short." in written
        assert TEXT_MAX < len(written) < TEXT_MAX + 5_000


def test_an_entry_without_text_and_author_is_valid_in_both() -> None:
    bare = WrittenEntry("urn:x:3", "https://a.example/2", "Bare", AT)

    assert b"<author><name>Unknown</name></author>" in write_atom(a_feed(bare))
    (item,) = msgspec.json.decode(write_json_feed(a_feed(bare)))["items"]
    assert item["content_html"] == ""
    assert "authors" not in item


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_makes_a_feed_unreadable(title: str, html: str) -> None:
    entry = WrittenEntry("urn:x:2", "https://a.example/1", title, AT, None, title, html, html, [title])

    assert len(parse_feed(write_atom(a_feed(entry)), url="https://h.example/f").entries) == 1
    assert len(parse_feed(write_json_feed(a_feed(entry)), url="https://h.example/f").entries) == 1
