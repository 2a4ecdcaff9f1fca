"""What the spider finds on a page, and what it goes by. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from headwater.types import SourceId


class LinkKind(StrEnum):
    """Where a link leads, by its looks."""

    ARTICLE = "article"
    LIST = "list"
    EXTERNAL = "external"  # an article of another site
    NOTHING = "nothing"  # logins, searches, files: nothing to read


@dataclass(frozen=True, slots=True)
class Links:
    """The links of a page that may be worth a request, in the page's order, each once."""

    articles: Sequence[str]
    lists: Sequence[str]
    external: Sequence[str]
    found: int  # all links that were looked at


@dataclass(frozen=True, slots=True)
class SpiderOptions:
    """How links are followed; from settings."""

    budget: int = 1_000  # new pages a day of a source that names none of its own
    max_links: int = 1_000  # of one page
    concurrency: int = 4
    lease: timedelta = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class SpiderSource:
    """What following links needs to know of the source that a page belongs to."""

    id: SourceId
    addresses: Sequence[str]  # of site and feed: what counts as the same site
    ingestion_mode: str
    article_url_patterns: Sequence[str]
    external_links: bool
    max_depth: int
    page_budget: int | None
    priority: int
    enabled: bool = True
