"""/api/v1/channels: queries whose articles are sent to a destination. Moderators may read, super_admins change."""

from asyncio import to_thread
from typing import Annotated

from litestar import Response, Router, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, QueryParameter
from litestar.response import Stream

from headwater.accounts.types import Role
from headwater.api import channel_schemas as models
from headwater.api.parameters import Limit, PathId
from headwater.api.routes.moderation import respond_to_invalid
from headwater.api.schemas import PLAIN, field_error
from headwater.asgi.errors import Fault, Problem, problem, value_code
from headwater.asgi.feed_response import respond_with_feed
from headwater.asgi.handlers import AnyRequest, Call, CallContext
from headwater.asgi.streams import IS_PERMITTED, StreamBatch, StreamItem, Streams, follow, form_for, stream_response
from headwater.channels import operate
from headwater.channels.decide import QUERY_MAX
from headwater.channels.overview import find_overview, list_overviews
from headwater.channels.preview import DAYS, DAYS_MOST, preview
from headwater.channels.store import deliveries, records
from headwater.channels.types import ChannelId, DeliveryState, DestinationLimits
from headwater.db import Connection
from headwater.downstream.watch import RevisionWatch
from headwater.errors import ChannelNotFound, Invalid, MatchesEverything, QueryInvalid, Unavailable
from headwater.feeds.write import ATOM_TYPE, JSON_TYPE, write_atom, write_json_feed
from headwater.publishing.reading import feed_addresses, read_feed, read_messages
from headwater.query.grammar import parse
from headwater.query.types import Audience

MODERATOR = {"role": Role.MODERATOR}
CONFLICTING = {"refusals": (409,)}
ONE = "/{channel_id:uuid}"
REVISION_DIGITS = 18
STREAMED_AT_ONCE = 50  # messages, which have the text of their articles
StreamsOf = NamedDependency[Streams]
Revisions = NamedDependency[RevisionWatch]
Destinations = NamedDependency[DestinationLimits]
ByStatus = Annotated[DeliveryState | None, QueryParameter(description="Only these; dead letters are `refused`.")]
Before = Annotated[
    str | None,
    QueryParameter(description="`next_cursor` of the previous page.", max_length=REVISION_DIGITS, pattern=r"^[0-9]+$"),
]
ByQuery = Annotated[
    str,
    QueryParameter(
        description="A query, such as `topic:sport -chess`.", min_length=1, max_length=QUERY_MAX, pattern=PLAIN
    ),
]
PreviewedDays = Annotated[
    int, QueryParameter(description="Only articles that changed in the last days.", ge=1, le=DAYS_MOST)
]
After = Annotated[
    str | None,
    QueryParameter(description="A revision: only what came after it.", max_length=REVISION_DIGITS, pattern=r"^[0-9]*$"),
]
OneRevision = Annotated[
    int | None, QueryParameter(description="Only the dead letter of this revision.", ge=1, lt=10**REVISION_DIGITS)
]


@get("/", operation_id="listChannels", opt=MODERATOR)
async def list_channels(call: Call) -> models.ChannelListResponse:
    """List all channels, by name."""
    async with call.database.transaction() as conn:
        found = await list_overviews(conn, now=call.now)
    return models.ChannelListResponse(channels=[_response(call, one) for one in found])


@post("/", operation_id="createChannel", opt=CONFLICTING)
async def create(
    call: Call, data: JSONBody[models.NewChannel], destination_limits: Destinations
) -> models.MadeChannelResponse:
    """Create a channel. The secret that signs its messages is in this response only."""
    query = parse(data.query, Audience.EVERYONE)
    async with call.database.transaction() as conn:
        made = await operate.create(
            conn, fields=data.fields, query=query, limits=destination_limits, actor=call.actor, now=call.now,
            password=data.password.get_secret_value() if data.password else None,
        )  # fmt: skip
        return await _made(call, conn, made)


@get("/preview", operation_id="previewQuery", opt=MODERATOR)
async def preview_query(call: Call, q: ByQuery, days: PreviewedDays = DAYS) -> models.ChannelPreviewResponse:
    """Show what a query finds among the newest articles, 5,000 at most, before a channel is created with it."""
    try:
        query = parse(q, Audience.EVERYONE)
    except QueryInvalid as error:
        raise field_error("query", "q", str(error), "invalid_query") from error
    return models.ChannelPreviewResponse.model_validate(await preview(call.database, call.clock, query, days=days))


@get(ONE, operation_id="findChannel", opt=MODERATOR)
async def find(call: Call, channel_id: PathId) -> models.ChannelResponse:
    """Show a channel."""
    async with call.database.transaction() as conn:
        return _response(call, await find_overview(conn, ChannelId(channel_id), now=call.now))


