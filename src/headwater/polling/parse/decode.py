"""Decoding: the bytes of a response become text, in the encoding they are really in.

The order is a browser's (byte order mark, HTTP charset, XML declaration, UTF-8), with what publishers get wrong put
right: a label is only believed when the bytes agree with it, and bytes that agree with nothing are read as UTF-8 with
stray windows-1252 in it, which is what such feeds turn out to be.
"""

import codecs
import re

from headwater.reading.encodings import MANY_BYTES, codec_of

_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})\s*["']""")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")

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

_UTF8 = ("utf-8", "utf8")
_LABEL = re.compile(r"[A-Za-z0-9._:-]{1,40}")

AS_1252 = {code: char for code in range(0x80, 0xA0) if (char := bytes([code]).decode("cp1252", "replace")) != "\ufffd"}


def decode(body: bytes, content_type: str | None = None) -> str:
    """The text of a response body, without byte order mark and XML declaration. Never fails."""
    text = _decode(body, content_type).removeprefix("\ufeff")
    if declaration := _DECLARATION.match(text, 0, 1024):
        text = text[declaration.end() :]
    return text


def is_labelled_utf8(body: bytes, content_type: str | None) -> bool:
    """Whether the body opens like XML, and nothing says that it is anything but UTF-8. It may still not be."""
    return (
        body[:1] == b"<" and body[1:2] != b"\0" and all(label.lower() in _UTF8 for label in _labels(body, content_type))
    )


def _decode(body: bytes, content_type: str | None) -> str:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "stray-1252" if encoding == "utf-8" else "replace")
    for opening, encoding in _OPENINGS:
        if opening.match(body):
            return body.decode(encoding, "replace")
    found = [encoding for label in _labels(body, content_type) if (encoding := codec_of(label))]
    # Many bytes that are valid UTF-8, and said to be, are hardly anything else, whatever else they are said to be.
    if "utf-8" in found and not body.isascii() and (text := _strictly(body, ["utf-8"])) is not None:
        return text
    many = [encoding for encoding in found if encoding.startswith(MANY_BYTES)]
    if many and (text := _strictly(body, many)) is not None:
        return text
    # A valid UTF-8 body is UTF-8, whatever single-byte encoding its label claims: chance makes no such text.
    if (text := _strictly(body, ["utf-8", *found])) is not None:
        return text
    return body.decode("utf-8", "stray-1252")


def _strictly(body: bytes, encodings: list[str]) -> str | None:
    for encoding in encodings:
        try:
            return body.decode(encoding)
        except UnicodeError:
            continue
    return None


def _labels(body: bytes, content_type: str | None) -> list[str]:
    declared = _DECLARED.match(body, 0, 512)
    return [*_http_charset(content_type), *([declared[1].decode("ascii")] if declared else [])]


def _http_charset(content_type: str | None) -> list[str]:
    for parameter in (content_type or "").split(";")[1:]:
        name, _, value = parameter.partition("=")
        value = value.strip().strip("\"'")
        if name.strip().lower() == "charset" and _LABEL.fullmatch(value):
            return [value]
    return []


def _stray(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(AS_1252.get(byte, "\ufffd") if byte < 0xA0 else chr(byte) for byte in bad), error.end


codecs.register_error("stray-1252", _stray)
