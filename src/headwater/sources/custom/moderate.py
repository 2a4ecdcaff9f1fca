"""Hints for decisions on suggestions; the decisions, and blocked domains, each with its entry in the audit log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.accounts.store import users
from headwater.accounts.types import User
from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
from headwater.db import Connection
from headwater.errors import AlreadyDecided, Conflict, Forbidden, NotFound, SubmissionNotFound
from headwater.sources import follow as following
from headwater.sources.custom import store
from headwater.sources.custom.decide import check_domain, check_reason, domains_of, may_approve, worth
from headwater.sources.custom.spam import SpamScore, spam_score, without_itself
from headwater.sources.custom.submit import publish
from headwater.sources.custom.types import (
    BlockedDomain,
    DomainRecord,
    FeedSubmission,
    ModerationStatus,
    PossibleDuplicate,
)
from headwater.sources.store import custom, sources
from headwater.types import SourceId
from headwater.urls import domain_of


async def approve(
    conn: Connection, source_id: SourceId, *, moderator: User | None, actor: Actor, now: datetime
) -> None:
    """Make it public and poll it at once. Raises SubmissionNotFound, AlreadyDecided, Forbidden, Conflict."""
    found = await _lock(conn, source_id)
    for blocked in await store.find_blocked(conn, domains=domains_of(found.host)):
        raise Conflict(f"The domain {blocked.domain} is blocked. Unblock it first, or reject the suggestion.")
    if not may_approve(moderator, found.submitter_id):
        raise Forbidden("You suggested this feed. Another moderator must decide on it.")
    if not found.is_live_by_trust:
        source = await sources.find_by_id(conn, source_id=source_id)
        await publish(conn, source, found, now)
    await _decide(conn, found, ModerationStatus.APPROVED, actor, None, now)


async def reject(conn: Connection, source_id: SourceId, *, reason: str, actor: Actor, now: datetime) -> None:
    """Reject it, and keep the source, so that it is not suggested again; its subscribers keep it. Raises Invalid,
    SubmissionNotFound, AlreadyDecided."""
    reason = check_reason(reason)
    await _reject(conn, await _lock(conn, source_id), reason, actor, now)


async def _reject(conn: Connection, found: FeedSubmission, reason: str, actor: Actor, now: datetime) -> None:
    if found.is_active and not found.subscriber_count:
        await following.disable_source(conn, await sources.find_by_id(conn, source_id=found.id), now)
    await _decide(conn, found, ModerationStatus.REJECTED, actor, reason, now)


async def block(
    conn: Connection, *, domain: str, reason: str, reject_waiting: bool, actor: Actor, now: datetime
) -> int:
    """Block a domain and reject its approved suggestions, also pending ones on request. Returns how many. Raises
    Invalid, Conflict."""
    domain, reason = check_domain(domain), check_reason(reason)
    if not await store.block(conn, domain=domain, reason=reason, actor=actor, now=now):
        raise Conflict(f"{domain} is blocked already.")
    rejected = await store.lock_of_domain(conn, domain=domain, with_pending=reject_waiting)
    for source_id in rejected:
        if found := await store.lock(conn, source_id=source_id):
            await _reject(conn, found, reason, actor, now)
        else:
            await _reject_without_user(conn, source_id, reason, actor, now)
    detail = {"reason": reason, "rejected": len(rejected)}
    await audit.record(conn, actor, AuditAction.DOMAIN_BLOCKED, now, subject=domain, detail=detail)
    return len(rejected)


async def _reject_without_user(conn: Connection, source_id: SourceId, reason: str, actor: Actor, now: datetime) -> None:
    """Reject an approved source whose submitter has deleted their account; its subscribers keep it."""
    source = await sources.find_by_id(conn, source_id=source_id)
    await custom.set_moderation(conn, source_id=source_id, status=ModerationStatus.REJECTED.value)
    await following.route_again(conn, source_id, now)
    if await custom.list_unapproved(conn, source_ids=[source_id]):
        await following.disable_source(conn, source, now)
    about = {"url": source.address, "reason": reason}
    await audit.record(
        conn, actor, AuditAction.FEED_REJECTED, now, subject=source.name, subject_id=source_id, detail=about
    )


async def unblock(conn: Connection, *, domain: str, actor: Actor, now: datetime) -> None:
    """Raises NotFound."""
    if not await store.unblock(conn, domain=domain):
        raise NotFound(f"{domain} is not blocked.")
    await audit.record(conn, actor, AuditAction.DOMAIN_UNBLOCKED, now, subject=domain)


async def _lock(conn: Connection, source_id: SourceId) -> FeedSubmission:
    found = await store.lock(conn, source_id=source_id)
    if found is None:
        raise SubmissionNotFound
    if found.decided_at is not None:
        raise AlreadyDecided(found.name, found.status)
    return found


async def _decide(
    conn: Connection, found: FeedSubmission, status: ModerationStatus, actor: Actor, reason: str | None, now: datetime
) -> None:
    await custom.set_moderation(conn, source_id=found.id, status=status.value)
    await following.route_again(conn, found.id, now)
    await store.set_decision(conn, source_id=found.id, actor=actor, reason=reason, now=now)
    await users.add_karma(conn, user_id=found.submitter_id, karma=worth(found.status, status))
    detail = {"url": found.url} | ({"reason": reason} if reason else {})
    action = AuditAction.FEED_APPROVED if status is ModerationStatus.APPROVED else AuditAction.FEED_REJECTED
    await audit.record(conn, actor, action, now, subject=found.name, subject_id=found.id, detail=detail)


@dataclass(frozen=True, slots=True)
class Hints:
    similar: Mapping[SourceId, Sequence[PossibleDuplicate]]
    blocked: Mapping[SourceId, BlockedDomain]
    domains: Mapping[SourceId, DomainRecord]
    scores: Mapping[SourceId, SpamScore]


async def hints_of(conn: Connection, suggestions: Sequence[FeedSubmission], now: datetime) -> Hints:
    similar: dict[SourceId, list[PossibleDuplicate]] = {}
    for one in await store.list_similar(conn, source_ids=[found.id for found in suggestions]):
        similar.setdefault(one.suggestion_id, []).append(one)
    of_host = {found.id: domains_of(found.host) for found in suggestions}
    names = sorted({name for names in of_host.values() for name in names})
    blocked = await store.find_blocked(conn, domains=names)
    records = await store.list_records(conn, domains=sorted({domain_of(found.host) for found in suggestions}))
    known = {found.id: without_itself(found, records[domain_of(found.host)]) for found in suggestions}
    return Hints(
        similar,
        {id_: one for one in blocked for id_, names in of_host.items() if one.domain in names},
        {id_: domain for id_, (domain, _) in known.items()},
        {found.id: spam_score(found.host, found.sample, *known[found.id], now) for found in suggestions},
    )