@patch(ONE, operation_id="changeChannel", opt=CONFLICTING)
async def change(
    call: Call, channel_id: PathId, data: JSONBody[models.ChannelChanges], destination_limits: Destinations
) -> models.MadeChannelResponse:
    """Change a channel. What is queued already is sent to the new destination."""
    async with call.database.transaction() as conn:
        await records.raise_version(conn)  # before the channel is locked: what is not sent must not change meanwhile
        fields = data.applied_to(await records.lock(conn, channel_id=ChannelId(channel_id)))
        made = await operate.change(
            conn, ChannelId(channel_id), fields=fields, query=parse(fields.query, Audience.EVERYONE),
            limits=destination_limits, actor=call.actor, now=call.now,
            password=data.password.get_secret_value() if data.password else None,
        )  # fmt: skip
        return await _made(call, conn, made)


@delete(ONE, operation_id="deleteChannel")
async def remove(call: Call, channel_id: PathId) -> None:
    """Delete a channel with its deliveries. What was not sent is not sent any more."""
    async with call.database.transaction() as conn:
        await operate.delete(conn, ChannelId(channel_id), actor=call.actor, now=call.now)


@get(ONE + "/preview", operation_id="previewChannel", opt=MODERATOR)
async def preview_channel(call: Call, channel_id: PathId, days: PreviewedDays = DAYS) -> models.ChannelPreviewResponse:
    """Show what the query of a channel finds among the newest articles, 5,000 at most."""
    async with call.database.transaction() as conn:
        channel = await records.find(conn, channel_id=ChannelId(channel_id))
    query = parse(channel.query, Audience.EVERYONE)
    return models.ChannelPreviewResponse.model_validate(await preview(call.database, call.clock, query, days=days))


@get(ONE + "/deliveries", operation_id="listDeliveries", opt=MODERATOR)
async def list_deliveries(
    call: Call, channel_id: PathId, status: ByStatus = None, cursor: Before = None, limit: Limit = 50
) -> models.DeliveryPage:
    """List the deliveries of a channel, the newest first: all, or those with a status."""
    before = int(cursor) if cursor else None
    async with call.database.transaction() as conn:
        await records.find(conn, channel_id=ChannelId(channel_id))
        rows = await deliveries.list_page(
            conn, channel_id=ChannelId(channel_id), state=status, before=before, limit=limit
        )
    following = str(rows[-1].revision) if len(rows) == limit else None
    return models.DeliveryPage.model_validate({"deliveries": rows, "next_cursor": following})


@post(ONE + "/pause", operation_id="pauseChannel", status_code=200)
async def pause(call: Call, channel_id: PathId) -> models.ChannelResponse:
    """Pause a channel. Its articles are queued meanwhile."""
    return await _set_paused(call, channel_id, is_paused=True)


@post(ONE + "/resume", operation_id="resumeChannel", status_code=200)
async def resume(call: Call, channel_id: PathId) -> models.ChannelResponse:
    """Resume a channel: what waits is sent in order."""
    return await _set_paused(call, channel_id, is_paused=False)


@post(ONE + "/replay", operation_id="replayChannel", status_code=200)
async def replay(call: Call, channel_id: PathId, data: JSONBody[models.ReplayRequest]) -> models.QueuedDeliveries:
    """Send again what was queued since a time, in order and under the same ids. Dead letters are not."""
    async with call.database.transaction() as conn:
        count = await operate.replay(conn, ChannelId(channel_id), since=data.since, actor=call.actor, now=call.now)
    return models.QueuedDeliveries(queued=count)


@post(ONE + "/retry", operation_id="retryDeadLetters", status_code=200)
async def retry(call: Call, channel_id: PathId, revision: OneRevision = None) -> models.QueuedDeliveries:
    """Send dead letters again: all, or one."""
    async with call.database.transaction() as conn:
        count = await operate.retry(conn, ChannelId(channel_id), actor=call.actor, now=call.now, revision=revision)
    if not count and revision is not None:
        raise field_error("query", "revision", "there is no such dead letter")
    return models.QueuedDeliveries(queued=count)


@post(ONE + "/secret", operation_id="renewChannelSecret", status_code=200)
async def renew_secret(call: Call, channel_id: PathId) -> models.ChannelSecretResponse:
    """Make a new secret for the messages of a webhook. The old one is invalid at once."""
    async with call.database.transaction() as conn:
        secret = await operate.renew_secret(conn, ChannelId(channel_id), actor=call.actor, now=call.now)
    return models.ChannelSecretResponse(secret=secret)


