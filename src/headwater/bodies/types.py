"""A fetched body, until a stage has read it, and the source that it is read for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headwater.types import PageKind, SourceId


@dataclass(frozen=True, slots=True)
class NewBody:
    url: str  # as in the frontier
    final_url: str  # after redirects
    kind: PageKind
    source_id: SourceId | None
    depth: int
    content_type: str
    body: bytes
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimedBody(NewBody):
    id: UUID
    lease: UUID
    attempts: int  # earlier claims without an outcome: the process that read it died


@dataclass(frozen=True, slots=True)
class PageSource:
    id: SourceId
    addresses: Sequence[str]  # of site and feed: what counts as the same site
    sitemap_url: str | None = None
    ingestion_mode: str = "feed"
    article_url_patterns: Sequence[str] = ()
    external_links: bool = False
    max_depth: int = 2
    page_budget: int | None = None
    priority: int = 5
    enabled: bool = True
