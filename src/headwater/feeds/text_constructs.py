"""Text constructs: an element with text becomes one plain line (titles) or HTML that is yet to be sanitised.

Formats differ in how they carry markup: escaped, inline, as XHTML, in base64, or as plain text that has markup anyway.
"""

import re
from base64 import b64decode
from contextlib import suppress
from html import escape
from html.entities import html5

from lxml import etree

from headwater.feeds.namespaces import Element, tag_of
from headwater.reading.decode import AS_1252
from headwater.reading.html_rules import TAGS
from headwater.reading.text import storable, without_markup

MAX_TITLE = 4096

HTML = "text/html"
PLAIN = "text/plain"
INLINE = "application/xhtml+xml"
PACKED = "base64"

_KINDS = {"text": PLAIN, "plain": PLAIN, "html": HTML, "xhtml": INLINE, "text/xhtml": INLINE, "text/x-html": HTML}
_CLOSING = re.compile(r"</\w+>|&#?\w+;")
_TAG_NAME = re.compile(r"</?(\w+)")
_ENTITY_NAME = re.compile(r"&(\w+);")
_SPACES = re.compile(r"[ \t\r\n\f\v]+")
# In UTF-8: a C1 control, or what UTF-8 looks like after it was taken for Latin-1. References to the former. Each begins
# with one fixed byte, which makes the search quick.
_MISREAD = re.compile(rb"\xc2(?:[\x80-\x9f]|(?<=\xc3[\x82-\xb4]\xc2)[\xa0-\xbf])")
_REFERENCE = re.compile(rb"#(?:0*1[2-5][0-9]|[xX]0*[89][0-9a-fA-F]);")


def plain(element: Element) -> str:
    text = element.text if not len(element) else "".join(element.itertext())
    return text.strip() if text else ""


def line(element: Element, *, guess: bool) -> str:
    """An element's text as one plain line; `guess` where the format does not define whether it is markup."""
    if len(element):
        text = without_markup(inner_html(element)[:MAX_TITLE])
    else:
        text, kind = element.text or "", kind_of(element, PLAIN)
        if kind == PACKED:
            text, kind = _unpacked(text)
        text = text[:MAX_TITLE]
        if kind == HTML or (guess and kind == PLAIN and looks_like_html(text)):
            text = without_markup(text)
    return fold_spaces(text)


def fold_spaces(text: str) -> str:
    """Text with each run of white space as one space; a no-break space is a character like any other."""
    return (text if text.isprintable() and "  " not in text else _SPACES.sub(" ", text)).strip()


def markup(element: Element, default: str, *, guess: bool) -> str:
    """An element's text as HTML, not yet safe; '' where it has none."""
    if len(element):
        return inner_html(element)
    text = element.text
    if not text or not (text := text.strip()):
        return ""
    kind = kind_of(element, default)
    if kind == PACKED:
        text, kind = _unpacked(text)
    if kind == HTML:
        return text
    # Atom names the type, and still its biggest publisher writes `&nbsp;` into summaries of type text.
    if kind == PLAIN and (guess or "<" not in text) and looks_like_html(text):
        return text
    return escape(text, quote=False)


def kind_of(element: Element, default: str) -> str:
    """The media type of an element's text, plain for an unknown word; PACKED for base64 and types other than text."""
    if not element.attrib:
        return default
    given = (element.get("type") or "").strip().lower()
    kind = _KINDS.get(given, given) or default
    if element.get("mode") == "base64":
        return PACKED
    if "/" not in kind:
        return PLAIN
    return kind if kind.startswith("text/") or kind.endswith(("+xml", "/xml")) else PACKED


def looks_like_html(text: str) -> bool:
    """Whether nominally plain text is HTML: it has an end tag or a reference, and all tags and entities are known."""
    if ("&" not in text and "</" not in text) or not _CLOSING.search(text):
        return False
    if any(name.lower() not in TAGS for name in _TAG_NAME.findall(text)):
        return False
    return all(f"{name};" in html5 for name in _ENTITY_NAME.findall(text))


def inner_html(element: Element) -> str:
    """The content of an element as HTML, without prefixes and without the <div> that Atom's xhtml must have."""
    for node in element.iterdescendants("*"):
        tag = tag_of(node)
        if tag[0] == "{":
            node.tag = tag[tag.index("}") + 1 :]
    if element.get("type") == "xhtml" and len(element) == 1 and element[0].tag == "div":
        element = element[0]
    pieces = [escape(element.text or "", quote=False)]
    pieces += (etree.tostring(child, encoding="unicode", method="html") for child in element)
    return "".join(pieces).strip()


def _unpacked(text: str) -> tuple[str, str]:
    """Decoded base64 and its type, '' for binary data; text that is not base64 is plain."""
    try:
        packed = b64decode("".join(text.split()), validate=True)
    except ValueError:
        return text, PLAIN
    try:
        return storable(packed.decode("utf-8")), HTML
    except UnicodeDecodeError:
        return "", HTML


def may_be_mojibake(document: bytes) -> bool:
    """Whether anything in a document, given in UTF-8, may be mojibake. Most have none."""
    return (b"\xc2" in document and _MISREAD.search(document) is not None) or _REFERENCE.search(document) is not None


def fix_mojibake(text: str) -> str:
    if text.isascii():
        return text
    with suppress(UnicodeError):
        text = text.encode("latin-1").decode("utf-8")
    return text.translate(AS_1252)
