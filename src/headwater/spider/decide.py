"""Which links of a page to queue. Pure."""

from collections.abc import Sequence

from headwater.bodies.types import ClaimedBody, PageSource
from headwater.frontier.types import Origin, Submission
from headwater.spider.types import Links
from headwater.types import PageKind

PRIORITY = 5
LIST_MALUS = 1  # it only leads to articles
EXTERNAL_MALUS = 2
PRIORITY_LEAST = 1
DEPTH = 2  # for pages without a source


def candidates(page: ClaimedBody, source: PageSource | None, links: Links) -> list[Submission]:
    """Links by priority: articles, then lists, then articles of other sites if the source follows them."""
    depth, most = page.depth + 1, source.max_depth if source else DEPTH
    if depth > most:
        return []
    priority = source.priority if source else PRIORITY
    found = _submissions(page, links.articles, PageKind.ARTICLE, depth, priority)
    found += _submissions(page, links.lists, PageKind.LIST, depth, max(priority - LIST_MALUS, PRIORITY_LEAST))
    if source is not None and source.external_links:
        lower = max(priority - EXTERNAL_MALUS, PRIORITY_LEAST)
        # At the maximum depth, so that their own links are not followed.
        found += _submissions(page, links.external, PageKind.ARTICLE, most, lower)
    return found


def sites_of(page: ClaimedBody, source: PageSource | None) -> Sequence[str]:
    return source.addresses if source and source.addresses else (page.url,)


def _submissions(page: ClaimedBody, urls: Sequence[str], kind: PageKind, depth: int, priority: int) -> list[Submission]:
    return [Submission(url, Origin.SPIDER, page.source_id, kind, page.url, depth, priority) for url in urls]
