"""Suggesting a feed for all users, and withdrawing a suggestion. A suggested source is disabled until it is approved,
unless it has subscribers: subscriptions are private and immediate (`sources/subscribe.py`)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import DAY, Quotas, count_attempt, spend
from headwater.accounts.store import users
from headwater.accounts.types import User
from headwater.audit import store as audit
from headwater.audit.types import HEADWATER, Actor, AuditAction
from headwater.db import Connection, Database
from headwater.errors import AlreadyDecided, FeedTaken, InvalidProposal, SourceExists, SubmissionNotFound
from headwater.polling.store import holds as feed_holds
from headwater.sources import follow as following
from headwater.sources.custom import store
from headwater.sources.custom.decide import SUBMISSIONS, check_proposal, domains_of, is_trusted, why_taken
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.spam import HELD_FROM, spam_score
from headwater.sources.custom.types import CustomFeed, ExistingSource, Inspected, ModerationStatus, NoFeed, Proposal
from headwater.sources.store import custom, sources
from headwater.sources.types import Changes, Source
from headwater.types import Clock, SourceId
from headwater.urls import domain_of, host_of, url_key

USUAL_QUOTAS = Quotas()
A_READER = "a reader"  # the name in the audit log after the account is deleted


async def submit(
    database: Database, inspector: Inspector, clock: Clock, *, user: User, proposal: Proposal,
    quotas: Quotas = USUAL_QUOTAS,
) -> CustomFeed:  # fmt: skip
    """Suggest a feed. That of a trusted user is approved at once; others are pending until a moderator decides. Raises
    InvalidProposal, FeedTaken, TooManyAttempts."""
    wanted = check_proposal(proposal)
    async with database.transaction() as conn:
        await _refuse(conn, wanted.url, now=clock())
    await count_attempt(database, bucket=f"submit:{user.id}", limit=SUBMISSIONS, now=clock())
    limit = Limit(quotas.suggestions_per_day, DAY)
    await spend(database, user_id=user.id, what="suggestions", limit=limit, now=clock())
    found = await inspector.inspect(wanted.url)
    if isinstance(found, NoFeed):
        raise InvalidProposal({"url": found.reason}, found.offers)
    try:
        async with database.as_system() as conn:
            return await _keep(conn, user, wanted, found, clock())
    except SourceExists as error:  # added by another user meanwhile
        async with database.transaction() as conn:
            await _refuse(conn, found.url, now=clock())
        raise InvalidProposal({"url": "Another user has just added this feed. Try again."}) from error


async def withdraw(conn: Connection, *, user: User, source_id: SourceId, now: datetime) -> None:
    """Withdraw a pending suggestion. Raises SubmissionNotFound, AlreadyDecided."""
    found = await store.lock_own(conn, source_id=source_id, user_id=user.id)
    if found is None:
        raise SubmissionNotFound
    if found.status is not ModerationStatus.PENDING:
        raise AlreadyDecided(found.name, found.status)
    await store.remove(conn, source_id=source_id)
    await custom.set_moderation(conn, source_id=source_id, status=None)
    await _record(conn, Actor(user.id, A_READER), AuditAction.FEED_WITHDRAWN, found, now)


async def _refuse(conn: Connection, *urls: str, now: datetime, hops: Sequence[str] = ()) -> ExistingSource | None:
    """The existing source of one of these URLs, if it may be suggested. Raises InvalidProposal, FeedTaken. A blocked
    domain, a rejected feed and one that an operator disabled are refused anywhere in the redirects, also in temporary
    ones."""
    domains = [domain for url in (*urls, *hops) for domain in domains_of(host_of(url))]
    for blocked in await store.find_blocked(conn, domains=domains):
        raise InvalidProposal({"url": f"The domain {blocked.domain} is blocked. Ask a moderator if that is a mistake."})
    keys = [url_key(url) for url in urls]
    known = await store.find_existing(conn, url_keys=keys)
    if known and (reason := why_taken(known)):
        raise FeedTaken(reason, known.id, is_public=known.is_public)
    for hop in hops:
        found = await store.find_existing(conn, url_keys=[url_key(hop)])
        if found and found.status is ModerationStatus.REJECTED:
            raise FeedTaken(why_taken(found) or "", found.id)
    for url in {*urls, *hops}:
        if await feed_holds.find_disable(conn, url=url, now=now):
            raise InvalidProposal({"url": "An operator has disabled this feed."})
    return known


async def _keep(conn: Connection, user: User, wanted: Proposal, found: Inspected, now: datetime) -> CustomFeed:
    known = await _refuse(conn, wanted.url, found.url, now=now, hops=found.hops)
    karma = await users.find_karma(conn, user_id=user.id)
    is_live = is_trusted(karma) and not await _is_suspect(conn, user, found, now)
    source = await (sources.find_by_id(conn, source_id=known.id) if known else _new(conn, user, wanted, found.url, now))
    status = ModerationStatus.APPROVED if is_live else ModerationStatus.PENDING
    await custom.set_moderation(conn, source_id=source.id, status=status.value)
    if is_live:
        await following.route_again(conn, source.id, now)
    await store.add(
        conn, source_id=source.id, user_id=user.id, proposal=wanted, host=host_of(source.address),
        sample=found.sample, now=now,
    )  # fmt: skip
    if is_live:
        await publish(conn, source, wanted, now)
    kept = await store.lock_own(conn, source_id=source.id, user_id=user.id)
    assert kept is not None, "it was just added"
    await _record(conn, Actor(user.id, A_READER), AuditAction.FEED_SUBMITTED, kept, now)
    if is_live:
        await _record(conn, HEADWATER, AuditAction.FEED_APPROVED, kept, now)
    return kept


async def _is_suspect(conn: Connection, user: User, found: Inspected, now: datetime) -> bool:
    """Whether its spam score is so high that a moderator must decide, also for a trusted user."""
    host = host_of(found.url)
    domain = domain_of(host)
    records = await store.list_records(conn, domains=[domain])
    record = await store.find_submitter_record(conn, user_id=user.id)
    return spam_score(host, found.sample, records[domain], record, now).points >= HELD_FROM


async def publish(conn: Connection, source: Source, wanted: Proposal | CustomFeed, now: datetime) -> None:
    """Make the source public, with the suggested name and category, and with the interval unless it has one."""
    is_chosen = source.interval_minutes is not None  # by an operator
    interval = timedelta(minutes=wanted.interval_minutes) if wanted.interval_minutes and not is_chosen else None
    await following.change(conn, source, Changes(name=wanted.name, interval=interval, category=wanted.category))
    if not source.enabled and not await custom.is_disabled_by_operator(conn, source_id=source.id):
        await following.enable_source(conn, source, now)


async def _new(conn: Connection, user: User, wanted: Proposal, url: str, now: datetime) -> Source:
    source = await following.follow(conn, url=url, name=wanted.name, now=now)
    await custom.set_submitter(conn, source_id=source.id, user_id=user.id)
    await following.change(conn, source, Changes(category=wanted.category))
    source = await following.apply_hold(conn, source, now)
    await following.disable_source(conn, source, now)
    return replace(source, is_system=False, enabled=False)


async def _record(conn: Connection, actor: Actor, action: AuditAction, feed: CustomFeed, now: datetime) -> None:
    detail = {"url": feed.url, "status": feed.status.value}
    await audit.record(conn, actor, action, now, subject=feed.name, subject_id=feed.id, detail=detail)
