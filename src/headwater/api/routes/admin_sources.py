"""/admin/api/feeds/sources: system feeds, in the words of seed 003. For super_admins."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Router, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.api.routes.sources import ByCategory, BySystem, ByText, Limit, told_as_faults
from headwater.api.schemas import fault
from headwater.api.source_schemas import (
    FeedChanges,
    FeedPage,
    FeedTold,
    ImportedFeeds,
    ImportLine,
    ImportReport,
    NewFeed,
    feed_of,
)
from headwater.asgi.actor import actor_of
from headwater.db import Connection, Database
from headwater.frontier.cursor import from_word, to_word
from headwater.frontier.types import UrlCursor
from headwater.sources import operate
from headwater.sources.catalogue.load import load
from headwater.sources.catalogue.types import Feed, Line, LineFate
from headwater.sources.store import details, sources
from headwater.sources.types import SourceDetails, SourceFilter, SourceOrder, SourcePlace
from headwater.types import Clock, SourceId

AnyRequest = Request[Any, Any, Any]
Db = NamedDependency[Database]
Now = NamedDependency[Clock]
CLASHES = {"refusals": (409,)}

ByActive = Annotated[bool | None, QueryParameter(description="Those that are on, with a feed that is; or the others.")]
FetchedBefore = Annotated[
    datetime | None,
    QueryParameter(description="Only those whose last success is older than this, such as 2026-11-15T12:00:00Z."),
]
ByErrors = Annotated[
    int | None, QueryParameter(description="Only those with so many errors in a row, or more.", ge=1, le=1_000_000)
]
Order = Annotated[
    SourceOrder,
    QueryParameter(description="newest, or last_fetched: the latest success first."),
]
Place = Annotated[str | None, QueryParameter(description="`next_cursor` of the page before.", max_length=100)]
Id = Annotated[UUID, PathParameter(description="The feed's id.")]
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@get("/sources", operation_id="listFeeds")
async def list_feeds(
    database: Db,
    clock: Now,
    is_active: ByActive = None,
    is_system: BySystem = None,
    category: ByCategory = None,
    q: ByText = None,
    last_fetched_before: FetchedBefore = None,
    min_error_count: ByErrors = None,
    order: Order = SourceOrder.NEWEST,
    cursor: Place = None,
    limit: Limit = 50,
) -> FeedPage:
    """List feeds, the newest first. `q` finds one by its URL."""
    wanted = SourceFilter(
        is_active=is_active,
        is_system=is_system,
        category=category,
        text=q,
        fetched_before=_in_utc(last_fetched_before),
        errors_least=min_error_count,
    )
    after = _place(cursor)
    async with database.as_system() as conn:
        found = await details.list_details(conn, wanted=wanted, now=clock(), order=order, after=after, limit=limit + 1)
    return FeedPage(
        sources=[feed_of(one) for one in found[:limit]],
        next_cursor=_word_of(found[limit - 1]) if len(found) > limit else None,
    )


@post("/sources", operation_id="createFeed", opt=CLASHES)
async def create(request: AnyRequest, database: Db, clock: Now, data: JSONBody[NewFeed]) -> FeedTold:
    """Add a system feed. It is fetched at once."""
    async with database.as_system() as conn:
        with told_as_faults(url=data.url):
            source = await operate.create(conn, wanted=data.wanted, actor=actor_of(request), now=clock())
        return await _told(conn, source.id, clock)


@post("/sources/import", operation_id="importFeeds", status_code=200)
async def bring_in(request: AnyRequest, database: Db, clock: Now, data: JSONBody[ImportedFeeds]) -> ImportReport:
    """Add many system feeds. Safe to repeat: what is here is brought up to date, and never switched on."""
    lines = [Line(number, Feed(**feed.model_dump())) for number, feed in enumerate(data.sources, start=1)]
    report = await load(database, clock, lines=lines, origin="the API", actor=actor_of(request))
    return ImportReport(
        created=report.count(LineFate.CREATED),
        changed=report.count(LineFate.CHANGED),
        unchanged=report.count(LineFate.UNCHANGED),
        failed=report.count(LineFate.FAILED),
        lines=[ImportLine.model_validate(one) for one in report.lines],
    )


@get("/sources/{source_id:uuid}", operation_id="findFeed")
async def find(database: Db, clock: Now, source_id: Id) -> FeedTold:
    """Show a feed."""
    async with database.as_system() as conn:
        return await _told(conn, SourceId(source_id), clock)


@patch("/sources/{source_id:uuid}", operation_id="changeFeed", opt=CLASHES)
async def change(request: AnyRequest, database: Db, clock: Now, source_id: Id, data: JSONBody[FeedChanges]) -> FeedTold:
    """Change a feed. Another URL clears its errors and is fetched at once."""
    actor, now = actor_of(request), clock()
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        with told_as_faults(url=data.url):
            source = await operate.change(conn, source, wanted=data.wanted, actor=actor, now=now)
        if data.is_active:
            await operate.enable(conn, source, actor=actor, now=now)
        return await _told(conn, source.id, clock)


@delete("/sources/{source_id:uuid}", operation_id="deleteFeed")
async def remove(request: AnyRequest, database: Db, clock: Now, source_id: Id) -> None:
    """Delete a feed, and the articles that no other source lists."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await operate.delete(conn, source, actor=actor_of(request), now=clock())


@post("/sources/{source_id:uuid}/refresh", operation_id="refreshFeed", status_code=202, opt=CLASHES)
async def refresh(request: AnyRequest, database: Db, clock: Now, source_id: Id) -> FeedTold:
    """Fetch a feed now, due or not, as soon as politeness to its host allows."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await operate.refresh(conn, source, actor=actor_of(request), now=clock())
        return await _told(conn, source.id, clock)


@post("/sources/{source_id:uuid}/reset-errors", operation_id="resetErrors", status_code=200)
async def reset_errors(request: AnyRequest, database: Db, clock: Now, source_id: Id) -> FeedTold:
    """Clear a feed's `error_count` and `last_error_message`. Whether it is on stays as it is."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await operate.reset_errors(conn, source, actor=actor_of(request), now=clock())
        return await _told(conn, source.id, clock)


admin_source_routes = Router(
    "/", route_handlers=[list_feeds, create, bring_in, find, change, remove, refresh, reset_errors]
)


def _in_utc(at: datetime | None) -> datetime | None:
    """A time without a zone is one of UTC."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _word_of(source: SourceDetails) -> str:
    """Where a list goes on after this source. A source without a success stands at the beginning of time."""
    return to_word(UrlCursor(source.last_succeeded_at or BEGINNING, source.id))


def _place(word: str | None) -> SourcePlace | None:
    try:
        read = from_word(word) if word else None
    except ValueError as error:
        raise fault("query", "cursor", "it is not one that this API gave") from error
    if read is None:
        return None
    return SourcePlace(read.id, None if read.discovered_at == BEGINNING else read.discovered_at)


async def _told(conn: Connection, source_id: SourceId, clock: Clock) -> FeedTold:
    return feed_of(await details.find_details(conn, source_id=source_id, now=clock()))
