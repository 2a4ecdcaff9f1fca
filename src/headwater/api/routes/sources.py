"""/api/v1/sources: sources with their state (seeds 000 and 004)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from headwater.api.parameters import ByCategory, BySourceText, BySystem, Limit, PathId
from headwater.api.schemas import PLAIN, field_error
from headwater.api.source_schemas import DisableRequest, NewSource, SourceChanges, SourceListResponse, SourceResponse
from headwater.asgi.handlers import AnyRequest, Db, Now, actor_of, open_source
from headwater.db import Connection
from headwater.errors import Invalid, InvalidUrl
from headwater.sources import operate
from headwater.sources.store import details
from headwater.sources.types import IngestionMode, SourceFilter, SourcePlace
from headwater.types import Clock, SourceId, SourceState

CONFLICTS = {"refusals": (409,)}

FeedActive = Annotated[
    bool | None,
    QueryParameter(
        description="true: only feeds that may be polled now (enabled, or past the cooldown); false: the others."
    ),
]
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
    database: Db,
    clock: Now,
    feed_active: FeedActive = None,
    enabled: ByEnabled = None,
    category: ByCategory = None,
    ingestion_mode: ByMode = None,
    is_system: BySystem = None,
    is_critical: ByCritical = None,
    status: ByStatus = None,
    q: BySourceText = None,
    host: ByHost = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> SourceListResponse:
    """List sources, newest first."""
    wanted = SourceFilter(
        feed_active=feed_active, enabled=enabled, category=category, ingestion_mode=ingestion_mode, is_system=is_system,
        is_critical=is_critical, state=status, text=q, host=host,
    )  # fmt: skip
    async with database.as_system() as conn:
        after = SourcePlace(cursor) if cursor else None
        found = await details.list_details(conn, wanted=wanted, now=clock(), after=after, limit=limit + 1)
    next_cursor = str(found[limit - 1].id) if len(found) > limit else None
    return SourceListResponse.model_validate({"sources": found[:limit], "next_cursor": next_cursor})


@post("/", operation_id="createSource", opt=CONFLICTS)
async def create(request: AnyRequest, database: Db, clock: Now, data: JSONBody[NewSource]) -> SourceResponse:
    """Create a source: a feed, a site or a sitemap. It is fetched at once, unless `enabled` is false."""
    async with database.as_system() as conn:
        with as_field_errors(feed_url=data.feed_url, url=data.url, sitemap_url=data.sitemap_url):
            source = await operate.create(conn, wanted=data.changes, actor=actor_of(request), now=clock())
        return await _response(conn, source.id, clock)


@get("/{source_id:uuid}", operation_id="findSource")
async def find(database: Db, clock: Now, source_id: PathId) -> SourceResponse:
    """Show a source."""
    async with database.as_system() as conn:
        return await _response(conn, SourceId(source_id), clock)


@patch("/{source_id:uuid}", operation_id="changeSource", opt=CONFLICTS)
async def change(
    request: AnyRequest, database: Db, clock: Now, source_id: PathId, data: JSONBody[SourceChanges]
) -> SourceResponse:
    """Change a source. A new `feed_url` clears the errors of the feed and is polled at once."""
    async with open_source(database, source_id) as (conn, source):
        with as_field_errors(feed_url=data.feed_url, url=data.url, sitemap_url=data.sitemap_url):
            await operate.change(conn, source, wanted=data.changes, actor=actor_of(request), now=clock())
        return await _response(conn, source.id, clock)


@delete("/{source_id:uuid}", operation_id="deleteSource")
async def remove(request: AnyRequest, database: Db, clock: Now, source_id: PathId) -> None:
    """Delete a source, and the articles that no other source lists."""
    async with open_source(database, source_id) as (conn, source):
        await operate.delete(conn, source, actor=actor_of(request), now=clock())


@patch("/{source_id:uuid}/feed-disable", operation_id="disableFeed", opt=CONFLICTS)
async def disable(
    request: AnyRequest, database: Db, clock: Now, source_id: PathId, data: JSONBody[DisableRequest]
) -> SourceResponse:
    """Disable the feed of a source, until its cooldown ends or until it is enabled."""
    async with open_source(database, source_id) as (conn, source):
        with as_field_errors():
            await operate.disable(conn, source, reason=data.reason, actor=actor_of(request), now=clock())
        return await _response(conn, source.id, clock)


@patch("/{source_id:uuid}/feed-enable", operation_id="enableFeed", opt=CONFLICTS)
async def enable(request: AnyRequest, database: Db, clock: Now, source_id: PathId) -> SourceResponse:
    """Enable the feed of a source: its errors are cleared, and it is polled at once."""
    async with open_source(database, source_id) as (conn, source):
        await operate.enable(conn, source, actor=actor_of(request), now=clock())
        return await _response(conn, source.id, clock)


source_routes = Router("/sources", route_handlers=[list_sources, create, find, change, remove, disable, enable])


@contextmanager
def as_field_errors(**urls: str | None) -> Iterator[None]:
    """Report Invalid as an error of the body, and InvalidUrl as an error of the field that has the URL."""
    try:
        yield
    except Invalid as error:
        shown = error.url.rstrip("…") if isinstance(error, InvalidUrl) else None  # the beginning of a long URL
        matching = (name for name, url in urls.items() if url and shown and url.strip().startswith(shown))
        raise field_error("body", next(matching, ""), str(error)) from error


async def _response(conn: Connection, source_id: SourceId, clock: Clock) -> SourceResponse:
    return SourceResponse.model_validate(await details.find_details(conn, source_id=source_id, now=clock()))
