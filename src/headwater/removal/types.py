"""What was deleted, and is to be removed row by row."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class RemovalKind(StrEnum):
    SOURCE = "source"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Removal:
    """A deleted source or user whose rows this worker removes until the lease ends."""

    kind: RemovalKind
    id: UUID
    lease: UUID
