"""/admin/api/feeds/moderation and /blocked-domains: deciding on what readers suggest. For moderators."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.accounts.types import Role
from headwater.api.feed_schemas import (
    BlockedDomains,
    DomainToBlock,
    ModeratedFeed,
    ModerationPage,
    NewlyBlocked,
    Rejection,
    blocked_of,
    moderated_of,
)
from headwater.api.places import read_place, word_of
from headwater.api.schemas import LIST_MOST, PLAIN
from headwater.asgi.actor import actor_of
from headwater.asgi.problems import Fault, Problem, problem
from headwater.db import Connection, Database
from headwater.errors import Invalid, SubmissionNotFound
from headwater.sources.custom import judge
from headwater.sources.custom.decide import check_domain
from headwater.sources.custom.queue import hints_of, list_shown
from headwater.sources.custom.store import domains, submissions
from headwater.sources.custom.types import QueueFilter, Shown
from headwater.types import Clock, SourceId, UserId

AnyRequest = Request[Any, Any, Any]
Db = NamedDependency[Database]
Now = NamedDependency[Clock]
OPT = {"role": Role.MODERATOR}
DECIDING = {"role": Role.MODERATOR, "refusals": (409,)}


ByStatus = Annotated[Shown, QueryParameter(description="Where they stand.")]
ByText = Annotated[
    str | None,
    QueryParameter(
        description="Only those whose name, URL or submitter holds this.", min_length=1, max_length=200, pattern=PLAIN
    ),
]
BySubmitter = Annotated[UUID | None, QueryParameter(description="Only what this person suggested.")]
ByHost = Annotated[
    str | None, QueryParameter(description="Only those on this host.", min_length=1, max_length=253, pattern=PLAIN)
]
Cursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the page before.", max_length=100)]
After = Annotated[
    str | None, QueryParameter(description="`next_cursor` of the page before.", max_length=253, pattern=PLAIN)
]
Limit = Annotated[int, QueryParameter(description="How many at most.", ge=1, le=LIST_MOST)]
FeedId = Annotated[UUID, PathParameter(description="The suggestion's id.")]
Domain = Annotated[str, PathParameter(description="The domain, as the list names it.", max_length=253, pattern=PLAIN)]


@get("/moderation", operation_id="listModeration", opt=OPT)
async def queue(
    database: Db,
    clock: Now,
    status: ByStatus = Shown.PENDING,
    q: ByText = None,
    submitter_id: BySubmitter = None,
    host: ByHost = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> ModerationPage:
    """List suggestions: what waits the oldest first, what was decided on the latest decision first."""
    after = read_place(cursor)
    wanted = QueueFilter(q, UserId(submitter_id) if submitter_id else None, host)
    async with database.as_system() as conn:
        found = await list_shown(conn, status, wanted=wanted, after=after, limit=limit)
        hints = await hints_of(conn, found.submissions, clock())
    return ModerationPage(
        feeds=[moderated_of(one, hints) for one in found.submissions],
        next_cursor=word_of(found.next) if found.next else None,
    )


@post("/moderation/{feed_id:uuid}/approve", operation_id="approveFeed", status_code=200, opt=DECIDING)
async def approve(request: AnyRequest, database: Db, clock: Now, feed_id: FeedId) -> ModeratedFeed:
    """Approve a suggestion: it is polled at once, and everybody can find it. Its submitter's karma grows by one."""
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await judge.approve(conn, source_id, judge=request.user, actor=actor_of(request), now=clock())
        return await _told(conn, source_id, clock())


@post("/moderation/{feed_id:uuid}/reject", operation_id="rejectFeed", status_code=200, opt=DECIDING)
async def reject(
    request: AnyRequest, database: Db, clock: Now, feed_id: FeedId, data: JSONBody[Rejection]
) -> ModeratedFeed:
    """Reject a suggestion, for a reason that its submitter reads. It stays known, so that it is not suggested again."""
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await judge.reject(conn, source_id, reason=data.reason, actor=actor_of(request), now=clock())
        return await _told(conn, source_id, clock())


@get("/blocked-domains", operation_id="listBlockedDomains", opt=OPT)
async def blocked(database: Db, cursor: After = None, limit: Limit = 50) -> BlockedDomains:
    """List the domains that nothing is taken from, in order of the alphabet."""
    async with database.as_system() as conn:
        found = await domains.list_blocked(conn, after=cursor or "", limit=limit + 1)
    shown = found[:limit]
    return BlockedDomains(
        domains=[blocked_of(one) for one in shown], next_cursor=shown[-1].domain if len(found) > limit else None
    )


@post("/blocked-domains", operation_id="blockDomain", opt=DECIDING)
async def block(request: AnyRequest, database: Db, clock: Now, data: JSONBody[DomainToBlock]) -> NewlyBlocked:
    """Take nothing from a domain any more, nor from what is below it."""
    actor, now = actor_of(request), clock()
    async with database.as_system() as conn:
        rejected = await judge.block(
            conn, domain=data.domain, reason=data.reason, reject_waiting=data.reject_waiting, actor=actor, now=now
        )
        [one] = await domains.find_blocked(conn, domains=[check_domain(data.domain)])
    return NewlyBlocked(**blocked_of(one).model_dump(), rejected=rejected)


@delete("/blocked-domains/{domain:str}", operation_id="unblockDomain", opt=OPT)
async def unblock(request: AnyRequest, database: Db, clock: Now, domain: Domain) -> None:
    """Take from a domain again."""
    async with database.as_system() as conn:
        await judge.unblock(conn, domain=domain, actor=actor_of(request), now=clock())


async def _told(conn: Connection, source_id: SourceId, now: datetime) -> ModeratedFeed:
    found = await submissions.lock(conn, source_id=source_id)
    if found is None:
        raise SubmissionNotFound
    return moderated_of(found, await hints_of(conn, [found], now))


def refuse_invalid(_request: AnyRequest, error: Invalid) -> Response[Problem]:
    """What was sent reads well, and cannot be used."""
    return problem(422, str(error), errors=(Fault("body", str(error)),))


moderation_routes = Router(
    "/",
    route_handlers=[queue, approve, reject, blocked, block, unblock],
    exception_handlers={Invalid: refuse_invalid},
)
