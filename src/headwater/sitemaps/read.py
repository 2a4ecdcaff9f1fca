"""Reading a sitemap, whatever it is. Pure, for the sandbox: bytes in, what is worth a request or a refusal out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from lxml import etree

from headwater.reading.links import link_target
from headwater.sitemaps.document import Document, Line, parser_of
from headwater.sitemaps.lastmod import read_lastmod
from headwater.sitemaps.newest import Newest
from headwater.sitemaps.repair import BLANK, JUNK_MOST, repaired
from headwater.sitemaps.types import Limits, Listed, Sitemap, SitemapFormat, UnreadableSitemap
from headwater.sitemaps.unpack import pieces
from headwater.urls import host_of, is_file, is_same_site

_PAGE = re.compile(rb"<!doctype\s+html|<html[\s>]", re.IGNORECASE)


def read_sitemap(
    body: bytes, *, url: str, now: datetime, sites: Sequence[str], patterns: Sequence[str], limits: Limits
) -> Sitemap:
    """What a file lists of these sites (host names), and of pages only what fits the patterns, if there are any.

    Raises UnreadableSitemap.
    """
    reading = _Reading(url, now, sites, patterns, limits)
    unpacked = pieces(body, limits.max_bytes)
    head = _head(unpacked)
    _refuse_page(head)
    stream = _Counted(chain([head], unpacked))
    found = _read_xml(stream, reading) if _is_xml(head) else _read_text(stream, reading)
    return reading.sitemap(found, is_cut=stream.size >= limits.max_bytes)


def _head(unpacked: Iterator[bytes]) -> bytes:
    """Enough of the beginning to tell what it is: a packed file may come in crumbs."""
    head = b""
    while len(head) < JUNK_MOST and (piece := next(unpacked, None)) is not None:
        head += piece
    return head


class _Counted:
    """Pieces, and how many bytes of them went by."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self._source = source
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._source:
            self.size += len(piece)
            yield piece


class _Reading:
    """What was found so far."""

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

    def take(self, line: Line) -> None:
        """Keep a line if it is one of ours and new enough."""
        self.count += 1
        at = read_lastmod(line.date, self._now) if line.date else None
        if at is not None and (self._newest is None or at > self._newest):
            self._newest = at
        if at is not None and at < self._oldest:
            return
        kept = self._children if line.is_sitemap else self._pages
        if not kept.wants(at):
            self._is_cut = True
        elif (url := self._ours(line.url)) and (line.is_sitemap or self._is_page(url)):
            kept.take(Listed(url, at))

    def sitemap(self, found: SitemapFormat, *, is_cut: bool) -> Sitemap:
        pages, children = self._pages.best(), self._children.best()
        is_cut = is_cut or self._is_cut or self._pages.taken > len(pages) or self._children.taken > len(children)
        return Sitemap(found, pages, children, self.count, self._newest, is_cut)

    def _ours(self, text: str) -> str | None:
        """The URL, if it is of the site: nobody sends us to others through a sitemap."""
        url = link_target(text, self._base)
        return url if url and any(is_same_site(host_of(url), site) for site in self._sites) else None

    def _is_page(self, url: str) -> bool:
        if self._patterns:
            return any(pattern.search(url) for pattern in self._patterns)
        return not is_file(url)


def _refuse_page(head: bytes) -> None:
    if _PAGE.match(head.lstrip(BLANK)):
        raise UnreadableSitemap("not_a_sitemap", "It is a web page.")


def _is_xml(head: bytes) -> bool:
    return head.lstrip(BLANK).startswith(b"<") or b"<?xml" in head[:JUNK_MOST]


def _read_xml(stream: Iterable[bytes], reading: _Reading) -> SitemapFormat:
    document = Document(reading.take)
    parser = parser_of(document)
    try:
        for piece in repaired(stream):
            parser.feed(piece)
        parser.close()
    except etree.XMLSyntaxError as error:
        # A file that breaks in the middle has told us of its first half.
        if document.format is None or not reading.count:
            raise UnreadableSitemap("not_a_sitemap", "It is no XML that can be read.") from error
    if document.format is None:
        raise UnreadableSitemap("not_a_sitemap", "There is nothing in it.")
    return document.format


def _read_text(stream: Iterable[bytes], reading: _Reading) -> SitemapFormat:
    """One URL a line."""
    rest = b""
    for piece in stream:
        *lines, rest = (rest + piece).split(b"\n")
        rest = rest[-10_000:]  # no line is so long, and no line at all must not be kept
        for line in lines:
            _take_line(line, reading)
    _take_line(rest, reading)
    if not reading.count:
        raise UnreadableSitemap("not_a_sitemap", "It is neither XML nor a list of URLs.")
    return SitemapFormat.TEXT


def _take_line(line: bytes, reading: _Reading) -> None:
    text = line.strip(BLANK).decode("utf-8", "replace")
    if text.lower().startswith(("http://", "https://")) and " " not in text:
        reading.take(Line(is_sitemap=False, url=text))
