"""OPML as other readers write it, as we write it, and as an attacker writes it."""

import gzip
from collections.abc import Callable
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import Invalid
from headwater.library.decide import check_category, check_feed
from headwater.sources.opml import BYTES_MAX, LINES_MAX, OpmlLine, read_opml, write_opml
from headwater.text import is_blank
from tests.clock import START


def a_file(body: str, *, before: str = '<?xml version="1.0"?>', version: str = "2.0") -> bytes:
    return f'{before}<opml version="{version}"><head><title>x</title></head><body>{body}</body></opml>'.encode()


def feed(url: str = "https://a.example/feed", **more: str) -> str:
    return "<outline {}/>".format(" ".join(f'{name}="{value}"' for name, value in {"xmlUrl": url, **more}.items()))


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0"])
def test_nested_outlines_are_categories(version: str) -> None:
    inner = f'<outline text="Tech">{feed("https://b.example/", text="B")}</outline>'
    body = f'{feed(text="A", type="rss")}<outline text="News">{inner}{feed("https://c.example/", title="C")}</outline>'

    assert read_opml(a_file(body, version=version)) == [
        OpmlLine("A", "https://a.example/feed"),
        OpmlLine("B", "https://b.example/", "News/Tech"),
        OpmlLine("C", "https://c.example/", "News"),
    ]


@pytest.mark.parametrize(
    ("outline", "line"),
    [
        (feed(text="Text", title="Title"), OpmlLine("Title", "https://a.example/feed")),
        (feed(text="  two\n words "), OpmlLine("two words", "https://a.example/feed")),
        (feed(), OpmlLine("https://a.example/feed", "https://a.example/feed")),
        (feed("feed://a.example/x", text="A"), OpmlLine("A", "http://a.example/x")),
        (feed("feed:https://a.example/x", text="A"), OpmlLine("A", "https://a.example/x")),
        (feed(text="A", category="/World/News,/Other"), OpmlLine("A", "https://a.example/feed", "World/News")),
        ('<outline text="A" type="rss"/>', OpmlLine("A", "")),
        (
            '<outline text="A" type="rss" htmlUrl="https://a.example/"/>',
            OpmlLine("A", "https://a.example/", "", "https://a.example/"),
        ),
        ('<outline text="A" XMLURL="https://a.example/"/>', OpmlLine("A", "https://a.example/")),
        (feed("https://a.example/?a=1&b=2", text="Q & A"), OpmlLine("Q & A", "https://a.example/?a=1&b=2")),
        (feed("javascript:alert(1)", text="A"), OpmlLine("A", "javascript:alert(1)")),
    ],
    ids=[
        "title", "spaces", "no-name", "feed-scheme", "feed-colon", "category", "no-url", "site-only", "upper-case",
        "bare-ampersand", "script",
    ],
)  # fmt: skip
def test_an_outline_is_read_as_it_stands(outline: str, line: OpmlLine) -> None:
    assert read_opml(a_file(outline)) == [line]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_a_file_may_be_in_any_encoding_that_it_names(encoding: str) -> None:
    text = a_file(feed(text="Zoë"), before=f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>').decode()

    assert read_opml(text.encode(encoding))[0].name == "Zoë"


def test_bookmarks_and_empty_folders_are_no_feeds() -> None:
    body = feed(text="A") + '<outline text="Empty"/><outline text="L" type="link" url="https://a.example/"/>'

    assert [line.name for line in read_opml(a_file(body))] == ["A"]


def test_a_feed_whose_name_shows_nothing_is_called_by_its_address() -> None:
    (line,) = read_opml(a_file(feed("https://a.example/feed", text="\u200b")))

    assert line.name == "https://a.example/feed"


def test_names_and_categories_are_cut_to_what_can_be_kept() -> None:
    long = "x" * 300
    one = feed("https://a.example/" + "y" * 9_000, text=long)
    body = f'<outline text="{long}"><outline text="{long}">{one}</outline></outline>'

    (line,) = read_opml(a_file(body))

    assert (len(line.name), len(line.category)) == (255, 100)
    with pytest.raises(Invalid, match="longer"):
        check_feed(line.name, line.url)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "spaces": lambda: b"  \n ",
    "noise": lambda: bytes(range(256)) * 20,
    "html": lambda: b"<html><body>Log in</body></html>",
    "feed": lambda: b"<rss><channel><item/></channel></rss>",
    "no-feeds": lambda: a_file("<outline text='a'/>"),
    "cut": lambda: a_file(feed())[:-30],
    "laughs": lambda: (
        b'<!DOCTYPE opml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        b'<opml><body><outline xmlUrl="&b;"/></body></opml>'
    ),
    "laughs-utf-16": lambda: (
        '<!DOCTYPE opml [<!ENTITY a "ha">]><opml><body><outline xmlUrl="&a;"/></body></opml>'.encode("utf-16")
    ),
    "outside": lambda: (
        b'<!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml><body><outline xmlUrl="&a;"/></body></opml>'
    ),
    "dtd": lambda: b'<!DOCTYPE opml SYSTEM "http://127.0.0.1:1/x.dtd"><opml><body/></opml>',
    "deep": lambda: a_file("<outline text='a'>" * 200 + feed() + "</outline>" * 200),
    "very-deep": lambda: b"<opml>" + b"<a>" * 1_000_000,
    "large": lambda: a_file(" " * BYTES_MAX),
    "long": lambda: a_file(feed("u") * (LINES_MAX + 1)),
    "nulls": lambda: a_file(feed()).replace(b"a.example", b"a\0example"),
    "unknown-encoding": lambda: a_file(feed(), before='<?xml version="1.0" encoding="klingon"?>'),
    "same-attribute": lambda: a_file('<outline xmlUrl="a" xmlUrl="b"/>'),
    "undefined-entity": lambda: a_file(feed("&odd;") + "<outline>&odd;</outline>"),
    "ampersands": lambda: b"<opml><body>" + b"&" * 1_000_000,
    "zip": lambda: packed(a_file(feed()) + b" " * 10_000_000),
    "gzip": lambda: gzip.compress(a_file(feed()) + b" " * 10_000_000),
}


