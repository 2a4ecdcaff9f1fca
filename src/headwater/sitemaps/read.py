"""Reading a sitemap of any format, in the sandbox: bytes in, the URLs that are worth a request out. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from lxml import etree

from headwater.reading.links import link_target
from headwater.sitemaps.document import SitemapLine, SitemapParser, parser_of
from headwater.sitemaps.newest import Newest, read_lastmod
from headwater.sitemaps.stream import BLANK, JUNK_MOST, pieces, repaired
from headwater.sitemaps.types import Limits, ListedUrl, Sitemap, SitemapFormat, UnreadableSitemap
from headwater.urls import host_of, is_file, is_same_site

_PAGE = re.compile(rb"<!doctype\s+html|<html[\s>]", re.IGNORECASE)


def read_sitemap(
    body: bytes, *, url: str, now: datetime, sites: Sequence[str], patterns: Sequence[str], limits: Limits
) -> Sitemap:
    """The URLs of these sites (host names) in a file; of pages those that match the patterns, if there are any.

    Raises UnreadableSitemap.
    """
    reading = _Reading(url, now, sites, patterns, limits)
    unpacked = pieces(body, limits.max_bytes)
    head = b""  # long enough to recognise the format: pieces of a packed file may be small
    while len(head) < JUNK_MOST and (piece := next(unpacked, None)) is not None:
        head += piece
    beginning = head.lstrip(BLANK)
    if _PAGE.match(beginning):
        raise UnreadableSitemap("not_a_sitemap", "It is a web page.")
    is_xml = beginning.startswith(b"<") or b"<?xml" in head[:JUNK_MOST]
    stream = _Counted(chain([head], unpacked))
    found = _read_xml(stream, reading) if is_xml else _read_text(stream, reading)
    return reading.sitemap(found, is_cut=stream.size >= limits.max_bytes)


class _Counted:
    """Pieces, and the bytes of them that were read."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self._source = source
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._source:
            self.size += len(piece)
            yield piece


class _Reading:
    def __init__(self, url: str, now: datetime, sites: Sequence[str], patterns: Sequence[str], limits: Limits) -> None:
        self._base = url
        self._now = now
        self._sites = sites
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._limits = limits
        self._oldest = now - limits.max_age
        self._pages = Newest(limits.max_pages)
        self._children = Newest(limits.max_children)
        self._newest: datetime | None = None
        self._is_cut = False
        self.count = 0

    def take(self, line: SitemapLine) -> None:
        """Keep a line of the site that is new enough."""
        self.count += 1
        at = read_lastmod(line.date, self._now) if line.date else None
        if at is not None and (self._newest is None or at > self._newest):
            self._newest = at
        if at is not None and at < self._oldest:
            return
        kept = self._children if line.is_sitemap else self._pages
        if not kept.accepts(at):
            self._is_cut = True
        elif (url := self._ours(line.url)) and (line.is_sitemap or self._is_page(url)):
            kept.take(ListedUrl(url, at))

    def sitemap(self, found: SitemapFormat, *, is_cut: bool) -> Sitemap:
        pages, children = self._pages.best(), self._children.best()
        is_cut = is_cut or self._is_cut or self._pages.taken > len(pages) or self._children.taken > len(children)
        return Sitemap(found, pages, children, self.count, self._newest, is_cut)

    def _ours(self, text: str) -> str | None:
        """The URL, if it belongs to the site."""
        url = link_target(text, self._base)
        return url if url and any(is_same_site(host_of(url), site) for site in self._sites) else None

    def _is_page(self, url: str) -> bool:
        if self._patterns:
            return any(pattern.search(url) for pattern in self._patterns)
        return not is_file(url)


def _read_xml(stream: Iterable[bytes], reading: _Reading) -> SitemapFormat:
    document = SitemapParser(reading.take)
    parser = parser_of(document)
    try:
        for piece in repaired(stream):
            parser.feed(piece)
        parser.close()
    except etree.XMLSyntaxError as error:
        # Of a file with an error in the middle, the first part is used.
        if document.format is None or not reading.count:
            raise UnreadableSitemap("not_a_sitemap", "It is not readable XML.") from error
    if document.format is None:
        raise UnreadableSitemap("not_a_sitemap", "It is empty.")
    return document.format


def _read_text(stream: Iterable[bytes], reading: _Reading) -> SitemapFormat:
    rest = b""
    for piece in stream:
        *lines, rest = (rest + piece).split(b"\n")
        rest = rest[-10_000:]  # no URL is so long, and data without line breaks must not fill the memory
        for line in lines:
            _take_line(line, reading)
    _take_line(rest, reading)
    if not reading.count:
        raise UnreadableSitemap("not_a_sitemap", "It is neither XML nor a list of URLs.")
    return SitemapFormat.TEXT


def _take_line(line: bytes, reading: _Reading) -> None:
    text = line.strip(BLANK).decode("utf-8", "replace")
    if text.lower().startswith(("http://", "https://")) and " " not in text:
        reading.take(SitemapLine(is_sitemap=False, url=text))
