"""Text from outside: what can be stored, what XML can contain, text of short HTML, character references. Pure.

In text `&section` means "§ion", as browsers and `html.unescape` read it; in an attribute it is part of a query.
"""

import html
import re
from html.entities import html5

from headwater.text import composed

_CONTROL = bytes([*range(9), 11, 12, *range(14, 32), 127])  # all but tab, line feed and carriage return
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_HIDDEN = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>")
_TAG_OR_COMMENT = re.compile(rf"<!--.*?-->|{_TAG.pattern}", re.DOTALL)
_BREAK = re.compile(r"<(?:br|p|div|li|tr|h[1-6])\b[^<>]*>", re.IGNORECASE)
# Matched whole, so that none is decoded twice; a name is as long as possible, as the character after it decides.
_REFERENCE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|([a-zA-Z][a-zA-Z0-9]*+)(;|=)?)")
# Python refuses numbers of more than 4,300 digits; without leading zeros, eight digits are beyond Unicode already.
_LONG_NUMBER = re.compile(r"&#(?=[0-9]{8})0*+([0-9]*+)")


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


def searchable(text: str) -> str:
    """The same, composed, so that its words are found. Not for HTML, where `>` and U+0338 would become one character,
    nor for ids and URLs, which must stay as they are."""
    return composed(storable(text))


def xml_safe(text: str) -> str:
    return _NOT_XML.sub("", text)


def without_markup(markup: str) -> str:
    if "<" not in markup and "&" not in markup:
        return markup
    markup = _BREAK.sub(" ", _HIDDEN.sub("", markup))
    # After the end of the last comment none is looked for: each beginning would be compared with all that follows.
    before, end, after = markup.rpartition("-->")
    markup = _TAG_OR_COMMENT.sub("", before + end) + _TAG.sub("", after)
    return unescape(markup.partition("<!--")[0])


def unescape(text: str) -> str:
    """A text with its references decoded. `html.unescape` raises ValueError for numbers of thousands of digits."""
    if "&" not in text:
        return text
    return html.unescape(_LONG_NUMBER.sub(lambda number: f"&#{number[1][:8] or 0}", text))


def unescape_attribute(value: str) -> str:
    """An attribute's value, decoded: a name without `;` counts unless `=`, a letter or a digit follows."""
    return _REFERENCE.sub(_meant, value) if "&" in value else value


def _meant(reference: re.Match[str]) -> str:
    name, end = reference.groups()
    if name is None:
        return unescape(reference[0])
    return reference[0] if end == "=" else html5.get(f"{name}{end or ''}", reference[0])
