"""Our ParsedFeed under feedparser's names, so that an expectation written for feedparser can be put to it.

Only the fields we keep are there; asking for any other raises NotKept. Values compare by what they mean: HTML by its
tree, a title by its text, a URL by what a browser makes of it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import can_ada
from lxml import html as lxml_html

from headwater.feeds import Entry, GeoPoint, ParsedFeed
from headwater.feeds.entry_fields import name_in
from headwater.reading.sanitise import sanitise
from headwater.reading.text import without_markup


class NotKept(Exception):
    """The expectation asks for something that Headwater does not keep."""


class Kept(dict[str, object]):
    """A dict of feedparser's, with the fields we keep; fields we keep and found empty are absent, as they are there."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        super().__init__({name: value for name, value in fields.items() if value is not None and value != ()})
        self._known = frozenset(fields)

    def __getitem__(self, name: str) -> object:
        if name not in self._known:
            raise NotKept(name)
        return super().__getitem__(name)

    def __getattr__(self, name: str) -> object:
        return self[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._known:
            raise NotKept(str(name))
        return super().__contains__(name)

    has_key = __contains__

    def __eq__(self, other: object) -> bool:
        """Equal where every field of the other that we keep is equal."""
        return isinstance(other, dict) and all(
            self.get(name) == value for name, value in other.items() if name in self._known
        )

    __hash__ = None  # type: ignore[assignment]

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
        """As a dict's, but NotKept for a field we do not keep."""
        return super().__getitem__(name) if name in self else default


class Detail(Kept):
    """A text construct: a field without a value is None there, not absent."""

    def __getitem__(self, name: str) -> object:
        return self.get(name)


class _Text(str):
    """A text that equals another when `_same` says so."""

    __slots__ = ()

    def _same(self, other: str) -> bool:
        return str(self) == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self._same(str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Line(_Text):
    """A plain line: equal to HTML with the same text, spaces folded."""

    def _same(self, other: str) -> bool:
        return fold(self) in {fold(other), fold(without_markup(other))}


class Name(_Text):
    """A person: equal to the same name with an address beside it."""

    def _same(self, other: str) -> bool:
        return str(self) == other or str(self) == name_in(other)


class Url(_Text):
    """A URL: equal to what a browser makes of the other."""

    def _same(self, other: str) -> bool:
        return str(self) == other or _browsers(self) == _browsers(other)


class Html(_Text):
    """Safe HTML: equal to HTML with the same tree, to the same text, or to what our sanitiser leaves of the other."""

    stricter: list[str] = []  # noqa: RUF012

    def _same(self, other: str) -> bool:
        ours = tree(self)
        if ours == tree(other) or fold(str(self)) == fold(other):
            return True
        if ours == tree(sanitise(other, "http://example.com/")):
            Html.stricter.append(str(self))
            return True
        return fold(without_markup(self)) == fold(other)


def tree(markup: str) -> str:
    """A canonical form of HTML: attributes sorted, `rel` aside, spaces folded."""
    root = lxml_html.fragment_fromstring(f"<div>{markup}</div>")
    parts: list[str] = []
    for node in root.iter("*"):
        attributes = sorted(f"{name}={_browsers(value)}" for name, value in node.attrib.items() if name != "rel")
        parts.append(f"<{node.tag} {attributes}>{fold(node.text or '')}|{fold(node.tail or '')}")
    return "".join(parts)


def fold(text: str) -> str:
    """Text with runs of white space as one space."""
    return " ".join(text.split())


def _browsers(url: str) -> str:
    try:
        return can_ada.parse(url.strip()).href
    except ValueError:
        return url


def _when(moment: datetime | None) -> tuple[int, ...] | None:
    return tuple(moment.utctimetuple()) if moment else None


def _maybe(kind: Callable[[str], object], value: str | None) -> object:
    return kind(value) if value else None


def adapt_feed(parsed: ParsedFeed) -> Kept:
    """The feed's own fields."""
    title, about = Line(parsed.title), Html(parsed.description or "")
    people = [Kept({"name": Name(name)}) for name in parsed.authors] or None
    return Kept(
        {
            "title": title,
            "title_detail": Kept({"value": title}),
            **dict.fromkeys(("description", "subtitle", "tagline"), about),
            **dict.fromkeys(("subtitle_detail", "tagline_detail"), Kept({"value": about})),
            "link": _maybe(Url, parsed.site_url),
            "language": parsed.language,
            "authors": people,
            "author": _maybe(Name, ", ".join(parsed.authors[:1])),
            "author_detail": people[0] if people else None,
            "tags": [Tag(term=term) for term in parsed.categories] or None,
            "category": parsed.categories[0] if parsed.categories else None,
            **dict.fromkeys(("updated_parsed", "modified_parsed", "date_parsed"), _when(parsed.updated_at)),
            "icon": _maybe(Url, parsed.icon_url),
            "image": Kept({"href": Url(parsed.image_url), "url": Url(parsed.image_url)}) if parsed.image_url else None,
            "ttl": str(int(parsed.ttl.total_seconds() // 60)) if parsed.ttl else None,
            "generator": parsed.generator,
            "generator_detail": Kept({"name": parsed.generator}),
        }
    )


def adapt_entry(entry: Entry) -> Kept:
    """One entry's fields."""
    prose = Html(entry.summary or entry.content or "")
    content = Detail({"value": Html(entry.content or entry.summary or ""), "language": entry.language})
    people = [Kept({"name": Name(name)}) for name in entry.authors] or None
    files = [
        Kept({"href": Url(file.url), "url": Url(file.url), "type": file.type, "length": str(file.length or "")})
        for file in entry.enclosures
    ]
    return Kept(
        {
            "id": Url(entry.id),
            "guid": Url(entry.id),
            "link": _maybe(Url, entry.url),
            "title": Line(entry.title),
            "title_detail": Kept({"value": Line(entry.title)}),
            **dict.fromkeys(("summary", "description"), prose),
            "summary_detail": Detail({"value": prose, "language": entry.language}),
            "content": [content],
            "language": entry.language,
            "authors": people,
            "author": _maybe(Name, ", ".join(entry.authors[:1])),
            "author_detail": people[0] if people else None,
            "tags": [Tag(term=term) for term in entry.categories] or None,
            "category": entry.categories[0] if entry.categories else None,
            **dict.fromkeys(("published_parsed", "issued_parsed"), _when(entry.published_at)),
            **dict.fromkeys(
                ("updated_parsed", "modified_parsed", "date_parsed"), _when(entry.updated_at or entry.published_at)
            ),
            "created_parsed": _when(entry.published_at),
            "enclosures": files or None,
            "image": Kept({"href": Url(entry.image_url), "url": Url(entry.image_url)}) if entry.image_url else None,
            "comments": _maybe(Url, entry.comments_url),
            "slash_comments": str(entry.comment_count) if entry.comment_count is not None else None,
            "where": Point(entry.place),
        }
    )


class Point(Kept):
    """A place: points only, and no height."""

    def __init__(self, place: GeoPoint | None) -> None:
        super().__init__({"type": "Point", "coordinates": (place.longitude, place.latitude)} if place else {})


class Version(_Text):
    """A format: we do not tell Netscape's RSS 0.91 from Userland's."""

    def _same(self, other: str) -> bool:
        return str(self) == (other[:6] if other.startswith("rss091") else other)


class Tag(Kept):
    """A category: only its term is kept."""

    def __init__(self, term: str) -> None:
        super().__init__({"term": Line(term)})
