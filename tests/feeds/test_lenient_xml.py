import itertools
import time
from contextlib import suppress

import pytest

from headwater.feeds import ParsedFeed, UnreadableBody, parse_feed
from headwater.feeds.xml_tree import read_text
from tests.feeds.feeds import URL


def parsed(body: str) -> ParsedFeed:
    return parse_feed(body.encode(), url=URL)


@pytest.mark.parametrize(
    ("item", "title"),
    [
        ("<title>Q & A</title>", "Q & A"),
        ("<title>Caf&eacute;&nbsp;&mdash; x</title>", "Café\xa0— x"),
        ("<title>&unknown; stays</title>", "&unknown; stays"),
        ("<title>a\x08b</title>", "ab"),
        ("<title>x</titel><link>http://e.org/</link>", "x"),
        ("<title>a < b</title>", "a < b"),
        ("<title>x</title><description>open <b>bold<br> text</description>", "x"),
        ("<title>x</title><link href=http://e.org/ >", "x"),
        ("<title><![CDATA[never closed</title>", "never closed"),
        ("<title>x</title><!-- never closed", "x"),
        ("<title>if a <b and c <d</title>", "if a <b and c <d"),
        ("<title>the <item and the <entry tags</title>", "the <item and the <entry tags"),
        ("<title\n<![CDATA[x]]></title>", "x"),
    ],
)
def test_broken_xml_loses_no_text(item: str, title: str):
    feed = parsed(f"<rss><channel><item>{item}</item><item><title>next</title></item></channel></rss>")

    assert [entry.title for entry in feed.entries] == [title, "next"]


def test_a_link_with_bare_ampersands_is_whole():
    feed = parsed("<rss><channel><item><link>http://e.org/?a=1&b=2&copy=3</link></item></channel></rss>")

    assert feed.entries[0].url == "http://e.org/?a=1&b=2&copy=3"


def test_an_item_that_was_never_closed_ends_where_the_next_begins():
    feed = parsed("<rss><channel><item><title>a</title><item><title>b</title><item><title>c</title>")

    assert [entry.title for entry in feed.entries] == ["a", "b", "c"]


@pytest.mark.parametrize("start", ["<item\n", "<item", "<item rdf:about='http://e.org/'\n", "<entry ", "<item x='\" "])
def test_a_start_tag_that_lost_its_end_is_one_all_the_same(start: str):
    feed = parsed(f"<rss><channel>{start}<title>a</title></item><item><title>b</title></item></channel></rss>")

    assert [entry.title for entry in feed.entries] == ["a", "b"]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_value_in_quotes_may_hold_a_tag(quote: str):
    feed = parsed(
        f"<rdf:RDF><item rdf:about={quote}http://e.org/?q=<b>{quote}><title>a</title></item>"
        "<item><title>b</title></item></rdf:RDF>"
    )

    assert [entry.title for entry in feed.entries] == ["a", "b"]


@pytest.mark.parametrize(
    "body",
    [
        '<feed xml<html>ns="http://www.w3.org/2005/Atom"><entry><title>a</title></entry></feed>',
        "<feed><title>f</title><entry xml:bas<e='/base/'><title>a</title></entry></feed>",
        "<rdf:RDF><item r<?df:about='http://e.org/'><title>a</title></item></rdf:RDF>",
    ],
)
def test_a_start_tag_with_a_tag_in_it_is_one_all_the_same(body: str):
    assert len(parsed(body).entries) == 1


@pytest.mark.parametrize("later", ['"y"', '"/y"', '""', '" y"', "'\n\"' "])
def test_a_value_that_lost_its_closing_quote_swallows_no_tag(later: str):
    feed = parsed(
        f'<rss><channel><item x="><title>a</title></item><item x={later}><title>b</title></item></channel></rss>'
    )

    assert [entry.title for entry in feed.entries] == ["a", "b"]


@pytest.mark.parametrize("tail", ["<script src='x'></script>", "<!-- 12 queries -->1 s", "</rss>", "<br>&nbsp;<p>"])
def test_what_a_server_puts_behind_the_feed_changes_nothing(tail: str):
    feed = "<rss><channel><title>t</title><item><title>a</title><link>/x?a&amp;b</link></item></channel></rss>"

    assert parsed(feed + tail) == parsed(feed)


@pytest.mark.parametrize("name", ["ITEM", "Entry", "atom:entry"])
def test_items_of_any_name_behind_the_end_of_the_feed_are_found(name: str):
    declared = '<rss xmlns:atom="http://www.w3.org/2005/Atom">'

    feed = parsed(f"{declared}<channel><item><title>a</title></item></channel></rss><{name}><title>b</title></{name}>")

    assert [entry.title for entry in feed.entries] == ["a", "b"]


