"""What a page declares about its article: in JSON-LD, Open Graph, other <meta> and plain elements, in this order.

Pure, except that htmldate accepts no date in the future.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from htmldate import find_date
from lxml.html import HtmlElement

from headwater.articles.types import Extracted, Finder
from headwater.extraction import linked_data
from headwater.extraction.markup import distinct, short_line
from headwater.reading.dates import parse_date
from headwater.reading.links import link_target

MAX_METAS = 500
MAX_OPEN_GRAPH = 50

T = TypeVar("T")
Found: TypeAlias = tuple[T, Finder]
"""A value, and where it came from."""

_BEFORE_SITE = re.compile(r"\s+[|·•»–—:-]+\s+(?=[^|·•»–—]*$)")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?\b")
_DATES = (
    *("article:published_time", "og:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "pubdate"),
    *("parsely-pub-date", "sailthru.date", "publish-date", "publication_date"),
)
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
_LISTED = re.compile(r"\s*[,;|]\s*")
_BY = re.compile(r"^(?:by|von|par|por|di|door|av|af)\s+(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a page declares: its record, each field from the first place that has it; all its titles; and a text."""

    record: Extracted
    titles: tuple[str, ...]
    body: str | None


@dataclass(frozen=True, slots=True)
class _Head:
    tree: HtmlElement
    url: str
    article: Mapping[str, object]
    metas: Mapping[str, list[str]]

    def texts(self, name: str, *names: str) -> list[str]:
        return linked_data.texts_of(self.article.get(name), *names)

    def first(self, *names: str) -> Iterator[Found[str]]:
        for name in names:
            finder = Finder.OPEN_GRAPH if name.startswith(("og:", "article:")) else Finder.META
            yield from ((value, finder) for value in self.metas.get(name, [])[:1])


def declared_in(tree: HtmlElement, url: str) -> Declared:
    documents = linked_data.read_scripts(tree)
    page = _Head(tree, url, linked_data.article_in(documents), _metas(tree))
    element = next(tree.iter("base"), None)
    base = link_target(element.get("href") if element is not None else None, url) or url
    titles = [(_without_site(title, page), finder) for title, finder in _titles(page)]
    body = page.article.get("articleBody")
    open_graph = [name for name in page.metas if name.startswith(("og:", "article:"))][:MAX_OPEN_GRAPH]
    fields: dict[str, Found[Any] | None] = {
        "title": titles[0] if titles else None,
        "description": next(_lines(page, "description", "og:description", "description", "twitter:description"), None),
        "keywords": _keywords(page),
        "authors": _authors(page),
        "published_at": _published(page),
        "canonical_url": _first_url(_canonicals(page), base),
        "section": next(_lines(page, "articleSection", "article:section", "section"), None),
        "language": _language(page),
        "image_url": _first_url(_images(page), base),
    }
    found = {name: value for name, value in fields.items() if value}
    record = Extracted(
        **{name: value for name, (value, _) in found.items()},
        origins={name: finder for name, (_, finder) in found.items()},
        # `og:title` is stored as `title`; `article:section` keeps its name.
        open_graph={name.removeprefix("og:"): page.metas[name][0][:1_000] for name in open_graph},
        linked_data=tuple(linked_data.bounded(documents)),
    )
    return Declared(record, distinct(title for title, _ in titles), body if isinstance(body, str) else None)


def _metas(tree: HtmlElement) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for meta in islice(tree.iter("meta"), MAX_METAS):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        content = short_line(meta.get("content"), longest=5_000)
        if name and content:
            found.setdefault(name.strip().lower()[:100], []).append(content)
    return found


def _lines(page: _Head, name: str, *meta_names: str) -> Iterator[Found[str]]:
    in_json_ld = ((text, Finder.JSON_LD) for text in page.texts(name, "name", "@value"))
    for text, finder in (*in_json_ld, *page.first(*meta_names)):
        if line := short_line(text):
            yield line, finder


def _titles(page: _Head) -> Iterator[Found[str]]:
    yield from _lines(page, "headline", "og:title", "twitter:title", "dc.title", "title")
    headings, titles = (
        [line for element in islice(page.tree.iter(tag), 3) if (line := short_line(element.text_content()))]
        for tag in ("h1", "title")
    )
    # A page with several <h1> uses them for other things, too.
    for line in (*headings, *titles) if len(headings) == 1 else (*titles, *headings):
        yield line, Finder.HTML


