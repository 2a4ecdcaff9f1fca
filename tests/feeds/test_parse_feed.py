from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.feeds import FeedParseError, NotAFeed, UnreadableBody, parse_feed
from tests.feeds.feeds import URL

ITEM = "<title>One</title><link>http://example.com/1</link><description>First</description>"
ATOM_ENTRY = '<title>One</title><link href="http://example.com/1"/><id>tag:1</id><summary>First</summary>'
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


CHANNEL = f"<channel><item>{ITEM}</item></channel>"
JSON_ITEM = '{"id": "1", "url": "http://example.com/1", "title": "One", "summary": "First"}'


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("rss091", f'<rss version="0.91">{CHANNEL}</rss>'),
        ("rss092", f'<rss version="0.92">{CHANNEL}</rss>'),
        ("rss093", f'<rss version="0.93">{CHANNEL}</rss>'),
        ("rss094", f'<rss version="0.94">{CHANNEL}</rss>'),
        ("rss20", f'<rss version="2.0">{CHANNEL}</rss>'),
        ("rss20", f'<rss version="2.0" xmlns="http://backend.userland.com/rss2">{CHANNEL}</rss>'),
        ("rss20", f'<r:rss version="2.0" xmlns:r="http://purl.org/rss/2.0/">{CHANNEL}</r:rss>'),
        ("rss10", f'<r:RDF xmlns:r="{RDF}" xmlns="http://purl.org/rss/1.0/"><channel/><item>{ITEM}</item></r:RDF>'),
        (
            "rss090",
            f'<r:RDF xmlns:r="{RDF}" xmlns="http://my.netscape.com/rdf/simple/0.9/"><item>{ITEM}</item></r:RDF>',
        ),
        ("atom10", f'<feed xmlns="http://www.w3.org/2005/Atom"><entry>{ATOM_ENTRY}</entry></feed>'),
        ("atom03", f'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>{ATOM_ENTRY}</entry></feed>'),
        ("atom10", f'<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry>{ATOM_ENTRY}</a:entry></a:feed>'),
        ("atom", f"<feed><entry>{ATOM_ENTRY}</entry></feed>"),
        ("atom10", f'<entry xmlns="http://www.w3.org/2005/Atom">{ATOM_ENTRY}</entry>'),
        (
            "cdf",
            '<CHANNEL><ITEM HREF="http://example.com/1"><TITLE>One</TITLE><ABSTRACT>First</ABSTRACT></ITEM></CHANNEL>',
        ),
        ("json10", f'{{"version": "https://jsonfeed.org/version/1", "items": [{JSON_ITEM}]}}'),
        ("json11", f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{JSON_ITEM}]}}'),
    ],
)
def test_every_format_gives_the_same_entry(form: str, body: str):
    feed = parse_feed(body.encode(), url=URL)

    assert feed.format == form
    assert [(entry.title, entry.url, entry.summary) for entry in feed.entries] == [
        ("One", "http://example.com/1", "First")
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!DOCTYPE html><html><body><p>x</p></body></html>", "web page"),
        (b"<!-- saved --><html><head></head></html>", "web page"),
        (b'<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', "web page"),
        (b"<meta charset=utf-8><title>x</title><p>hi", "web page"),
        (b"<br />\n<b>Fatal error</b>: out of memory", "web page"),
        (b"<html><body><feed></feed><p>x</body></html>", "web page"),
        (b"<html><body><ul><item>x</item></ul></body></html>", "web page"),
        (b"<one/><two/>", "<one>"),
        (b"<soup><one/></soup>", "<soup>"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"PK\x03\x04....", "zip"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0..", "JPEG"),
        (b'{"a": 1}', "JSON"),
        (b"[1, 2]", "JSON"),
        (b"{nonsense", "JSON"),
        (b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url/></urlset>', "<urlset>"),
        (b"<opml><body/></opml>", "<opml>"),
        (b"just words", "plain text"),
    ],
)
def test_what_is_no_feed_is_named(body: bytes, reason: str):
    with pytest.raises(NotAFeed) as caught:
        parse_feed(body, url=URL)

    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  \n",
        b"<rss><channel><ti",
        b"<rss version='2.0'>&x;</rss>",
        b'{"version": "https://jsonfeed.org/version/1", "items": [',
    ],
)
def test_a_feed_that_cannot_be_read_at_all_is_an_error(body: bytes):
    with pytest.raises(FeedParseError):
        parse_feed(body, url=URL)


