"""What a body really is, told by its bytes, before anything parses it: a label is only believed where bytes are silent.

In: the body and its Content-Type. Out: a Form, and whether a page of some kind may have it. Pure.
"""

import re
from enum import StrEnum

from headwater.types import PageKind

LOOKED_AT = 1445  # as many bytes as browsers look at: https://mimesniff.spec.whatwg.org/#reading-the-resource-header


class Form(StrEnum):
    """What a body is, as far as it matters who reads it."""

    HTML = "HTML"
    XML = "XML"
    TEXT = "text"
    GZIP = "gzip"
    EMPTY = "nothing at all"
    PDF = "a PDF"
    ARCHIVE = "an archive"
    IMAGE = "a picture"
    AUDIO = "sound"
    VIDEO = "a film"
    PROGRAM = "a program"
    FONT = "a font"
    DOCUMENT = "an office document"
    DATA = "data for programs"
    BINARY = "not text"


_READABLE = {
    PageKind.ARTICLE: frozenset({Form.HTML, Form.TEXT}),
    PageKind.LIST: frozenset({Form.HTML, Form.TEXT}),
    # A web page in place of a sitemap is left to who reads sitemaps: it retires them.
    PageKind.SITEMAP: frozenset({Form.XML, Form.TEXT, Form.GZIP, Form.HTML}),
}

_BEGINNINGS: tuple[tuple[bytes, Form], ...] = (
    (b"%PDF-", Form.PDF),
    (b"PK\x03\x04", Form.ARCHIVE),  # office documents and programs for phones among them
    (b"PK\x05\x06", Form.ARCHIVE),
    (b"PK\x07\x08", Form.ARCHIVE),
    (b"Rar!\x1a\x07", Form.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", Form.ARCHIVE),
    (b"BZh", Form.ARCHIVE),
    (b"\xfd7zXZ\x00", Form.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", Form.ARCHIVE),
    (b"\x1f\x9d", Form.ARCHIVE),
    (b"\x1f\x8b", Form.GZIP),
    (b"\x89PNG\r\n\x1a\n", Form.IMAGE),
    (b"GIF87a", Form.IMAGE),
    (b"GIF89a", Form.IMAGE),
    (b"\xff\xd8\xff", Form.IMAGE),
    (b"II*\x00", Form.IMAGE),
    (b"MM\x00*", Form.IMAGE),
    (b"\x00\x00\x01\x00", Form.IMAGE),
    (b"8BPS", Form.IMAGE),
    (b"ID3", Form.AUDIO),
    (b"OggS\x00", Form.AUDIO),
    (b"fLaC", Form.AUDIO),
    (b"MThd\x00", Form.AUDIO),
    (b"FLV\x01", Form.VIDEO),
    (b"\x1a\x45\xdf\xa3", Form.VIDEO),
    (b"\x00\x00\x01\xba", Form.VIDEO),
    (b"\x7fELF", Form.PROGRAM),
    (b"\xca\xfe\xba\xbe", Form.PROGRAM),
    (b"\xcf\xfa\xed\xfe", Form.PROGRAM),
    (b"\x00asm", Form.PROGRAM),
    (b"wOFF", Form.FONT),
    (b"wOF2", Form.FONT),
    (b"OTTO\x00", Form.FONT),
    (b"\x00\x01\x00\x00\x00", Form.FONT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Form.DOCUMENT),
    (b"{\\rtf", Form.DOCUMENT),
    (b"%!PS-Adobe-", Form.DOCUMENT),
    (b"SQLite format 3\x00", Form.DATA),
)
# Beginnings that a sentence may have too: they count only where a byte that is no text follows.
_AMBIGUOUS: tuple[tuple[bytes, Form], ...] = ((b"MZ", Form.PROGRAM), (b"BM", Form.IMAGE), (b"\xff\xfb", Form.AUDIO))
_RIFF = {b"WEBP": Form.IMAGE, b"WAVE": Form.AUDIO, b"AVI ": Form.VIDEO}
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_WIDE_MARKUP = (b"<\x00", b"\x00<")  # UTF-16 without a mark
# Each alternative ends at a byte that begins no other: linear, however hostile.
_PROLOGUE = re.compile(rb"(?:\s|<\?[^>]*>|<!--.*?-->|<!(?!--|doctype)[^>]*>)*", re.DOTALL | re.IGNORECASE)
_XML_ROOT = re.compile(rb"<!doctype\s+([^\s>\[]+)|<([a-z_][\w.:-]*)", re.IGNORECASE)
_PROGRAM_DATA = re.compile(r"json|javascript|ecmascript|\bcss\b", re.IGNORECASE)


def sniff(body: bytes, content_type: str | None) -> Form:
    """What this body is."""
    head = body[:LOOKED_AT]
    if not head.strip():
        return Form.EMPTY
    binary = _binary(head)
    if binary is not None:
        return binary
    return _text(body, content_type or "")


def is_readable(form: Form, kind: PageKind) -> bool:
    """Whether those who read pages of this kind can begin with it."""
    return form in _READABLE[kind]


def _binary(head: bytes) -> Form | None:
    for beginning, form in _BEGINNINGS:
        if head.startswith(beginning):
            return form
    if head[:4] == b"RIFF" and head[8:12] in _RIFF:
        return _RIFF[head[8:12]]
    if head[4:8] == b"ftyp":
        return Form.IMAGE if head[8:12] in {b"avif", b"heic", b"mif1"} else Form.VIDEO
    if head.startswith((*_TEXT_MARKS, *_WIDE_MARKUP)) or not _NOT_TEXT.search(head):
        return None
    return next((form for beginning, form in _AMBIGUOUS if head.startswith(beginning)), Form.BINARY)


def _text(body: bytes, content_type: str) -> Form:
    if body.startswith((b"\xff\xfe", b"\xfe\xff", *_WIDE_MARKUP)):
        body = body[: 2 * LOOKED_AT].replace(b"\x00", b"").lstrip(b"\xff\xfe")
    head = body[: 8 * LOOKED_AT].removeprefix(b"\xef\xbb\xbf")
    start = _PROLOGUE.match(head)
    root = _XML_ROOT.match(head, start.end() if start else 0)
    if root is not None:
        return _markup((root[1] or root[2]).lower(), head)
    if _PROGRAM_DATA.search(content_type):
        return Form.DATA
    if head.lstrip()[:5].lower() == b"<?xml" or "xml" in content_type.lower().replace("xhtml", ""):
        return Form.XML
    return Form.HTML if b"<" in head or "html" in content_type.lower() else Form.TEXT


def _markup(root: bytes, head: bytes) -> Form:
    """By its root: the label `<?xml` alone says nothing, XHTML has it too; and HTML may begin with any tag."""
    is_xml = head.lstrip()[:5].lower() == b"<?xml" or root in _XML_ROOTS or b":" in root
    return Form.HTML if root == b"html" or not is_xml else Form.XML


_XML_ROOTS = frozenset({b"rss", b"feed", b"urlset", b"sitemapindex", b"svg", b"opml"})
