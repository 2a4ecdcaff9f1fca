"""/admin/api/feeds/moderation and /blocked-domains: deciding on suggestions. For moderators."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from uuid import UUID

from litestar import Response, Router, delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.accounts.types import Role
from headwater.api import feed_schemas
from headwater.api.parameters import ByHost, Cursor, Limit, PathId, read_cursor, text_filter
from headwater.api.schemas import PLAIN
from headwater.asgi.errors import Fault, Problem, problem, value_code
from headwater.asgi.handlers import AnyRequest, Call, Db, encode_cursor
from headwater.db import Connection
from headwater.errors import Invalid, SubmissionNotFound
from headwater.sources.custom import moderate
from headwater.sources.custom import store as custom_store
from headwater.sources.custom.decide import check_domain
from headwater.sources.custom.moderate import hints_of
from headwater.sources.custom.types import QueueFilter, Shown
from headwater.types import SourceId, UserId

MODERATOR = {"role": Role.MODERATOR}
DECIDING = MODERATOR | {"refusals": (409,)}

ByStatus = Annotated[Shown, QueryParameter(description="Only with this status.")]
ByText = Annotated[str | None, text_filter("Only with this text in the name, URL or submitter.")]
BySubmitter = Annotated[UUID | None, QueryParameter(description="Only suggestions of this user.")]
_AFTER = QueryParameter(description="`next_cursor` of the previous page.", max_length=253, pattern=PLAIN)
After = Annotated[str | None, _AFTER]
Domain = Annotated[str, PathParameter(description="The domain as listed.", max_length=253, pattern=PLAIN)]


@get("/moderation", operation_id="listModeration", opt=MODERATOR)
async def queue(
    call: Call, status: ByStatus = Shown.PENDING, q: ByText = None, submitter_id: BySubmitter = None,
    host: ByHost = None, cursor: Cursor = None, limit: Limit = 50
) -> feed_schemas.ModerationPage:  # fmt: skip
    """List suggestions. Pending ones: oldest first. Decided ones: latest decision first."""
    wanted = QueueFilter(q, UserId(submitter_id) if submitter_id else None, host)
    async with call.database.as_system() as conn:
        page = await custom_store.list_queue(conn, status, wanted=wanted, after=read_cursor(cursor), limit=limit)
        hints = await hints_of(conn, page.submissions, call.now)
    feeds = [feed_schemas.moderated_feed(one, hints) for one in page.submissions]
    return feed_schemas.ModerationPage(feeds=feeds, next_cursor=encode_cursor(*page.next) if page.next else None)


@post("/moderation/{feed_id:uuid}/approve", operation_id="approveFeed", status_code=200, opt=DECIDING)
async def approve(call: Call, feed_id: PathId) -> feed_schemas.ModeratedFeed:
    """Approve a suggestion: it is polled at once and listed for all users. Its submitter's karma grows by one."""
    source_id = SourceId(feed_id)
    async with call.database.as_system() as conn:
        await moderate.approve(conn, source_id, moderator=call.user, actor=call.actor, now=call.now)
        return await _response(conn, source_id, call.now)


@post("/moderation/{feed_id:uuid}/reject", operation_id="rejectFeed", status_code=200, opt=DECIDING)
async def reject(call: Call, feed_id: PathId, data: JSONBody[feed_schemas.Rejection]) -> feed_schemas.ModeratedFeed:
    """Reject a suggestion, with a reason for its submitter. It cannot be suggested again."""
    source_id = SourceId(feed_id)
    async with call.database.as_system() as conn:
        await moderate.reject(conn, source_id, reason=data.reason, actor=call.actor, now=call.now)
        return await _response(conn, source_id, call.now)


@get("/blocked-domains", operation_id="listBlockedDomains", opt=MODERATOR)
async def blocked(database: Db, cursor: After = None, limit: Limit = 50) -> feed_schemas.BlockedDomains:
    """List blocked domains, in alphabetical order."""
    async with database.as_system() as conn:
        found = await custom_store.list_blocked(conn, after=cursor or "", limit=limit + 1)
    next_cursor = found[limit - 1].domain if len(found) > limit else None
    return feed_schemas.BlockedDomains.model_validate({"domains": found[:limit], "next_cursor": next_cursor})


@post("/blocked-domains", operation_id="blockDomain", opt=DECIDING)
async def block(call: Call, data: JSONBody[feed_schemas.DomainToBlock]) -> feed_schemas.NewlyBlocked:
    """Block a domain and its subdomains."""
    actor, now = call.actor, call.now
    async with call.database.as_system() as conn:
        rejected = await moderate.block(
            conn, domain=data.domain, reason=data.reason, reject_waiting=data.reject_waiting, actor=actor, now=now
        )
        [one] = await custom_store.find_blocked(conn, domains=[check_domain(data.domain)])
    return feed_schemas.NewlyBlocked.model_validate(asdict(one) | {"rejected": rejected})


@delete("/blocked-domains/{domain:str}", operation_id="unblockDomain", opt=MODERATOR)
async def unblock(call: Call, domain: Domain) -> None:
    """Unblock a domain."""
    async with call.database.as_system() as conn:
        await moderate.unblock(conn, domain=domain, actor=call.actor, now=call.now)


async def _response(conn: Connection, source_id: SourceId, now: datetime) -> feed_schemas.ModeratedFeed:
    found = await custom_store.lock(conn, source_id=source_id)
    if found is None:
        raise SubmissionNotFound
    return feed_schemas.moderated_feed(found, await hints_of(conn, [found], now))


def respond_to_invalid(_request: AnyRequest, error: Invalid) -> Response[Problem]:
    """A valid body with a value that is refused."""
    return problem(422, str(error), errors=(Fault("body", str(error), value_code(error)),))


_handlers = [queue, approve, reject, blocked, block, unblock]
moderation_routes = Router("/", route_handlers=_handlers, exception_handlers={Invalid: respond_to_invalid})
