"""Bytes to text, in the encoding they are really in: for feeds, pages and sitemaps alike. Pure, and never fails.

The order is a browser's: byte order mark, HTTP charset, <meta> (in HTML), XML declaration, UTF-8. A label is believed
only when the bytes agree with it. Bytes that agree with nothing are read as the first label says, and without a label
as UTF-8 with stray windows-1252 in it, which is what such bodies turn out to be.
"""

import codecs
import re

from headwater.reading.encodings import MULTI_BYTE, codec_of

_LABEL = r"""["']?\s*([A-Za-z0-9._:-]{1,40})"""
_HTTP_CHARSET = re.compile(rf"\bcharset\s*=\s*{_LABEL}", re.IGNORECASE)
_META_CHARSET = re.compile(rf"<meta[^>]{{1,300}}?charset\s*=\s*{_LABEL}".encode(), re.IGNORECASE)
_META_WITHIN = 4_096  # browsers look at 1,024 bytes; some pages need more
_XML_ENCODING = re.compile(rf"\s*<\?xml[^>]{{0,200}}?encoding\s*=\s*{_LABEL}".encode())
_XML_WITHIN = 512
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OPENINGS = (
    (re.compile(rb"<\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0<"), "utf-32-be"),
    (re.compile(rb"<\0[^\0]\0"), "utf-16-le"),  # two letters: one zero beside a "<" is a stray byte
    (re.compile(rb"\0<\0[^\0]"), "utf-16-be"),
    (re.compile(rb"\x4c\x6f\xa7\x94"), "cp037"),  # "<?xm" in EBCDIC
)

AS_1252 = {code: char for code in range(0x80, 0xA0) if (char := bytes([code]).decode("cp1252", "replace")) != "\ufffd"}
"""What windows-1252 has where Unicode has control characters."""


def decode(body: bytes, content_type: str | None = None, *, html: bool = False) -> str:
    """The text of a body, without byte order mark and XML declaration. In HTML a <meta> names the encoding too."""
    text = _decode(body, content_type, html=html).removeprefix("\ufeff")
    if declaration := _XML_DECLARATION.match(text, 0, 1024):
        text = text[declaration.end() :]
    return text


def is_labelled_utf8(body: bytes, content_type: str | None) -> bool:
    """Whether the body opens like XML, and no label says that it is anything but UTF-8. It may still not be."""
    return (
        body[:1] == b"<"
        and body[1:2] != b"\0"
        and all(label.lower() in {"utf-8", "utf8"} for label in _labels(body, content_type, html=False))
    )


def marked_encoding(body: bytes) -> str | None:
    """The encoding that the first bytes show: a byte order mark, or the zeros of UTF-16 and UTF-32."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return encoding
    return next((encoding for opening, encoding in _OPENINGS if opening.match(body)), None)


def incremental_decoder(head: bytes) -> codecs.IncrementalDecoder:
    """A decoder for XML that arrives in pieces, by its first bytes: its mark, its declaration, else UTF-8."""
    declared = _XML_ENCODING.search(head, 0, _META_WITHIN)
    encoding = marked_encoding(head) or (codec_of(declared[1].decode("ascii")) if declared else None) or "utf-8"
    return codecs.getincrementaldecoder(encoding)(_errors(encoding))


def _decode(body: bytes, content_type: str | None, *, html: bool) -> str:
    if encoding := marked_encoding(body):
        return _leniently(body, encoding)
    found = [encoding for label in _labels(body, content_type, html=html) if (encoding := codec_of(label))]
    # Many bytes that are valid UTF-8, and said to be, are hardly anything else, whatever else they are said to be.
    first = ["utf-8"] if "utf-8" in found and not body.isascii() else []
    multi_byte = [encoding for encoding in found if encoding.startswith(MULTI_BYTE)]
    # A valid UTF-8 body is UTF-8, whatever single-byte encoding its label claims: chance makes no such text.
    for encoding in [*first, *multi_byte, "utf-8", *found]:
        try:
            return body.decode(encoding)
        except UnicodeError:
            continue
    return _leniently(body, found[0] if found else "utf-8")


def _leniently(body: bytes, encoding: str) -> str:
    return body.decode(encoding, _errors(encoding))


def _errors(encoding: str) -> str:
    return "stray-1252" if encoding == "utf-8" else "replace"


def _labels(body: bytes, content_type: str | None, *, html: bool) -> list[str]:
    http = _HTTP_CHARSET.search(content_type) if content_type else None
    inside = [_META_CHARSET.search(body, 0, _META_WITHIN) if html else None, _XML_ENCODING.match(body, 0, _XML_WITHIN)]
    return ([http[1]] if http else []) + [label[1].decode("ascii") for label in inside if label]


def _stray(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(AS_1252.get(byte, "\ufffd") if byte < 0xA0 else chr(byte) for byte in bad), error.end


codecs.register_error("stray-1252", _stray)
