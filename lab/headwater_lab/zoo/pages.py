"""All of a site but its feeds: pages, pictures, robots.txt, sitemaps; and the zoo's own front page."""

import re
from collections.abc import Callable
from hashlib import blake2b
from html import escape
from itertools import groupby

from headwater_lab.zoo import sitemaps
from headwater_lab.zoo.articles import Article, Publisher
from headwater_lab.zoo.documents import ZooDocument, html
from headwater_lab.zoo.exhibits import EXHIBITS, SIGHTS, Exhibit, Sight
from headwater_lab.zoo.languages import LANGUAGES
from headwater_lab.zoo.layouts import article_page, declares_icon, feed_links, icon_link, menu
from headwater_lab.zoo.newsrooms import EVENTS
from headwater_lab.zoo.pictures import favicon, icon, landscape
from headwater_lab.zoo.sites import Layout, Robots, Site

_RULES: dict[Robots, str] = {
    "open": "User-agent: *\nAllow: /\n",
    "delay": "User-agent: *\nCrawl-delay: 2\nAllow: /\n",
    "fenced": "# Members only behind the fence.\nUser-agent: *\nDisallow: /members/\nDisallow: /*?print=\n",
    "closed": "User-agent: *\nDisallow: /\n",
}


def _robots(site: Site, base: str) -> ZooDocument | None:
    match site.robots:
        case "none":
            return None
        case "broken":
            return html("<h1>Internal error</h1>", status=500)
        case "garbage":
            return html("<!doctype html><title>Welcome</title><p>Disallow: nothing, we love robots!</p>")
        case rules:
            lines = "".join(f"Sitemap: {base}{path}\n" for path in sitemaps.entrances(site))
            return ZooDocument((_RULES[rules] + lines).encode(), "text/plain; charset=utf-8")


_FRAME = b"\xff\xfb\x90\x00" + bytes(413)  # one silent MPEG-1 layer III frame: 128 kbit/s at 44.1 kHz
AUDIO = _FRAME * 20
AUDIO_BYTES = len(AUDIO)

_ARTICLE = re.compile(r"/[a-z]+/[a-z0-9-]+-(\d{1,12})\.html")
_MEDIA = re.compile(r"/(pictures|audio)/(\d{1,12})\.(?:png|mp3)")
_LISTING = re.compile(r"/(archive|[a-z]+)/(\d{1,6})?")
_PER_PAGE = 25
_AT_USUAL_PLACE: frozenset[Layout] = frozenset({"busy", "paywall"})  # where its icon is; those of tables have none


class PageRenderer:
    def __init__(self, publisher: Publisher, base_of: Callable[[str], str]) -> None:
        self._publisher = publisher
        self._base_of = base_of

    def find(self, site: Site, path: str, now: float) -> ZooDocument | None:
        if path == "/robots.txt":
            return _robots(site, self._base_of(site.host))
        if path == "/":
            return html(self._front(site, now))
        if match := _ARTICLE.fullmatch(path):
            return self._article(site, path, int(match[1]), now)
        if match := _MEDIA.fullmatch(path):
            if match[1] == "pictures":
                return ZooDocument(landscape(int(match[2])), "image/png")
            return ZooDocument(AUDIO, "audio/mpeg")
        if path == "/icon.png" and declares_icon(site):
            return ZooDocument(icon(site.host), "image/png")
        if path == "/favicon.ico" and site.layout in _AT_USUAL_PLACE:
            return ZooDocument(favicon(site.host), "image/vnd.microsoft.icon")
        if match := _LISTING.fullmatch(path):
            return self._listing(site, match[1], int(match[2] or 1), now)
        return _notice(site, path) or sitemaps.document(site, path, self._publisher, self._base_of(site.host), now)

    def _front(self, site: Site, now: float) -> str:
        older = '<p><a rel="next" href="/archive/2">Older stories</a></p>'
        return _listing_page(site, site.tagline, self._publisher.listed(site, now)[:_PER_PAGE], older)

    def _article(self, site: Site, path: str, number: int, now: float) -> ZooDocument | None:
        """A page exists under its own path only, and not before it is published."""
        newest = self._publisher.newest(site, now)
        if not 0 < number <= newest or not (article := self._publisher.article(site, number)).url.endswith(path):
            return None
        body = article_page(site, article).encode()
        etag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
        return ZooDocument(body, "text/html; charset=utf-8", etag, article.published_at.timestamp())

    def _listing(self, site: Site, name: str, page: int, now: float) -> ZooDocument | None:
        if page < 1 or name not in (*_sections(site), "archive"):
            return None
        newest = self._publisher.newest(site, now) - (page - 1) * _PER_PAGE
        articles = self._publisher.since(site, newest, _PER_PAGE)
        chosen = [article for article in articles if name in (article.section, "archive")]
        older = f'<p><a rel="next" href="/{name}/{page + 1}">Older stories</a></p>' if articles else ""
        return html(_listing_page(site, name.title(), chosen, older))


