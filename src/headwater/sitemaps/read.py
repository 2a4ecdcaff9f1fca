"""Reading a sitemap of any format, in the sandbox: bytes in, the URLs that are worth a request out. Pure."""

import heapq
import re
from calendar import monthrange
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain

from lxml import etree

from headwater.reading.dates import parse_date
from headwater.reading.links import link_target
from headwater.sitemaps.document import BLANK, JUNK_MOST, SitemapLine, SitemapParser, parser_of, pieces, repaired
from headwater.sitemaps.types import Limits, ListedUrl, Sitemap, SitemapFormat, UnreadableSitemap
from headwater.urls import host_of, is_file, is_same_site

_PAGE = re.compile(rb"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
_DATE = re.compile(r"\d{4}(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?)?", re.ASCII)
_FUTURE = timedelta(days=1)  # clocks differ, and a day begins earlier elsewhere


class Newest:
    """Keeps the newest `most` lines, at least one; of those without a date both ends of the list, since new lines are
    at the top of some files and at the bottom of others."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 1)
        self._dated: list[tuple[datetime, int, str]] = []  # a heap, the oldest on top
        self._first: list[ListedUrl] = []
        self._last: deque[ListedUrl] = deque(maxlen=self._most - self._most // 2)
        self.taken = 0

    def accepts(self, at: datetime | None) -> bool:
        return at is None or len(self._dated) < self._most or at > self._dated[0][0]

    def take(self, line: ListedUrl) -> None:
        self.taken += 1
        if line.lastmod is None:
            (self._first if len(self._first) < self._most // 2 else self._last).append(line)
        elif len(self._dated) < self._most:
            heapq.heappush(self._dated, (line.lastmod, -self.taken, line.url))
        else:
            heapq.heappushpop(self._dated, (line.lastmod, -self.taken, line.url))

    def best(self) -> list[ListedUrl]:
        """The newest first, equal ones in the order of the file; then those without a date."""
        dated = [ListedUrl(url, at) for at, _, url in sorted(self._dated, reverse=True)]
        return [*dated, *self._first, *self._last][: self._most]


def read_lastmod(text: str, now: datetime) -> datetime | None:
    """A date in any form. A year, month or day that has not ended counts as now; a date in the future as none."""
    begins = parse_date(text)
    return min(_end(begins, text.strip()), now) if begins and begins <= now + _FUTURE else None


def _end(begins: datetime, text: str) -> datetime:
    """The last second of a year, month or day; a time is its own end."""
    date = _DATE.fullmatch(text)
    if date is None:
        return begins
    month = begins.month if date["month"] else 12
    day = begins.day if date["day"] else monthrange(begins.year, month)[1]
    return datetime(begins.year, month, day, 23, 59, 59, tzinfo=UTC)


def read_sitemap(
    body: bytes, *, url: str, now: datetime, sites: Sequence[str], patterns: Sequence[str], limits: Limits
) -> Sitemap:
    """The URLs of these sites (host names) in a file; of pages those that match the patterns, if there are any. Raises
    UnreadableSitemap."""
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
