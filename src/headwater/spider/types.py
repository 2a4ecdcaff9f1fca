"""Links and options of the spider. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


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
