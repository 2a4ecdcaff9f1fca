"""A fetched body, until a stage has read it."""

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
