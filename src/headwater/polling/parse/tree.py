"""The tree: XML becomes lxml elements. Well-formed XML goes through libxml2; what it refuses goes to `soup`.

Nothing is fetched, no DTD is loaded and libxml2 resolves no entity: a text with a DOCTYPE never reaches it before that is
cut out.
"""

import re

from lxml import etree

from headwater.polling.parse import soup
from headwater.polling.parse.names import Element

MAX_ENTITIES = 256
DOCTYPE_WITHIN = 100_000

_PROLOG = re.compile(r"(?:\s++|<!--.*?-->|<\?.*?\?>)*+", re.DOTALL)
_BYTES_PROLOG = re.compile(_PROLOG.pattern.encode(), re.DOTALL)
_DOCTYPE = re.compile(r"<!DOCTYPE\b[^\[<>]*(?:\[(?P<subset>.*?)\]\s*)?>", re.IGNORECASE | re.DOTALL)
_ENTITY = re.compile(r"""<!ENTITY\s+([\w.-]{1,40})\s+(?:"([^"&%<]{0,512})"|'([^'&%<]{0,512})')\s*>""")


def read_bytes(body: bytes) -> Element | None:
    """The root element of well-formed UTF-8 without a DOCTYPE; None for anything else."""
    prolog = _BYTES_PROLOG.match(body, 0, DOCTYPE_WITHIN)
    return _read(body) if prolog and body[prolog.end() : prolog.end() + 2] != b"<!" else None


def read_text(text: str) -> tuple[Element | None, bytes]:
    """The root element of any text, None where it holds no element at all; and the text in UTF-8, its DOCTYPE cut out."""
    text, entities = _without_doctype(text)
    data = text.encode("utf-8", "replace")
    tree = _read(data) if not entities else None
    return (soup.read(text, entities) if tree is None else tree), data


def _read(data: bytes) -> Element | None:
    try:
        return etree.fromstring(data, _parser())
    except etree.XMLSyntaxError:
        return None


def _without_doctype(text: str) -> tuple[str, dict[str, str]]:
    """The text with its DOCTYPE cut out, and the plain entities that it declared: no entity may hold another."""
    prolog = _PROLOG.match(text, 0, DOCTYPE_WITHIN)
    start = prolog.end() if prolog else 0
    found = _DOCTYPE.match(text, start, start + DOCTYPE_WITHIN) if text[start : start + 2] == "<!" else None
    if not found:
        return text[start:], {}
    declared = _ENTITY.findall(found["subset"] or "")[:MAX_ENTITIES]
    entities = {name: double or single for name, double, single in declared}
    return text[found.end() :].lstrip(), entities


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        recover=False,
    )
