"""Whatever a site serves as its sitemap is read as far as it goes, or refused with a reason; nothing else happens."""

import gzip
import tracemalloc
import zlib
from datetime import timedelta
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sitemaps.read import read_sitemap
from headwater.sitemaps.types import Limits, Sitemap, SitemapFormat, UnreadableSitemap
from tests.clock import START

URL = "https://example.com/sitemap.xml"
XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
LIMITS = Limits(max_age=timedelta(days=7), max_pages=100, max_children=10, max_bytes=1_000_000)
FRESH = START.isoformat()


def read(
    body: str | bytes,
    *,
    patterns: tuple[str, ...] = (),
    sites: tuple[str, ...] = ("example.com",),
    limits: Limits = LIMITS,
) -> Sitemap:
    body = body.encode() if isinstance(body, str) else body
    return read_sitemap(body, url=URL, now=START, sites=sites, patterns=patterns, limits=limits)


def urlset(*lines: str, before: str = "") -> str:
    return f"{before}<urlset {XMLNS}>{''.join(f'<url>{line}</url>' for line in lines)}</urlset>"


def loc(path: str, more: str = "") -> str:
    return f"<loc>https://example.com{path}</loc>{more}"


ONE = urlset(loc("/a?x=1&amp;y=2"))


def paths(sitemap: Sitemap) -> list[str]:
    return [line.url.removeprefix("https://example.com") for line in sitemap.pages]


def test_pages_are_the_newest_first_and_what_is_too_old_is_left_out() -> None:
    found = read(
        urlset(
            loc("/old", "<lastmod>2026-02-20</lastmod>"),
            loc("/undated"),
            loc("/fresh", "<lastmod>2026-02-28</lastmod>"),
            loc("/fresher", "<lastmod>2026-03-01T11:00:00Z</lastmod>"),
        )
    )

    assert (found.format, paths(found)) == (SitemapFormat.URLSET, ["/fresher", "/fresh", "/undated"])
    assert (found.url_count, found.is_cut) == (4, False)
    assert found.newest == START - timedelta(hours=1)


def test_an_index_gives_its_sitemaps_the_newest_first_and_only_so_many() -> None:
    lines = "".join(
        f"<sitemap><loc>https://example.com/{day}.xml.gz</loc><lastmod>2026-02-{day:02}</lastmod></sitemap>"
        for day in range(1, 29)
    )

    found = read(f"<sitemapindex {XMLNS}>{lines}</sitemapindex>")

    assert (found.format, found.pages, found.url_count) == (SitemapFormat.INDEX, [], 28)
    assert [line.url for line in found.children] == [f"https://example.com/{day}.xml.gz" for day in range(28, 21, -1)]


def test_news_are_dated_by_their_publication() -> None:
    news = "<news:news><news:publication_date>{}</news:publication_date><news:title>A</news:title></news:news>"

    found = read(urlset(loc("/old", news.format("2026-01-01")), loc("/new", news.format("2026-03-01T10:00:00+01:00"))))

    assert [(line.url, line.lastmod) for line in found.pages] == [
        ("https://example.com/new", START - timedelta(hours=3))
    ]


