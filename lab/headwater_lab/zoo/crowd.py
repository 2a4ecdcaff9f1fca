"""Any number of hosts `h<N>.crowd.zoo.test`, each with any number of feeds of 25 entries, for benchmarks.

Feeds and pages are made on request, so that 20,000 feeds need no memory. A feed changes only with the edition of the
crowd; with `?fresh=1` every response is an edition of its own.
"""

import re
from email.utils import formatdate
from functools import cache, lru_cache
from html import escape
from itertools import count

from aiohttp import web

from headwater_lab.zoo.articles import compose
from headwater_lab.zoo.documents import ZooDocument, ZooRequest, respond
from headwater_lab.zoo.languages import LANGUAGES
from headwater_lab.zoo.seeded import SeededChoice
from headwater_lab.zoo.sites import DOMAIN

ENTRIES = 25
_HOST = re.compile(rf"h(\d{{1,9}})\.crowd\.{re.escape(DOMAIN)}")
_FEED = re.compile(r"/feed/(\d{1,5})\.xml")
_ARTICLE = re.compile(r"/article/(\d{1,18})\.html")
_FEEDS_PER_HOST = 100_000
_STORIES = 256
_FRESH_FROM = 1_000_000  # editions made for ?fresh=1, far from those that the crowd goes to
_DAY = 86_400


class Crowd:
    """Answers for every host of the crowd; `edition` is the current version of all its feeds."""

    def __init__(self) -> None:
        self.edition = 0
        self._fresh = count(_FRESH_FROM)

    def answer(self, call: ZooRequest) -> web.Response | None:
        """None for other paths: the crowd has no robots.txt, for one."""
        if not (host := _HOST.fullmatch(call.host)):
            return None
        if match := _FEED.fullmatch(call.path):
            return self._feed(call, int(host[1]), int(match[1]))
        if match := _ARTICLE.fullmatch(call.path):
            return respond(call.request, _page(int(host[1]), int(match[1])))
        return None

    def _feed(self, call: ZooRequest, host: int, feed: int) -> web.Response:
        is_fresh = "fresh" in call.request.query
        edition = next(self._fresh) if is_fresh else self.edition
        printed_at = call.now // _DAY * _DAY
        first = (edition * _FEEDS_PER_HOST + feed) * ENTRIES
        tag = None if is_fresh else f'"{host}-{feed}-{edition}-{printed_at:.0f}"'
        base = f"http://{call.host}:{call.port}"
        body = _feed_xml(base, host, feed, first, _dates(printed_at))
        return respond(call.request, ZooDocument(body, "application/rss+xml", tag))


def _feed_xml(base: str, host: int, feed: int, first: int, dates: tuple[str, ...]) -> bytes:
    items = "\n".join(_item(base, host, first + position, dates[position]) for position in range(ENTRIES))
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>Bureau {host}, desk {feed}</title>'
        f"<link>{base}/</link><description>Dispatches from the crowd</description>\n{items}\n</channel></rss>"
    ).encode()


def _item(base: str, host: int, number: int, date: str) -> str:
    title, summary = _story(host, number)
    link = f"{base}/article/{number}.html"
    return (
        f"<item><title>{title}</title><link>{link}</link><guid>{link}</guid><pubDate>{date}</pubDate>"
        f"<description>{summary}</description></item>"
    )


def _page(host: int, number: int) -> ZooDocument:
    title, summary = _story(host, number)
    stock = _stock()
    rest = "".join(f"<p>{stock[(number * 7 + host + step * 31) % _STORIES][1]}</p>\n" for step in range(1, 6))
    body = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f'<nav><a href="/">Home</a></nav><article><h1>{title}</h1>\n<p>{summary}</p>\n{rest}</article></body></html>'
    )
    return ZooDocument(body.encode(), "text/html; charset=utf-8", f'"{host}-{number}"')


def _story(host: int, number: int) -> tuple[str, str]:
    title, summary = _stock()[(number + host) % _STORIES]
    return f"{title}, dispatch {number}", f"{summary} Dispatch {number} from bureau {host}."


@cache
def _stock() -> tuple[tuple[str, str], ...]:
    stories = (compose(LANGUAGES["en"], SeededChoice("crowd", number)) for number in range(_STORIES))
    return tuple((escape(title), escape(paragraphs[0])) for title, paragraphs, _ in stories)


@lru_cache(maxsize=4)
def _dates(printed_at: float) -> tuple[str, ...]:
    """Ten minutes apart, back from the last midnight."""
    return tuple(formatdate(printed_at - position * 600, usegmt=True) for position in range(ENTRIES))
