"""The lines of bulk requests, how entries are grouped, what a response means for each, how long to wait. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

import msgspec

from headwater.documents.types import Action, ClaimedEntry, DocumentCounts
from headwater.publishing.types import (
    BulkAnswered,
    BulkOutcome,
    Done,
    IndexDocument,
    IndexLook,
    IndexOptions,
    ItemOutcome,
    ItemResult,
    Lost,
    Operation,
    Refused,
    Reject,
    Retry,
)
from headwater.reading.text import storable
from headwater.types import ArticleId

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode

ALONE_AFTER = 3  # failed requests: from then on an entry is sent alone
REASON_MAX = 500
_REFUSED_CONTENT = {400, 413}

# Errors of a single document that are about the index: all other documents would get the same.
_INDEX_FAULTS = frozenset({"cluster_block_exception", "index_closed_exception", "index_not_found_exception"})


def operation(entry: ClaimedEntry, document: IndexDocument | None, *, most_bytes: int) -> Operation:
    """The operation for an entry. Content that was deleted meanwhile is a deletion, whatever was queued."""
    target = {"_id": entry.url_key.hex(), "version": entry.queued_version, "version_type": "external"}
    if document is None or entry.action == Action.DELETE:
        return Operation(entry, _encode({"delete": target}) + b"\n")
    known = {name: value for name, value in document.items() if value is not None}
    if "json_ld_data" in known:  # JSON, which is passed on unread
        known["json_ld_data"] = msgspec.Raw(known["json_ld_data"].encode())
    line = _encode(known)
    if len(line) > most_bytes:
        # The HTML is the large part, and the index does not search it; PostgreSQL has it.
        line = _encode({name: value for name, value in known.items() if name != "raw_html"})
    return Operation(entry, _encode({"index": target}) + b"\n" + line + b"\n")


def groups(
    claimed: Sequence[ClaimedEntry], sizes: Mapping[ArticleId, int], options: IndexOptions
) -> list[list[ClaimedEntry]]:
    """Entries that are read and sent together, so that no more than a request's bytes are in memory.

    Those that failed too often come last, each alone: if one is the cause, it does not fail others.
    """
    alone = [[entry] for entry in claimed if entry.attempts >= ALONE_AFTER]
    sized = [(entry, sizes.get(entry.article_id, 0)) for entry in claimed if entry.attempts < ALONE_AFTER]
    return [*_packed(sized, options), *alone]


def requests(operations: Sequence[Operation], options: IndexOptions) -> list[list[Operation]]:
    """The same by the real sizes. An operation that is too large is sent alone."""
    return list(_packed([(one, len(one.lines)) for one in operations], options))


def _packed(sized: Sequence[tuple[T, int]], options: IndexOptions) -> Iterator[list[T]]:
    pack: list[T] = []
    weight = 0
    for item, size in sized:
        if pack and (len(pack) == options.batch_documents or weight + size > options.batch_bytes):
            yield pack
            pack, weight = [], 0
        pack.append(item)
        weight += size
    if pack:
        yield pack


def must_split(outcome: BulkOutcome, sent: int) -> bool:
    """Whether a request was refused for something in it: it is halved until the cause is found."""
    return isinstance(outcome, Refused) and outcome.status in _REFUSED_CONTENT and sent > 1


def outcomes_of(outcome: BulkOutcome, sent: int) -> list[ItemOutcome]:
    if isinstance(outcome, BulkAnswered):
        return [outcome_of(item) for item in outcome.items]
    if isinstance(outcome, Lost):
        return [Retry(_reason("no answer", outcome.reason))] * sent
    kind = Reject if outcome.status in _REFUSED_CONTENT else Retry
    return [kind(_reason(f"refused with {outcome.status}", outcome.reason))] * sent


def outcome_of(item: ItemResult) -> ItemOutcome:
    """What the result of one operation means.

    409: the index has this version or a newer one. 404 without an error: there was nothing to delete. 400: the document
    does not fit the mapping. All else is a failure of the index.
    """
    if item.status < 300 or item.status == 409 or (item.status == 404 and item.error is None):
        return Done()
    reason = _reason(item.error or f"status {item.status}", item.reason)
    if item.status in _REFUSED_CONTENT and item.error not in _INDEX_FAULTS:
        return Reject(reason)
    return Retry(reason)


def wait(failures: int, options: IndexOptions, *, chance: float, asked: timedelta | None = None) -> timedelta:
    """How long to wait after so many failures in a row; `chance` from 0 to 1 spreads the workers."""
    longest = min(options.wait_min * 2 ** min(max(failures - 1, 0), 30), options.wait_max)
    return max(longest * (0.5 + chance / 2), min(asked or timedelta(0), options.wait_max))


def asked_wait(outcome: BulkOutcome) -> timedelta | None:
    return outcome.retry_after if isinstance(outcome, Refused) else None


def faults(look: IndexLook, counts: DocumentCounts, stored: int) -> list[str]:
    """What is wrong with the index, one sentence each, for operators."""
    found: list[str] = []
    wanted = stored - counts.dead
    if look.index not in look.aliases_of:
        found.append(f"The alias does not lead to {look.index}; `headwater index rebuild` repairs it.")
    if look.differences:
        found.append(f"{look.index} has another mapping than Headwater creates: {'; '.join(look.differences)}.")
    if look.health == "red":
        found.append("A part of the index is unavailable: its health is red.")
    if counts.dead:
        refused = "1 document was" if counts.dead == 1 else f"{counts.dead} documents were"
        found.append(f"{refused} refused; `headwater index status` shows why.")
    if not counts.is_listening:
        found.append("No change is queued: the stage `delivering` has never run.")
    elif not (counts.waiting or counts.is_filling) and look.documents != wanted:
        found.append(
            f"Nothing waits, and {look.index} has {look.documents or 0} documents where {wanted} are stored: "
            "it may show them only after some seconds. `headwater index rebuild` sends those that are missing."
        )
    return found


def _reason(kind: str, reason: str) -> str:
    return storable(f"{kind}: {reason}" if reason else kind)[:REASON_MAX]
