"""What a page declares of its article: JSON-LD first, then Open Graph, then other <meta>, then plain elements. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Generic, TypeVar

from lxml.html import HtmlElement

from headwater.articles.types import Finder
from headwater.extraction import linked_data
from headwater.extraction.dates import guess_date, page_date
from headwater.extraction.words import distinct, one_line
from headwater.reading.links import link_target

MAX_METAS = 500
MAX_OPEN_GRAPH = 50

T = TypeVar("T")

_BEFORE_SITE = re.compile(r"\s+[|·•»–—:-]+\s+(?=[^|·•»–—]*$)")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?\b")
_DATES = (
    "article:published_time",
    "og:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dc.date.issued",
    "pubdate",
    "parsely-pub-date",
    "sailthru.date",
    "publish-date",
    "publication_date",
)
_LISTED = re.compile(r"\s*[,;|]\s*")
_BY = re.compile(r"^(?:by|von|par|por|di|door|av|af)\s+(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A value, and where it stood."""

    value: T
    finder: Finder


@dataclass(frozen=True, slots=True)
class Declared:
    """What a page declares; each field from the first place that has it."""

    title: Found[str] | None = None
    titles: tuple[str, ...] = ()  # in every place
    body: str | None = None
    description: Found[str] | None = None
    keywords: Found[tuple[str, ...]] | None = None
    authors: Found[tuple[str, ...]] | None = None
    published_at: Found[datetime] | None = None
    canonical_url: Found[str] | None = None
    section: Found[str] | None = None
    language: Found[str] | None = None
    image_url: Found[str] | None = None
    open_graph: Mapping[str, str] = field(default_factory=dict[str, str])
    linked_data: tuple[object, ...] = ()


def declared_in(tree: HtmlElement, url: str) -> Declared:
    """Read what the page says of itself."""
    documents = linked_data.read_scripts(tree)
    article = linked_data.article_in(documents)
    metas = _metas(tree)
    base = _base(tree, url)
    titles = [Found(_without_site(one.value, metas, url), one.finder) for one in _titles(tree, article, metas)]
    body = article.get("articleBody")
    return Declared(
        title=titles[0] if titles else None,
        titles=distinct(title.value for title in titles),
        body=body if isinstance(body, str) else None,
        description=_first(
            _lines(article, metas, "description", "og:description", "description", "twitter:description")
        ),
        keywords=_keywords(article, metas),
        authors=_authors(article, metas, tree),
        published_at=_published(tree, article, metas, url),
        canonical_url=_first(_urls(_canonicals(tree, article, metas), base)),
        section=_first(_lines(article, metas, "articleSection", "article:section", "section")),
        language=_first(_languages(tree, article, metas)),
        image_url=_first(_urls(_images(article, metas), base)),
        open_graph=_open_graph(metas),
        linked_data=tuple(linked_data.bounded(documents)),
    )


def _metas(tree: HtmlElement) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, meta in enumerate(tree.iter("meta")):
        if number >= MAX_METAS:
            break
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        content = one_line(meta.get("content"), longest=5_000)
        if name and content:
            found.setdefault(name.strip().lower()[:100], []).append(content)
    return found


def _base(tree: HtmlElement, url: str) -> str:
    element = next(tree.iter("base"), None)
    return link_target(element.get("href") if element is not None else None, url) or url


def _first(found: Iterable[Found[T]]) -> Found[T] | None:
    return next(iter(found), None)


def _finder(name: str) -> Finder:
    return Finder.OPEN_GRAPH if name.startswith(("og:", "article:")) else Finder.META


def _lines(
    article: Mapping[str, object], metas: Mapping[str, list[str]], name: str, *meta_names: str
) -> Iterator[Found[str]]:
    for text in linked_data.texts_of(article.get(name), "name", "@value"):
        if line := one_line(text):
            yield Found(line, Finder.JSON_LD)
    for meta_name in meta_names:
        if (values := metas.get(meta_name)) and (line := one_line(values[0])):
            yield Found(line, _finder(meta_name))


def _titles(tree: HtmlElement, article: Mapping[str, object], metas: Mapping[str, list[str]]) -> Iterator[Found[str]]:
    yield from _lines(article, metas, "headline", "og:title", "twitter:title", "dc.title", "title")
    headings = [line for heading in _some(tree, "h1") if (line := one_line(heading.text_content()))]
    if len(headings) == 1:
        yield Found(headings[0], Finder.HTML)
    for title in _some(tree, "title"):
        if line := one_line(title.text_content()):
            yield Found(line, Finder.HTML)
    for heading in headings if len(headings) > 1 else ():
        yield Found(heading, Finder.HTML)


def _without_site(title: str, metas: Mapping[str, list[str]], url: str) -> str:
    """A title without the name of its site at the end: by what the site calls itself, or by its address."""
    *before, last = _BEFORE_SITE.split(title, maxsplit=1)
    name = _letters(last)
    called = [_letters(value) for value in metas.get("og:site_name", [])[:1]]
    host = url.partition("://")[2].partition("/")[0].lower()
    is_in_host = name in _letters(host) or any(len(label) >= 4 and label in name for label in host.split("."))
    is_site = bool(name) and len(last.split()) <= 5 and (name in called or is_in_host)
    return before[0] if before and is_site else title


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _some(tree: HtmlElement, tag: str) -> Iterator[HtmlElement]:
    for number, element in enumerate(tree.iter(tag)):
        if number == 3:
            return
        yield element


