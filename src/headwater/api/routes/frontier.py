"""/api/v1/frontier: list, submit, retry and delete URLs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, post
from litestar.params import JSONBody, QueryParameter

from headwater.api import schemas
from headwater.api.parameters import ByHost, Cursor, Limit, PathId, read_cursor, text_filter
from headwater.asgi.handlers import Call, Db, encode_cursor
from headwater.db import Connection
from headwater.errors import UrlNotFound
from headwater.frontier.retrying import retry_matching
from headwater.frontier.store import changes, listing, queue
from headwater.frontier.types import Origin, Status, Submission, SubmitOutcome, Submitted, UrlFilter
from headwater.sources.store.sources import list_labels
from headwater.types import PageCursor, SourceId

BATCH = 5_000
RETRY_PAGES = 20  # of a thousand URLs each, per request

ByStatus = Annotated[Status | None, QueryParameter(description="Only with this status.")]
BySource = Annotated[UUID | None, QueryParameter(description="Only of this source.")]
ByOrigin = Annotated[Origin | None, QueryParameter(description="Only with this origin.")]
ByText = Annotated[str | None, text_filter("Only with this text in the URL.")]


@get("/", operation_id="listUrls")
async def list_urls(
    call: Call, status: ByStatus = None, source_id: BySource = None, host: ByHost = None,
    origin: ByOrigin = None, q: ByText = None, cursor: Cursor = None, limit: Limit = 50
) -> schemas.FrontierPage:  # fmt: skip
    """List URLs, newest first."""
    wanted = UrlFilter(status, SourceId(source_id) if source_id else None, host, origin, q)
    after = read_cursor(cursor)
    async with call.database.transaction() as conn:
        found = await listing.list_urls(conn, wanted=wanted, now=call.now, after=after, limit=limit)
        total = await listing.count_urls(conn, wanted=wanted, now=call.now)
    counted = {"total": total.urls, "total_is_exact": total.is_exact}
    return schemas.FrontierPage.model_validate({"urls": found.urls, **counted, "next_cursor": _cursor(found.next)})


@get("/stats", operation_id="frontierStats")
async def stats(call: Call) -> schemas.FrontierStatsResponse:
    """Count URLs by status and by source. It reads counters, so it is fast with any number of URLs."""
    async with call.database.transaction() as conn:
        return schemas.FrontierStatsResponse.of(await listing.stats(conn, now=call.now))


@get("/{url_id:uuid}", operation_id="findUrl")
async def find(call: Call, url_id: PathId) -> schemas.UrlResponse:
    """Show one URL."""
    async with call.database.transaction() as conn:
        found = await listing.find(conn, id=url_id, now=call.now)
    if found is None:
        raise UrlNotFound(url_id)
    return schemas.UrlResponse.model_validate(found)


@post("/submit", operation_id="submitUrl", status_code=200)
async def submit(call: Call, data: JSONBody[schemas.SubmittedUrl]) -> schemas.SubmitResult:
    """Submit a URL. A known URL is not queued twice, so that a request can be repeated."""
    async with call.database.transaction() as conn:
        if data.source_id and not await list_labels(conn, source_ids=[SourceId(data.source_id)]):
            raise schemas.field_error("body", "source_id", "source not found")
        [submitted] = await queue.submit(conn, submissions=[_submission(data)], now=call.now)
    if submitted.result is SubmitOutcome.INVALID:
        raise schemas.field_error("body", "url", submitted.reason or "cannot be fetched")
    return _result(submitted)


@post("/submit/bulk", operation_id="submitUrls", status_code=200, request_max_body_size=schemas.BULK_BYTES)
async def submit_bulk(call: Call, data: JSONBody[schemas.SubmittedUrls]) -> schemas.SubmitResults:
    """Submit several URLs. Each has its own result; invalid ones do not affect the others."""
    read = data.read()
    results: list[schemas.SubmitResult] = []
    for start in range(0, len(read), BATCH):
        async with call.database.transaction() as conn:
            results += await _submit_batch(conn, read[start : start + BATCH], call.now)
    return schemas.SubmitResults.of(results)


@post("/retry", operation_id="retryUrls", status_code=200)
async def retry(call: Call, data: JSONBody[schemas.RetriedUrls]) -> schemas.RetryResponse:
    """Retry URLs at once: those with these ids, or all failed and dead ones that match a filter."""
    if data.ids is not None:
        async with call.database.transaction() as conn:
            retried = await changes.retry(conn, ids=data.ids, now=call.now)
        return schemas.RetryResponse(retried=len(retried), next_cursor=None)
    wanted = UrlFilter(data.status, SourceId(data.source_id) if data.source_id else None, data.host)
    after = read_cursor(data.cursor, "body")
    part = await retry_matching(call.database, call.clock, wanted=wanted, after=after, pages=RETRY_PAGES)
    return schemas.RetryResponse(retried=part.retried, next_cursor=_cursor(part.next))


@delete("/{url_id:uuid}", operation_id="deleteUrl")
async def remove(database: Db, url_id: PathId) -> None:
    """Delete a URL. It is queued again if it is found again."""
    async with database.transaction() as conn:
        if not await changes.delete(conn, ids=[url_id]):
            raise UrlNotFound(url_id)


frontier_routes = Router("/frontier", route_handlers=[list_urls, stats, find, submit, submit_bulk, retry, remove])


def _cursor(place: PageCursor | None) -> str | None:
    return encode_cursor(*place) if place else None


def _submission(given: schemas.SubmittedUrl) -> Submission:
    source_id = SourceId(given.source_id) if given.source_id else None
    return Submission(given.url, Origin.MANUAL, source_id=source_id, kind=given.kind, priority=given.priority)


def _result(submitted: Submitted) -> schemas.SubmitResult:
    return schemas.SubmitResult(url=submitted.url, result=submitted.result, id=submitted.id, reason=submitted.reason)


async def _submit_batch(
    conn: Connection, items: Sequence[schemas.SubmittedUrl | schemas.SubmitResult], now: datetime
) -> list[schemas.SubmitResult]:
    """The result of each, in order; an item with a result keeps it."""
    wanted = [SourceId(one.source_id) for one in items if isinstance(one, schemas.SubmittedUrl) and one.source_id]
    known = await list_labels(conn, source_ids=wanted) if wanted else {}
    checked = [
        schemas.SubmitResult(url=one.url, result=SubmitOutcome.INVALID, reason="source_id: source not found")
        if isinstance(one, schemas.SubmittedUrl) and one.source_id and one.source_id not in known
        else one
        for one in items
    ]
    submissions = [_submission(one) for one in checked if isinstance(one, schemas.SubmittedUrl)]
    submitted = iter(await queue.submit(conn, submissions=submissions, now=now))
    return [_result(next(submitted)) if isinstance(one, schemas.SubmittedUrl) else one for one in checked]
