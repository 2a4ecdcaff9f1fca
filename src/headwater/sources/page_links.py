"""Links to feeds in a page or its headers. Pure: bytes in, candidates out, whatever the page does."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import can_ada

from headwater.net import Response
from headwater.reading.decode import decode
from headwater.reading.limits import MAX_ATTRIBUTES_LENGTH
from headwater.reading.links import link_target
from headwater.reading.tags import attributes_of, tags
from headwater.reading.text import unescape
from headwater.sources.well_known import says_feed
from headwater.text import one_line
from headwater.urls import host_of, url_key

PAGE_BYTES = 1_000_000  # less than elsewhere: it is read outside the sandbox
MAX_TITLE = 200
MAX_LINKS = 50  # of each kind: more than anybody would look through


class How(StrEnum):
    """What led to an address, the surest first."""

    ITSELF = "itself"  # it is what was typed
    KNOWN_SITE = "known site"
    DECLARED = "declared"  # by <link rel=alternate> or a Link header
    LINKED = "linked"  # an anchor whose address is a feed's by its looks
    MENTIONED = "mentioned"  # an anchor that speaks of a feed
    FRONT_PAGE = "front page"
    USUAL_PLACE = "usual place"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An address that may be a feed's."""

    url: str
    how: How
    title: str = ""


_FEED_TYPE = re.compile(r"(?:application|text)/(?:x[.-])?(?:rss|atom|rdf|feed)(?:\+(?:xml|json))?")
_VAGUE_TYPES = frozenset({"application/xml", "text/xml", "application/json", "text/json"})
_NO_FEEDS = re.compile(
    r"/wp-json/|/oembed|/sitemap|\.(?:png|gif|jpe?g|svg|ico|css|js|pdf|zip|mp3|opml)$", re.IGNORECASE
)
# Buttons that add a feed to somebody else's reader.
_READERS = re.compile(r"(?:^|\.)(?:feedly|inoreader|newsblur|theoldreader|netvibes|bazqux|feedbin|subtome|yahoo)\.com$")
READER_SCHEME = re.compile(r"^(?:feed|rss|podcast|pcast|itpc):(?://)?", re.IGNORECASE)
_HINT = re.compile(r"rss|atom|rdf|feed|index\.xml", re.IGNORECASE)
_MENTION = re.compile(r"(?<![a-z])(?:rss|atom|feeds?|json ?feed)(?![a-z])", re.IGNORECASE)
_ANCHOR_ENDS = re.compile(r"</?a[\s>]", re.IGNORECASE)
_ANCHOR_TEXT = 300
_ABOUT_COMMENTS = re.compile(r"\bcomments?\b", re.IGNORECASE)

_ORDER = list(How)
_Link: TypeAlias = tuple[str, How, str]  # href as written, how it came up, title

_HEADER_LINK = re.compile(r"""<([^<>]*)>((?:[^,"<>]|"[^"]*")*)""")
_HEADER_PARAMETER = re.compile(r""";\s*([\w*-]+)\s*=\s*(?:"([^"]*)"|([^\s;"]+))""")


def links_of(page: bytes, url: str) -> Sequence[Candidate]:
    """What a page says of its feeds: those it declares, then those it links to, then what sounds like one. Pure."""
    text = decode(page[:PAGE_BYTES], html=True)
    declared: list[_Link] = []
    anchored: list[_Link] = []
    base: str | None = None
    for name, raw, end in tags(text):
        if name == "base" and base is None:
            base = attributes_of(raw).get("href")
        elif name == "link" and len(declared) < MAX_LINKS:
            declared += _declared(attributes_of(raw))
        elif name == "a" and len(anchored) < MAX_LINKS:
            anchored += _anchored(raw, _ANCHOR_ENDS.split(text[end : end + _ANCHOR_TEXT], maxsplit=1)[0])
    return _settled([*declared, *anchored], absolute(base, url) or url)


def _declared(attributes: Mapping[str, str]) -> Iterator[_Link]:
    rel = attributes.get("rel", "").lower().split()
    kind = attributes.get("type", "").partition(";")[0].strip().lower()
    href = attributes.get("href", "")
    is_alternate = "alternate" in rel and "stylesheet" not in rel
    if "feed" in rel or (is_alternate and (_FEED_TYPE.fullmatch(kind) or kind in _VAGUE_TYPES or not kind)):
        is_certain = "feed" in rel or _FEED_TYPE.fullmatch(kind)
        if href and (is_certain or not _NO_FEEDS.search(href)) and (kind or is_certain or _HINT.search(href)):
            yield href, How.DECLARED, one_line(attributes.get("title", ""))[:MAX_TITLE]


def _anchored(raw: str, inside: str) -> Iterator[_Link]:
    """An anchor that leads to a feed by its address or type, or speaks of one: by its text, a picture's or a class."""
    if not _HINT.search(raw, 0, MAX_ATTRIBUTES_LENGTH) and not _HINT.search(inside):
        return
    attributes = attributes_of(raw)
    href = attributes.pop("href", "")
    if not href or href.startswith("#") or _NO_FEEDS.search(href):
        return
    title = one_line(attributes.get("title", "") or re.sub(r"<[^>]*>?", " ", unescape(inside)))[:MAX_TITLE]
    if READER_SCHEME.match(href) or _FEED_TYPE.fullmatch(attributes.get("type", "")):
        yield href, How.LINKED, title
    elif _HINT.search(href) or _MENTION.search(" ".join([*attributes.values(), inside])):
        yield href, How.MENTIONED, title


def _settled(links: Iterable[_Link], base: str) -> Sequence[Candidate]:
    """Absolute addresses, each once, the surest first."""
    found: dict[bytes, Candidate] = {}
    for href, how, title in links:
        url = absolute(href, base)
        if url is None or (how is not How.DECLARED and _READERS.search(host_of(url))):
            continue
        # What an anchor's words cannot settle, its address may.
        is_linked = how is How.MENTIONED and says_feed(url)
        found.setdefault(url_key(url), Candidate(url, How.LINKED if is_linked else how, title))
    return sorted(found.values(), key=lambda candidate: _ORDER.index(candidate.how))


def header_links(page: Response) -> Iterator[Candidate]:
    for value in (value for name, value in page.headers.items() if name.lower() == "link"):
        for href, parameters in _HEADER_LINK.findall(value):
            named = {name.lower(): quoted or bare for name, quoted, bare in _HEADER_PARAMETER.findall(parameters)}
            for target, how, title in _declared({**named, "href": href}):
                if url := absolute(target, page.url):
                    yield Candidate(url, how, title)


def absolute(href: str | None, base: str) -> str | None:
    """The URL that an href leads to from this page, `feed:` and its like read; None where that is not followed."""
    return link_target(READER_SCHEME.sub(_web_scheme, href), base) if href else None


def _web_scheme(match: re.Match[str]) -> str:
    """`feed://host/x` is http://host/x, and `feed:https://host/x` is what it wraps."""
    return "http://" if match[0].endswith("//") else ""


def is_about_comments(candidate: Candidate) -> bool:
    return _ABOUT_COMMENTS.search(f"{can_ada.parse(candidate.url).pathname} {candidate.title}") is not None
