"""Prose: which of the many elements for it hold an entry's summary and its content."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from headwater.polling.parse.document import Document, Fields
from headwater.polling.parse.text import HTML, INLINE, PLAIN
from headwater.reading.sanitise import sanitise

# Each with what its text is when it does not say so itself, the best first.
CONTENTS = {"content:encoded": HTML, "content": PLAIN, "xhtml:body": INLINE, "body": INLINE, "fullitem": HTML}
SUMMARIES = {
    "description": HTML,
    "summary": PLAIN,
    "abstract": PLAIN,
    "itunes:summary": PLAIN,
    "dc:description": HTML,
    "googleplay:description": PLAIN,
}
# These describe something that comes with the entry: good enough where there is nothing better.
CAPTIONS = {"media:description": PLAIN, "itunes:subtitle": PLAIN}
PROSE = (*CONTENTS, *SUMMARIES, *CAPTIONS)

_Written = tuple[str, str]


class ProseWords(NamedTuple):
    """Which elements of an entry may hold its prose, each with what its text is by default."""

    contents: tuple[tuple[str, str], ...]
    summaries: tuple[tuple[str, str], ...]
    captions: tuple[tuple[str, str], ...]


def prose_words(words: Collection[str]) -> ProseWords:
    """Those of an entry with these elements."""
    return ProseWords(
        *(tuple((word, of[word]) for word in of if word in words) for of in (CONTENTS, SUMMARIES, CAPTIONS))
    )


def prose(document: Document, fields: Fields, words: ProseWords) -> tuple[str | None, str | None]:
    """An entry's summary and content, safe."""
    content = next(_written(document, fields, words.contents), None) if words.contents else None
    summaries = _written(document, fields, words.summaries)
    summary = next(summaries, None)
    if summary is None and words.captions:
        summary = next(_written(document, fields, words.captions), None)
    if content is None and summary and (others := list(summaries)):
        summary, content = _told_twice(fields, [summary, *others])
    safe = _safe(content)
    return (safe if summary == content else _safe(summary)), safe


def _safe(written: _Written | None) -> str | None:
    return sanitise(*written) or None if written else None


def _written(document: Document, fields: Fields, words: tuple[tuple[str, str], ...]) -> Iterator[_Written]:
    for word, default in words:
        for element in fields[word]:
            if html := document.markup(element, default):
                yield html, document.base(element)


def _told_twice(fields: Fields, summaries: list[_Written]) -> tuple[_Written, _Written | None]:
    """Two summaries and no content. Of <description> and <summary> the second in the feed's order is the content; of
    any others only a longer one is (podcasts tell the story twice)."""
    first, second, *_ = summaries
    if "description" in fields and "summary" in fields:
        order = list(fields)
        return (first, second) if order.index("description") < order.index("summary") else (second, first)
    return first, next((other for other in summaries[1:] if len(other[0]) > len(first[0])), None)
