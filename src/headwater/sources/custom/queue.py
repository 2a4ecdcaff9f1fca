"""What moderators look at: suggestions by where they stand, and what is known beside each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.db import Connection
from headwater.sources.custom import store
from headwater.sources.custom.decide import domains_of
from headwater.sources.custom.types import (
    BlockedDomain,
    Likeness,
    ModerationStatus,
    QueueCursor,
    QueueFilter,
    QueuePage,
    Shown,
    Submission,
)
from headwater.types import SourceId


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known beside suggestions: what each may be a duplicate of, and whether its domain is blocked by now."""

    likenesses: Mapping[SourceId, Sequence[Likeness]]
    blocked: Mapping[SourceId, BlockedDomain]


async def list_shown(
    conn: Connection, shown: Shown, *, wanted: QueueFilter, after: QueueCursor | None, limit: int
) -> QueuePage:
    """A page of suggestions: what waits the oldest first, what was decided on the latest decision first."""
    match shown:
        case Shown.PENDING:
            status = ModerationStatus.PENDING
            return await store.list_undecided(conn, status=status, wanted=wanted, after=after, limit=limit)
        case Shown.UNREVIEWED:
            status = ModerationStatus.APPROVED
            return await store.list_undecided(conn, status=status, wanted=wanted, after=after, limit=limit)
        case Shown.APPROVED | Shown.REJECTED:
            status = ModerationStatus(shown.value)
            return await store.list_decided(conn, status=status, wanted=wanted, after=after, limit=limit)


async def hints_of(conn: Connection, submissions: Sequence[Submission]) -> Hints:
    """What stands beside some suggestions."""
    likenesses: dict[SourceId, list[Likeness]] = {}
    for one in await store.list_like(conn, source_ids=[found.id for found in submissions]):
        likenesses.setdefault(one.suggestion_id, []).append(one)
    domains = {found.id: domains_of(found.host) for found in submissions}
    blocked = await store.find_blocked(conn, domains=sorted({name for names in domains.values() for name in names}))
    return Hints(likenesses, {id_: one for one in blocked for id_, names in domains.items() if one.domain in names})
