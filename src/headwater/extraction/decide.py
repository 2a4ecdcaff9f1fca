"""Which article a page is, and the outcome for the frontier. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import can_ada

from headwater.articles.decide import is_of_site
from headwater.articles.fingerprint import NEAR_BITS, distance
from headwater.articles.types import Extracted, Saved
from headwater.errors import InvalidUrl
from headwater.extraction.types import NO_SELECTORS, Failed, Failure, Selectors, SourceSelectors
from headwater.frontier.types import Settled
from headwater.types import ArticleId
from headwater.urls import site_of, url_key


@dataclass(frozen=True, slots=True)
class KnownArticle:
    """A stored article: the fields that a page may add, and the fingerprints of its text if it has one."""

    id: ArticleId | None  # None before it is stored
    url: str
    url_key: bytes
    title: str
    author: str | None
    summary: str | None
    published_at: datetime | None
    content_hash: bytes | None
    simhash: int | None


def selectors_for(url: str, source: SourceSelectors | None) -> Selectors:
    """The selectors of a page's source, if one of the source's own sites served the page."""
    if source is None:
        return NO_SELECTORS
    try:
        is_own = site_of(url) in {site_of(one) for one in source.urls}
    except InvalidUrl:
        return NO_SELECTORS
    return source.selectors if is_own else NO_SELECTORS


def keys_of(urls: Sequence[str | None]) -> list[bytes]:
    """The keys of those that are URLs, each once, in order."""
    keys: dict[bytes, None] = {}
    for url in urls:
        try:
            keys.setdefault(url_key(url or ""))
        except InvalidUrl:
            continue
    return list(keys)


def alias_of(url: str, canonical: str | None) -> str | None:
    """The canonical URL if it is plausible: of the same site, and not the front page, which some name everywhere."""
    if canonical is None:
        return None
    try:
        there = can_ada.parse(canonical)
        is_same_site = site_of(url) == site_of(canonical)
    except (ValueError, InvalidUrl):
        return None
    is_front_page = there.pathname == "/" and not there.search
    return canonical if is_same_site and not is_front_page else None


def choose_article(
    url: str, final_url: str, alias: str | None, found: Extracted, known: Mapping[bytes, KnownArticle]
) -> tuple[str, KnownArticle | None]:
    """The URL under which a page's article is stored, and the article if it exists.

    The page's own URL counts first, then its canonical URL. That of a stored article counts only if the texts agree:
    many sites name one canonical URL on all pages. A page of one site never becomes an article of another, whatever a
    feed says (it may give an entry any id and link).
    """
    for key in keys_of([url, final_url]):
        if key in known and _may_write(known[key], key, final_url):
            return known[key].url, known[key]
    if alias is None:
        return final_url, None
    for key in keys_of([alias]):
        if key in known:
            is_it = _may_be(known[key], found) and _may_write(known[key], key, final_url)
            return (known[key].url, known[key]) if is_it else (final_url, None)
    return alias, None


def _may_write(article: KnownArticle, key: bytes, final_url: str) -> bool:
    """Whether the article has this key, or belongs to the site that served the page."""
    try:
        return article.url_key == key or is_of_site(article.url, article.url_key, site_of(final_url))
    except InvalidUrl:
        return False


def _may_be(article: KnownArticle, found: Extracted) -> bool:
    if article.content_hash is None or article.content_hash == found.content_hash:
        return True
    if article.simhash is None or found.simhash is None:
        return False
    return distance(article.simhash, found.simhash) <= 4 * NEAR_BITS  # perhaps an older version


def about_to_be(url: str, found: Extracted) -> KnownArticle:
    """The article that this record will become, for other pages of the same batch."""
    author = ", ".join(found.authors) or None
    return KnownArticle(
        None, url, url_key(url), found.title or "", author, found.description, found.published_at, found.content_hash,
        found.simhash,
    )  # fmt: skip


def settle(url: str, found: Extracted | Failed, saved: Saved | None) -> Settled:
    if isinstance(found, Failed):
        return Settled.dead(url, found.failure.value)
    if found.content_hash is None:
        return Settled.dead(url, Failure.NO_TEXT.value)
    return Settled(url, found.content_hash, changed=saved is None or saved.text_changed)
