"""From the bytes of a page to the record of its article: what is found, and where it came from."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.articles.types import Extracted, Finder
from headwater.extraction.extract import extract
from headwater.extraction.markup import MAX_TEXT
from headwater.extraction.types import Selectors, UnreadablePage
from headwater.reading.limits import MAX_PAGE_BYTES
from tests.extraction.pages import BODY, CANONICAL, JSON_LD, META, OPEN_GRAPH, PARAGRAPHS, a_page

URL = "https://www.river.example/2024/03/01/flood.html?utm_source=x"


def found(page: bytes, **more: object) -> Extracted:
    return extract(page, url=URL, **more)  # pyright: ignore[reportArgumentType]


def test_the_text_is_the_articles_own() -> None:
    record = found(a_page())

    assert record.text.split("\n") == list(PARAGRAPHS)
    assert record.html == BODY
    assert (record.word_count, record.origins["text"]) == (len(" ".join(PARAGRAPHS).split()), Finder.TRAFILATURA)
    assert record.content_hash is not None
    assert record.simhash is not None


def test_json_ld_is_believed_before_open_graph_and_meta() -> None:
    record = found(a_page(JSON_LD + OPEN_GRAPH + META + CANONICAL))

    assert (record.title, record.authors) == ("High water at Tarn", ("Ann Author", "Bo Writer"))
    assert record.published_at == datetime(2024, 3, 1, 6, 30, tzinfo=UTC)
    assert (record.section, record.keywords, record.language) == ("Region", ("flood", "river"), "en-GB")
    assert record.canonical_url == "https://www.river.example/news/high-water"
    assert (record.description, record.image_url) == ("The Tarn has left its bed.", "https://cdn.example/og.jpg")
    assert record.open_graph["type"] == "article"
    assert record.origins == {
        "title": Finder.JSON_LD,
        "authors": Finder.JSON_LD,
        "published_at": Finder.JSON_LD,
        "section": Finder.JSON_LD,
        "keywords": Finder.JSON_LD,
        "language": Finder.JSON_LD,
        "canonical_url": Finder.HTML,
        "description": Finder.OPEN_GRAPH,
        "image_url": Finder.OPEN_GRAPH,
        "text": Finder.TRAFILATURA,
    }


def test_open_graph_is_believed_before_meta() -> None:
    record = found(a_page(OPEN_GRAPH + META))

    assert (record.title, record.origins["title"]) == ("High water", Finder.OPEN_GRAPH)
    assert record.published_at == datetime(2024, 3, 2, tzinfo=UTC)
    assert (record.keywords, record.language) == (("weather", "water"), "en-US")


def test_meta_is_believed_before_plain_elements() -> None:
    record = found(a_page(META, lang="de"))

    assert (record.title, record.origins["title"]) == ("High water", Finder.HTML)
    assert (record.authors, record.origins["authors"]) == (("Cy Meta",), Finder.META)
    assert (record.description, record.keywords) == ("What meta says.", ("meta", "words"))
    assert record.published_at == datetime(2024, 3, 3, tzinfo=UTC)
    assert (record.language, record.origins["language"]) == ("de", Finder.HTML)


def test_a_date_in_the_url_is_better_than_none() -> None:
    record = found(a_page())

    assert (record.published_at, record.origins["published_at"]) == (datetime(2024, 3, 1, tzinfo=UTC), Finder.HTML)


SELECTORS = Selectors(
    title=(".missing", ".headline"),
    body=(".story",),
    author=(".by",),
    date=("time",),
    remove=(".advert", "nav"),
)
SELECTED = a_page(
    JSON_LD,
    "<div class=headline>Their <b>own</b> title</div><span class=by>By Di Desk</span>"
    "<time datetime=2023-12-24T18:00:00Z>yesterday</time>"
    "<div class=story><p>A short story with <a href=/more>a link</a>.</p><p class=advert>Buy!</p>"
    "<script>alert(1)</script><noscript>Enable JavaScript</noscript><p onclick=x()>The end. "
    "<a href=tel:12>Call</a></p></div>",
)


def test_a_sources_selectors_count_before_all_else() -> None:
    record = found(SELECTED, selectors=SELECTORS)

    assert (record.title, record.authors) == ("Their own title", ("Di Desk",))
    assert record.published_at == datetime(2023, 12, 24, 18, tzinfo=UTC)
    assert record.text == "A short story with a link.\nThe end. Call"
    assert 'href="https://www.river.example/more"' in record.html
    assert "alert" not in record.html
    assert "onclick" not in record.html
    assert '<a href="tel:12" rel="noopener noreferrer nofollow">Call</a>' in record.html
    assert {record.origins[name] for name in ("title", "text", "authors", "published_at")} == {Finder.SELECTOR}
    assert (record.section, record.origins["section"]) == ("Region", Finder.JSON_LD)


def test_selectors_that_find_nothing_leave_it_to_the_rest() -> None:
    nothing = Selectors(title=(".x",), body=(".x",), author=(".x",), date=(".x",), remove=(".x",))

    assert found(a_page(JSON_LD), selectors=nothing) == found(a_page(JSON_LD))


def test_what_a_source_wants_removed_is_removed_before_the_text_is_looked_for() -> None:
    page = a_page(
        body=f"<article>{BODY}<p class=box>The mill has a shop that sells many boats to all who come.</p></article>"
    )

    assert "shop" in found(page).text
    assert "shop" not in found(page, selectors=Selectors(remove=(".box",))).text


def test_an_invalid_selector_is_reported_and_skipped() -> None:
    record = found(a_page(), selectors=Selectors(title=("h1[", "h1"), remove=("html", "::x")))

    assert (record.title, len(record.problems)) == ("High water", 2)
    assert "'h1['" in " ".join(record.problems)
    assert record.text.split("\n") == list(PARAGRAPHS)


def test_nested_matches_of_a_body_count_once() -> None:
    page = a_page(body="<div class=s>one <div class=s>two</div></div><div class=s>three</div>")

    assert found(page, selectors=Selectors(body=(".s",))).text == "one\ntwo\nthree"


def test_a_declared_body_is_taken_when_the_page_shows_little_of_it() -> None:
    told = "\\n".join(PARAGRAPHS)
    page = a_page(
        f'<script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{told}"}}</script>',
        "<article><p>Subscribe to read on.</p></article>",
    )

    record = found(page)

    assert record.text.split("\n") == list(PARAGRAPHS)
    assert record.html == BODY
    assert record.origins["text"] is Finder.JSON_LD


def test_a_page_behind_a_paywall_gives_the_text_in_front_of_it() -> None:
    record = found(a_page(JSON_LD, f"<article><p>{PARAGRAPHS[0]}</p></article>"))

    assert (record.title, record.text) == ("High water at Tarn", PARAGRAPHS[0])


@pytest.mark.parametrize("page", [b"", b" ", b"<html></html>", b"<!-- -->", b"<!doctype html>", b"\xef\xbb\xbf"])
def test_an_empty_page_gives_an_empty_record(page: bytes) -> None:
    record = found(page)

    assert (record.title, record.text, record.html, record.content_hash, record.word_count) == (None, "", "", None, 0)


@pytest.mark.parametrize("body", [b"PK\x03\x04\x00\x00", b"%PDF-1.7\n\x00\x01", bytes(range(256))])
def test_bytes_that_are_no_text_are_refused(body: bytes) -> None:
    with pytest.raises(UnreadablePage):
        found(body)


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("<meta charset=windows-1251>", "cp1251"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        ("<meta charset=iso-8859-1>", "utf-8"),  # a lie
        ("", "utf-8"),
        ("<meta charset=nonsense>", "utf-8"),
        ("<meta charset=hex>", "utf-8"),
    ],
)
def test_a_page_is_read_in_the_encoding_it_is_in(label: str, encoding: str) -> None:
    page = f"<html><head>{label}<title>Высокая вода</title></head><body></body></html>".encode(encoding)

    assert found(page).title == "Высокая вода"


def test_the_http_charset_and_a_byte_order_mark_count() -> None:
    page = "<html><head><title>高い水 Ωμέγα</title></head></html>"

    assert found(page.encode("utf-16-le")[:0] + b"\xff\xfe" + page.encode("utf-16-le")).title == "高い水 Ωμέγα"
    japanese = "<html><head><title>高い水</title></head></html>".encode("shift_jis")
    assert found(japanese, content_type="text/html; charset=Shift_JIS").title == "高い水"
    assert found(b"<title>caf\xe9</title>").title == "café"


def test_the_title_of_the_page_is_no_part_of_its_text_nor_are_captions_and_calls() -> None:
    page = a_page(
        OPEN_GRAPH,
        f"<article><h1>High water</h1><h2>The Tarn has left its bed.</h2><p>By Ann Author</p><p>March 1, 2024</p>"
        f"<p>{PARAGRAPHS[0]}</p><figure><img src=/a.jpg alt=Flood>"
        "<figcaption>The bridge, photographed at noon</figcaption></figure>"
        f"<p>{PARAGRAPHS[1]}</p><p>Related: <a href=/b>Low water</a></p><p><a href=/c>MAYOR TO RESIGN NEXT WEEK</a></p>"
        f"<p>Sign up for our newsletter to get the news in your inbox.</p><p>{PARAGRAPHS[2]}</p>"
        f"<p>{PARAGRAPHS[3]}</p><p>Follow Ann on Twitter @ann</p><h3>More stories</h3></article>",
    )

    record = found(page)

    assert record.text.split("\n") == list(PARAGRAPHS)
    assert '<img src="https://www.river.example/a.jpg" alt="Flood">' in record.html


def test_a_page_of_links_keeps_them() -> None:
    links = "".join(f"<li><a href=/{n}>The story of boat number {n} and where it went</a></li>" for n in range(20))

    assert "boat number 7" in found(a_page(body=f"<article><p>All boats:</p><ul>{links}</ul></article>")).text


def test_a_quoted_post_belongs_to_the_article() -> None:
    said = "<blockquote class=twitter-tweet><p>It is above my knees now!</p>&mdash; Bo</blockquote>"
    quoted = f"<div class=social-embed>{said}</div>"

    record = found(a_page(body=f"<article><p>{PARAGRAPHS[0]}</p>{quoted}{BODY}</article>"))

    assert "above my knees" in record.text


def test_json_ld_is_kept_small_and_storable() -> None:
    nested = "[" * 50 + "]" * 50
    page = a_page(
        '<script type="application/ld+json">{"@type": "Thing", "a": "' + "x" * 9_000 + '", "b": NaN, "c": 1e999, '
        f'"d": {nested}, "e": "\\u0000\\ud800", "f": {"9" * 400}, "g": [1, 2.5, true, null],}}</script>'
        "<script type=application/ld+json>not json</script>"
        f'<script type="application/ld+json">{"[" * 100_000}</script>'
        '<script type="application/ld+json">[' + "1," * 5_000 + "1]</script>"
    )

    thing, numbers = found(page).linked_data

    assert isinstance(thing, dict)
    assert (len(thing["a"]), thing["b"], thing["c"], thing["e"], thing["f"]) == (2_000, None, None, "?", None)
    assert thing["g"] == [1, 2.5, True, None]
    assert isinstance(numbers, list)
    assert len(numbers) < 1_000


@pytest.mark.parametrize(
    "script",
    [
        '{"@type": "NewsArticle", "headline": 5, "author": 7, "image": [[]], "keywords": {"a": 1}, "datePublished": 1}',
        '{"@type": ["NewsArticle", 3, null], "author": [null, {"name": []}, [["x"]]], "mainEntityOfPage": "::"}',
        '[[[[[{"@type": "Article", "inLanguage": {"name": "??"}, "url": {"@id": "javascript:x"}}]]]]]',
        '{"@graph": {"@graph": {"@type": "Article"}}}',
        "null",
        "0",
        '""',
        "[]",
        "{}",
    ],
)
def test_json_ld_of_any_shape_is_survived(script: str) -> None:
    record = found(a_page(f'<script type="application/ld+json">{script}</script>'))

    assert record.text.split("\n") == list(PARAGRAPHS)
    assert record.title == "High water"


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2024-03-01", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024-03-01T10:00:00+0200", datetime(2024, 3, 1, 8, tzinfo=UTC)),
        ("2024-03-01T10:00:00.123456789Z", datetime(2024, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)),
        ("2024-03-01 10:00:00 UTC", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("Fri, 01 Mar 2024 10:00:00 GMT", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("March 1, 2024 10:00 AM", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("1709287200", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("1709287200000", datetime(2024, 3, 1, 10, tzinfo=UTC)),
    ],
)
def test_dates_are_aware_and_in_utc(written: str, moment: datetime) -> None:
    page = a_page(f'<meta property="article:published_time" content="{written}">')

    assert found(page).published_at == moment


def test_a_day_without_a_time_is_completed_from_another_place() -> None:
    script = '<script type="application/ld+json">{"@type": "Article", "datePublished": "March 1, 2024"}</script>'
    other_day, same_day = (
        f'<meta property="article:published_time" content="{day}T10:00:00Z">' for day in ("2024-02-29", "2024-03-01")
    )

    assert found(a_page(script + other_day)).published_at == datetime(2024, 3, 1, tzinfo=UTC)
    assert found(a_page(script + same_day)).published_at == datetime(2024, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "written", ["0001-01-01", "9999-12-31T23:59:59-12:00", "soon", "", "2024-13-45", "-1", "9" * 60]
)
def test_a_date_that_is_none_is_none(written: str) -> None:
    page = a_page(f'<meta name="date" content="{written}">')

    assert extract(page, url="https://river.example/flood").published_at is None


def test_links_and_pictures_are_absolute_and_nothing_runs() -> None:
    page = a_page(
        body=f'<article><p>{PARAGRAPHS[0]} <a href="../x?y=1&z=2">here</a> <a href="javascript:x()">there</a></p>'
        f'<p>{PARAGRAPHS[1]}<img src="p.png" onerror="x()"><iframe src=//e></iframe></p>{BODY}</article>'
    )

    html = found(page).html

    assert "https://www.river.example/2024/03/x?y=1&amp;z=2" in html
    for evil in ("javascript:", "onerror", "iframe", "<script"):
        assert evil not in html


def test_an_article_without_a_url_is_read_too() -> None:
    record = extract(a_page(CANONICAL), url="")

    assert (record.text.split("\n"), record.canonical_url) == (list(PARAGRAPHS), None)


def test_a_page_of_any_size_gives_a_bounded_record() -> None:
    body = b"<article>" + b"".join(f"<p>{PARAGRAPHS[n % 4]} {n}</p>".encode() for n in range(8_000)) + b"</article>"

    record = found(b"<html><body>" + body)

    assert 100_000 < len(record.text) <= MAX_TEXT
    assert len(body) < MAX_PAGE_BYTES


def test_control_characters_do_not_come_through() -> None:
    record = found(
        a_page(
            '<meta property="og:title" content="a\x01b&#0;c">', f"<article><p>\x02{PARAGRAPHS[0]}</p>{BODY}</article>"
        )
    )

    assert "\x01" not in (record.title or "")
    assert "\x00" not in (record.title or "")
    assert "\x02" not in record.text + record.html


PIECES = """
<p> </p> <div+class=caption> </div> <table> <tr><td> <ul><li> </ul> <script> </script> <!-- --> <article> </article>
<h1> </h1> text+&+more \0 \ud7ff <a+href='x'> </a> <blockquote+class=twitter-tweet> <base+href=//x> <svg><p>
<script+type="application/ld+json">{"@type":"Article","author": <meta+property=og:url+content='http://['>
<link+rel=canonical+href='http://\'> A+sentence+that+is+long+enough+to+be+prose,+and+that+says+something+of+the+water.
"""


@settings(max_examples=60)
@given(st.lists(st.sampled_from([piece.replace("+", " ") for piece in PIECES.split()]), max_size=40))
def test_no_page_makes_it_raise_anything_but_its_own_refusal(pieces: list[str]) -> None:
    try:
        record = found("".join(pieces).encode())
    except UnreadablePage:
        return

    assert isinstance(record, Extracted)