def test_pictures_and_translations_of_a_page_are_not_pages() -> None:
    more = (
        "<image:image><image:loc>https://example.com/a.png</image:loc></image:image>"
        '<xhtml:link rel="alternate" href="https://example.com/de"/><video:video><loc>https://example.com/v</loc></video:video>'
    )

    assert paths(read(urlset(loc("/a", more)))) == ["/a"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(ONE.encode(), id="plain"),
        pytest.param(gzip.compress(ONE.encode()), id="gzip"),
        pytest.param(gzip.compress(ONE[:40].encode())
                     + gzip.compress(ONE[40:].encode()), id="gzip in two members"),
        pytest.param(gzip.compress(ONE.encode()) + b"\0" * 512, id="gzip with padding"),
        pytest.param(urlset(loc("/a?x=1&y=2")).encode(), id="bare ampersand"),
        pytest.param(urlset(loc("/a?x=1&amp;amp;y=2")).encode(), id="escaped twice"),
        pytest.param(urlset("<loc><![CDATA[https://example.com/a?x=1&y=2]]></loc>").encode(), id="cdata"),
        pytest.param(urlset("<loc>\n  /a?x=1&amp;y=2 \n</loc>").encode(), id="relative, in blank space"),
        pytest.param(b"\xef\xbb\xbf" + ONE.encode(), id="byte order mark"),
        pytest.param(b"\n\n<?xml version='1.0'?>" + ONE.encode(), id="blank lines before"),
        pytest.param(b"PHP Warning: x\n<?xml version='1.0'?>" + ONE.encode(), id="warning before"),
        pytest.param(f"<?xml version='1.0' encoding='utf-16'?>{ONE}".encode("utf-16"), id="utf-16"),
        pytest.param(b"<?xml version='1.0' encoding='latin-1'?>" + ONE.encode(), id="latin-1"),
        pytest.param(b"<?xml version='1.0' encoding='utf-7'?>" + ONE.encode(), id="a refused encoding"),
        pytest.param(urlset(loc("/a?x=1&y=2")).encode("utf-16"), id="bare ampersand in utf-16"),
        pytest.param(ONE.replace(XMLNS, "").encode(), id="no namespace"),
        pytest.param(ONE.replace("loc>", "s:loc>").encode(), id="undeclared prefix"),
        pytest.param(ONE[:-12].encode(), id="cut at the end"),
        pytest.param(b"https://example.com/a?x=1&y=2\r\n", id="text"),
        pytest.param("\ufeff# a list\n\nhttps://example.com/a?x=1&y=2".encode(), id="text with a mark"),
        pytest.param(gzip.compress(b"https://example.com/a?x=1&y=2"), id="text in gzip"),
        pytest.param(b"<rss><channel><link>https://example.com/</link><item><link>https://example.com/a?x=1&amp;y=2</link>"
                     b"<pubDate>Sun, 01 Mar 2026 11:00:00 GMT</pubDate></item></channel></rss>", id="rss"),
        pytest.param(b"<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://example.com/'/><entry>"
                     b"<link rel='self' href='/self'/><link href='https://example.com/a?x=1&amp;y=2'/></entry>"
                     b"</feed>", id="atom"),
    ],
)  # fmt: skip
def test_one_page_is_found_however_it_is_written(body: bytes) -> None:
    assert paths(read(body)) == ["/a?x=1&y=2"]


def test_a_sitemap_is_read_in_the_encoding_that_it_declares() -> None:
    body = "<?xml version='1.0' encoding='windows-1251'?>" + urlset(*(loc(f"/новости/{n}") for n in range(3_000)))

    found = read(body.encode("cp1251"))

    assert found.url_count == 3_000
    assert "/%D0%BD%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D0%B8/0" in paths(found)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<!doctype html><html><body><p>Not found</body></html>", id="web page"),
        pytest.param(b"<html><url><loc>https://example.com/a</loc></url></html>", id="web page with a url in it"),
        pytest.param(b"hello", id="prose"),
        pytest.param(b"<", id="one tag"),
        pytest.param(b"\x1f\x8b\x08\x00nonsense", id="broken gzip"),
        pytest.param(b"\x1f\x8b", id="two bytes of gzip"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + bytes(200), id="picture"),
        pytest.param(b"<urlset>" + b"<a>" * 10_000, id="nested deep"),
        pytest.param(b"{}", id="json"),
    ],
)
def test_what_is_no_sitemap_is_refused_with_a_reason(body: bytes) -> None:
    with pytest.raises(UnreadableSitemap) as caught:
        read(body)

    assert caught.value.reason == "not_a_sitemap"


def test_a_sitemap_with_nothing_in_it_is_one() -> None:
    assert read(urlset()).url_count == 0


def test_a_file_that_breaks_off_gives_what_comes_before_and_no_half_address() -> None:
    whole = urlset(loc("/one"), loc("/two"))

    assert paths(read(whole[: whole.index("two") + 1])) == ["/one"]


@pytest.mark.parametrize("name", ["x", "file"])
def test_entities_of_the_file_are_never_used(name: str) -> None:
    doctype = '<!DOCTYPE u [<!ENTITY x "a"><!ENTITY file SYSTEM "file:///etc/hostname">]>'

    assert paths(read(urlset(loc(f"/&{name};"), before=doctype))) == [f"/&{name};"]


def test_a_bomb_of_entities_is_only_text() -> None:
    layers = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 30))

    assert read(urlset(loc("/&a29;"), before=f'<!DOCTYPE u [<!ENTITY a0 "ha">{layers}]>')).url_count == 1


