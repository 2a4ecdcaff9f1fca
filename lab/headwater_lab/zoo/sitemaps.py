"""Sitemaps: one file, compressed, nested in an index, for news, or plain text."""

import zlib
from html import escape

from headwater_lab.zoo.articles import Article, Publisher
from headwater_lab.zoo.documents import ZooDocument
from headwater_lab.zoo.sites import Site, Sitemap

_XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_NEWS = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_ENTRANCES: dict[Sitemap, str] = {
    "xml": "/sitemap.xml",
    "gzip": "/sitemap.xml.gz",
    "index": "/sitemap_index.xml",
    "news": "/news-sitemap.xml",
    "text": "/sitemap.txt",
}
_PART = 50  # articles in one part of an index; parts 1 and 2 are fresh, 3 and 4 sit one index deeper


def entrances(site: Site) -> list[str]:
    return [_ENTRANCES[kind] for kind in site.sitemaps]


def document(site: Site, path: str, publisher: Publisher, base: str, now: float) -> ZooDocument | None:
    newest = publisher.newest(site, now)
    if "index" in site.sitemaps and (nested := _nested(site, path, publisher, base, newest)):
        return nested
    if path not in entrances(site):
        return None
    articles = publisher.since(site, newest, 200)
    match path:
        case "/sitemap.txt":
            return ZooDocument("\n".join(article.url for article in articles).encode(), "text/plain; charset=utf-8")
        case "/sitemap.xml.gz":
            return _compressed(_urlset(articles))
        case "/news-sitemap.xml":
            return _xml(_news(site, articles[:100]))
        case _:
            return _xml(_urlset(articles))


def _nested(site: Site, path: str, publisher: Publisher, base: str, newest: int) -> ZooDocument | None:
    part = {"/sitemaps/1.xml": 0, "/sitemaps/2.xml.gz": 1, "/sitemaps/3.xml": 2, "/sitemaps/4.xml.gz": 3}.get(path)
    if path == "/sitemap_index.xml":
        return _xml(_index(base, "1.xml", "2.xml.gz", "older.xml"))
    if path == "/sitemaps/older.xml":
        return _xml(_index(base, "3.xml", "4.xml.gz", "missing.xml"))
    if part is None:
        return None
    text = _urlset(publisher.since(site, newest - part * _PART, _PART))
    return _compressed(text) if path.endswith(".gz") else _xml(text)


def _index(base: str, *names: str) -> str:
    parts = "".join(f"<sitemap><loc>{base}/sitemaps/{name}</loc></sitemap>" for name in names)
    return f"<sitemapindex {_XMLNS}>{parts}</sitemapindex>"


def _urlset(articles: list[Article]) -> str:
    urls = "\n".join(
        f"<url><loc>{escape(a.url)}</loc><lastmod>{a.published_at.isoformat()}</lastmod></url>" for a in articles
    )
    return f"<urlset {_XMLNS}>\n{urls}\n</urlset>"


def _news(site: Site, articles: list[Article]) -> str:
    name = f"<news:name>{escape(site.title)}</news:name><news:language>{site.language}</news:language>"
    urls = "\n".join(
        f"<url><loc>{escape(a.url)}</loc><news:news><news:publication>{name}</news:publication>"
        f"<news:publication_date>{a.published_at.isoformat()}</news:publication_date>"
        f"<news:title>{escape(a.title)}</news:title></news:news></url>"
        for a in articles
    )
    return f"<urlset {_XMLNS} {_NEWS}>\n{urls}\n</urlset>"


def _xml(text: str) -> ZooDocument:
    return ZooDocument((_DECLARATION + text).encode(), "application/xml")


def _compressed(text: str) -> ZooDocument:
    return ZooDocument(zlib.compress((_DECLARATION + text).encode(), wbits=31), "application/gzip")
