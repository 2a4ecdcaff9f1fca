import pytest
from lxml import etree

from headwater.feeds import GeoPoint, parse_feed
from headwater.feeds.document import resolve_links
from headwater.reading.limits import MAX_HTML
from tests.feeds.feeds import URL, atom, atom_entry, rss, rss_item


@pytest.mark.parametrize(
    ("item", "url"),
    [
        ("<link>http://e.org/1</link>", "http://e.org/1"),
        ("<link>/1</link>", "https://example.com/1"),
        ("<link>\n http://e.org/1\n</link>", "http://e.org/1"),
        ("<guid>http://e.org/1</guid>", "http://e.org/1"),
        ('<guid isPermaLink="false">http://e.org/1</guid>', None),
        ("<guid>12345</guid>", None),
        ("<guid>http://e.org/a b c</guid>", "http://e.org/a b c"),
        ('<guid isPermaLink="true"> http://e.org/a b </guid>', "http://e.org/a b"),
        ("<guid>one and/or another</guid>", None),
        ('<guid isPermaLink="false">http://e.org/a b</guid>', None),
        ("<link>http://e.org/1</link><guid>http://e.org/2</guid>", "http://e.org/1"),
        ("<link>http://e.org/1</link><atom:link rel='self' href='http://e.org/2'/>", "http://e.org/1"),
        ("<atom:link href='http://e.org/2'/>", "http://e.org/2"),
        (
            "<link>http://feeds.e.org/1</link><feedburner:origLink>http://e.org/1</feedburner:origLink>",
            "http://e.org/1",
        ),
        ("<link>http://e.org/?a=1&amp;amp;b=2</link>", "http://e.org/?a=1&b=2"),
        ("<link>javascript:alert(1)</link>", None),
    ],
)
def test_the_url_of_an_rss_item(item: str, url: str | None):
    assert rss_item(item).url == url


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ('<link href="/1"/>', "https://example.com/1"),
        ('<link rel="self" href="/s"/><link rel="alternate" href="/1"/>', "https://example.com/1"),
        ('<link type="application/pdf" href="/p"/><link type="text/html" href="/1"/>', "https://example.com/1"),
        ('<link rel="enclosure" href="/e.mp3"/>', None),
        ("<id>http://e.org/1</id>", "http://e.org/1"),
        ("<id>tag:e.org,2026:1</id>", None),
        ('<link href="1" xml:base="http://e.org/a/"/>', "http://e.org/a/1"),
    ],
)
def test_the_url_of_an_atom_entry(entry: str, url: str | None):
    assert atom_entry(entry).url == url


@pytest.mark.parametrize(
    ("item", "identity"),
    [
        ('<guid isPermaLink="false">abc</guid><link>http://e.org/1</link>', "abc"),
        ("<guid>12345</guid>", "12345"),
        ("<guid>/1</guid>", "https://example.com/1"),
        ("<link>http://e.org/1</link>", "http://e.org/1"),
    ],
)
def test_the_id_is_what_the_feed_calls_it(item: str, identity: str):
    assert rss_item(item).id == identity


def test_an_entry_without_any_name_is_known_by_what_it_says():
    first, second, again = (rss_item(f"<description>{text}</description>").id for text in ("a", "b", "a"))

    assert first == again != second
    assert rss_item("").id


@pytest.mark.parametrize(
    ("item", "title"),
    [
        ("<title>Plain</title>", "Plain"),
        ("<title> a\n  b </title>", "a b"),
        ("<title>AT&amp;T</title>", "AT&T"),
        ("<title>AT&amp;amp;T</title>", "AT&T"),
        ("<title>&lt;b&gt;Bold&lt;/b&gt; move</title>", "Bold move"),
        ("<title><![CDATA[<i>It</i> &rsquo;s]]></title>", "It ’s"),
        ("<title>The &lt;blink&gt; tag</title>", "The <blink> tag"),
        ("<title>a &lt; b</title>", "a < b"),
        ("<title>Inline <b>bold</b></title>", "Inline bold"),
        ("<title/><media:title>Other</media:title>", "Other"),
        ("<description>x</description>", ""),
    ],
)
def test_a_title_is_one_plain_line(item: str, title: str):
    assert rss_item(item).title == title


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        ('<content type="html">&lt;b&gt;x&lt;/b&gt;</content>', "<b>x</b>"),
        ("<content>&lt;b&gt;x&lt;/b&gt;</content>", "&lt;b&gt;x&lt;/b&gt;"),
        ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><b>x</b></div></content>', "<b>x</b>"),
        (
            '<content type="xhtml"><h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:b>x</h:b></h:div></content>',
            "<b>x</b>",
        ),
        ('<content type="text/html" mode="base64">PGI+eDwvYj4=</content>', "<b>x</b>"),
        ('<content type="text/html" mode="base64">PGI+eAABPC9iPg==</content>', "<b>x</b>"),
        ('<content type="text/html" mode="base64">PGI+\n  eDwv\n  Yj4=</content>', "<b>x</b>"),
        ('<content type="application/x-html">PGI+eDwvYj4=</content>', "<b>x</b>"),
        ('<content type="application/json">{"a": "&lt;b&gt;"}</content>', '{"a": "&lt;b&gt;"}'),
        ('<content type="markdown">News of *today*</content>', "News of *today*"),
        ('<content type="markdown">Blog</content>', "Blog"),
        ('<content type="image/png">iVBORw0KGgoAAAAN</content>', None),
        ('<content type="image/png" src="x.png"/>', None),
    ],
)
def test_markup_travels_in_many_ways(entry: str, content: str | None):
    assert atom_entry(entry).content == content


