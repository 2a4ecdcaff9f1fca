"""A sitemap, read piece by piece and without a tree, so that its size costs no memory. First it is unpacked, up to a
limit, and made well-formed UTF-8: what precedes the XML declaration (blank lines, a server's warning) is dropped, and
the declaration itself. An ampersand that begins neither one of XML's five entities nor a number is escaped: the parser
would drop it with the word after it, which changes the URL. So no entity that the file declares is used either.
Namespaces are ignored, since many files have a wrong one; a `loc` counts only as a child of `url` or `sitemap`, so that
those of images and videos do not. RSS and Atom are read by the same rules."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree

from headwater.reading.decode import incremental_decoder
from headwater.reading.limits import MAX_DEPTH
from headwater.sitemaps.types import SitemapFormat, UnreadableSitemap

GZIP = b"\x1f\x8b"
PIECE = 65_536
BLANK = b" \t\r\n\x00\xef\xbb\xbf\xfe\xff"  # what may precede the first letter, byte order marks included
JUNK_MOST = 1_000  # before the first tag
_PACKED_PIECE = 8_192
_GZIP_WINDOW = 31
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_REFERENCE_MOST = 12
_DECLARATION = re.compile(r"<\?xml[^>]{0,300}>")
ROOTS = {
    "urlset": SitemapFormat.URLSET, "sitemapindex": SitemapFormat.INDEX, "rss": SitemapFormat.FEED,
    "feed": SitemapFormat.FEED, "rdf": SitemapFormat.FEED,
}  # fmt: skip
_LINES = frozenset({"url", "sitemap", "item", "entry"})
_ADDRESSES = frozenset({"loc", "link"})
_DATES = ("lastmod", "publication_date", "updated", "published", "pubdate", "date")  # the first that is there counts
_INSIDE = {"publication_date": "news"}  # where it stands, when not right inside of the line
_TEXT_MOST = 4_096


def pieces(body: bytes, most: int) -> Iterator[bytes]:
    """The body, unpacked if it is gzip, up to `most` bytes. Raises UnreadableSitemap."""
    left = most
    for piece in _unpacked(body) if body.startswith(GZIP) else _cut(body, PIECE):
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


def _cut(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def _unpacked(body: bytes) -> Iterator[bytes]:
    """All members of a gzip file. A truncated one, or one with other data after it, yields what comes before."""
    member, is_any = zlib.decompressobj(_GZIP_WINDOW), False
    for waiting in _cut(body, _PACKED_PIECE):
        while waiting:
            try:
                piece = member.decompress(waiting, PIECE)
            except zlib.error as error:
                if is_any:
                    return
                raise UnreadableSitemap("not_a_sitemap", "It begins like gzip and cannot be unpacked.") from error
            is_any = is_any or bool(piece)
            yield piece
            if member.eof:
                waiting, member = member.unused_data, zlib.decompressobj(_GZIP_WINDOW)  # noqa: PLW2901
            else:
                waiting = member.unconsumed_tail  # noqa: PLW2901


def repaired(stream: Iterable[bytes]) -> Iterator[bytes]:
    given = iter(stream)
    head = next(given, b"")
    decoder = incremental_decoder(head)
    rest = _without_junk(decoder.decode(head))
    for piece in given:
        text = rest + decoder.decode(piece)
        last = text.rfind("&", max(len(text) - _REFERENCE_MOST, 0))  # no reference is cut in two
        cut = len(text) if last < 0 else last
        yield _escaped(text[:cut])
        rest = text[cut:]
    yield _escaped(rest + decoder.decode(b"", final=True))


def _escaped(text: str) -> bytes:
    return _BARE_AMPERSAND.sub("&amp;", text).encode("utf-8", "replace")


def _without_junk(head: str) -> str:
    start = head.find("<?xml", 0, JUNK_MOST)
    head = head[start:] if start > 0 else head.lstrip("\ufeff \t\r\n\0")
    declaration = _DECLARATION.match(head)
    return head[declaration.end() :] if declaration else head


@dataclass(slots=True)
class SitemapLine:
    is_sitemap: bool
    url: str = ""
    dates: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def date(self) -> str:
        return next((self.dates[name] for name in _DATES if name in self.dates), "")


class SitemapParser:
    """The target of lxml's parser: `take` gets each line when it ends."""

    def __init__(self, take: Callable[[SitemapLine], None]) -> None:
        self.format: SitemapFormat | None = None
        self._take = take
        self._path: list[str] = []
        self._line: SitemapLine | None = None
        self._line_depth = 0
        self._text: list[str] | None = None
        self._text_size = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = _local(tag)
        self._path.append(name)
        if len(self._path) == 1:
            self.format = ROOTS.get(name)
            if self.format is None:
                what = "a web page" if name == "html" else f"a file of <{name[:40]}>"
                raise UnreadableSitemap("not_a_sitemap", f"It is {what}.")
        elif len(self._path) > MAX_DEPTH:
            raise UnreadableSitemap("not_a_sitemap", "Its elements are nested too deep.")
        elif self._line is None and name in _LINES:
            self._line, self._line_depth = SitemapLine(is_sitemap=name == "sitemap"), len(self._path)
        elif self._line is not None and self._is_wanted(name):
            self._text, self._text_size = [], 0
            if name == "link" and attributes.get("href") and attributes.get("rel", "alternate") == "alternate":
                self._line.url = self._line.url or _plain(attributes["href"][:_TEXT_MOST])

    def data(self, text: str) -> None:
        if self._text is not None and self._text_size < _TEXT_MOST:
            self._text.append(text)
            self._text_size += len(text)

    def end(self, tag: str) -> None:
        name = _local(tag)
        if self._line is not None and self._text is not None and self._is_wanted(name):
            text, self._text = "".join(self._text)[:_TEXT_MOST].strip(), None
            if name in _ADDRESSES:
                self._line.url = self._line.url or _plain(text)
            elif text:
                self._line.dates.setdefault(name, text)
        if self._line is not None and len(self._path) <= self._line_depth:
            line, self._line = self._line, None
            if line.url:
                self._take(line)
        if self._path:
            self._path.pop()

    def close(self) -> None:
        """lxml calls it at the end."""

    def _is_wanted(self, name: str) -> bool:
        if name in _INSIDE:
            return len(self._path) >= 2 and self._path[-2] == _INSIDE[name]
        return len(self._path) == self._line_depth + 1 and (name in _ADDRESSES or name in _DATES)


def parser_of(document: SitemapParser) -> Any:  # noqa: ANN401  its type has no name: see the target
    """A parser without network, DTD and entities, which recovers from errors."""
    target: Any = document  # lxml calls those methods that are there
    return etree.XMLParser(
        target=target, encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        recover=True,
    )  # fmt: skip


def _plain(url: str) -> str:
    """The URL with ampersands that are still escaped: twice by its author, in CDATA, or by lxml in an attribute."""
    return url.replace("&amp;", "&").replace("&#38;", "&") if "&" in url else url


@lru_cache(maxsize=1_000)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()
