"""The links of a page by kind, in the sandbox. Pure. Respects nofollow, on a link and in the page's `meta` element."""

import re
from collections.abc import Iterator, Sequence

from headwater.reading.decode import decode
from headwater.reading.limits import MAX_PAGE_BYTES
from headwater.reading.links import link_target
from headwater.reading.tags import attributes_of, tags
from headwater.spider.classify import classify
from headwater.spider.types import LinkKind, Links
from headwater.urls import url_key

_NOT_FOLLOWED = frozenset({"nofollow", "sponsored", "ugc"})


def find_links(
    body: bytes, *, url: str, content_type: str, sites: Sequence[str], patterns: Sequence[str], most: int
) -> Links:
    """The links of the page at `url`, at most `most`, by kind. `sites` are host names."""
    compiled = [re.compile(pattern) for pattern in patterns]
    kinds: dict[LinkKind, list[str]] = {kind: [] for kind in LinkKind}
    seen = {url_key(url)}
    for link in _links(decode(body[:MAX_PAGE_BYTES], content_type, html=True), url):
        if len(seen) > most:
            break
        key = url_key(link)
        if key not in seen:
            seen.add(key)
            kinds[classify(link, sites=sites, patterns=compiled)].append(link)
    return Links(kinds[LinkKind.ARTICLE], kinds[LinkKind.LIST], kinds[LinkKind.EXTERNAL], found=len(seen) - 1)


def _links(text: str, url: str) -> Iterator[str]:
    """Every URL that the page links to, absolute and without fragment."""
    base, is_based = url, False
    for name, raw, _ in tags(text):
        if name not in {"a", "area", "link", "base", "meta"}:
            continue
        given = attributes_of(raw)
        if name == "meta" and given.get("name", "").lower() == "robots":
            if {"nofollow", "none"} & set(re.split(r"[\s,]+", given.get("content", "").lower())):
                return
        elif name == "base" and not is_based and given.get("href"):
            base, is_based = link_target(given["href"], url) or url, True
        elif name in {"a", "area"} or (name == "link" and "canonical" in given.get("rel", "").lower().split()):
            found = None if _NOT_FOLLOWED & set(given.get("rel", "").lower().split()) else given.get("href")
            if found and (link := link_target(found.partition("#")[0], base)):
                yield link