def test_a_title_of_an_unknown_type_is_plain_text():
    assert atom_entry('<title type="markdown">Blog</title>').title == "Blog"
    assert atom_entry('<title type="application/json">"It\'s &lt;b&gt;"</title>').title == '"It\'s <b>"'
    assert atom_entry('<title type="text/html" mode="base64">PGI+eDwvYj4=</title>').title == "x"


def test_links_in_prose_start_from_the_nearest_xml_base():
    entry = '<entry xml:base="a/"><content type="html" xml:base="b/">&lt;img src="c.png"&gt;</content></entry>'
    feed = atom(entry, 'xml:base="https://e.org/"')

    assert feed.entries[0].content == '<img src="https://e.org/a/b/c.png">'


@pytest.mark.parametrize(
    ("xhtml", "content"),
    [
        ('<div xml:base="http://other.org/x/"><img src="q"/></div>', '<img src="http://other.org/x/q">'),
        (
            '<div><p xml:base="c/"><img src="q"/><b xml:base="/d/"><img src="q"/></b></p><img src="q"/></div>',
            '<p><img src="https://e.org/a/c/q"><b><img src="https://e.org/d/q"></b></p><img src="https://e.org/a/q">',
        ),
        (
            '<div><img xml:base="c/" src="q" srcset="r 2x"/></div>',
            '<img src="https://e.org/a/c/q" srcset="https://e.org/a/c/r 2x">',
        ),
        ('<div xml:base="javascript:x"><img src="q"/></div>', '<img src="https://e.org/a/q">'),
    ],
)
def test_links_inside_xhtml_start_from_an_xml_base_inside_it(xhtml: str, content: str):
    html = xhtml.replace("<div", '<div xmlns="http://www.w3.org/1999/xhtml"')
    entry = f'<entry xml:base="a/"><content type="xhtml">{html}</content></entry>'
    feed = atom(entry, 'xml:base="https://e.org/"')

    assert feed.entries[0].content == content


def test_a_long_xml_base_above_a_heap_of_links_fills_no_memory():
    links = '<a href="x"/>' * 10_000
    content = etree.fromstring(f'<content><div xml:base="{"y/" * 400}">{links}</div></content>')

    resolve_links(content, URL)

    assert MAX_HTML < len(etree.tostring(content)) < MAX_HTML + 2 * len(links)


@pytest.mark.parametrize(
    ("item", "summary", "content"),
    [
        ("<description>a</description>", "a", None),
        ("<description>a</description><content:encoded>b</content:encoded>", "a", "b"),
        ("<content:encoded>b</content:encoded>", None, "b"),
        ("<description>same</description><content:encoded>same</content:encoded>", "same", "same"),
        ("<description>a</description><itunes:summary>longer</itunes:summary>", "a", "longer"),
        ("<description>longer</description><itunes:summary>a</itunes:summary>", "longer", None),
        ("<description>real</description><media:description>caption</media:description>", "real", None),
        ("<description>a &lt;b&gt;c</description>", "a <b>c</b>", None),
    ],
)
def test_summary_and_content_are_told_apart(item: str, summary: str | None, content: str | None):
    entry = rss_item(item)

    assert (entry.summary, entry.content) == (summary, content)


