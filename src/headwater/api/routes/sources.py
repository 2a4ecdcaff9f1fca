"""/api/v1/sources: what is followed, and how it does. Seeds 000 and 004."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Router, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.api.schemas import LIST_MOST, PLAIN, fault
from headwater.api.source_schemas import Disabling, NewSource, SourceChanges, SourcePage, SourceTold
from headwater.asgi.actor import actor_of
from headwater.db import Connection, Database
from headwater.errors import Invalid, InvalidUrl
from headwater.sources import operate
from headwater.sources.store import details, sources
from headwater.sources.types import IngestionMode, SourceDetails, SourceFilter, SourcePlace
from headwater.types import Clock, SourceId, SourceState

AnyRequest = Request[Any, Any, Any]
Db = NamedDependency[Database]
Now = NamedDependency[Clock]
CLASHES = {"refusals": (409,)}

FeedActive = Annotated[
    bool | None,
    QueryParameter(
        description="Those whose feed may be polled now: on, or past its cooldown; or, with false, the rest."
    ),
]
ByEnabled = Annotated[bool | None, QueryParameter(description="Those that are followed at all, or not.")]
ByCategory = Annotated[
    str | None, QueryParameter(description="Only those filed under this.", min_length=1, max_length=100, pattern=PLAIN)
]
ByMode = Annotated[IngestionMode | None, QueryParameter(description="Only those whose articles are found this way.")]
BySystem = Annotated[
    bool | None, QueryParameter(description="Those that operators look after, or that readers brought.")
]
ByCritical = Annotated[bool | None, QueryParameter(description="Those whose failure is told at once, or not.")]
ByStatus = Annotated[SourceState | None, QueryParameter(description="Only those in this state.")]
ByText = Annotated[
    str | None,
    QueryParameter(description="Only those whose name or URL holds this.", min_length=1, max_length=200, pattern=PLAIN),
]
ByHost = Annotated[
    str | None,
    QueryParameter(description="Only those whose feed or site is on this host.", max_length=253, pattern=PLAIN),
]
Cursor = Annotated[UUID | None, QueryParameter(description="`next_cursor` of the page before.")]
Limit = Annotated[int, QueryParameter(description="How many at most.", ge=1, le=LIST_MOST)]
Id = Annotated[UUID, PathParameter(description="The source's id.")]


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
    q: ByText = None,
    host: ByHost = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> SourcePage:
    """List sources, the newest first."""
    wanted = SourceFilter(
        feed_active=feed_active,
        enabled=enabled,
        category=category,
        ingestion_mode=ingestion_mode,
        is_system=is_system,
        is_critical=is_critical,
        status=status,
        text=q,
        host=host,
    )
    async with database.as_system() as conn:
        place = SourcePlace(cursor) if cursor else None
        found = await details.list_details(conn, wanted=wanted, now=clock(), after=place, limit=limit + 1)
    shown = found[:limit]
    return SourcePage(sources=[SourceTold.model_validate(one) for one in shown], next_cursor=next_cursor(found, limit))


@post("/", operation_id="createSource", opt=CLASHES)
async def create(request: AnyRequest, database: Db, clock: Now, data: JSONBody[NewSource]) -> SourceTold:
    """Follow a feed, a site or a sitemap. It is read at once, unless `enabled` is false."""
    async with database.as_system() as conn:
        with told_as_faults(feed_url=data.feed_url, url=data.url, sitemap_url=data.sitemap_url):
            source = await operate.create(conn, wanted=data.wanted, actor=actor_of(request), now=clock())
        return await _told(conn, source.id, clock)


@get("/{source_id:uuid}", operation_id="findSource")
async def find(database: Db, clock: Now, source_id: Id) -> SourceTold:
    """Show a source."""
    async with database.as_system() as conn:
        return await _told(conn, SourceId(source_id), clock)


@patch("/{source_id:uuid}", operation_id="changeSource", opt=CLASHES)
async def change(
    request: AnyRequest, database: Db, clock: Now, source_id: Id, data: JSONBody[SourceChanges]
) -> SourceTold:
    """Change a source. Another `feed_url` clears all that was held against the feed, and is polled at once."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        with told_as_faults(feed_url=data.feed_url, url=data.url, sitemap_url=data.sitemap_url):
            await operate.change(conn, source, wanted=data.wanted, actor=actor_of(request), now=clock())
        return await _told(conn, source.id, clock)


@delete("/{source_id:uuid}", operation_id="deleteSource")
async def remove(request: AnyRequest, database: Db, clock: Now, source_id: Id) -> None:
    """Stop following a source. Articles that no other source lists go with it."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await operate.delete(conn, source, actor=actor_of(request), now=clock())


@patch("/{source_id:uuid}/feed-disable", operation_id="disableFeed", opt=CLASHES)
async def disable(
    request: AnyRequest, database: Db, clock: Now, source_id: Id, data: JSONBody[Disabling]
) -> SourceTold:
    """Leave a source's feed alone, for a reason: until its cooldown ends, or until somebody enables it."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        with told_as_faults():
            await operate.disable(conn, source, reason=data.reason, actor=actor_of(request), now=clock())
        return await _told(conn, source.id, clock)


@patch("/{source_id:uuid}/feed-enable", operation_id="enableFeed", opt=CLASHES)
async def enable(request: AnyRequest, database: Db, clock: Now, source_id: Id) -> SourceTold:
    """Poll a source's feed again, at once. All that was held against it is forgotten."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await operate.enable(conn, source, actor=actor_of(request), now=clock())
        return await _told(conn, source.id, clock)


source_routes = Router("/sources", route_handlers=[list_sources, create, find, change, remove, disable, enable])


def next_cursor(found: list[SourceDetails], limit: int) -> str | None:
    """Where the list goes on: after the last that is shown."""
    return str(found[limit - 1].id) if len(found) > limit else None


@contextmanager
def told_as_faults(**urls: str | None) -> Iterator[None]:
    """What reads well and cannot be used is told with its place: that of a URL by the field that it came in."""
    try:
        yield
    except InvalidUrl as error:
        place = next((name for name, url in urls.items() if url is not None and _is_of(error.url, url)), "")
        raise fault("body", place, str(error)) from error
    except Invalid as error:
        raise fault("body", "", str(error)) from error


def _is_of(told: str, given: str) -> bool:
    """Long URLs are told by their beginning."""
    return given.strip().startswith(told.rstrip("…"))


async def _told(conn: Connection, source_id: SourceId, clock: Clock) -> SourceTold:
    return SourceTold.model_validate(await details.find_details(conn, source_id=source_id, now=clock()))
