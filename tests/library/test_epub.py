"""A book of articles is an EPUB that a strict reader opens, whatever the articles contain."""

import io
import zipfile
from datetime import timedelta
from uuid import UUID

from lxml import etree

from headwater.library.epub import MEDIA_TYPE, make_book
from headwater.library.types import ArticleFull
from headwater.types import ArticleId
from tests.clock import START

XHTML = "{http://www.w3.org/1999/xhtml}"


def an_article(number: int, html: str | None, title: str = "A title", language: str | None = "en") -> ArticleFull:
    return ArticleFull(
        ArticleId(UUID(int=number)), number, f"https://a.example/{number}?a=1&b=2", title, "Ann & Bob", html, True,
        START, START, language, 100, ["The <Daily>"], [UUID(int=1)], False, False, False, [], None, None, None,
    )  # fmt: skip


def opened(book: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        assert packed.testzip() is None
        return {one.filename: packed.read(one) for one in packed.infolist()}


def test_a_book_has_a_chapter_for_each_article_in_order() -> None:
    files = opened(make_book([an_article(1, "<p>One</p>"), an_article(2, None)], title="Unread", made_at=START))
    package = etree.fromstring(files["book.opf"])
    contents = etree.fromstring(files["contents.xhtml"])

    listed = package.xpath("//*[local-name()='item']/@href")
    assert set(listed) == set(files) - {"mimetype", "META-INF/container.xml", "book.opf"}
    assert contents.xpath("//*[local-name()='a']/@href") == ["article-1.xhtml", "article-2.xhtml"]
    assert b"<p>One</p>" in files["article-1.xhtml"]


def test_a_book_begins_with_its_type_uncompressed() -> None:
    book = make_book([an_article(1, "<p>x</p>")], title="x", made_at=START)

    assert book[30:38] == b"mimetype"
    assert book[38 : 38 + len(MEDIA_TYPE)] == MEDIA_TYPE.encode()


def test_every_file_of_a_book_is_well_formed_whatever_its_articles_contain() -> None:
    hostile = (
        "<p>a & b <b>c<p>d</b><br>&nbsp;&unknown; \x0b \ufffe</p><img src='https://t.example/1' alt='A <chart>'><img>"
        "<video src=x></video>after<table><td>1<ul><li>2<li>3</ul><!-- -- --><pre>a\n b</pre>]]>"
    )
    book = make_book(
        [an_article(1, hostile, "<script>&\x01", None), an_article(2, "", "", 'e"n')], title="]]> & <x>", made_at=START
    )
    files = opened(book)

    parsed = {name: etree.fromstring(text) for name, text in files.items() if name.endswith(("html", "xml", "opf"))}
    chapter = parsed["article-1.xhtml"]
    assert len(parsed) == 5
    assert [one.tag for one in chapter.iter(f"{XHTML}img", f"{XHTML}video", f"{XHTML}script")] == []
    assert "[Image: A <chart>]" in "".join(chapter.itertext())
    assert "after" in "".join(chapter.itertext())
    assert chapter.findtext(f".//{XHTML}h1") == "<script>&"


def test_the_same_articles_are_the_same_book() -> None:
    articles = [an_article(1, "<p>x</p>")]
    first, later = (make_book(articles, title="x", made_at=START + timedelta(days=days)) for days in (0, 1))

    identities = [
        etree.fromstring(opened(book)["book.opf"]).xpath("string(//*[local-name()='identifier'])")
        for book in (first, later)
    ]
    assert identities[0] == identities[1]
    assert make_book(articles, title="x", made_at=START) == first