@pytest.mark.parametrize("title", ["Q &amp; A", "Q & A"])
@pytest.mark.parametrize("uri", ["http://search.yahoo.com/mrss/", "http://www.itunes.com/dtds/podcast-1.0.dtd"])
def test_a_modules_namespace_that_rss_declares_for_all_by_mistake_hides_nothing(uri: str, title: str):
    feed = parse_feed(
        f'<rss version="2.0" xmlns="{uri}" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>{title}</title>'
        f"<item>{ITEM}<dc:creator>Ann</dc:creator></item></channel></rss>".encode(),
        url=URL,
    )

    assert (feed.format, feed.title) == ("rss20", "Q & A")
    assert [(entry.title, entry.summary, entry.authors) for entry in feed.entries] == [("One", "First", ("Ann",))]


def test_a_well_formed_feed_may_be_empty():
    assert parse_feed(b"<rss version='2.0'><channel/></rss>", url=URL).entries == ()


def test_the_newest_entries_are_taken_first():
    items = "".join(
        f"<item><title>{day}</title><pubDate>{day:02} Jan 2026 00:00:00 GMT</pubDate></item>" for day in (3, 9, 1, 7)
    )
    body = f"<rss><channel>{items}<item><title>undated</title></item></channel></rss>".encode()

    assert [entry.title for entry in parse_feed(body, url=URL, max_entries=2).entries] == ["9", "7"]
    assert [entry.title for entry in parse_feed(body, url=URL, max_entries=5).entries] == [
        "3",
        "9",
        "1",
        "7",
        "undated",
    ]
    assert parse_feed(body, url=URL, max_entries=0).entries == ()


def test_without_dates_the_feeds_own_order_counts():
    items = "".join(f"<item><title>{name}</title></item>" for name in "abc")
    body = f"<rss><channel>{items}</channel></rss>".encode()

    assert [entry.title for entry in parse_feed(body, url=URL, max_entries=2).entries] == ["a", "b"]


def test_a_feed_behind_stray_output_is_found():
    body = b"<br />\n<b>Warning</b>: oops\n<rss version='2.0'><channel><item><title>A</title></item></channel></rss>"

    assert [entry.title for entry in parse_feed(body, url=URL).entries] == ["A"]


@pytest.mark.parametrize(
    "page",
    [
        "<html><body>{}</body></html>",
        "<html><head><title>Error</title><body><h1>Out of memory<p>{}",
        "<!DOCTYPE html><html><body><p>Error</p></body></html>{}",
        "<meta charset=utf-8>{}",
    ],
)
def test_a_feed_in_a_web_page_is_found(page: str):
    feed = parse_feed(page.format(f"<rss version='2.0'>{CHANNEL}</rss>").encode(), url=URL)

    assert (feed.format, [entry.title for entry in feed.entries]) == ("rss20", ["One"])


def _named(*names: str) -> str:
    return "".join(f"<item><title>{name}</title></item>" for name in names)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            f"<rss><channel>{_named('a')}<it<rss><channel><title>t</title>{_named('b', 'c')}</channel></rss>",
            id="cut off and sent again",
        ),
        pytest.param(
            "<rss><channel><item><title>a</title><item><title>b</title><x><item><title>c</title></item></x></item></item>"
            "</channel></rss>",
            id="an item in an item",
        ),
        pytest.param(
            f"<rss><channel><items>{_named('a')}</items>{_named('b', 'c')}</channel></rss>", id="some in a wrapper"
        ),
        pytest.param(
            f"{_named('a')}<rss><channel>{_named('b', 'c')}</channel></rss>", id="an item in front of the feed"
        ),
        pytest.param(
            f"<rss><channel>{_named('a')}</channel>{_named('b')}<channel>{_named('c')}</channel></rss>",
            id="in and beside two channels",
        ),
        pytest.param(
            f"<rss><channel>{_named('a')}<entry><title>b</title></entry>{_named('c')}</channel></rss>",
            id="items and entries",
        ),
        pytest.param(
            f"<rss><channel><description>never closed {_named('a', 'b', 'c')}</channel></rss>", id="in an open element"
        ),
    ],
)
def test_entries_are_found_wherever_they_stand_and_come_in_the_order_of_the_document(body: str):
    assert [entry.title for entry in parse_feed(body.encode(), url=URL).entries] == ["a", "b", "c"]


@pytest.mark.parametrize("word", ["description", "content", "title"])
def test_what_looks_like_an_item_in_a_text_is_none(word: str):
    body = f"<rss><channel><item><{word}>see <b><item>x</item></b></{word}></item></channel></rss>"

    assert len(parse_feed(body.encode(), url=URL).entries) == 1


