"""Everything of a site that is not a feed: front page, sections, archive, articles, pictures, robots.txt, sitemaps.

In: a Site, a path and the moment. Out: a Document, or None where the site has nothing at that path.
"""

import re
from collections.abc import Callable
from hashlib import blake2b
from html import escape

from headwater.lab.zoo import pictures, robots, sitemaps
from headwater.lab.zoo.documents import Document, html
from headwater.lab.zoo.layouts import article_page, feed_links, menu
from headwater.lab.zoo.press import Article, Press
from headwater.lab.zoo.sites import Site
from headwater.lab.zoo.tongues import TONGUES

_ARTICLE = re.compile(r"/[a-z]+/[a-z0-9-]+-(\d{1,12})\.html")
_MEDIA = re.compile(r"/(pictures|audio)/(\d{1,12})\.(?:svg|mp3)")
_LISTING = re.compile(r"/(archive|[a-z]+)/(\d{1,6})?")
_PER_PAGE = 25


class Library:
    """Finds the page that a path of a site names."""

    def __init__(self, press: Press, base_of: Callable[[str], str]) -> None:
        self._press = press
        self._base_of = base_of

    def find(self, site: Site, path: str, now: float) -> Document | None:
        if path == "/robots.txt":
            return robots.document(site, self._base_of(site.host))
        if path == "/":
            return html(self._front(site, now))
        if match := _ARTICLE.fullmatch(path):
            return self._article(site, path, int(match[1]), now)
        if match := _MEDIA.fullmatch(path):
            return _media(match[1], int(match[2]))
        if match := _LISTING.fullmatch(path):
            return self._listing(site, match[1], int(match[2] or 1), now)
        return _notice(site, path) or sitemaps.document(site, path, self._press, self._base_of(site.host), now)

    def _front(self, site: Site, now: float) -> str:
        older = '<p><a rel="next" href="/archive/2">Older stories</a></p>'
        return _listing_page(site, site.tagline, self._press.listed(site, now)[:_PER_PAGE], older)

    def _article(self, site: Site, path: str, number: int, now: float) -> Document | None:
        """A page exists under its own path only, and not before it is published."""
        newest = self._press.newest(site, now)
        if not 0 < number <= newest or not (article := self._press.article(site, number)).url.endswith(path):
            return None
        body = article_page(site, article).encode()
        etag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
        return Document(body, "text/html; charset=utf-8", etag, article.published_at.timestamp())

    def _listing(self, site: Site, name: str, page: int, now: float) -> Document | None:
        sections = TONGUES[site.language].sections
        if page < 1 or name not in (*sections, "archive"):
            return None
        newest = self._press.newest(site, now) - (page - 1) * _PER_PAGE
        articles = self._press.since(site, newest, _PER_PAGE)
        chosen = [article for article in articles if name in (article.section, "archive")]
        older = f'<p><a rel="next" href="/{name}/{page + 1}">Older stories</a></p>' if articles else ""
        return html(_listing_page(site, name.title(), chosen, older))


def _listing_page(site: Site, heading: str, articles: list[Article], after: str) -> str:
    cards = "\n".join(_card(article) for article in articles)
    members = '<p><a href="/members/secrets">For members</a></p>' if site.robots == "fenced" else ""
    return (
        f'<!doctype html>\n<html lang="{site.language}"><head><meta charset="utf-8"><title>{escape(site.title)}</title>'
        f"{feed_links(site)}</head>\n<body><nav>{menu(site, TONGUES[site.language].sections)}</nav>"
        f"<h1>{escape(site.title)}</h1><p>{escape(heading)}</p>\n{cards}\n{after}{members}</body></html>"
    )


def _card(article: Article) -> str:
    when = f'<time datetime="{article.published_at.isoformat()}">{article.published_at:%d %b, %H:%M}</time>'
    return (
        f'<section class="card"><h2><a href="{article.url}">{escape(article.title)}</a></h2>'
        f"<p>{escape(article.summary)} {when}</p></section>"
    )


def _media(kind: str, number: int) -> Document:
    if kind == "pictures":
        return Document(pictures.landscape(number), "image/svg+xml")
    return Document(pictures.AUDIO, "audio/mpeg")


def _notice(site: Site, path: str) -> Document | None:
    notices = {
        "/about": f"{site.title} is printed by nobody, for tests.",
        "/guestbook": "The guestbook is full.",
        "/members/secrets": "robots.txt asked you not to come here.",
    }
    return (
        html(f"<!doctype html><title>{escape(site.title)}</title><p>{notices[path]}</p>") if path in notices else None
    )
