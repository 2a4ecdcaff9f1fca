"""XML feeds: finds the feed in the tree, detects its format, and maps its channel and items."""

import re
from dataclasses import replace
from itertools import islice

from headwater.feeds import channel, lenient_xml
from headwater.feeds.document import MAX_ITEMS, FeedDocument, Fields, is_scoped, newest
from headwater.feeds.entry import Layout, draft, finish
from headwater.feeds.namespaces import ATOM_10, RSS_090, RSS_10, Element, tag_of
from headwater.feeds.text_constructs import may_be_mojibake
from headwater.feeds.types import FeedParseError, NotAFeed, ParsedFeed
from headwater.feeds.xml_tree import read_text

_PAGE = re.compile(r"\s*+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_FEED_TAG = re.compile(r"<(?:[\w.-]+:)?(?:rss|feed|rdf|channel|item|entry)[\s>/]", re.IGNORECASE)
# Tags with which a page begins when its <html> is missing.
_PAGE_TAGS = frozenset({
    "head", "body", "meta", "base", "script", "style", "noscript", "iframe", "frameset", "center", "font", "form",
    "div", "p", "span", "a", "b", "i", "br", "hr", "img", "table", "ul", "ol", "pre", "h1", "h2", "h3", "h4", "h5",
    "header", "main", "nav",
})  # fmt: skip
_FEEDS = frozenset({"rss", "feed", "rdf:rdf"})
_ROOTS = _FEEDS | {"channel"}
_ITEMS = frozenset({"item", "entry"})
_ITEM_TAGS = tuple(f"{{*}}{cased}" for word in sorted(_ITEMS) for cased in (word, word.title(), word.upper()))
# What looks like an item inside one of these is part of a text.
_TEXT = frozenset({"title", "description", "summary", "content", "content:encoded", "xhtml:body", "body"})
# With another parent an item may belong to any list; it counts if it has a field of an entry.
_PARENTS = _ROOTS | _ITEMS | {"items"}
_ENTRY_FIELDS = _TEXT | {"link", "guid", "id"}
_ATOM_VERSIONS = {"0.1": "atom01", "0.2": "atom02", "0.3": "atom03"}
_RSS_VERSIONS = {"0.90": "rss090", "0.91": "rss091", "0.92": "rss092", "0.93": "rss093", "0.94": "rss094"}


def parse_xml(text: str, url: str, max_entries: int | None) -> ParsedFeed:
    """Read any text as XML. Raises NotAFeed for anything else, and FeedParseError for a feed without content."""
    if _PAGE.match(text[:4096]) and not _FEED_TAG.search(text):
        raise NotAFeed("it is a web page")
    tree, data, well_formed = read_text(text)
    if tree is None and _FEED_TAG.search(text):
        raise FeedParseError("it was cut off before the first tag")
    if tree is None:
        raise NotAFeed("it is plain text")
    feed = parse_tree(tree, data, url, max_entries)
    has_entries = any(not entry.is_empty for entry in feed.entries)
    if not well_formed and not (has_entries or feed.title or feed.site_url or feed.description):
        raise FeedParseError("it begins like a feed, but has no content")
    return feed


def parse_tree(tree: Element, data: bytes, url: str, max_entries: int | None) -> ParsedFeed:
    """Map a tree, given with the UTF-8 that it was read from. Raises NotAFeed."""
    root = _feed_root(tree)
    form = _format(root)
    document = FeedDocument(url, form=form, scoped=is_scoped(data), mojibake=may_be_mojibake(data))
    head, fields = _head(document, root)
    about = channel.feed(document, head, fields, form=form)
    layouts: dict[tuple[str, ...], Layout] = {}
    drafts = [draft(document, item, layouts) for item in _items(document, tree)]
    chosen = newest(drafts, max_entries, lambda draft: draft.published_at or draft.updated_at)
    entries = [finish(document, each, feed_language=about.language, feed_authors=about.authors) for each in chosen]
    return replace(about, entries=tuple(entries))


def _feed_root(tree: Element) -> Element:
    """The element that is the feed: the root, or one inside a wrapper or behind stray output, or a lone entry."""
    finder = FeedDocument("")
    first = finder.word(tree[0] if tree.tag == lenient_xml.ROOT else tree)
    is_page = first.endswith("html")  # a feed may follow an error message that was never closed
    for wanted in (_FEEDS,) if is_page else (_ROOTS, _ITEMS):
        root = next((element for element in tree.iter("*") if finder.word(element) in wanted), None)
        if root is not None and not (is_page and next(tree.iter(*_ITEM_TAGS), None) is None):
            return root
    if is_page:
        raise NotAFeed("it is a web page")
    if _strip_module_namespace(tree):
        return _feed_root(tree)
    if first in _PAGE_TAGS:
        raise NotAFeed("it is a web page")
    raise NotAFeed(f"it is XML, but not a feed: its root is <{first[:60]}>")


def _strip_module_namespace(tree: Element) -> bool:
    """Whether an <rss> had a module's namespace as its default, which is now removed: RSS has none."""
    uri, _, local = tag_of(tree).rpartition("}")
    if not uri or tree.prefix is not None or local.lower() != "rss":
        return False
    for element in list(tree.iter(f"{uri}}}*")):
        if element.prefix is None:
            element.tag = tag_of(element).rpartition("}")[2]
    return True


def _format(root: Element) -> str:
    uri, _, local = tag_of(root).rpartition("}")
    uri = uri[1:].strip().lower()
    match local.lower():
        case "rss":
            version = (root.get("version") or "").strip()
            return _RSS_VERSIONS.get(version) or ("rss20" if version.startswith("2") else "rss")
        case "rdf":
            return "rss10" if _uses(root, RSS_10) else "rss090" if any(_uses(root, old) for old in RSS_090) else "rss"
        case "feed" | "entry":
            version = (root.get("version") or "").strip()
            return "atom10" if uri == ATOM_10 else _ATOM_VERSIONS.get(version, "atom")
        case "channel":
            return "cdf" if root.getparent() is None else "rss"
        case _:
            return "rss"


def _uses(root: Element, uri: str) -> bool:
    return any((declared or "").lower() == uri for declared in root.nsmap.values()) or any(
        f"{{{uri}" in tag_of(child).lower() for child in root[:1]
    )


def _head(document: FeedDocument, root: Element) -> tuple[Element, Fields]:
    """The element with the feed's own fields, and these."""
    if document.word(root) in _ITEMS:
        return root, {}
    around = document.fields(root)
    channels = around.get("channel")
    if not channels:
        return root, around
    fields = document.fields(channels[0])
    for outside in ("image", "textinput"):
        if outside in around:
            fields.setdefault(outside, around[outside])
    return channels[0], fields


def _items(document: FeedDocument, tree: Element) -> list[Element]:
    """The items in document order, wherever they are: beside the channel, in a wrapper or inside another item."""
    tagged = islice(tree.iter(*_ITEM_TAGS), MAX_ITEMS)
    found = [item for item in tagged if document.word(item) in _ITEMS]
    parents = {item.getparent() for item in found}
    if texts := _inside_text(document, parents):
        found = [item for item in found if item.getparent() not in texts] or found
    elements = [parent for parent in parents if parent is not None and parent.tag != lenient_xml.ROOT]
    lists = {parent for parent in elements if document.word(parent) not in _PARENTS}
    return [
        item for item in found
        if item.getparent() not in lists or any(document.word(child) in _ENTRY_FIELDS for child in item)
    ] if lists else found  # fmt: skip


def _inside_text(document: FeedDocument, elements: set[Element | None]) -> set[Element | None]:
    known: dict[Element | None, bool] = {None: False}  # so that no element is looked at twice
    for element in elements:
        path: list[Element] = []
        node = element
        while node is not None and node not in known:
            path.append(node)
            node = node.getparent()
        is_text = known[node]
        for inner in reversed(path):
            is_text = known[inner] = is_text or document.word(inner) in _TEXT
    return {element for element in elements if known[element]}
