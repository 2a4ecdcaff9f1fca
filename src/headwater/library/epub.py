"""Articles as an EPUB 3 book, for e-readers. Pure. A book loads nothing: images become their descriptions."""

import io
import re
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from uuid import NAMESPACE_URL, uuid5

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring, tostring

from headwater.library.types import ArticleFull

MEDIA_TYPE = "application/epub+zip"
_LOADS = ("video", "audio", "iframe", "object", "embed", "svg", "source", "form", "script", "style")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_FIRST_YEAR = 1980  # of times in a ZIP file
_CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""
_STYLE = "body { line-height: 1.5; } pre { white-space: pre-wrap; } .about { color: #666; font-size: .85em; }\n"


def make_book(articles: Sequence[ArticleFull], *, title: str, made_at: datetime) -> bytes:
    """A book with one chapter for each article."""
    chapters = {f"article-{number}.xhtml": article for number, article in enumerate(articles, 1)}
    files = {
        "META-INF/container.xml": _CONTAINER,
        "book.opf": _package(chapters, title, made_at),
        "contents.xhtml": _contents(chapters, title),
        "style.css": _STYLE,
        **{name: _chapter(article) for name, article in chapters.items()},
    }
    moment = made_at.astimezone(UTC).timetuple()[:6] if made_at.year >= _FIRST_YEAR else (_FIRST_YEAR, 1, 1, 0, 0, 0)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as packed:
        # The first file, not compressed: readers recognise a book by it.
        packed.writestr(zipfile.ZipInfo("mimetype", moment), MEDIA_TYPE, zipfile.ZIP_STORED)
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name, moment), _NOT_XML.sub("", content), zipfile.ZIP_DEFLATED)
    return book.getvalue()


def _package(chapters: dict[str, ArticleFull], title: str, made_at: datetime) -> str:
    languages = sorted({one.language for one in chapters.values() if one.language}) or ["und"]
    identity = uuid5(NAMESPACE_URL, " ".join(str(one.id) for one in chapters.values()))
    metadata = "".join(f"<dc:language>{escape(one)}</dc:language>" for one in languages)
    manifest = "".join(
        f'<item id="a{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="a{number}"/>' for number in range(len(chapters)))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:uuid:{identity}</dc:identifier>
<dc:title>{escape(title)}</dc:title>{metadata}
<meta property="dcterms:modified">{made_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}</meta></metadata>
<manifest><item id="nav" href="contents.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="style" href="style.css" media-type="text/css"/>{manifest}</manifest>
<spine><itemref idref="nav"/>{spine}</spine></package>
"""


def _contents(chapters: dict[str, ArticleFull], title: str) -> str:
    lines = "".join(f'<li><a href="{name}">{escape(_title(one))}</a></li>' for name, one in chapters.items())
    return _page(title, f'<nav epub:type="toc"><h1>{escape(title)}</h1><ol>{lines}</ol></nav>', None)


def _chapter(article: ArticleFull) -> str:
    about = " · ".join(
        part for part in (", ".join(article.feeds), article.author, f"{article.listed_at:%Y-%m-%d}") if part
    )
    body = (
        f'<h1>{escape(_title(article))}</h1><p class="about">{escape(about)}<br/>'
        f'<a href="{escape(article.url)}">{escape(article.url)}</a></p>{_as_xml(article.html or "")}'
    )
    return _page(_title(article), body, article.language)


def _page(title: str, body: str, language: str | None) -> str:
    lang = f' lang="{escape(language)}" xml:lang="{escape(language)}"' if language else ""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"{lang}>
<head><title>{escape(title)}</title><link rel="stylesheet" href="style.css"/></head>
<body>{body}</body></html>
"""


def _title(article: ArticleFull) -> str:
    return article.title or article.url


def _as_xml(html: str) -> str:
    """Sanitised HTML as XML, without anything that loads a file."""
    content: HtmlElement = fragment_fromstring(_NOT_XML.sub("", html), create_parent="div")
    etree.strip_elements(content, *_LOADS, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    for image in list(content.iter("img")):
        described = image.get("alt", "").strip()
        image.tag = "em"
        image.attrib.clear()
        image.text = f"[Image: {described}]" if described else None
    return tostring(content, method="xml", encoding="unicode")
