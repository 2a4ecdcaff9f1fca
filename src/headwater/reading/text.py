"""Text from outside: what can be stored, what XML can hold, and the text of a short piece of HTML. Pure."""

import re

from headwater.reading.references import unescape

_CONTROL = bytes([*range(9), 11, 12, *range(14, 32), 127])  # all but tab, line feed and carriage return
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_HIDDEN = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG_OR_COMMENT = re.compile(r"<!--.*?-->|</?[a-zA-Z!?][^<>]*>", re.DOTALL)
_BREAK = re.compile(r"<(?:br|p|div|li|tr|h[1-6])\b[^<>]*>", re.IGNORECASE)


def storable(text: str) -> str:
    """The text without control characters, and `?` for lone surrogates: PostgreSQL stores neither NUL nor these."""
    if text.isascii() and text.isprintable():
        return text
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return storable(text.encode("utf-8", "replace").decode())
    kept = encoded.translate(None, _CONTROL)  # ten times as fast as a regular expression
    return text if len(kept) == len(encoded) else kept.decode()


def xml_safe(text: str) -> str:
    """The text without what XML cannot hold."""
    return _NOT_XML.sub("", text)


def without_markup(html: str) -> str:
    """The text of a short piece of HTML."""
    if "<" not in html and "&" not in html:
        return html
    html = _TAG_OR_COMMENT.sub("", _BREAK.sub(" ", _HIDDEN.sub("", html)))
    return unescape(html.partition("<!--")[0])
