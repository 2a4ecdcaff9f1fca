"""What a body is by its first bytes. The Content-Type counts only where the bytes do not decide. Pure."""

import re
from enum import StrEnum

LOOKED_AT = 1445  # as many bytes as browsers look at: https://mimesniff.spec.whatwg.org/#reading-the-resource-header


class Form(StrEnum):
    """What a body is, in the words of error messages."""

    HTML = "HTML"
    XML = "XML"
    TEXT = "text"
    GZIP = "gzip data"
    EMPTY = "empty"
    PDF = "a PDF document"
    ARCHIVE = "an archive"
    IMAGE = "an image"
    AUDIO = "audio"
    VIDEO = "a video"
    PROGRAM = "a program"
    FONT = "a font"
    DOCUMENT = "an office document"
    DATA = "data for programs"
    BINARY = "not text"


_SIGNATURES: dict[Form, tuple[bytes, ...]] = {
    Form.PDF: (b"%PDF-",),
    Form.ARCHIVE: (
        b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08",  # office documents and programs for phones among them
        b"Rar!\x1a\x07", b"7z\xbc\xaf\x27\x1c", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\x1f\x9d",
    ),
    Form.GZIP: (b"\x1f\x8b",),
    Form.IMAGE: (
        b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*",
        b"\x00\x00\x01\x00", b"8BPS",
    ),
    Form.AUDIO: (b"ID3", b"OggS\x00", b"fLaC", b"MThd\x00"),
    Form.VIDEO: (b"FLV\x01", b"\x1a\x45\xdf\xa3", b"\x00\x00\x01\xba"),
    Form.PROGRAM: (b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\x00asm"),
    Form.FONT: (b"wOFF", b"wOF2", b"OTTO\x00", b"\x00\x01\x00\x00\x00"),
    Form.DOCUMENT: (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rtf", b"%!PS-Adobe-"),
    Form.DATA: (b"SQLite format 3\x00",),
}  # fmt: skip
_NAMES = {
    b"\x89PNG": "a PNG image", b"GIF8": "a GIF image", b"\xff\xd8\xff": "a JPEG image", b"\x00\x00\x01\x00": "an icon",
    b"PK": "a zip archive", b"Rar!": "a rar archive", b"7z": "a 7z archive", b"ID3": "an MP3 file",
    b"\x1f\x8b": "gzip data that was never unpacked",
}  # fmt: skip
# A sentence may begin like these: they count only if the body is not text.
_AMBIGUOUS: tuple[tuple[bytes, Form], ...] = ((b"MZ", Form.PROGRAM), (b"BM", Form.IMAGE), (b"\xff\xfb", Form.AUDIO))
_RIFF = {b"WEBP": Form.IMAGE, b"WAVE": Form.AUDIO, b"AVI ": Form.VIDEO}
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_WIDE_MARKUP = (b"<\x00", b"\x00<")  # UTF-16 without a byte order mark
# Each alternative ends at a byte with which no other begins: linear for any input.
_PROLOGUE = re.compile(rb"(?:\s|<\?[^>]*>|<!--.*?-->|<!(?!--|doctype)[^>]*>)*", re.DOTALL | re.IGNORECASE)
_XML_ROOT = re.compile(rb"<!doctype\s+([^\s>\[]+)|<([a-z_][\w.:-]*)", re.IGNORECASE)
_XML_ROOTS = frozenset({b"rss", b"feed", b"urlset", b"sitemapindex", b"svg", b"opml"})
_PROGRAM_DATA = re.compile(r"json|javascript|ecmascript|\bcss\b", re.IGNORECASE)


def signature_of(body: bytes) -> Form | None:
    """The binary format that the body begins like; None for text and for unknown formats."""
    for form, signatures in _SIGNATURES.items():
        if body.startswith(signatures):
            return form
    if body[:4] == b"RIFF" and body[8:12] in _RIFF:
        return _RIFF[body[8:12]]
    if body[4:8] == b"ftyp":
        return Form.IMAGE if body[8:12] in {b"avif", b"heic", b"mif1"} else Form.VIDEO
    return None


def describe(body: bytes, form: Form) -> str:
    return next((name for beginning, name in _NAMES.items() if body.startswith(beginning)), form.value)


def sniff(body: bytes, content_type: str | None) -> Form:
    head = body[:LOOKED_AT]
    if not head.strip():
        return Form.EMPTY
    if (form := signature_of(head)) is not None:
        return form
    if not head.startswith((*_TEXT_MARKS, *_WIDE_MARKUP)) and _NOT_TEXT.search(head):
        return next((form for beginning, form in _AMBIGUOUS if head.startswith(beginning)), Form.BINARY)
    return _text(body, (content_type or "").lower())


def _text(body: bytes, content_type: str) -> Form:
    if body.startswith((b"\xff\xfe", b"\xfe\xff", *_WIDE_MARKUP)):
        body = body[: 2 * LOOKED_AT].replace(b"\x00", b"").lstrip(b"\xff\xfe")
    head = body[: 8 * LOOKED_AT].removeprefix(b"\xef\xbb\xbf")
    is_declared = head.lstrip()[:5].lower() == b"<?xml"
    start = _PROLOGUE.match(head)
    if (match := _XML_ROOT.match(head, start.end() if start else 0)) is not None:
        # `<?xml` alone does not decide, since XHTML has it too; and HTML may begin with any tag.
        root = (match[1] or match[2]).lower()
        is_xml = is_declared or root in _XML_ROOTS or b":" in root
        return Form.HTML if root == b"html" or not is_xml else Form.XML
    if _PROGRAM_DATA.search(content_type):
        return Form.DATA
    if is_declared or "xml" in content_type.replace("xhtml", ""):
        return Form.XML
    return Form.HTML if b"<" in head or "html" in content_type else Form.TEXT
