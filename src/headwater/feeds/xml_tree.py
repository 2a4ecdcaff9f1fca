"""XML to lxml elements: well-formed XML by libxml2, anything else by `lenient_xml`.

Nothing is fetched, no DTD is loaded and libxml2 resolves no entity: the DOCTYPE is cut out before.
"""

import re

from lxml import etree

from headwater.feeds import lenient_xml
from headwater.feeds.namespaces import Element

MAX_ENTITIES = 256
DOCTYPE_WITHIN = 100_000

_PROLOG = re.compile(r"(?:\s++|<!--.*?-->|<\?.*?\?>)*+", re.DOTALL)
_END = re.compile(rb"</(?:[\w.-]{1,40}:)?(?:rss|feed|rdf)\s{0,40}>", re.IGNORECASE)
_ENTRY = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:item|entry)\b", re.IGNORECASE)
_BYTES_PROLOG = re.compile(_PROLOG.pattern.encode(), re.DOTALL)
_DOCTYPE = re.compile(r"<!DOCTYPE\b[^\[<>]*(?:\[(?P<subset>.*?)\]\s*)?>", re.IGNORECASE | re.DOTALL)
_ENTITY = re.compile(r"""<!ENTITY\s+([\w.-]{1,40})\s+(?:"([^"&%<]{0,512})"|'([^'&%<]{0,512})')\s*>""")


def read_bytes(body: bytes) -> Element | None:
    """The root element of well-formed UTF-8 without a DOCTYPE; None for anything else."""
    prolog = _BYTES_PROLOG.match(body, 0, DOCTYPE_WITHIN)
    return _read(body) if prolog and body[prolog.end() : prolog.end() + 2] != b"<!" else None


def read_text(text: str) -> tuple[Element | None, bytes, bool]:
    """The root element of any text, None if it has none; the UTF-8 it was read from; whether that was well-formed."""
    text, entities = _without_doctype(text)
    data = text.encode("utf-8", "replace")
    root = _read(data) if not entities else None
    return (root, data, True) if root is not None else (lenient_xml.read(text, entities), data, False)


def _read(data: bytes) -> Element | None:
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False,
        huge_tree=False, remove_comments=True, remove_pis=True, collect_ids=False, recover=False,
    )  # fmt: skip
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        alone = _without_tail(data) if error.code == etree.ErrorTypes.ERR_DOCUMENT_END else data
        return _read(alone) if len(alone) < len(data) else None


def _without_tail(data: bytes) -> bytes:
    """A feed without what a server appended, such as a script; all of it where that may have entries."""
    end = max((mark.end() for mark in _END.finditer(data)), default=len(data))
    return data if _ENTRY.search(data, end) else data[:end]


def _without_doctype(text: str) -> tuple[str, dict[str, str]]:
    """The text without its DOCTYPE, and the plain entities that this declared: those that use no other entity."""
    prolog = _PROLOG.match(text, 0, DOCTYPE_WITHIN)
    start = prolog.end() if prolog else 0
    found = _DOCTYPE.match(text, start, start + DOCTYPE_WITHIN) if text[start : start + 2] == "<!" else None
    if not found:
        return text[start:], {}
    declared = _ENTITY.findall(found["subset"] or "")[:MAX_ENTITIES]
    entities = {name: double or single for name, double, single in declared}
    return text[found.end() :].lstrip(), entities
