"""JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/), read with the leniency that real ones need."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import cast

from headwater.feeds.document import MAX_ITEMS, newest, normalise_language
from headwater.feeds.types import Enclosure, Entry, FeedParseError, NotAFeed, ParsedFeed
from headwater.reading.dates import parse_date
from headwater.reading.links import absolute
from headwater.reading.sanitise import from_text, sanitise
from headwater.reading.text import storable

Json = Mapping[str, object]

MAX_SECONDS = 366 * 24 * 60 * 60  # the longest plausible duration of an attachment: a year


def parse_json(text: str, url: str, max_entries: int | None) -> ParsedFeed:
    """Raises NotAFeed for JSON that is something else, and FeedParseError for JSON that cannot be read."""
    document = _load(text)
    version = _text(document, "version")
    items = document.get("items")
    if "jsonfeed.org" not in version and not ("title" in document and _list(items)):
        raise NotAFeed("it is JSON, but not a JSON Feed")
    language = normalise_language(_text(document, "language"))
    authors = _authors(document)
    chosen = newest(
        _objects(items)[:MAX_ITEMS], max_entries, lambda item: _date(item, "published") or _date(item, "modified")
    )
    return ParsedFeed(
        format="json10" if version.rstrip("/").endswith(("/1", "/1.0")) else "json11",
        title=_line(document, "title"),
        site_url=absolute(_text(document, "home_page_url"), url),
        description=from_text(_text(document, "description")) or None,
        language=language,
        authors=authors,
        icon_url=absolute(_text(document, "favicon") or _text(document, "icon"), url),
        image_url=absolute(_text(document, "icon") or _text(document, "favicon"), url),
        hub_urls=tuple(hub for each in _objects(document.get("hubs")) if (hub := absolute(_text(each, "url"), url))),
        self_url=absolute(_text(document, "feed_url"), url),
        next_url=absolute(_text(document, "next_url"), url),
        entries=tuple(_entry(item, url, language, authors) for item in chosen),
    )


def _load(text: str) -> Json:
    try:
        document: object = json.loads(text, strict=False)  # some have line breaks and tabs in strings
    except (ValueError, RecursionError) as error:
        if "jsonfeed.org" in text[:4096]:
            raise FeedParseError("the JSON is broken") from error
        raise NotAFeed("it looks like JSON, but is invalid") from error
    if not isinstance(document, dict):
        raise NotAFeed("it is JSON, but not a JSON Feed")
    return cast("Json", document)


def _entry(item: Json, url: str, language: str | None, feed_authors: tuple[str, ...]) -> Entry:
    link = absolute(_text(item, "url"), url)
    title = _line(item, "title")
    content = sanitise(_text(item, "content_html"), url) or from_text(_text(item, "content_text"))
    tags = (_line({"": each}, "") for each in _list(item.get("tags"))[:100] if isinstance(each, str))
    return Entry(
        id=_line(item, "id") or link or f"sha256:{sha256((title + content).encode()).hexdigest()}",
        url=link or absolute(_text(item, "external_url"), url), title=title, authors=_authors(item) or feed_authors,
        published_at=_date(item, "published"), updated_at=_date(item, "modified"),
        summary=from_text(_text(item, "summary")) or None, content=content or None,
        language=normalise_language(_text(item, "language")) or language,
        categories=tuple(dict.fromkeys(tag for tag in tags if tag)), enclosures=tuple(_enclosures(item, url)),
        image_url=absolute(_text(item, "image") or _text(item, "banner_image"), url),
    )  # fmt: skip


def _enclosures(item: Json, url: str) -> Iterator[Enclosure]:
    for attachment in _objects(item.get("attachments"))[:64]:
        if link := absolute(_text(attachment, "url"), url):
            size, seconds = _number(attachment, "size_in_bytes"), _number(attachment, "duration_in_seconds")
            yield Enclosure(
                url=link,
                type=_line(attachment, "mime_type") or None,
                length=int(size) if size is not None else None,
                duration=(timedelta(seconds=seconds) or None) if seconds and seconds <= MAX_SECONDS else None,
                title=_line(attachment, "title") or None,
            )


def _authors(of: Json) -> tuple[str, ...]:
    several, single = of.get("authors"), of.get("author")
    given = (*(_list(several) or [several]), *(_list(single) or [single]))
    # Each is an object, at times just a string.
    people = _objects([{"name": author} if isinstance(author, str) else author for author in given])
    names = (_line(person, "name") or _line(person, "url") for person in people)
    return tuple(dict.fromkeys(filter(None, names)))


def _text(of: Json, key: str) -> str:
    value = of.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)[:400]
    return storable(value).strip() if isinstance(value, str) else ""


def _line(of: Json, key: str) -> str:
    return " ".join(_text(of, key)[:4096].split())


def _date(of: Json, what: str) -> datetime | None:
    return parse_date(_text(of, f"date_{what}"))


def _number(of: Json, key: str) -> float | None:
    value = of.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15 else None


def _objects(value: object) -> list[Json]:
    return [cast("Json", each) for each in _list(value) if isinstance(each, dict)]


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