@pytest.mark.parametrize(
    ("item", "authors"),
    [
        ("<author>ann@example.com (Ann)</author>", ("Ann",)),
        ("<author>Ann &lt;ann@example.com&gt;</author>", ("Ann",)),
        ("<author>ann@example.com</author>", ("ann@example.com",)),
        ("<dc:creator>Ann</dc:creator><dc:creator>Ben</dc:creator><author>Ann</author>", ("Ann", "Ben")),
        ("<atom:author><atom:name>Ann</atom:name><atom:email>a@e.org</atom:email></atom:author>", ("Ann",)),
        ("<itunes:author>The Show</itunes:author>", ("The Show",)),
        ("<podcast:person>Ann</podcast:person><podcast:person role='Guest'>Ben</podcast:person>", ("Ann",)),
        ("<podcast:person role='Author'>Ann</podcast:person><podcast:person>Eve</podcast:person>", ("Ann", "Eve")),
        ("<podcast:person>Ann</podcast:person><itunes:author>The Show</itunes:author>", ("The Show",)),
        ("", ()),
    ],
)
def test_authors_are_names(item: str, authors: tuple[str, ...]):
    assert rss_item(item).authors == authors


def test_an_entry_without_author_has_the_feeds():
    assert atom("<author><name>Ann</name></author><entry/>").entries[0].authors == ("Ann",)


@pytest.mark.parametrize(
    ("entry", "authors"),
    [
        ("<source><author><name>Ben</name></author></source>", ("Ben",)),
        ("<author><name>Eve</name></author><source><author><name>Ben</name></author></source>", ("Eve",)),
        ("<author/><source><author><name>Ben</name></author></source>", ("Ben",)),
        ("<source><title>Elsewhere</title></source>", ("Ann",)),
    ],
)
def test_an_entry_from_another_feed_has_that_feeds_authors_before_this_ones(entry: str, authors: tuple[str, ...]):
    assert atom(f"<author><name>Ann</name></author><entry>{entry}</entry>").entries[0].authors == authors


def test_the_source_of_an_rss_item_is_no_author():
    feed = rss("<managingEditor>Ann</managingEditor><item><source url='http://e.org/'>Ben</source></item>")

    assert feed.entries[0].authors == ("Ann",)


def test_categories_are_gathered_in_order_each_once():
    item = "<category>News</category><dc:subject>Art</dc:subject><category>News</category>"
    item += "<itunes:keywords>a, b,</itunes:keywords>"

    assert rss_item(item).categories == ("News", "Art", "a", "b")
    assert atom_entry('<category term="t" label="Label"/><category label="Only"/>').categories == ("t", "Only")


@pytest.mark.parametrize(
    ("entry", "language"),
    [
        ("<entry/>", "en"),
        ('<entry xml:lang="de"/>', "de"),
        ('<entry xml:lang="de"><content xml:lang="fr_CA">x</content></entry>', "fr-CA"),
        ('<entry xml:lang=""/>', None),
        ("<entry><dc:language>nl</dc:language></entry>", "nl"),
    ],
)
def test_the_nearest_language_counts(entry: str, language: str | None):
    assert atom(entry, 'xml:lang="en"').entries[0].language == language


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ("<georss:point>45.256 -71.92</georss:point>", GeoPoint(45.256, -71.92)),
        ("<geo:lat>45.256</geo:lat><geo:long>-71.92</geo:long>", GeoPoint(45.256, -71.92)),
        (
            "<georss:where><gml:Point><gml:pos>45.256 -71.92</gml:pos></gml:Point></georss:where>",
            GeoPoint(45.256, -71.92),
        ),
        ('<gml:Point srsName="EPSG:26913"><gml:pos>45 71</gml:pos></gml:Point>', None),
        ("<georss:point>95 0</georss:point>", None),
        ("<georss:point>nan nan</georss:point>", None),
        ("<georss:point/>", None),
    ],
)
def test_a_place_is_a_point_on_earth(item: str, place: GeoPoint | None):
    assert rss_item(item).place == place


def test_comments_are_counted_and_linked():
    entry = rss_item("<comments>/1#comments</comments><slash:comments>7</slash:comments>")

    assert (entry.comments_url, entry.comment_count) == ("https://example.com/1#comments", 7)
    assert atom_entry('<link rel="replies" type="text/html" href="/r"/><thr:total>3</thr:total>').comment_count == 3


def test_a_wrong_or_missing_namespace_is_forgiven():
    channel = b"<channel><item><title>One</title><dc:creator>Ann</dc:creator></item></channel>"

    for body in (b'<rss xmlns:dc="http://nonsense.example/">' + channel + b"</rss>", b"<rss>" + channel + b"</rss>"):
        assert parse_feed(body, url=URL).entries[0].authors == ("Ann",)


def test_text_that_was_encoded_twice_is_mended():
    assert rss_item("<title>CafÃ©</title>").title == "Café"
    assert rss_item("<title>don&#146;t</title>").title == "don’t"
    assert rss_item("<title>Café — São</title>").title == "Café — São"


def test_an_item_inside_an_item_is_an_entry_of_its_own():
    assert [entry.title for entry in rss("<item><title>a</title><item><title>b</title></item>").entries] == ["a", "b"]
