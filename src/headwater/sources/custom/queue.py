"""The moderation queue: suggestions by status, with hints for the decision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headwater.db import Connection
from headwater.sources.custom.decide import domains_of
from headwater.sources.custom.spam import spam_score
from headwater.sources.custom.store import domains as domains_store
from headwater.sources.custom.store import submissions as submissions_store
from headwater.sources.custom.types import (
    BlockedDomain,
    DomainRecord,
    FeedSubmission,
    Likeness,
    ModerationStatus,
    QueueCursor,
    QueueFilter,
    QueuePage,
    Shown,
    SpamScore,
    SubmitterRecord,
)
from headwater.types import SourceId
from headwater.urls import domain_of


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints for suggestions: possible duplicates, blocked domains, reputation of the domain, spam score."""

    likenesses: Mapping[SourceId, Sequence[Likeness]]
    blocked: Mapping[SourceId, BlockedDomain]
    domains: Mapping[SourceId, DomainRecord]
    scores: Mapping[SourceId, SpamScore]


async def list_shown(
    conn: Connection, shown: Shown, *, wanted: QueueFilter, after: QueueCursor | None, limit: int
) -> QueuePage:
    """A page of the queue: undecided ones the oldest first, decided ones the latest decision first."""
    if shown in {Shown.PENDING, Shown.UNREVIEWED}:
        status = ModerationStatus.PENDING if shown is Shown.PENDING else ModerationStatus.APPROVED
        return await submissions_store.list_undecided(conn, status=status, wanted=wanted, after=after, limit=limit)
    status = ModerationStatus(shown.value)
    return await submissions_store.list_decided(conn, status=status, wanted=wanted, after=after, limit=limit)


async def hints_of(conn: Connection, submissions: Sequence[FeedSubmission], now: datetime) -> Hints:
    likenesses: dict[SourceId, list[Likeness]] = {}
    for one in await submissions_store.list_similar(conn, source_ids=[found.id for found in submissions]):
        likenesses.setdefault(one.suggestion_id, []).append(one)
    domains = {found.id: domains_of(found.host) for found in submissions}
    blocked = await domains_store.find_blocked(
        conn, domains=sorted({name for names in domains.values() for name in names})
    )
    records = await domains_store.list_records(conn, domains=sorted({domain_of(found.host) for found in submissions}))
    known = {found.id: _without(records[domain_of(found.host)], found) for found in submissions}
    return Hints(
        likenesses,
        {id_: one for one in blocked for id_, names in domains.items() if one.domain in names},
        known,
        {found.id: _score(found, known[found.id], now) for found in submissions},
    )


def _score(one: FeedSubmission, domain: DomainRecord, now: datetime) -> SpamScore:
    """The spam score, without the decision on the suggestion itself."""
    is_approved, is_rejected = _decision(one)
    record = SubmitterRecord(one.approved_count - is_approved, one.rejected_count - is_rejected)
    return spam_score(one.host, one.sample, domain, record, now)


def _without(record: DomainRecord, one: FeedSubmission) -> DomainRecord:
    is_approved, is_rejected = _decision(one) if one.decided_at else (False, False)
    return replace(record, approved=record.approved - is_approved, rejected=record.rejected - is_rejected)


def _decision(one: FeedSubmission) -> tuple[bool, bool]:
    return one.status is ModerationStatus.APPROVED, one.status is ModerationStatus.REJECTED
