"""/api/v1/sources: sources with their state (seeds 000 and 004)."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from headwater.api.parameters import ByCategory, BySourceText, BySystem, Limit, PathId
from headwater.api.schemas import PLAIN, field_error
from headwater.api.source_schemas import DisableRequest, NewSource, SourceChanges, SourceListResponse, SourceResponse
from headwater.asgi.errors import value_code
from headwater.asgi.handlers import Call, CallContext, open_source
from headwater.errors import Invalid, InvalidUrl
from headwater.sources import operate
from headwater.sources.store import details
from headwater.sources.types import Changes, IngestionMode, SourceDetails, SourceFilter, SourcePlace
from headwater.types import SourceId, SourceState

CONFLICTS = {"refusals": (409,)}

_ACTIVE = "true: only feeds that may be polled now (enabled, or past the cooldown); false: the others."
FeedActive = Annotated[bool | None, QueryParameter(description=_ACTIVE)]
ByEnabled = Annotated[bool | None, QueryParameter(description="Only enabled, or only disabled sources.")]
ByMode = Annotated[IngestionMode | None, QueryParameter(description="Only with this ingestion mode.")]
ByCritical = Annotated[bool | None, QueryParameter(description="Only critical, or only other sources.")]
ByStatus = Annotated[SourceState | None, QueryParameter(description="Only with this status.")]
ByHost = Annotated[
    str | None, QueryParameter(description="Only with a feed or site on this host.", max_length=253, pattern=PLAIN)
]
Cursor = Annotated[UUID | None, QueryParameter(description="`next_cursor` of the previous page.")]


@get("/", operation_id="listSources")
async def list_sources(
    call: Call, feed_active: FeedActive = None, enabled: ByEnabled = None, category: ByCategory = None,
    ingestion_mode: ByMode = None, is_system: BySystem = None, is_critical: ByCritical = None,
    status: ByStatus = None, q: BySourceText = None, host: ByHost = None, cursor: Cursor = None,
    limit: Limit = 50
) -> SourceListResponse:  # fmt: skip
    """List sources, newest first."""
    wanted = SourceFilter(
        feed_active=feed_active, enabled=enabled, category=category, ingestion_mode=ingestion_mode, is_system=is_system,
        is_critical=is_critical, state=status, text=q, host=host,
    )  # fmt: skip
    found, last = await list_page(call, wanted, SourcePlace(cursor) if cursor else None, limit)
    return SourceListResponse.model_validate({"sources": found, "next_cursor": str(last.id) if last else None})


@post("/", operation_id="createSource", opt=CONFLICTS)
async def create(call: Call, data: JSONBody[NewSource]) -> SourceResponse:
    """Create a source: a feed, a site or a sitemap. It is fetched at once, unless `enabled` is false."""
    with as_field_errors(feed_url=data.feed_url, url=data.url, sitemap_url=data.sitemap_url):
        return SourceResponse.model_validate(await create_source(call, data.changes))


@get("/{source_id:uuid}", operation_id="findSource")
async def find(call: Call, source_id: PathId) -> SourceResponse:
    """Show a source."""
    return SourceResponse.model_validate(await find_source(call, source_id))


@patch("/{source_id:uuid}", operation_id="changeSource", opt=CONFLICTS)
async def change(call: Call, source_id: PathId, data: JSONBody[SourceChanges]) -> SourceResponse:
    """Change a source. A new `feed_url` clears the errors of the feed and is polled at once."""
    with as_field_errors(feed_url=data.feed_url, url=data.url, sitemap_url=data.sitemap_url):
        return SourceResponse.model_validate(await operate_on(call, source_id, operate.change, wanted=data.changes))


@delete("/{source_id:uuid}", operation_id="deleteSource")
async def remove(call: Call, source_id: PathId) -> None:
    """Delete a source, and the articles that no other source lists."""
    async with open_source(call.database, source_id) as (conn, source):
        await operate.delete(conn, source, actor=call.actor, now=call.now)


@patch("/{source_id:uuid}/feed-disable", operation_id="disableFeed", opt=CONFLICTS)
async def disable(call: Call, source_id: PathId, data: JSONBody[DisableRequest]) -> SourceResponse:
    """Disable the feed of a source, until its cooldown ends or until it is enabled."""
    with as_field_errors():
        return SourceResponse.model_validate(await operate_on(call, source_id, operate.disable, reason=data.reason))


@patch("/{source_id:uuid}/feed-enable", operation_id="enableFeed", opt=CONFLICTS)
async def enable(call: Call, source_id: PathId) -> SourceResponse:
    """Enable the feed of a source: its errors are cleared, and it is polled at once."""
    return SourceResponse.model_validate(await operate_on(call, source_id, operate.enable))


source_routes = Router("/sources", route_handlers=[list_sources, create, find, change, remove, disable, enable])


async def list_page(
    call: CallContext, wanted: SourceFilter, after: SourcePlace | None, limit: int
) -> tuple[Sequence[SourceDetails], SourceDetails | None]:
    """A page of sources, and its last one if another page follows."""
    async with call.database.as_system() as conn:
        found = await details.list_details(conn, wanted=wanted, now=call.now, after=after, limit=limit + 1)
    return found[:limit], found[limit - 1] if len(found) > limit else None


async def find_source(call: CallContext, source_id: UUID) -> SourceDetails:
    async with call.database.as_system() as conn:
        return await details.find_details(conn, source_id=SourceId(source_id), now=call.now)


async def create_source(call: CallContext, wanted: Changes) -> SourceDetails:
    async with call.database.as_system() as conn:
        source = await operate.create(conn, wanted=wanted, actor=call.actor, now=call.now)
        return await details.find_details(conn, source_id=source.id, now=call.now)


async def operate_on(
    call: CallContext, source_id: UUID, operation: Callable[..., Awaitable[object]], **options: object
) -> SourceDetails:
    """A source after an operation, both in one transaction."""
    async with open_source(call.database, source_id) as (conn, source):
        await operation(conn, source, actor=call.actor, now=call.now, **options)
        return await details.find_details(conn, source_id=source.id, now=call.now)


@contextmanager
def as_field_errors(**urls: str | None) -> Iterator[None]:
    """Report Invalid as an error of the body, and InvalidUrl as an error of the field that has the URL."""
    try:
        yield
    except Invalid as error:
        shown = error.url.rstrip("…") if isinstance(error, InvalidUrl) else None  # the beginning of a long URL
        matching = (name for name, url in urls.items() if url and shown and url.strip().startswith(shown))
        raise field_error("body", next(matching, ""), str(error), value_code(error)) from error