def _sections(site: Site) -> tuple[str, ...]:
    return LANGUAGES[site.language].sections if site.newsroom is None else tuple(event.topic for event in EVENTS)


def _listing_page(site: Site, heading: str, articles: list[Article], after: str) -> str:
    cards = "\n".join(_card(article) for article in articles)
    members = '<p><a href="/members/secrets">For members</a></p>' if site.robots == "fenced" else ""
    return (
        f'<!doctype html>\n<html lang="{site.language}"><head><meta charset="utf-8"><title>{escape(site.title)}</title>'
        f"{feed_links(site)}{icon_link(site)}</head>\n<body><nav>{menu(site, _sections(site))}</nav>"
        f"<h1>{escape(site.title)}</h1><p>{escape(heading)}</p>\n{cards}\n{after}{members}</body></html>"
    )


def _card(article: Article) -> str:
    when = f'<time datetime="{article.published_at.isoformat()}">{article.published_at:%d %b, %H:%M}</time>'
    return (
        f'<section class="card"><h2><a href="{article.url}">{escape(article.title)}</a></h2>'
        f"<p>{escape(article.summary)} {when}</p></section>"
    )


def _notice(site: Site, path: str) -> ZooDocument | None:
    notices = {
        "/about": f"{site.title} is a site for tests.",
        "/guestbook": "The guestbook is full.",
        "/members/secrets": "robots.txt asked you not to come here.",
    }
    page = f"<!doctype html><title>{escape(site.title)}</title><p>{notices.get(path)}</p>"
    return html(page) if path in notices else None


_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 3rem auto; padding: 0 1.5rem }
h1 { font-size: 2rem; margin-bottom: .2rem } h2 { font-size: 1.1rem; margin-top: 2.5rem }
table { width: 100%; border-collapse: collapse } td { padding: .4rem .6rem .4rem 0; border-top: 1px solid var(--line) }
td:first-child { width: 15rem } td:last-child { width: 9rem; text-align: right; opacity: .7; font-size: .9rem }
a { color: #0a6e8a; text-decoration: none } a:hover { text-decoration: underline }
@media (prefers-color-scheme: dark) { a { color: #6cc5df } }
"""


def landing_page(url_of: Callable[[Exhibit | Sight], str]) -> str:
    halls = "".join(
        f"<h2>{escape(group)}</h2><table>{''.join(_row(one, url_of(one)) for one in members)}</table>\n"
        for group, members in groupby((*EXHIBITS, *SIGHTS), key=lambda one: one.group)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>The zoo</title><style>{_STYLE}</style>'
        f'<meta name="viewport" content="width=device-width"></head>\n<body><h1>The zoo</h1><p>A small web on this'
        f" machine: {len(EXHIBITS)} feeds to follow, good and bad, and the sites behind them."
        f' <a href="/__zoo__/visits">Requests</a></p>\n{halls}</body></html>'
    )


def _row(one: Exhibit | Sight, url: str) -> str:
    expects = one.expects.replace("_", " ") if isinstance(one, Exhibit) else ""
    return f'<tr><td><a href="{url}">{escape(one.name)}</a></td><td>{escape(one.caption)}</td><td>{expects}</td></tr>'
