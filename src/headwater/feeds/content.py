"""An entry's summary and content: which of the many elements for them count, sanitised."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from headwater.feeds.document import FeedDocument, Fields
from headwater.feeds.text_constructs import HTML, INLINE, PLAIN
from headwater.reading.sanitise import sanitise

# Each with its default media type, the best first.
CONTENTS = {"content:encoded": HTML, "content": PLAIN, "xhtml:body": INLINE, "body": INLINE, "fullitem": HTML}
SUMMARIES = {"description": HTML, "summary": PLAIN, "abstract": PLAIN, "itunes:summary": PLAIN, "dc:description": HTML}
SUMMARIES["googleplay:description"] = PLAIN
# These describe a file that comes with the entry: a summary only where there is no other.
CAPTIONS = {"media:description": PLAIN, "itunes:subtitle": PLAIN}
ALL_WORDS = (*CONTENTS, *SUMMARIES, *CAPTIONS)

_Markup = tuple[str, str]


class ContentWords(NamedTuple):
    """The elements of an entry that may hold its text, each with its default media type."""

    contents: tuple[tuple[str, str], ...]
    summaries: tuple[tuple[str, str], ...]
    captions: tuple[tuple[str, str], ...]


def content_words(words: Collection[str]) -> ContentWords:
    """Those of an entry with these elements."""
    return ContentWords(
        *(tuple((word, of[word]) for word in of if word in words) for of in (CONTENTS, SUMMARIES, CAPTIONS))
    )


def summary_and_content(document: FeedDocument, fields: Fields, words: ContentWords) -> tuple[str | None, str | None]:
    content = next(_markup(document, fields, words.contents), None) if words.contents else None
    summaries = _markup(document, fields, words.summaries)
    summary = next(summaries, None)
    if summary is None and words.captions:
        summary = next(_markup(document, fields, words.captions), None)
    if content is None and summary and (others := list(summaries)):
        summary, content = _of_two_summaries(fields, [summary, *others])
    safe = sanitise(*content) or None if content else None
    return (safe if summary == content else sanitise(*summary) or None if summary else None), safe


def _markup(document: FeedDocument, fields: Fields, words: tuple[tuple[str, str], ...]) -> Iterator[_Markup]:
    for word, default in words:
        for element in fields[word]:
            if html := document.markup(element, default):
                yield html, document.base(element)


def _of_two_summaries(fields: Fields, summaries: list[_Markup]) -> tuple[_Markup, _Markup | None]:
    """Summary and content where there are two summaries and no content. Of <description> and <summary> the second in
    document order is the content; of any others only a longer one is (podcasts often give the text twice)."""
    first, second, *_ = summaries
    if "description" in fields and "summary" in fields:
        order = list(fields)
        return (first, second) if order.index("description") < order.index("summary") else (second, first)
    return first, next((other for other in summaries[1:] if len(other[0]) > len(first[0])), None)
