"""The categories, tags and keywords of an entry or a feed, each once."""

from headwater.feeds.document import Fields
from headwater.feeds.text_constructs import one_line, plain

MAX_CATEGORIES = 100
MAX_LENGTH = 200

_SINGLE = frozenset({"category", "dc:subject", "media:category", "keywords", "itunes:category"})
_LISTS = frozenset({"itunes:keywords", "media:keywords", "tags"})
WORDS = _SINGLE | _LISTS


def categories(fields: Fields) -> tuple[str, ...]:
    """All of them, in the order of the document."""
    found: dict[str, None] = {}
    for word in fields:
        if word in _SINGLE:
            for element in fields[word]:
                _add(found, element.get("term") or plain(element) or element.get("text") or element.get("label"))
                for inner in element if len(element) else ():
                    _add(found, inner.get("text"))
        elif word in _LISTS:
            for element in fields[word]:
                for term in plain(element).split(","):
                    _add(found, term)
    return tuple(found)


def _add(found: dict[str, None], term: str | None) -> None:
    term = one_line(term) if term else ""
    if term and len(term) <= MAX_LENGTH and len(found) < MAX_CATEGORIES:
        found[term] = None
