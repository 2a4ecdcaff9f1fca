"""The authors of an entry or a feed: names, from the many ways in which feeds write a name and an email address."""

import re
from functools import lru_cache

from headwater.feeds.document import Document, Fields, each
from headwater.feeds.namespaces import Element
from headwater.feeds.text_constructs import plain

MAX_AUTHORS = 32
MAX_NAME = 300

_WRITERS = ("author", "dc:creator", "dc:author")
_SHOWS = ("itunes:author", "managingeditor")
_PERSON = "podcast:person"
WORDS = frozenset({*_WRITERS, *_SHOWS, _PERSON})
# A podcast's other people are its guests and its crew.
_HOSTS = frozenset({"author", "co-host", "guest host", "host", "writer"})

_ADDRESS = re.compile(r"(?:mailto:)?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:\?subject=\S+)?")
_EMPTY = re.compile(r"\(\s*\)|<\s*>|\[\s*\]|&lt;\s*&gt;")


def authors(document: Document, fields: Fields) -> tuple[str, ...]:
    """The names, each once."""
    for words in (_WRITERS, _SHOWS):
        if written := [name for element in each(fields, *words) for name in _names(document, element)]:
            return tuple(dict.fromkeys(written))[:MAX_AUTHORS]
    return _hosts(document, fields) if _PERSON in fields else ()


def _hosts(document: Document, fields: Fields) -> tuple[str, ...]:
    hosts = [person for person in fields[_PERSON] if (person.get("role") or "host").strip().lower() in _HOSTS]
    return tuple(dict.fromkeys(name for host in hosts for name in _names(document, host)))[:MAX_AUTHORS]


def source_authors(document: Document, fields: Fields) -> tuple[str, ...]:
    """The authors of the feed that an Atom entry was copied from."""
    return next((found for source in fields["source"] if (found := authors(document, document.fields(source)))), ())


def _names(document: Document, element: Element) -> list[str]:
    if not len(element):
        name = name_in(plain(element)[:MAX_NAME])
        return [name] if name else []
    parts = document.fields(element)
    for word in ("name", "itunes:name", "email", "itunes:email", "uri", "url"):
        if names := [name for part in parts.get(word, ()) if (name := name_in(plain(part)[:MAX_NAME]))]:
            return names
    name = name_in(plain(element)[:MAX_NAME])
    return [name] if name else []


@lru_cache(maxsize=256)  # a feed has few authors
def name_in(text: str) -> str:
    """The name in `ann@example.com (Ann)` or `Ann <ann@example.com>`; the address where there is no name."""
    text = " ".join(text.split())
    if "@" not in text:
        return text
    rest = _EMPTY.sub("", _ADDRESS.sub("", text)).strip()
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1]
    return rest.strip(" ,;\"'") or text