def _without_site(title: str, page: _Head) -> str:
    """A title without the name of its site at the end: by og:site_name, or by the host."""
    *before, last = _BEFORE_SITE.split(title, maxsplit=1)
    name = _letters(last)
    site_names = [_letters(value) for value in page.metas.get("og:site_name", [])[:1]]
    host = page.url.partition("://")[2].partition("/")[0].lower()
    is_in_host = name in _letters(host) or any(len(label) >= 4 and label in name for label in host.split("."))
    is_site = bool(name) and len(last.split()) <= 5 and (name in site_names or is_in_host)
    return before[0] if before and is_site else title


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _keywords(page: _Head) -> Found[tuple[str, ...]] | None:
    places = (
        (page.texts("keywords", "name"), Finder.JSON_LD),
        (page.metas.get("article:tag", []), Finder.OPEN_GRAPH),
        (page.metas.get("keywords", []) or page.metas.get("news_keywords", []), Finder.META),
    )
    for values, finder in places:
        if words := distinct(short_line(word, longest=100) for value in values for word in _LISTED.split(value)):
            return words, finder
    return None


def _authors(page: _Head) -> Found[tuple[str, ...]] | None:
    metas = page.metas
    named = page.tree.xpath("//a[@rel='author'] | //*[@itemprop='author']//*[@itemprop='name']")
    places = (
        (page.texts("author", "name"), Finder.JSON_LD),
        (metas.get("author", []) or metas.get("dc.creator", []) or metas.get("parsely-author", []), Finder.META),
        (metas.get("article:author", []), Finder.OPEN_GRAPH),
        ((element.text_content() for element in named[:5]), Finder.HTML),
    )
    found = ((distinct(map(person, values)), finder) for values, finder in places)
    return next((one for one in found if one[0]), None)


def person(text: str) -> str | None:
    """A name, without the word before it; None for anything else, such as the URL of a profile or a paragraph."""
    name = _BY.sub("", short_line(text, longest=300) or "")
    return None if not name or "://" in name or name.startswith("@") or len(name) > 100 else name


def _published(page: _Head) -> Found[datetime] | None:
    in_json_ld = [text for name in ("datePublished", "dateCreated") for text in page.texts(name, "@value")]
    written = (*((text, Finder.JSON_LD) for text in in_json_ld), *page.first(*_DATES))
    found = [(moment, finder) for text, finder in written if (moment := page_date(text))]
    if not found:
        try:  # the date in the page's markup or URL; never one that is only in its text
            guess = find_date(page.tree, extensive_search=False, original_date=True, url=page.url or None)
        except (ValueError, TypeError, OverflowError, RecursionError):  # of what a page may contain
            return None
        guessed = page_date(guess) if guess else None
        return (guessed, Finder.HTML) if guessed else None
    first, _ = found[0]
    if first.time() == time.min:  # another place may give the time of that day
        timed = (one for one in found if one[0].time() != time.min and one[0].date() == first.date())
        return next(timed, found[0])
    return found[0]


def page_date(text: str) -> datetime | None:
    """A date in any form, or seconds or milliseconds since 1970; None outside 1990 to 2100."""
    moment, text = parse_date(text), text.strip()
    if not moment and text.isascii() and text.isdigit() and 9 <= len(text) <= 13:
        seconds = int(text)
        moment = datetime.fromtimestamp(seconds / 1000 if seconds > 10**11 else seconds, UTC)
    return moment if moment and EARLIEST <= moment < LATEST else None


def _canonicals(page: _Head) -> Iterator[Found[str]]:
    for element in islice(page.tree.iter("link"), MAX_METAS):
        if "canonical" in (element.get("rel") or "").lower().split() and (href := element.get("href")):
            yield href, Finder.HTML
    yield from page.first("og:url")
    for name in ("mainEntityOfPage", "url"):
        yield from ((text, Finder.JSON_LD) for text in page.texts(name, "@id", "url"))


def _images(page: _Head) -> Iterator[Found[str]]:
    yield from page.first("og:image", "og:image:url", "og:image:secure_url")
    yield from ((text, Finder.JSON_LD) for text in page.texts("image", "url", "contentUrl", "@id"))
    yield from page.first("twitter:image", "twitter:image:src", "thumbnail")


def _first_url(found: Iterable[Found[str]], base: str) -> Found[str] | None:
    return next(((url, finder) for text, finder in found if (url := link_target(text, base))), None)


def _language(page: _Head) -> Found[str] | None:
    places = (
        (page.tree.get("lang") or page.tree.get("{http://www.w3.org/XML/1998/namespace}lang") or "", Finder.HTML),
        *((text, Finder.JSON_LD) for text in page.texts("inLanguage", "alternateName", "name")),
        *page.first("og:locale", "content-language", "language", "dc.language"),
    )
    for text, finder in places:
        if tag := _LANGUAGE.match(text.strip()):  # en, pt-BR or zh-Hant-TW
            language, script, region = tag.groups("")
            return "-".join(filter(None, (language.lower(), script.title(), region.upper()))), finder
    return None
