"""/admin/api/feeds/sources: system feeds (seed 003). For super_admins."""

from datetime import UTC, datetime
from typing import Annotated

from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from headwater.api import source_schemas as schemas
from headwater.api.parameters import ByCategory, BySourceText, BySystem, Cursor, Limit, PathId, read_cursor
from headwater.api.routes.sources import CONFLICTS, as_field_errors, create_source, find_source, list_page, operate_on
from headwater.asgi.handlers import Call, encode_cursor, open_source
from headwater.audit.types import Actor
from headwater.db import Connection
from headwater.sources import operate
from headwater.sources.catalogue import CatalogueFeed, CatalogueLine, LineResult, load
from headwater.sources.types import Source, SourceFilter, SourceOrder, SourcePlace

ByActive = Annotated[bool | None, QueryParameter(description="Only active, or only inactive feeds.")]
_BEFORE = "Only with a last success before this time, such as 2026-11-15T12:00:00Z."
FetchedBefore = Annotated[datetime | None, QueryParameter(description=_BEFORE)]
ByErrors = Annotated[
    int | None, QueryParameter(description="Only with at least this many errors in a row.", ge=1, le=1_000_000)
]
Order = Annotated[SourceOrder, QueryParameter(description="newest, or last_fetched: latest success first.")]
NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # in cursors: a source without a success


@get("/sources", operation_id="listFeeds")
async def list_feeds(
    call: Call, is_active: ByActive = None, is_system: BySystem = None, category: ByCategory = None,
    q: BySourceText = None, last_fetched_before: FetchedBefore = None, min_error_count: ByErrors = None,
    order: Order = SourceOrder.NEWEST, cursor: Cursor = None, limit: Limit = 50
) -> schemas.FeedListResponse:  # fmt: skip
    """List feeds, newest first. `q` finds a feed by its URL."""
    if last_fetched_before is not None and last_fetched_before.tzinfo is None:
        last_fetched_before = last_fetched_before.replace(tzinfo=UTC)
    wanted = SourceFilter(
        is_active=is_active, is_system=is_system, category=category, text=q, fetched_before=last_fetched_before,
        errors_min=min_error_count, order=order,
    )  # fmt: skip
    place = read_cursor(cursor or None)
    after = SourcePlace(place[1], None if place[0] == NEVER else place[0]) if place else None
    found, last = await list_page(call, wanted, after, limit)
    next_cursor = encode_cursor(last.last_succeeded_at or NEVER, last.id) if last else None
    return schemas.FeedListResponse.model_validate({"sources": found, "next_cursor": next_cursor})


@post("/sources", operation_id="createFeed", opt=CONFLICTS)
async def create(call: Call, data: JSONBody[schemas.NewFeed]) -> schemas.FeedResponse:
    """Add a system feed. It is fetched at once."""
    with as_field_errors(url=data.url):
        return schemas.FeedResponse.model_validate(await create_source(call, data.changes))


@post("/sources/import", operation_id="importFeeds", status_code=200)
async def import_feeds(call: Call, data: JSONBody[schemas.ImportedFeeds]) -> schemas.ImportReport:
    """Import system feeds. Known feeds are updated, but not enabled, so that it can be repeated."""
    feeds = (CatalogueFeed(**feed.model_dump()) for feed in data.sources)
    lines = [CatalogueLine(number, feed) for number, feed in enumerate(feeds, start=1)]
    report = await load(call.database, call.clock, lines=lines, origin="the API", actor=call.actor)
    counts = {result.value: report.counts[result] for result in LineResult}
    return schemas.ImportReport.model_validate(counts | {"lines": report.lines})


@get("/sources/{source_id:uuid}", operation_id="findFeed")
async def find(call: Call, source_id: PathId) -> schemas.FeedResponse:
    """Show a feed."""
    return schemas.FeedResponse.model_validate(await find_source(call, source_id))


@patch("/sources/{source_id:uuid}", operation_id="changeFeed", opt=CONFLICTS)
async def change(call: Call, source_id: PathId, data: JSONBody[schemas.FeedChanges]) -> schemas.FeedResponse:
    """Change a feed. A new URL clears its errors and is fetched at once."""

    async def change_and_enable(conn: Connection, source: Source, *, actor: Actor, now: datetime) -> None:
        changed = await operate.change(conn, source, wanted=data.changes, actor=actor, now=now)
        if data.is_active:
            await operate.enable(conn, changed, actor=actor, now=now)

    with as_field_errors(url=data.url):
        return schemas.FeedResponse.model_validate(await operate_on(call, source_id, change_and_enable))


@delete("/sources/{source_id:uuid}", operation_id="deleteFeed")
async def remove(call: Call, source_id: PathId) -> None:
    """Delete a feed, and the articles that no other source lists."""
    async with open_source(call.database, source_id) as (conn, source):
        await operate.delete(conn, source, actor=call.actor, now=call.now)


@post("/sources/{source_id:uuid}/refresh", operation_id="refreshFeed", status_code=202, opt=CONFLICTS)
async def refresh(call: Call, source_id: PathId) -> schemas.FeedResponse:
    """Fetch a feed as soon as its host allows, even if it is not due."""
    return schemas.FeedResponse.model_validate(await operate_on(call, source_id, operate.refresh))


@post("/sources/{source_id:uuid}/reset-errors", operation_id="resetErrors", status_code=200)
async def reset_errors(call: Call, source_id: PathId) -> schemas.FeedResponse:
    """Clear a feed's `error_count` and `last_error_message`. It stays enabled or disabled."""
    return schemas.FeedResponse.model_validate(await operate_on(call, source_id, operate.reset_errors))


_handlers = [list_feeds, create, import_feeds, find, change, remove, refresh, reset_errors]
admin_source_routes = Router("/", route_handlers=_handlers)
