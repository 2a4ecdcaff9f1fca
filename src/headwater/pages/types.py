"""A page that was fetched, as it waits to be read."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headwater.types import PageKind, SourceId


@dataclass(frozen=True, slots=True)
class NewPage:
    """A body that the fetcher brought."""

    url: str  # as the frontier knows it
    final_url: str  # where the redirects ended
    kind: PageKind
    source_id: SourceId | None
    depth: int
    content_type: str
    body: bytes
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class Page(NewPage):
    """A body in somebody's hands."""

    id: UUID
    lease: UUID
    attempts: int  # how often it was claimed before and not answered: its reader died of it