def test_a_text_is_one_however_deep_an_item_stands_in_it():
    deep = "<b>" * 100 + "<item><title>x</title></item>" + "</b>" * 100

    feed = parse_feed(f"<rss><channel><item><content>{deep}</content></item></channel></rss>".encode(), url=URL)

    assert len(feed.entries) == 1


@pytest.mark.parametrize("around", ["<list>{}</list>", "<x><y>{}</y></x>", "<order><list>{}</list></order>"])
def test_the_items_of_some_list_in_an_item_are_no_entries(around: str):
    inside = around.format("<item>z</item><item><count>2</count></item>")

    feed = parse_feed(f"<rss><channel><item><title>A</title>{inside}</item></channel></rss>".encode(), url=URL)

    assert [entry.title for entry in feed.entries] == ["A"]


def test_an_item_that_is_empty_counts_where_entries_stand():
    body = b"<rss><channel><item/><items><item/></items></channel><item/><item>x<item/></item></rss>"

    assert len(parse_feed(body, url=URL).entries) == 5


def test_times_are_aware_and_in_utc():
    body = b"<rss><channel><item><pubDate>Thu, 01 Jan 2026 10:00:00 +0200</pubDate></item></channel></rss>"

    assert parse_feed(body, url=URL).entries[0].published_at == datetime(2026, 1, 1, 8, tzinfo=UTC)


_FRAGMENTS = st.sampled_from(
    [
        b"<rss>",
        b"<channel>",
        b"<item>",
        b"</item>",
        b"<title>",
        b"</title>",
        b"<link/>",
        b"<feed xmlns='http://www.w3.org/2005/Atom'>",
        b"<entry>",
        b"<content type='xhtml'>",
        b"<content mode='base64'>",
        b"<description>",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"&amp;",
        b"&nbsp;",
        b"&#0;",
        b"&#xd800;",
        b"&",
        b"<",
        b">",
        b"text",
        b"\xff\xfe",
        b"\x00",
        b"\xc3",
        b"<a:b c='d'>",
        b"</a:b>",
        b"<!DOCTYPE x [<!ENTITY e 'v'>]>",
        b"<!DOCTYPE x [<!ENTITY e '\x00'>]>",
        b"&e;",
        b"xml:base='http://['",
        b"<p xml:base=':'>",
        b"<pubDate>2004</pubDate>",
        b"{",
        b'"items":[',
        b"<georss:point>1 2</georss:point>",
        b"<itunes:duration>9:9</itunes:duration>",
        b"<ttl>9</ttl>",
        b"<guid>/x</guid>",
        b"<?xml ?>",
    ]
)
_URLS = st.sampled_from([URL, "", "nonsense", "http://[", "https://ü.example/ü"])
_TYPES = st.sampled_from(
    [None, "", "text/xml; charset=utf-16", "text/xml; charset=idna", "application/json;charset='gb2312'"]
)


@pytest.mark.parametrize(
    "field",
    [
        "<description><![CDATA[<a href='x&#{}'>x</a>]]></description>",
        "<description><![CDATA[<b><i>x&#{};</b></i>]]></description>",
        "<title type='html'><![CDATA[x &#{}; <b>y</b>]]></title>",
        "<title>&#{}; & x</title>",
    ],
)
def test_a_number_with_thousands_of_digits_is_no_error(field: str):
    body = f"<rss><channel><item>{field.replace('{}', '1' * 4090)}</item><item>{field.replace('{}', '1' * 5000)}</item>"

    assert len(parse_feed(f"{body}</channel></rss>".encode(), url=URL).entries) == 2


@pytest.mark.parametrize("label", ["rot13", "unicode_escape", "raw_unicode_escape", "hex", "zlib_codec"])
def test_a_label_that_names_no_encoding_of_text_is_passed_over(label: str):
    body = f'<?xml version="1.0" encoding="{label}"?><rss><channel><title>caf\xe9 \\ud800</title></channel></rss>'

    assert parse_feed(body.encode("latin-1"), url=URL).title == "café \\ud800"


@given(st.one_of(st.binary(max_size=300), st.lists(_FRAGMENTS, max_size=25).map(b"".join)), _URLS, _TYPES)
@settings(max_examples=500)
def test_any_bytes_give_a_feed_or_a_reason_and_never_another_error(body: bytes, url: str, content_type: str | None):
    with suppress(UnreadableBody):
        feed = parse_feed(body, url=url, content_type=content_type)

        assert all(entry.id for entry in feed.entries)
        assert "\0" not in repr(feed)
        assert repr(feed).encode()