@get(ONE + "/stream", operation_id="streamChannel", opt={**MODERATOR, "is_stream": True})
async def stream(
    call: Call, channel_id: PathId, streams: StreamsOf, revisions: Revisions, after: After = None
) -> Stream:
    """Stream the messages of a channel: JSON lines, or server-sent events for `Accept: text/event-stream`.

    It begins after the revision `after`, or after the header `Last-Event-ID`; without them, with what is new.
    """
    given = call.request.headers.get("last-event-id") or after
    async with call.database.transaction() as conn:
        await records.find(conn, channel_id=ChannelId(channel_id))
    start = await revisions.look() if given is None else _revision(given)

    async def read(cursor: int) -> StreamBatch:
        async with call.database.transaction() as conn:
            try:
                channel = await records.find(conn, channel_id=ChannelId(channel_id))
            except ChannelNotFound as error:
                raise Unavailable("The channel was deleted.") from error
            found = await read_messages(conn, channel, after=cursor, limit=STREAMED_AT_ONCE, now=call.now)
        items = [StreamItem(one.revision, one.body) for one in found.messages]
        return StreamBatch(items, found.cursor, found.has_more)

    form = form_for(call.request, "article")
    slot = streams.open(call.user.id if call.user else None)
    is_permitted = call.request.scope["state"].get(IS_PERMITTED)
    content = follow(streams, slot, form, start=start, latest=revisions.latest, read=read, is_permitted=is_permitted)
    return stream_response(call.request, form, content)


@get(ONE + "/feed", operation_id="readChannelFeed", opt={**MODERATOR, "is_feed": True})
async def read_as_feed(call: Call, channel_id: PathId, site: NamedDependency[str]) -> Response[bytes]:
    """Read the newest articles of a channel as Atom, or as JSON Feed for `Accept: application/feed+json`."""
    async with call.database.transaction() as conn:
        channel = await records.find(conn, channel_id=ChannelId(channel_id))
        feed = await read_feed(conn, channel, url=f"{site}{call.request.url.path}", now=call.now)
    is_json = "json" in call.request.headers.get("accept", "").lower()
    write, media_type = (write_json_feed, JSON_TYPE) if is_json else (write_atom, ATOM_TYPE)
    return respond_with_feed(call.request, await to_thread(write, feed), media_type=media_type)


@post(ONE + "/feed", operation_id="renewChannelFeed", status_code=200)
async def renew_feed(call: Call, channel_id: PathId, site: NamedDependency[str]) -> models.ChannelFeedResponse:
    """Make a secret address at which the feed is read without a token. An old address is invalid at once."""
    async with call.database.transaction() as conn:
        key = await operate.renew_feed(conn, ChannelId(channel_id), actor=call.actor, now=call.now)
    return models.ChannelFeedResponse.of(feed_addresses(site, key))


@delete(ONE + "/feed", operation_id="revokeChannelFeed")
async def revoke_feed(call: Call, channel_id: PathId) -> None:
    """Revoke the secret address of the feed."""
    async with call.database.transaction() as conn:
        await operate.revoke_feed(conn, ChannelId(channel_id), actor=call.actor, now=call.now)


def respond_to_invalid_query(_request: AnyRequest, error: Invalid) -> Response[Problem]:
    return problem(422, str(error), errors=(Fault("body.query", str(error), value_code(error)),))


channel_routes = Router(
    "/channels",
    route_handlers=[
        list_channels, create, preview_query, find, change, remove, preview_channel, list_deliveries, pause, resume,
        replay, retry, renew_secret, stream, read_as_feed, renew_feed, revoke_feed,
    ],
    exception_handlers={
        Invalid: respond_to_invalid, QueryInvalid: respond_to_invalid_query,
        MatchesEverything: respond_to_invalid_query,
    },
)  # fmt: skip


def _revision(given: str) -> int:
    """Raises ValidationException."""
    if not (given.isascii() and given.isdigit()) or len(given) > REVISION_DIGITS:
        raise field_error("query", "after", "invalid cursor")
    return int(given)


async def _set_paused(call: CallContext, channel_id: PathId, *, is_paused: bool) -> models.ChannelResponse:
    async with call.database.transaction() as conn:
        await operate.set_paused(conn, ChannelId(channel_id), is_paused=is_paused, actor=call.actor, now=call.now)
        return _response(call, await find_overview(conn, ChannelId(channel_id), now=call.now))


async def _made(call: CallContext, conn: Connection, made: operate.MadeChannel) -> models.MadeChannelResponse:
    found = await find_overview(conn, made.channel.id, now=call.now)
    return models.MadeChannelResponse.with_secret(found, made.secret, now=call.now)


def _response(call: CallContext, found: models.ChannelOverview) -> models.ChannelResponse:
    is_masked = not call.request.auth.role.includes(Role.SUPER_ADMIN)
    return models.ChannelResponse.of(found, now=call.now, is_masked=is_masked)
