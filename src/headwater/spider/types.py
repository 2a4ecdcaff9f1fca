"""Links and options of the spider. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from headwater.types import SourceId


class LinkKind(StrEnum):
    ARTICLE = "article"
    LIST = "list"
    EXTERNAL = "external"  # an article of another site
    NOTHING = "nothing"  # logins, searches, files


@dataclass(frozen=True, slots=True)
class Links:
    articles: Sequence[str]
    lists: Sequence[str]
    external: Sequence[str]
    found: int  # of any kind


@dataclass(frozen=True, slots=True)
class SpiderOptions:
    budget: int = 1_000  # new pages per day of a source without its own budget
    max_links: int = 1_000  # of one page
    concurrency: int = 4
    lease: timedelta = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class SpiderSource:
    id: SourceId
    addresses: Sequence[str]  # of site and feed: what counts as the same site
    ingestion_mode: str
    article_url_patterns: Sequence[str]
    external_links: bool
    max_depth: int
    page_budget: int | None
    priority: int
    enabled: bool = True
