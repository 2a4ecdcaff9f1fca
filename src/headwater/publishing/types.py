"""Options of the index, documents, requests and responses. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headwater.documents.types import ClaimedEntry


@dataclass(frozen=True, slots=True)
class IndexOptions:
    batch_documents: int
    batch_bytes: int
    concurrency: int
    lease: timedelta
    wait_min: timedelta
    wait_max: timedelta


IndexDocument = Mapping[str, Any]
"""The raw content document of an article, by the names of the mapping; None is left out when it is sent."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The lines of one entry in a bulk request, each ended by a newline."""

    entry: ClaimedEntry
    lines: bytes


@dataclass(frozen=True, slots=True)
class ItemResult:
    status: int
    error: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BulkAnswered:
    """One result for each operation of a bulk request, in their order. HTTP 200 does not mean that they succeeded."""

    items: Sequence[ItemResult]


@dataclass(frozen=True, slots=True)
class Refused:
    """The request as a whole was refused."""

    status: int
    reason: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """No readable response: it is unknown whether the index applied the request."""

    reason: str


BulkOutcome = BulkAnswered | Refused | Lost


@dataclass(frozen=True, slots=True)
class Done:
    """The index has this version or a newer one."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The index failed; the document is sent again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reject:
    reason: str


ItemOutcome = Done | Retry | Reject


@dataclass(frozen=True, slots=True)
class IndexReport:
    done: int
    again: int
    refused: int
    took: timedelta


@dataclass(frozen=True, slots=True)
class IndexLook:
    server: str
    index: str
    aliases_of: Sequence[str]  # the indices behind the alias
    documents: int | None
    health: str | None
    differences: Sequence[str]
