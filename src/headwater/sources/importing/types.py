"""What an import is, and what came of its lines. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

LINES_PER_PAGE = 100
IMPORTS_KEPT = 10


class LineOutcome(StrEnum):
    """What came of a line."""

    ADDED = "added"
    FOLLOWED = "followed"  # already
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Import:
    """A file, and how far it is."""

    id: UUID
    file_name: str
    created_at: datetime
    finished_at: datetime | None
    total: int
    added: int
    followed: int
    invalid: int

    @property
    def done(self) -> int:
        """How many lines have told what came of them."""
        return self.added + self.followed + self.invalid

    @property
    def is_running(self) -> bool:
        """Lines wait to be worked on."""
        return self.finished_at is None


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A line of a file. No outcome: it waits."""

    id: UUID
    number: int
    name: str
    url: str
    category: str
    outcome: LineOutcome | None
    reason: str
