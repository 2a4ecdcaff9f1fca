"""/api/feeds/custom: feeds that readers suggest for everybody. Each person reaches their own and no others."""

import math
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.accounts.quotas import Quotas
from headwater.accounts.types import Role, User
from headwater.api.feed_schemas import CustomFeeds, CustomFeedTold, ProposedFeed, feed_of, proposal_of
from headwater.api.places import read_place, word_of
from headwater.api.schemas import LIST_MOST
from headwater.asgi.problems import MEDIA_TYPE, Fault, Problem, problem
from headwater.db import Database
from headwater.errors import FeedTaken, Forbidden, InvalidProposal, TooManyAttempts, Unavailable
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.store import submissions
from headwater.sources.custom.submit import submit, withdraw
from headwater.sources.custom.types import QueueCursor
from headwater.sources.subscribe import leave_unwanted
from headwater.types import Clock, SourceId

AnyRequest = Request[Any, Any, Any]
Db = NamedDependency[Database]
Now = NamedDependency[Clock]

Cursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the page before.", max_length=100)]
Limit = Annotated[int, QueryParameter(description="How many at most.", ge=1, le=LIST_MOST)]
READERS_BYTES = 16_384  # three short texts; any reader may send this
FeedId = Annotated[UUID, PathParameter(description="The id that the suggestion was given.")]


@dataclass(frozen=True, slots=True)
class Taken(Problem):
    """A feed that is here already, and where to follow it."""

    source_id: UUID | None = None
    subscribe_url: str = ""


@post("/", operation_id="suggestFeed", opt={"role": Role.READER, "refusals": (409, 429)})
async def suggest(
    request: AnyRequest,
    database: Db,
    clock: Now,
    inspector: NamedDependency[Inspector | None],
    quotas: NamedDependency[Quotas],
    data: JSONBody[ProposedFeed],
) -> CustomFeedTold:
    """Suggest a feed for everybody. It is looked at first, within five seconds.

    What somebody with 10 or more karma suggests goes live at once; other suggestions wait for a moderator.
    """
    user = _person(request)
    if inspector is None:
        raise Unavailable("Nobody can look at feeds here.")
    return feed_of(await submit(database, inspector, clock, user=user, proposal=proposal_of(data), quotas=quotas))


@get("/", operation_id="listSuggestedFeeds", opt={"role": Role.READER})
async def list_own(request: AnyRequest, database: Db, cursor: Cursor = None, limit: Limit = 50) -> CustomFeeds:
    """List what one has suggested, the newest first."""
    after = read_place(cursor)
    async with database.as_user(_person(request).id) as conn:
        found = await submissions.list_own(conn, after=after, limit=limit + 1)
    shown = found[:limit]
    follows = word_of(QueueCursor(shown[-1].created_at, shown[-1].id)) if len(found) > limit else None
    return CustomFeeds(feeds=[feed_of(one) for one in shown], next_cursor=follows)


@delete("/{feed_id:uuid}", operation_id="withdrawFeed", opt={"role": Role.READER, "refusals": (409,)})
async def take_back(request: AnyRequest, database: Db, clock: Now, feed_id: FeedId) -> None:
    """Take a suggestion back, while nobody has decided on it."""
    user, now = _person(request), clock()
    async with database.as_system() as conn:
        await withdraw(conn, user=user, source_id=SourceId(feed_id), now=now)
        await leave_unwanted(conn, [SourceId(feed_id)], now)


def _person(request: AnyRequest) -> User:
    if request.user is None:
        raise Forbidden("The operator's own token belongs to nobody: suggest with one from an account page.")
    return request.user


def refuse_proposal(_request: AnyRequest, error: InvalidProposal) -> Response[Problem]:
    """What is wrong with each field, and the feeds that a page names."""
    faults = [Fault(f"body.{name}", sentence) for name, sentence in error.problems.items()]
    faults += [Fault("body.url", f"Its feed {title!r}: {url}") for url, title in error.offers]
    return problem(422, str(error), errors=faults)


def refuse_taken(_request: AnyRequest, error: FeedTaken) -> Response[Any]:
    """That it is here, and where to subscribe to it instead."""
    told = problem(409, str(error)).content
    place = f"/discover?source={error.source_id}" if error.is_public else "/dashboard"
    body = Taken(
        told.type, told.title, told.status, told.detail, told.advice, source_id=error.source_id, subscribe_url=place
    )
    return Response(body, status_code=409, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})


def refuse_haste(_request: AnyRequest, error: TooManyAttempts) -> Response[Problem]:
    """Each suggestion makes us ask a stranger's server."""
    return problem(429, str(error), headers={"Retry-After": str(math.ceil(error.retry_after.total_seconds()))})


custom_routes = Router(
    "/custom",
    route_handlers=[suggest, list_own, take_back],
    request_max_body_size=READERS_BYTES,
    exception_handlers={InvalidProposal: refuse_proposal, FeedTaken: refuse_taken, TooManyAttempts: refuse_haste},
)
