"""The fields of the feed itself, from its <channel> or <feed>, polling hints included."""

from datetime import timedelta

from headwater.feeds.document import FeedDocument, Fields, attribute, each, first_text, normalise_language
from headwater.feeds.entry_fields import authors, categories, picture, whole_number
from headwater.feeds.namespaces import Element
from headwater.feeds.text_constructs import HTML, PLAIN, plain
from headwater.feeds.types import ParsedFeed
from headwater.reading.dates import parse_date
from headwater.reading.links import unescape_query
from headwater.reading.sanitise import sanitise

_PERIODS = {
    name: timedelta(hours=hours)
    for name, hours in {"hourly": 1, "daily": 24, "weekly": 168, "monthly": 720, "yearly": 8760}.items()
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DESCRIPTIONS = (
    *(("description", HTML), ("tagline", PLAIN), ("subtitle", PLAIN), ("abstract", PLAIN), ("itunes:summary", PLAIN)),
    *(("dc:description", HTML), ("itunes:subtitle", PLAIN), ("googleplay:description", PLAIN)),
)
_TITLES = ("title", "dc:title", "itunes:title", "media:title")
_MAX_TTL = 60 * 24 * 366


def feed(document: FeedDocument, element: Element, fields: Fields, *, form: str) -> ParsedFeed:
    icons = (document.link(icon, plain(icon)) for icon in each(fields, "icon", "webfeeds:icon"))
    image = picture(document, fields)
    minutes, given = whole_number(first_text(fields, "ttl")), first_text(fields, "language", "dc:language")
    period, frequency = (
        first_text(fields, "sy:updateperiod").lower(),
        whole_number(first_text(fields, "sy:updatefrequency")),
    )
    return ParsedFeed(
        format=form,
        title=document.first_line(each(fields, *_TITLES)),
        site_url=_site(document, fields) or document.link(element, attribute(element, "href")),
        description=_description(document, fields),
        language=normalise_language(given) if given else document.language(element, None),
        authors=authors(document, fields),
        categories=categories(fields),
        updated_at=parse_date(
            attribute(element, "lastmod")
            or first_text(fields, "updated", "modified", "lastbuilddate", "dcterms:modified", "dc:date", "pubdate")
        ),
        icon_url=next(filter(None, icons), None) or image,
        image_url=image,
        ttl=timedelta(minutes=min(minutes, _MAX_TTL)) if minutes else None,
        update_period=_PERIODS.get(period or "daily", _PERIODS["daily"]) / max(frequency or 1, 1)
        if period or frequency
        else None,
        skip_hours=frozenset(
            hour % 24 for text in _inner(fields, "skiphours") if (hour := whole_number(text)) is not None and hour <= 24
        ),
        skip_days=frozenset(
            _WEEKDAYS.index(day) for text in _inner(fields, "skipdays") if (day := text.lower()) in _WEEKDAYS
        ),
        hub_urls=tuple(dict.fromkeys(_related(document, fields, "hub"))),
        self_url=next(iter(_related(document, fields, "self")), None),
        next_url=next(iter(_related(document, fields, "next")), None),
        generator=first_text(fields, "generator") or None,
    )


def _site(document: FeedDocument, fields: Fields) -> str | None:
    for link in fields.get("link", ()):
        if link.get("href") is None and (url := document.link(link, unescape_query(plain(link)))):
            return url
    return next(iter(_related(document, fields, "alternate")), None)


def _related(document: FeedDocument, fields: Fields, rel: str) -> list[str]:
    found = (
        document.link(link, link.get("href"))
        for link in fields.get("link", ())
        if rel in (link.get("rel") or "alternate").lower().split()
    )
    return [url for url in found if url]


def _description(document: FeedDocument, fields: Fields) -> str | None:
    for word, default in _DESCRIPTIONS:
        for element in fields.get(word, ()):
            if html := document.markup(element, default):
                return sanitise(html, document.base(element)) or None
    return None


def _inner(fields: Fields, word: str) -> list[str]:
    return [plain(inner) for element in fields.get(word, ()) for inner in element][:64]
