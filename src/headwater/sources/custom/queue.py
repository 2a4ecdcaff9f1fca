"""Hints for decisions on suggestions."""

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


async def hints_of(conn: Connection, submissions: Sequence[FeedSubmission], now: datetime) -> Hints:
    likenesses: dict[SourceId, list[Likeness]] = {}
    for one in await submissions_store.list_similar(conn, source_ids=[found.id for found in submissions]):
        likenesses.setdefault(one.suggestion_id, []).append(one)
    domains = {found.id: domains_of(found.host) for found in submissions}
    names = sorted({name for names in domains.values() for name in names})
    blocked = await domains_store.find_blocked(conn, domains=names)
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
    is_approved, is_rejected = one.status is ModerationStatus.APPROVED, one.status is ModerationStatus.REJECTED
    record = SubmitterRecord(one.approved_count - is_approved, one.rejected_count - is_rejected)
    return spam_score(one.host, one.sample, domain, record, now)


def _without(record: DomainRecord, one: FeedSubmission) -> DomainRecord:
    if one.decided_at is None:
        return record
    is_approved = one.status is ModerationStatus.APPROVED
    return replace(record, approved=record.approved - is_approved, rejected=record.rejected - (not is_approved))
