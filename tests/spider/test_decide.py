"""Which links of a page are queued, with which priority and depth."""

from uuid import UUID

import pytest

from headwater.bodies.types import ClaimedBody, PageSource
from headwater.frontier.types import Origin
from headwater.spider.decide import candidates, sites_of
from headwater.spider.types import Links
from headwater.types import PageKind, SourceId
from tests.clock import START

ID = SourceId(UUID(int=1))
PAGE = "https://example.com/news"
ARTICLE, LIST, EXTERNAL = "https://example.com/a", "https://example.com/l", "https://other.example/a"
LINKS = Links([ARTICLE], [LIST], [EXTERNAL], 3)


def a_page(depth: int = 0) -> ClaimedBody:
    return ClaimedBody(PAGE, PAGE, PageKind.LIST, ID, depth, "text/html", b"", START, UUID(int=2), UUID(int=3), 0)


def a_source(
    *, priority: int = 5, depth: int = 2, external: bool = True, addresses: tuple[str, ...] = ()
) -> PageSource:
    return PageSource(ID, addresses, external_links=external, max_depth=depth, priority=priority)


@pytest.mark.parametrize(
    ("page_depth", "source", "queued"),
    [
        (0, None, [(ARTICLE, 1, 5), (LIST, 1, 4)]),
        (1, None, [(ARTICLE, 2, 5), (LIST, 2, 4)]),
        (2, None, []),
        (0, a_source(external=False), [(ARTICLE, 1, 5), (LIST, 1, 4)]),
        (0, a_source(), [(ARTICLE, 1, 5), (LIST, 1, 4), (EXTERNAL, 2, 3)]),
        (0, a_source(priority=9, depth=4), [(ARTICLE, 1, 9), (LIST, 1, 8), (EXTERNAL, 4, 7)]),
        (3, a_source(depth=4), [(ARTICLE, 4, 5), (LIST, 4, 4), (EXTERNAL, 4, 3)]),
        (4, a_source(depth=4), []),
        (0, a_source(depth=0), []),
        (0, a_source(priority=2), [(ARTICLE, 1, 2), (LIST, 1, 1), (EXTERNAL, 2, 1)]),
        (0, a_source(priority=1), [(ARTICLE, 1, 1), (LIST, 1, 1), (EXTERNAL, 2, 1)]),
    ],
)
def test_articles_come_before_lists_and_those_before_other_sites(
    page_depth: int, source: PageSource | None, queued: list[tuple[str, int, int]]
) -> None:
    found = candidates(a_page(page_depth), source, LINKS)

    assert [(one.url, one.depth, one.priority) for one in found] == queued


def test_a_link_is_queued_with_its_kind_and_where_it_was_found() -> None:
    kinds = {one.url: one.kind for one in candidates(a_page(), a_source(), LINKS)}
    origins = {(one.origin, one.source_id, one.parent_url) for one in candidates(a_page(), a_source(), LINKS)}

    assert kinds == {ARTICLE: PageKind.ARTICLE, LIST: PageKind.LIST, EXTERNAL: PageKind.ARTICLE}
    assert origins == {(Origin.SPIDER, ID, PAGE)}


@pytest.mark.parametrize(
    ("source", "sites"),
    [
        (None, (PAGE,)),
        (a_source(), (PAGE,)),
        (a_source(addresses=("https://example.org/",)), ("https://example.org/",)),
    ],
)
def test_the_site_is_that_of_the_source_or_of_the_page(source: PageSource | None, sites: tuple[str, ...]) -> None:
    assert sites_of(a_page(), source) == sites
