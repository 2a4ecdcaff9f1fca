"""/api/feeds/custom: feeds that users suggest for all. A user reaches only their own suggestions."""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from litestar import Response, Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from headwater.accounts.quotas import Quotas
from headwater.accounts.types import Role, User
from headwater.api.feed_schemas import ProposedFeed, SuggestedFeed, SuggestedFeeds
from headwater.api.parameters import Cursor, Limit, PathId, read_cursor
from headwater.asgi.errors import Fault, Problem, code_of, problem, retry_header
from headwater.asgi.handlers import AnyRequest, Call, CallContext, encode_cursor
from headwater.errors import FeedTaken, Forbidden, InvalidProposal, TooManyAttempts, Unavailable
from headwater.sources.custom import store as custom_store
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.submit import submit, withdraw
from headwater.sources.subscribe import leave_unwanted
from headwater.types import SourceId

BODY_BYTES = 16_384  # three short texts; any user may send them


@dataclass(frozen=True, slots=True)
class FeedTakenProblem(Problem):
    """The feed is known already; where to subscribe to it."""

    source_id: UUID | None = None
    subscribe_url: str = ""


@post("/", operation_id="suggestFeed", opt={"role": Role.READER, "refusals": (409, 429)})
async def suggest(
    call: Call, inspector: NamedDependency[Inspector | None], quotas: NamedDependency[Quotas],
    data: JSONBody[ProposedFeed]
) -> SuggestedFeed:  # fmt: skip
    """Suggest a feed for all users. It is fetched and checked first, which takes up to five seconds.

    Suggestions of users with 10 or more karma are approved automatically; others wait for a moderator.
    """
    user = _user(call)
    if inspector is None:
        raise Unavailable("Feeds cannot be checked on this server.")
    feed = await submit(call.database, inspector, call.clock, user=user, proposal=data.proposal, quotas=quotas)
    return SuggestedFeed.model_validate(feed)


@get("/", operation_id="listSuggestedFeeds", opt={"role": Role.READER})
async def list_own(call: Call, cursor: Cursor = None, limit: Limit = 50) -> SuggestedFeeds:
    """List the caller's suggestions, newest first."""
    async with call.database.as_user(_user(call).id) as conn:
        found = await custom_store.list_own(conn, after=read_cursor(cursor), limit=limit + 1)
    shown = found[:limit]
    follows = encode_cursor(shown[-1].created_at, shown[-1].id) if len(found) > limit else None
    return SuggestedFeeds(feeds=[SuggestedFeed.model_validate(one) for one in shown], next_cursor=follows)


@delete("/{feed_id:uuid}", operation_id="withdrawFeed", opt={"role": Role.READER, "refusals": (409,)})
async def withdraw_feed(call: Call, feed_id: PathId) -> None:
    """Withdraw a suggestion that no moderator has decided on."""
    user, now = _user(call), call.now
    async with call.database.as_system() as conn:
        await withdraw(conn, user=user, source_id=SourceId(feed_id), now=now)
        await leave_unwanted(conn, [SourceId(feed_id)], now)


def _user(call: CallContext) -> User:
    if call.user is None:
        raise Forbidden("The operator's token has no user. Use a token from an account page.")
    return call.user


def respond_to_proposal(_request: AnyRequest, error: InvalidProposal) -> Response[Problem]:
    """The errors of each field, and the feeds found on a web page."""
    faults = [Fault(f"body.{name}", sentence) for name, sentence in error.problems.items()]
    faults += [Fault("body.url", f"Feed found: {title!r}, {url}") for url, title in error.offers]
    return problem(422, str(error), errors=faults, code=code_of(error))


def respond_to_taken(_request: AnyRequest, error: FeedTaken) -> Response[Any]:
    base = problem(409, str(error), code=code_of(error))
    place = f"/discover?source={error.source_id}" if error.is_public else "/dashboard"
    base.content = FeedTakenProblem(**asdict(base.content), source_id=error.source_id, subscribe_url=place)
    return base


def respond_to_limit(_request: AnyRequest, error: TooManyAttempts) -> Response[Problem]:
    """Suggestions are limited, since each one makes requests to another server."""
    return problem(429, str(error), headers=retry_header(error), code=code_of(error))


custom_routes = Router(
    "/custom",
    route_handlers=[suggest, list_own, withdraw_feed],
    request_max_body_size=BODY_BYTES,
    exception_handlers={
        InvalidProposal: respond_to_proposal,
        FeedTaken: respond_to_taken,
        TooManyAttempts: respond_to_limit,
    },
)
