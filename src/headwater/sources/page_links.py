"""Links to feeds in a page and its headers. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import can_ada

from headwater.net import Response
from headwater.reading.decode import decode
from headwater.reading.limits import MAX_ATTRIBUTES_LENGTH
from headwater.reading.links import link_target
from headwater.reading.tags import attributes_of, tags
from headwater.reading.text import unescape
from headwater.sources.well_known import looks_like_feed
from headwater.text import one_line
from headwater.urls import host_of, url_key

PAGE_BYTES = 1_000_000  # less than elsewhere: it is read outside the sandbox
MAX_TITLE = 200
MAX_LINKS = 50  # of each kind


class How(StrEnum):
    """How a URL was found, the surest first."""

    ITSELF = "itself"  # it was given
    KNOWN_SITE = "known site"
    DECLARED = "declared"  # by <link rel=alternate> or a Link header
    LINKED = "linked"  # by an anchor, with a URL that looks like a feed's
    MENTIONED = "mentioned"  # by an anchor whose text mentions a feed
    FRONT_PAGE = "front page"
    USUAL_PLACE = "usual place"


@dataclass(frozen=True, slots=True)
class Candidate:
    url: str
    how: How
    title: str = ""


_FEED_TYPE = re.compile(r"(?:application|text)/(?:x[.-])?(?:rss|atom|rdf|feed)(?:\+(?:xml|json))?")
_VAGUE_TYPES = frozenset({"application/xml", "text/xml", "application/json", "text/json"})
_NO_FEED = re.compile(r"/wp-json/|/oembed|/sitemap|\.(?:png|gif|jpe?g|svg|ico|css|js|pdf|zip|mp3|opml)$", re.IGNORECASE)
# Buttons that add a feed to another reader.
_READERS = re.compile(r"(?:^|\.)(?:feedly|inoreader|newsblur|theoldreader|netvibes|bazqux|feedbin|subtome|yahoo)\.com$")
READER_SCHEME = re.compile(r"^(?:feed|rss|podcast|pcast|itpc):(?://)?", re.IGNORECASE)
_HINT = re.compile(r"rss|atom|rdf|feed|index\.xml", re.IGNORECASE)
_MENTION = re.compile(r"(?<![a-z])(?:rss|atom|feeds?|json ?feed)(?![a-z])", re.IGNORECASE)
_ANCHOR_ENDS = re.compile(r"</?a[\s>]", re.IGNORECASE)
_ANCHOR_TEXT = 300
_ABOUT_COMMENTS = re.compile(r"\bcomments?\b", re.IGNORECASE)
_HEADER_LINK = re.compile(r"""<([^<>]*)>((?:[^,"<>]|"[^"]*")*)""")
_HEADER_PARAMETER = re.compile(r""";\s*([\w*-]+)\s*=\s*(?:"([^"]*)"|([^\s;"]+))""")


def feed_links(page: Response) -> Sequence[Candidate]:
    """The feeds that the headers of a page declare, and those of `links_of`."""
    declared: list[Candidate] = []
    for value in (value for name, value in page.headers.items() if name.lower() == "link"):
        for href, parameters in _HEADER_LINK.findall(value):
            named = {name.lower(): quoted or bare for name, quoted, bare in _HEADER_PARAMETER.findall(parameters)}
            declared += _declared({**named, "href": href})
    return [*_resolved(declared, page.url), *links_of(page.body, page.url)]


def links_of(page: bytes, url: str) -> Sequence[Candidate]:
    """The feeds that a page declares, then those it links to, then links whose text mentions a feed."""
    text = decode(page[:PAGE_BYTES], html=True)
    declared: list[Candidate] = []
    anchored: list[Candidate] = []
    base: str | None = None
    for name, raw, end in tags(text):
        if name == "base" and base is None:
            base = attributes_of(raw).get("href")
        elif name == "link" and len(declared) < MAX_LINKS:
            declared += _declared(attributes_of(raw))
        elif name == "a" and len(anchored) < MAX_LINKS:
            anchored += _anchored(raw, _ANCHOR_ENDS.split(text[end : end + _ANCHOR_TEXT], maxsplit=1)[0])
    return _resolved([*declared, *anchored], absolute(base, url) or url)


def _declared(attributes: Mapping[str, str]) -> Iterator[Candidate]:
    """The feed of a <link>, with its href as written."""
    rel = attributes.get("rel", "").lower().split()
    kind = attributes.get("type", "").partition(";")[0].strip().lower()
    href = attributes.get("href", "")
    is_certain = "feed" in rel or _FEED_TYPE.fullmatch(kind)
    is_alternate = "alternate" in rel and "stylesheet" not in rel
    is_named = "feed" in rel or (is_alternate and (is_certain or kind in _VAGUE_TYPES or not kind))
    if href and is_named and (is_certain or (not _NO_FEED.search(href) and (kind or _HINT.search(href)))):
        yield Candidate(href, How.DECLARED, one_line(attributes.get("title", ""))[:MAX_TITLE])


def _anchored(raw: str, inside: str) -> Iterator[Candidate]:
    """The feed of an anchor, by its href or type, or by its text, an image's or a class; with its href as written."""
    if not _HINT.search(raw, 0, MAX_ATTRIBUTES_LENGTH) and not _HINT.search(inside):
        return
    attributes = attributes_of(raw)
    href = attributes.pop("href", "")
    if not href or href.startswith("#") or _NO_FEED.search(href):
        return
    title = one_line(attributes.get("title", "") or re.sub(r"<[^>]*>?", " ", unescape(inside)))[:MAX_TITLE]
    if READER_SCHEME.match(href) or _FEED_TYPE.fullmatch(attributes.get("type", "")):
        yield Candidate(href, How.LINKED, title)
    elif _HINT.search(href) or _MENTION.search(" ".join([*attributes.values(), inside])):
        yield Candidate(href, How.MENTIONED, title)


def _resolved(links: Iterable[Candidate], base: str) -> Sequence[Candidate]:
    """With absolute URLs, each once, the surest first."""
    found: dict[bytes, Candidate] = {}
    for link in links:
        url, how = absolute(link.url, base), link.how
        if url is None or (how is not How.DECLARED and _READERS.search(host_of(url))):
            continue
        if how is How.MENTIONED and looks_like_feed(url):
            how = How.LINKED
        found.setdefault(url_key(url), Candidate(url, how, link.title))
    return sorted(found.values(), key=lambda candidate: list(How).index(candidate.how))


def absolute(href: str | None, base: str) -> str | None:
    """The URL of an href on this page; None if it cannot be followed. `feed://host/x` is http://host/x, and
    `feed:https://host/x` is https://host/x."""
    if not href:
        return None
    return link_target(READER_SCHEME.sub(lambda scheme: "http://" if scheme[0].endswith("//") else "", href), base)


def is_about_comments(candidate: Candidate) -> bool:
    return _ABOUT_COMMENTS.search(f"{can_ada.parse(candidate.url).pathname} {candidate.title}") is not None
