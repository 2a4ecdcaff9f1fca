"""Decodes feeds, pages and sitemaps. Pure, and never fails.

The order is a browser's: byte order mark, HTTP charset, <meta> (in HTML), XML declaration, UTF-8. A label counts only
if the bytes are valid in it. Bytes that are valid in none are decoded by the first label, or as UTF-8 with stray
windows-1252.
"""

import codecs
import re

_LABEL = r"""["']?\s*([A-Za-z0-9._:-]{1,40})"""
_HTTP_CHARSET = re.compile(rf"\bcharset\s*=\s*{_LABEL}", re.IGNORECASE)
_META_CHARSET = re.compile(rf"<meta[^>]{{1,300}}?charset\s*=\s*{_LABEL}".encode(), re.IGNORECASE)
_META_WITHIN = 4_096  # browsers look at 1,024 bytes; some pages need more
_XML_ENCODING = re.compile(rf"\s*<\?xml[^>]{{0,200}}?encoding\s*=\s*{_LABEL}".encode())
_XML_WITHIN = 512
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")

# A byte order mark, or the first letters of markup: two in UTF-16, since a zero beside "<" may be stray; in EBCDIC
# "<?xm". UTF-32 comes before UTF-16, whose mark it starts with.
_MARKED = re.compile(
    rb"(?P<utf_8>\xef\xbb\xbf)|(?P<utf_32_le>\xff\xfe\0\0|<\0\0\0)|(?P<utf_32_be>\0\0\xfe\xff|\0\0\0<)"
    rb"|(?P<utf_16_le>\xff\xfe|<\0[^\0]\0)|(?P<utf_16_be>\xfe\xff|\0<\0[^\0])|(?P<cp037>\x4c\x6f\xa7\x94)"
)

AS_1252 = {code: char for code in range(0x80, 0xA0) if (char := bytes([code]).decode("cp1252", "replace")) != "\ufffd"}
"""What windows-1252 has where Unicode has control characters."""

# What browsers read under these labels (https://encoding.spec.whatwg.org/#names-and-labels), in Python's names: each a
# superset of the label's own encoding.
_WIDER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip

# Prefixes of multi-byte encodings: random bytes are rarely valid in these.
_MULTI_BYTE = ("gb", "hz", "big5", "cp932", "cp949", "cp950", "euc", "iso2022", "shift", "johab")
# Python's codecs that do not encode text, or not on the web; each `_` as `-`.
_REFUSED = frozenset({
    "utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem",
    "base64", "bz2", "hex", "quopri", "rot-13", "uu", "zlib",
})  # fmt: skip

# Labels that browsers know and Python does not (https://encoding.spec.whatwg.org/#names-and-labels).
_ALIASES = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
    "iso8859-7": "sun_eu_greek",
    "iso8859-8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i visual logical",
    "iso8859-15": "csisolatin9",
    "koi8-r": "koi koi8",
    "koi8-u": "koi8-ru",
    "mac-roman": "csmacintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 windows-874",
    "gbk": "csgb2312 gb_2312 gb_2312-80 x-gbk",
    "big5": "cn-big5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese x-euc-jp",
    "shift_jis": "windows-31j x-sjis",
    "euc_kr": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
}
_CODECS = {
    **{label: codec for codec, labels in _ALIASES.items() for label in labels.split()},
    **{f"x-cp{page}": f"cp{page}" for page in range(1250, 1259)},
    **{f"iso8859{part}": f"iso8859-{part}" for part in (*range(1, 12), 13, 14, 15)},
}


def decode(body: bytes, content_type: str | None = None, *, html: bool = False) -> str:
    """The text of a body, without byte order mark and XML declaration. In HTML a <meta> names the encoding too."""
    text = _decode(body, content_type, html=html).removeprefix("\ufeff")
    if declaration := _XML_DECLARATION.match(text, 0, 1024):
        text = text[declaration.end() :]
    return text


def is_labelled_utf8(body: bytes, content_type: str | None) -> bool:
    """Whether the body opens like XML, and no label says that it is anything but UTF-8. It may still not be."""
    is_markup = body[:1] == b"<" and body[1:2] != b"\0"
    labels = _labels(body, content_type, html=False) if is_markup else []
    return is_markup and all(label.lower() in {"utf-8", "utf8"} for label in labels)


def marked_encoding(body: bytes) -> str | None:
    """The encoding that the first bytes show: a byte order mark, or the zeros of UTF-16 and UTF-32."""
    found = _MARKED.match(body)
    return found.lastgroup.replace("_", "-") if found and found.lastgroup else None


def incremental_decoder(head: bytes) -> codecs.IncrementalDecoder:
    """A decoder for XML that arrives in pieces, by its first bytes: its mark, its declaration, else UTF-8."""
    declared = _XML_ENCODING.search(head, 0, _META_WITHIN)
    encoding = marked_encoding(head) or (codec_of(declared[1].decode("ascii")) if declared else None) or "utf-8"
    return codecs.getincrementaldecoder(encoding)(_errors(encoding))


def codec_of(label: str) -> str | None:
    """The codec that browsers use for this label; None for an unknown or refused encoding. UTF-16 and UTF-32 are
    refused: bytes in which a label can be read, one byte a letter, are in neither."""
    label = label.lower()
    try:
        name = codecs.lookup(_CODECS.get(label, label)).name
    except (LookupError, ValueError):
        return None
    refused = name.replace("_", "-") in _REFUSED or name.startswith(("utf-16", "utf-32"))
    return None if refused else _WIDER.get(name, name)


def _decode(body: bytes, content_type: str | None, *, html: bool) -> str:
    if encoding := marked_encoding(body):
        return body.decode(encoding, _errors(encoding))
    found = [encoding for label in _labels(body, content_type, html=html) if (encoding := codec_of(label))]
    # Bytes that are valid UTF-8 and labelled so are UTF-8, whatever other labels say.
    first = ["utf-8"] if "utf-8" in found and not body.isascii() else []
    multi_byte = [encoding for encoding in found if encoding.startswith(_MULTI_BYTE)]
    # A valid UTF-8 body is UTF-8, whatever single-byte encoding its label claims: chance makes no such text.
    for encoding in [*first, *multi_byte, "utf-8", *found]:
        try:
            return body.decode(encoding)
        except UnicodeError:
            continue
    encoding = found[0] if found else "utf-8"
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