def packed(file: bytes) -> bytes:
    body = BytesIO()
    with ZipFile(body, "w", ZIP_DEFLATED) as archive:
        archive.writestr("feeds.opml", file)
    return body.getvalue()


@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_opml_is_refused_in_words(made: Callable[[], bytes]) -> None:
    with pytest.raises(Invalid) as refusal:
        read_opml(made())

    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("name", ["laughs", "laughs-utf-16", "outside", "dtd"])
def test_a_file_that_could_declare_entities_is_refused_before_it_does(name: str) -> None:
    with pytest.raises(Invalid, match="document type"):
        read_opml(HOSTILE[name]())


def test_a_tag_with_very_many_attributes_is_read_in_its_stride() -> None:
    many = " ".join(f'a{number}=""' for number in range(200_000))

    assert len(read_opml(a_file(f"<outline {many}/>{feed()}"))) == 1


@given(st.binary(max_size=300) | st.text(max_size=300).map(a_file))
def test_nothing_but_a_refusal_comes_of_any_bytes(data: bytes) -> None:
    try:
        lines = read_opml(data)
    except Invalid:
        return
    assert lines


NAMES = (
    st.text(min_size=1, max_size=255)
    .map(lambda text: " ".join(text.split())[:255].strip())
    .filter(lambda name: not is_blank(name))
)
CATEGORIES = st.just("") | st.text(max_size=100).map(lambda text: check_category(text) or "")
LINES = st.builds(
    OpmlLine, NAMES, st.sampled_from(["https://a.example/?a=1&b=2", "http://b.example/<x>"]), CATEGORIES,
    st.sampled_from(["", "https://a.example/"]),
)  # fmt: skip


def is_writable(text: str) -> bool:
    return all(
        char in "\t\n\r" or (" " <= char <= "\ufffd" and not "\ud800" <= char <= "\udfff") or char > "\uffff"
        for char in text
    )


@given(st.lists(LINES.filter(lambda line: is_writable(line.name + line.category)), min_size=1, max_size=5))
def test_what_we_write_we_read_again(lines: list[OpmlLine]) -> None:
    assert sorted(read_opml(write_opml("Mine", lines, START)), key=str) == sorted(lines, key=str)


def test_what_xml_cannot_hold_is_left_out_of_what_we_write() -> None:
    written = write_opml("a\0b", [OpmlLine("bell\a", "https://a.example/", "\x0bc")], START)

    assert read_opml(written) == [OpmlLine("bell", "https://a.example/", "c")]