def test_a_packed_bomb_is_read_no_further_than_allowed() -> None:
    packer = zlib.compressobj(wbits=31)
    body = packer.compress(urlset(loc("/first")).removesuffix("</urlset>").encode())
    body += b"".join(packer.compress(b" " * 1_000_000) for _ in range(100)) + packer.flush()

    found = read(body)

    assert (paths(found), found.is_cut) == (["/first"], True)


def a_zip() -> bytes:
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("sitemap.xml", urlset(loc("/a")) + " " * 10_000_000)
    return packed.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        a_zip(),
        gzip.compress(gzip.compress(urlset(loc("/a")).encode())),
        gzip.compress(b"") * 100_000,
        b"\x1f\x8b" * 1_000_000,
        gzip.compress(b"<a>" * 20_000_000, 9),
    ],
    ids=["zip", "gzip in gzip", "empty members", "half headers", "deep"],
)
def test_what_is_packed_otherwise_is_refused_or_read_no_further_than_allowed(body: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableSitemap):
            read(body)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 20_000_000


def test_a_value_that_an_entity_repeats_is_not_repeated() -> None:
    """The quadratic form of the billion laughs: one long entity, used often."""
    doctype = f'<!DOCTYPE u [<!ENTITY a "{"a" * 50_000}">]>'
    found = read(urlset(*(loc(f"/{number}{'&a;' * 1_000}") for number in range(50)), before=doctype))

    assert found.url_count == 50
    assert all(len(line.url) < 10_000 for line in found.pages)


def test_pages_of_other_sites_and_files_are_left_out() -> None:
    lines = [f"<loc>{url}</loc>" for url in (
        "https://www.example.com/a", "https://news.example.com/b", "https://other.example/c", "ftp://example.com/d",
        "https://example.com/e.pdf", "javascript:alert(1)", "https://user:pass@example.com/f", "https://notexample.com/g",
    )]  # fmt: skip

    assert [line.url for line in read(urlset(*lines)).pages] == [
        "https://www.example.com/a",
        "https://news.example.com/b",
    ]


def test_where_a_source_has_patterns_only_such_pages_are_taken() -> None:
    assert paths(read(urlset(loc("/news/1"), loc("/tag/x")), patterns=(r"/news/\d",))) == ["/news/1"]


def test_many_lines_take_no_more_memory_than_few() -> None:
    index = b"<sitemapindex>" + b"".join(
        b"<sitemap><loc>https://example.com/%d.xml</loc><lastmod>2026-02-2%d</lastmod></sitemap>" % (n, n % 9)
        for n in range(20_000)
    )
    body = gzip.compress(index, 1)
    del index

    tracemalloc.start()
    found = read(body, limits=Limits(timedelta(days=7), 100, 20, 100_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (found.url_count, len(found.children), found.is_cut) == (20_000, 20, True)
    assert {line.lastmod for line in found.children} == {found.newest}
    assert peak < 2_000_000


def refusal(body: bytes) -> str | None:
    """Why a body is refused; None when it is read. Whatever else is raised is a fault."""
    try:
        read(body)
    except UnreadableSitemap as error:
        return error.reason
    return None


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_nothing_else(body: bytes) -> None:
    assert refusal(body) in {None, "not_a_sitemap"}


MARKUP = [
    "<urlset>", "<sitemapindex>", "<url>", "</url>", "<loc>", "</loc>", "https://example.com/a", "&", "&#0;", "&amp;",
    "<![CDATA[", "]]>", "<lastmod>", "2026", "</urlset>", "<?xml version='1.0'?>", "<!DOCTYPE x [", "<!--", "\x00", "é",
    "<link href='/x'/>", "<rss>", "<item>", "</item>", " ",
]  # fmt: skip


@given(st.lists(st.sampled_from(MARKUP), max_size=40))
def test_markup_in_any_order_is_read_or_refused(pieces: list[str]) -> None:
    body = "".join(pieces).encode()

    assert refusal(body) in {None, "not_a_sitemap"}
    assert refusal(gzip.compress(body)) == refusal(body)


@given(st.binary(max_size=60), st.integers(0, 200))
def test_damaged_gzip_is_read_or_refused(damage: bytes, at: int) -> None:
    body = gzip.compress(urlset(*(loc(f"/{n}") for n in range(20))).encode(), mtime=0)

    assert refusal(body[:at] + damage + body[at + len(damage) :]) in {None, "not_a_sitemap"}
