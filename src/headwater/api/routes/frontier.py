"""/api/v1/frontier: which URLs wait, what came of them; submit, retry and delete them."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.api import store as api
from headwater.api.schemas import (
    BULK_BYTES,
    LIST_MOST,
    PLAIN,
    FrontierPage,
    FrontierStats,
    FrontierUrl,
    Retried,
    RetriedUrls,
    SubmitResult,
    SubmitResults,
    SubmittedUrl,
    SubmittedUrls,
    fault,
    page_of,
    results_of,
    stats_of,
)
from headwater.db import Connection, Database
from headwater.errors import UrlNotFound
from headwater.frontier import store
from headwater.frontier.cursor import from_word, to_word
from headwater.frontier.listing import store as listing
from headwater.frontier.retrying import retry_matching
from headwater.frontier.types import Fate, Origin, Status, Submission, Submitted, UrlCursor, UrlFilter
from headwater.types import Clock, SourceId

Db = NamedDependency[Database]
Now = NamedDependency[Clock]
BATCH = 5_000
RETRY_PAGES = 20  # a thousand URLs each, of those that one request looks through

ByStatus = Annotated[Status | None, QueryParameter(description="Only those with this status.")]
BySource = Annotated[UUID | None, QueryParameter(description="Only those of this source.")]
ByHost = Annotated[
    str | None, QueryParameter(description="Only those on this host.", min_length=1, max_length=253, pattern=PLAIN)
]
ByOrigin = Annotated[Origin | None, QueryParameter(description="Only those found by this.")]
ByText = Annotated[
    str | None,
    QueryParameter(description="Only those whose URL holds this.", min_length=1, max_length=200, pattern=PLAIN),
]
Cursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the page before.", max_length=100)]
Limit = Annotated[int, QueryParameter(description="How many at most.", ge=1, le=LIST_MOST)]
UrlId = Annotated[UUID, PathParameter(description="The URL's id.")]


@get("/", operation_id="listUrls")
async def list_urls(
    database: Db,
    clock: Now,
    status: ByStatus = None,
    source_id: BySource = None,
    host: ByHost = None,
    origin: ByOrigin = None,
    q: ByText = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> FrontierPage:
    """List URLs, the newest first."""
    wanted = UrlFilter(status, SourceId(source_id) if source_id else None, host, origin, q)
    after = _cursor(cursor)
    async with database.transaction() as conn:
        found = await listing.list_urls(conn, wanted=wanted, now=clock(), after=after, limit=limit)
        total = await listing.count_urls(conn, wanted=wanted, now=clock())
    return page_of(found, total, to_word(found.next) if found.next else None)


@get("/stats", operation_id="frontierStats")
async def stats(database: Db, clock: Now) -> FrontierStats:
    """Count URLs by status and by source. Read from counters, so it is quick however many there are."""
    async with database.transaction() as conn:
        return stats_of(await listing.stats(conn, now=clock()))


@get("/{url_id:uuid}", operation_id="findUrl")
async def find(database: Db, clock: Now, url_id: UrlId) -> FrontierUrl:
    """Show one URL."""
    async with database.transaction() as conn:
        found = await listing.find(conn, id=url_id, now=clock())
    if found is None:
        raise UrlNotFound(url_id)
    return FrontierUrl.model_validate(found)


@post("/submit", operation_id="submitUrl", status_code=200)
async def submit(database: Db, clock: Now, data: JSONBody[SubmittedUrl]) -> SubmitResult:
    """Submit a URL. One that is known is not queued twice, so that submitting again is harmless."""
    async with database.transaction() as conn:
        if data.source_id and not await api.known_sources(conn, ids=[SourceId(data.source_id)]):
            raise fault("body", "source_id", "there is no such source")
        [submitted] = await store.submit(conn, submissions=[_submission(data)], now=clock())
    if submitted.fate is Fate.INVALID:
        raise fault("body", "url", submitted.reason or "it cannot be fetched")
    return _result(submitted)


@post("/submit/bulk", operation_id="submitUrls", status_code=200, request_max_body_size=BULK_BYTES)
async def submit_bulk(database: Db, clock: Now, data: JSONBody[SubmittedUrls]) -> SubmitResults:
    """Submit many URLs. Each gets its own result; those that cannot be used do not keep the others from it."""
    read = data.read()
    results: list[SubmitResult] = []
    for start in range(0, len(read), BATCH):
        async with database.transaction() as conn:
            results += await _submit_some(conn, read[start : start + BATCH], clock)
    return results_of(results)


@post("/retry", operation_id="retryUrls", status_code=200)
async def retry(database: Db, clock: Now, data: JSONBody[RetriedUrls]) -> Retried:
    """Try URLs again, at once: those with these ids, or all that fit a filter and are failed or dead."""
    if data.ids is not None:
        async with database.transaction() as conn:
            return Retried(retried=len(await store.retry(conn, ids=data.ids, now=clock())), next_cursor=None)
    wanted = UrlFilter(data.status, SourceId(data.source_id) if data.source_id else None, data.host)
    after = _cursor(data.cursor, "body")
    part = await retry_matching(database, clock, wanted=wanted, after=after, pages=RETRY_PAGES)
    return Retried(retried=part.retried, next_cursor=to_word(part.next) if part.next else None)


@delete("/{url_id:uuid}", operation_id="deleteUrl")
async def remove(database: Db, url_id: UrlId) -> None:
    """Forget a URL. It is new again for whoever finds it next."""
    async with database.transaction() as conn:
        if not await store.delete(conn, ids=[url_id]):
            raise UrlNotFound(url_id)


frontier_routes = Router("/frontier", route_handlers=[list_urls, stats, find, submit, submit_bulk, retry, remove])


def _cursor(word: str | None, place: str = "query") -> UrlCursor | None:
    try:
        return from_word(word) if word is not None else None
    except ValueError as error:
        raise fault(place, "cursor", "it is not one that this API gave") from error


def _submission(given: SubmittedUrl) -> Submission:
    source_id = SourceId(given.source_id) if given.source_id else None
    return Submission(given.url, Origin.MANUAL, source_id=source_id, kind=given.kind, priority=given.priority)


def _result(submitted: Submitted) -> SubmitResult:
    return SubmitResult(url=submitted.url, result=submitted.fate, id=submitted.id, reason=submitted.reason)


async def _submit_some(
    conn: Connection, items: Sequence[SubmittedUrl | SubmitResult], clock: Clock
) -> list[SubmitResult]:
    """What came of each, in their order; what has a result already keeps it."""
    wanted = {SourceId(one.source_id) for one in items if isinstance(one, SubmittedUrl) and one.source_id}
    known = await api.known_sources(conn, ids=list(wanted)) if wanted else set[SourceId]()
    checked = [_of_known_source(one, known) for one in items]
    submissions = [_submission(one) for one in checked if isinstance(one, SubmittedUrl)]
    submitted = iter(await store.submit(conn, submissions=submissions, now=clock()))
    return [_result(next(submitted)) if isinstance(one, SubmittedUrl) else one for one in checked]


def _of_known_source(item: SubmittedUrl | SubmitResult, known: set[SourceId]) -> SubmittedUrl | SubmitResult:
    if isinstance(item, SubmitResult) or item.source_id is None or item.source_id in known:
        return item
    return SubmitResult(url=item.url, result=Fate.INVALID, reason="source_id: there is no such source")
