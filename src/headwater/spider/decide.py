"""What follows from the links of a page. Pure: links, and what the day has left, in; what to ask for out."""

from collections.abc import Collection, Sequence

from headwater.bodies.types import ClaimedBody
from headwater.frontier.types import Origin, Submission
from headwater.spider.types import Links, SpiderSource
from headwater.types import PageKind

PRIORITY = 5
LIST_MALUS = 1  # a list is worth what it leads to
EXTERNAL_MALUS = 2
PRIORITY_LEAST = 1
DEPTH = 2  # for pages of no source


def candidates(page: ClaimedBody, source: SpiderSource | None, links: Links) -> list[Submission]:
    """What could be asked for, the most wanted first: articles, then lists, then other sites where they are wanted."""
    depth, most = page.depth + 1, source.max_depth if source else DEPTH
    if depth > most:
        return []
    priority = source.priority if source else PRIORITY
    found = _submissions(page, links.articles, PageKind.ARTICLE, depth, priority)
    found += _submissions(page, links.lists, PageKind.LIST, depth, max(priority - LIST_MALUS, PRIORITY_LEAST))
    if source is not None and source.external_links:
        lower = max(priority - EXTERNAL_MALUS, PRIORITY_LEAST)
        # As deep as can be, so that their own links are not followed: it is this site that we spider.
        found += _submissions(page, links.external, PageKind.ARTICLE, most, lower)
    return found


def affordable(found: Sequence[Submission], known: Collection[str], left: int) -> list[Submission]:
    """Of what could be asked for, what is new, as much as the day has left."""
    return [one for one in found if one.url not in known][: max(left, 0)]


def sites_of(page: ClaimedBody, source: SpiderSource | None) -> Sequence[str]:
    """Addresses of what counts as the same site."""
    return source.addresses if source and source.addresses else (page.url,)


def _submissions(page: ClaimedBody, urls: Sequence[str], kind: PageKind, depth: int, priority: int) -> list[Submission]:
    return [Submission(url, Origin.SPIDER, page.source_id, kind, page.url, depth, priority) for url in urls]
