"""What we choose: how entries are grouped, what an answer means for each of them, how long to wait. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar, assert_never

from headwater.outbox.types import Claimed, Counts
from headwater.publishing.types import (
    Again,
    Answered,
    BulkOutcome,
    Bury,
    Done,
    Fate,
    IndexLook,
    IndexOptions,
    ItemResult,
    Lost,
    Operation,
    Refused,
)
from headwater.types import ArticleId

T = TypeVar("T")

ALONE_AFTER = 3  # so often it went down together with others: from then on it goes by itself
REASON_MAX = 500

# Said to a single document, but about the index: every other one would be told the same.
_INDEX_FAULTS = frozenset({"cluster_block_exception", "index_closed_exception", "index_not_found_exception"})


def groups(claimed: Sequence[Claimed], sizes: Mapping[ArticleId, int], options: IndexOptions) -> list[list[Claimed]]:
    """Entries that are read and sent together, so that no more than a request's bytes are in memory.

    Those that have failed too often come last, each by itself: were they the reason, they take nobody with them.
    """
    together = [entry for entry in claimed if entry.attempts < ALONE_AFTER]
    alone = [[entry] for entry in claimed if entry.attempts >= ALONE_AFTER]
    sized = [(entry, sizes.get(entry.article_id, 0)) for entry in together]
    return [*_packed(sized, most=options.batch_documents, most_bytes=options.batch_bytes), *alone]


def requests(operations: Sequence[Operation], options: IndexOptions) -> list[list[Operation]]:
    """The same by what the lines really weigh. An operation that is too large alone goes alone."""
    sized = [(operation, len(operation.lines)) for operation in operations]
    return list(_packed(sized, most=options.batch_documents, most_bytes=options.batch_bytes))


def _packed(sized: Sequence[tuple[T, int]], *, most: int, most_bytes: int) -> Iterator[list[T]]:
    pack: list[T] = []
    weight = 0
    for item, size in sized:
        if pack and (len(pack) == most or weight + size > most_bytes):
            yield pack
            pack, weight = [], 0
        pack.append(item)
        weight += size
    if pack:
        yield pack


def must_split(outcome: BulkOutcome, sent: int) -> bool:
    """Whether a request was refused for something in it: halved until it is found, the rest gets through."""
    return isinstance(outcome, Refused) and outcome.status in {400, 413} and sent > 1


def fates(outcome: BulkOutcome, sent: int) -> list[Fate]:
    """What becomes of each entry that was sent."""
    match outcome:
        case Answered(items):
            return [fate(item) for item in items]
        case Refused(status=400 | 413 as status, reason=reason):
            return [Bury(_told(f"refused with {status}", reason)) for _ in range(sent)]
        case Refused(status=status, reason=reason):
            return [Again(_told(f"refused with {status}", reason)) for _ in range(sent)]
        case Lost(reason):
            return [Again(_told("no answer", reason)) for _ in range(sent)]
        case _:
            assert_never(outcome)


def fate(item: ItemResult) -> Fate:
    """What one operation's result means.

    409: the index has this version or a newer one. 404 without an error: there was nothing to delete. 400: the document
    does not fit the mapping and never will. All else is the index's own trouble.
    """
    if item.status < 300 or item.status == 409 or (item.status == 404 and item.error is None):
        return Done()
    told = _told(item.error or f"status {item.status}", item.reason)
    if item.status in {400, 413} and item.error not in _INDEX_FAULTS:
        return Bury(told)
    return Again(told)


def wait(failures: int, options: IndexOptions, *, chance: float, asked: timedelta | None = None) -> timedelta:
    """How long to leave the index alone after so many failures in a row; `chance` from 0 to 1 spreads the workers."""
    grown = options.wait_min * 2 ** min(failures - 1, 30) if failures > 0 else options.wait_min
    longest = min(grown, options.wait_max)
    return max(longest * (0.5 + chance / 2), min(asked or timedelta(0), options.wait_max))


def asked_wait(outcome: BulkOutcome) -> timedelta | None:
    """What the index's Retry-After says."""
    return outcome.retry_after if isinstance(outcome, Refused) else None


def faults(look: IndexLook, counts: Counts, stored: int) -> list[str]:
    """What is not well with the index, one sentence each, for a person."""
    told: list[str] = []
    wanted = stored - counts.dead
    if look.index not in look.aliases_of:
        told.append(f"The alias does not lead to {look.index}; `headwater index rebuild` sees to it.")
    if look.differences:
        told.append(f"{look.index} is not as Headwater makes it: {'; '.join(look.differences)}.")
    if look.health == "red":
        told.append("A part of the index is out of reach: its health is red.")
    if counts.dead:
        refused = "1 document was" if counts.dead == 1 else f"{counts.dead} documents were"
        told.append(f"{refused} refused; `headwater index status` tells why.")
    if not counts.is_listening:
        told.append("No change is queued: the stage `indexing` has never run.")
    elif not (counts.waiting or counts.is_filling) and look.documents != wanted:
        told.append(
            f"Nothing waits, and {look.index} has {look.documents or 0} documents where {wanted} are stored: "
            "it may show them only after some seconds. `headwater index rebuild` tells it those that are missing."
        )
    return told


def _told(kind: str, reason: str) -> str:
    return f"{kind}: {reason}"[:REASON_MAX] if reason else kind