def _keywords(article: Mapping[str, object], metas: Mapping[str, list[str]]) -> Found[tuple[str, ...]] | None:
    places = (
        (linked_data.texts_of(article.get("keywords"), "name"), Finder.JSON_LD),
        (metas.get("article:tag", []), Finder.OPEN_GRAPH),
        (metas.get("keywords", []) or metas.get("news_keywords", []), Finder.META),
    )
    for values, finder in places:
        words = (word for value in values for word in _LISTED.split(value))
        if found := distinct(one_line(word, longest=100) for word in words):
            return Found(found, finder)
    return None


def _authors(
    article: Mapping[str, object], metas: Mapping[str, list[str]], tree: HtmlElement
) -> Found[tuple[str, ...]] | None:
    named = tree.xpath("//a[@rel='author'] | //*[@itemprop='author']//*[@itemprop='name']")
    links = (element.text_content() for element in named[:5])
    places = (
        (linked_data.texts_of(article.get("author"), "name"), Finder.JSON_LD),
        (metas.get("author", []) or metas.get("dc.creator", []) or metas.get("parsely-author", []), Finder.META),
        (metas.get("article:author", []), Finder.OPEN_GRAPH),
        (links, Finder.HTML),
    )
    for values, finder in places:
        if found := distinct(person(value) for value in values):
            return Found(found, finder)
    return None


def person(text: str) -> str | None:
    """A name, without the word before it; None for what is none: an address of a profile, a paragraph."""
    name = _BY.sub("", one_line(text, longest=300) or "")
    return None if not name or "://" in name or name.startswith("@") or len(name) > 100 else name


def _published(
    tree: HtmlElement, article: Mapping[str, object], metas: Mapping[str, list[str]], url: str
) -> Found[datetime] | None:
    written = [
        (text, Finder.JSON_LD)
        for name in ("datePublished", "dateCreated")
        for text in linked_data.texts_of(article.get(name), "@value")
    ]
    written += [(value, _finder(name)) for name in _DATES for value in metas.get(name, [])[:1]]
    found = [Found(moment, finder) for text, finder in written if (moment := page_date(text))]
    if not found:
        guessed = guess_date(tree, url)
        return Found(guessed, Finder.HTML) if guessed else None
    return next((one for one in found if _adds_time(one.value, found[0].value)), found[0])


def _adds_time(moment: datetime, day: datetime) -> bool:
    """Whether this is the time of a day that is given without one."""
    return day.time() == time.min and moment.time() != time.min and moment.date() == day.date()


def _canonicals(
    tree: HtmlElement, article: Mapping[str, object], metas: Mapping[str, list[str]]
) -> Iterator[Found[str]]:
    for number, element in enumerate(tree.iter("link")):
        if number >= MAX_METAS:
            break
        if "canonical" in (element.get("rel") or "").lower().split() and (href := element.get("href")):
            yield Found(href, Finder.HTML)
    yield from (Found(value, Finder.OPEN_GRAPH) for value in metas.get("og:url", [])[:1])
    for name in ("mainEntityOfPage", "url"):
        yield from (Found(text, Finder.JSON_LD) for text in linked_data.texts_of(article.get(name), "@id", "url"))


def _images(article: Mapping[str, object], metas: Mapping[str, list[str]]) -> Iterator[Found[str]]:
    for name in ("og:image", "og:image:url", "og:image:secure_url"):
        yield from (Found(value, Finder.OPEN_GRAPH) for value in metas.get(name, [])[:1])
    yield from (
        Found(text, Finder.JSON_LD) for text in linked_data.texts_of(article.get("image"), "url", "contentUrl", "@id")
    )
    for name in ("twitter:image", "twitter:image:src", "thumbnail"):
        yield from (Found(value, Finder.META) for value in metas.get(name, [])[:1])


def _urls(found: Iterable[Found[str]], base: str) -> Iterator[Found[str]]:
    for one in found:
        if url := link_target(one.value, base):
            yield Found(url, one.finder)


def _languages(
    tree: HtmlElement, article: Mapping[str, object], metas: Mapping[str, list[str]]
) -> Iterator[Found[str]]:
    places = [
        (tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang"), Finder.HTML),
        *((text, Finder.JSON_LD) for text in linked_data.texts_of(article.get("inLanguage"), "alternateName", "name")),
        *((value, Finder.OPEN_GRAPH) for value in metas.get("og:locale", [])[:1]),
        *(
            (value, Finder.META)
            for name in ("content-language", "language", "dc.language")
            for value in metas.get(name, [])[:1]
        ),
    ]
    for text, finder in places:
        if language := language_tag(text or ""):
            yield Found(language, finder)


def language_tag(text: str) -> str | None:
    """A language as in en, pt-BR or zh-Hant-TW; None for what is none."""
    tag = _LANGUAGE.match(text.strip())
    if tag is None:
        return None
    language, script, region = tag.groups()
    return "-".join(part for part in (language.lower(), script and script.title(), region and region.upper()) if part)


def _open_graph(metas: Mapping[str, list[str]]) -> dict[str, str]:
    """Its fields under their own names: `og:title` is `title`, `article:section` stays what it is."""
    names = [name for name in metas if name.startswith(("og:", "article:"))]
    return {name.removeprefix("og:"): metas[name][0][:1_000] for name in names[:MAX_OPEN_GRAPH]}
