"""An XML sitemap, parsed piece by piece, without a tree, so that its size costs no memory.

Namespaces are ignored, since many files have a wrong one; a `loc` counts only as a child of `url` or `sitemap`, so that
those of images and videos do not. RSS and Atom are read by the same rules.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree

from headwater.reading.limits import MAX_DEPTH
from headwater.sitemaps.types import SitemapFormat, UnreadableSitemap

ROOTS = {
    "urlset": SitemapFormat.URLSET,
    "sitemapindex": SitemapFormat.INDEX,
    "rss": SitemapFormat.FEED,
    "feed": SitemapFormat.FEED,
    "rdf": SitemapFormat.FEED,
}
_LINES = frozenset({"url", "sitemap", "item", "entry"})
_ADDRESSES = frozenset({"loc", "link"})
_DATES = ("lastmod", "publication_date", "updated", "published", "pubdate", "date")  # the first that is there counts
_INSIDE = {"publication_date": "news"}  # where it stands, when not right inside of the line
_TEXT_MOST = 4_096


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
            self._begin(name)
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
            self._keep(self._line, name, "".join(self._text)[:_TEXT_MOST].strip())
            self._text = None
        if self._line is not None and len(self._path) <= self._line_depth:
            line, self._line = self._line, None
            if line.url:
                self._take(line)
        if self._path:
            self._path.pop()

    def close(self) -> None:
        """lxml calls it at the end."""

    def _begin(self, name: str) -> None:
        self.format = ROOTS.get(name)
        if self.format is None:
            what = "a web page" if name == "html" else f"a file of <{name[:40]}>"
            raise UnreadableSitemap("not_a_sitemap", f"It is {what}.")

    def _is_wanted(self, name: str) -> bool:
        if name in _INSIDE:
            return len(self._path) >= 2 and self._path[-2] == _INSIDE[name]
        return len(self._path) == self._line_depth + 1 and (name in _ADDRESSES or name in _DATES)

    def _keep(self, line: SitemapLine, name: str, text: str) -> None:
        if name in _ADDRESSES:
            line.url = line.url or _plain(text)
        elif text:
            line.dates.setdefault(name, text)


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