def test_a_feed_behind_an_element_is_found_where_nothing_ends_a_feed():
    assert parsed("<a></a>  <channel><title>T</title></channel>").title == "T"


@pytest.mark.parametrize("end", ["a:feed", "a:feed\n"])
def test_what_stands_behind_the_end_of_a_feed_with_a_prefix_is_left_out(end: str):
    feed = f'<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>T</a:title></{end}>'

    tree, _, well_formed = read_text(f"{feed}<script>&</script>")

    assert well_formed
    assert tree is not None
    assert tree.tag == "{http://www.w3.org/2005/Atom}feed"


def test_items_behind_the_end_of_the_feed_are_found():
    feed = parsed("<rss><channel><item><title>a</title></item></channel></rss><rss><item><title>b</title></item></rss>")

    assert [entry.title for entry in feed.entries] == ["a", "b"]


def test_a_default_namespace_ends_with_its_element():
    feed = parsed(
        '<rss><channel><site xmlns="com-wordpress:x">1</site><item><title>Q & A</title></item></channel></rss>'
    )

    assert [entry.title for entry in feed.entries] == ["Q & A"]


@pytest.mark.parametrize("uri", ["http://backend.userland.com/rss2", " http://Backend.userland.com/RSS2-News "])
def test_a_prefix_that_means_rss_is_understood_in_a_broken_feed(uri: str):
    feed = parsed(f'<r:rss xmlns:r="{uri}"><r:channel><r:item><r:title>Q & A</r:title></r:item></r:channel></r:rss>')

    assert [entry.title for entry in feed.entries] == ["Q & A"]


def test_tags_left_open_are_closed_under_whatever_prefix():
    feed = parsed(
        '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:link href="/"><a:title>t</a:title>'
        "<a:entry><a:title>x</a:title><a:summary>Q & A<a:entry><a:title>y</a:title></a:entry></a:feed>"
    )

    assert (feed.title, [entry.title for entry in feed.entries]) == ("t", ["x", "y"])


def test_plain_entities_of_a_doctype_are_read_and_no_others():
    body = (
        '<!DOCTYPE rss [<!ENTITY name "Ann"><!ENTITY twice "&name;&name;"><!ENTITY file SYSTEM "file:///etc/hostname">]>'
        "<rss><channel><title>&name; &twice; &file;</title></channel></rss>"
    )

    assert parsed(body).title == "Ann &twice; &file;"


def test_an_entity_with_characters_that_xml_cannot_hold_is_read_without_them():
    assert (
        parsed('<!DOCTYPE rss [<!ENTITY e "a\0b\uffff">]><rss><channel><title>&e;</title></channel></rss>').title
        == "ab"
    )


def test_a_billion_laughs_are_not_laughed():
    names = "abcdefghijklmnop"
    entities = "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in itertools.pairwise(names))
    body = f'<!DOCTYPE r [<!ENTITY a "ha">{entities}]><rss><channel><title>&p;</title></channel></rss>'

    assert parsed(body).title == "&p;"


@pytest.mark.parametrize(
    "piece",
    [
        *("<a>", "</a>", "<a b='", '<a b="', "<![CDATA[", "<!--", "<?", "<!", "<", "&", "&amp", "<item>", "<a \"'"),
        *("<item", "<item a=", "<a b='<\" ", "<a b=\"<' c='<\" ", "<a b='<' ", "<a b=\"<'"),
    ],
)
@pytest.mark.parametrize(
    "opening",
    [
        "",
        pytest.param("<rss><channel>", marks=pytest.mark.soak),
        pytest.param("<x>" * 190, marks=pytest.mark.soak, id="deep"),
    ],
)
def test_a_megabyte_of_nonsense_is_quick(opening: str, piece: str):
    body = (opening + piece * (1_000_000 // len(piece))).encode()
    start = time.process_time()

    with suppress(UnreadableBody):
        parse_feed(body, url=URL)

    assert time.process_time() - start < 30  # what is not linear takes minutes


@pytest.mark.parametrize(
    "inside",
    ["<![CD<!--ATA[" * 80_000, "<!<![CDATA[--" * 80_000, f"<x {'name' * 250_000}>", f"<x {'a-' * 500_000}>"],
    ids=lambda inside: inside[:12],
)
def test_an_item_of_a_megabyte_of_nonsense_is_quick(inside: str):
    start = time.process_time()

    feed = parsed(f"<rss><channel><item><title>Q & A</title>{inside}")

    assert [entry.title for entry in feed.entries] == ["Q & A"]
    assert time.process_time() - start < 30  # what is not linear takes minutes
