"""/api/v1/frontier: list, submit, retry and delete URLs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from litestar import Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, QueryParameter

from headwater.api import schemas
from headwater.api.parameters import ByHost, Cursor, Limit, PathId, read_cursor, text_filter
from headwater.asgi.handlers import Call, CallContext, encode_cursor
from headwater.audit.types import AuditAction
from headwater.channels.types import DestinationLimits
from headwater.channels.visible import frontier_id, route_deleted, submit_urls
from headwater.db import Connection
from headwater.downstream.store import find_extracted
from headwater.errors import InvalidUrl, UrlNotFound
from headwater.frontier.keys import locate
from headwater.frontier.matching import retry_matching
from headwater.frontier.store import changes, listing
from headwater.frontier.types import FrontierUrl, Origin, Status, Submission, SubmitOutcome, Submitted, UrlFilter
from headwater.net.guard import BlockedAddress, check_submitted
from headwater.sources.store.sources import list_labels
from headwater.types import PageCursor, SourceId
from headwater.urls import key_or_none

BATCH = 5_000
RETRY_PAGES = 20  # of a thousand URLs each, per request

Limits = NamedDependency[DestinationLimits]
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
        urls = await _with_articles(conn, found.urls)
    counted = {"total": total.urls, "total_is_exact": total.is_exact}
    return schemas.FrontierPage.model_validate({"urls": urls, **counted, "next_cursor": _cursor(found.next)})


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
        [shown] = await _with_articles(conn, [found])
    return shown


@post("/status", operation_id="findUrls", status_code=200)
async def find_several(call: Call, data: JSONBody[schemas.WantedUrls]) -> schemas.WantedUrlsResponse:
    """Show several URLs by id or URL, and count them by status. Each has its own result."""
    by_url = [(url, frontier_id(url)) for url in data.urls]
    async with call.database.transaction() as conn:
        ids = [*data.ids, *(one for _, one in by_url if one)]
        found = await listing.find_several(conn, ids=ids, now=call.now)
        shown = dict(zip(found, await _with_articles(conn, list(found.values())), strict=True))
    results = [_wanted(shown, one, id=one) for one in data.ids]
    results += [_wanted(shown, one, url=url) for url, one in by_url]
    every = {one.id: one for one in shown.values()}.values()  # two ids may lead to one URL
    counts = Counter(one.status for one in every)
    by_status = schemas.StatusCounts.model_validate({status.value: counts[status] for status in Status})
    extracted = sum(one.extracted for one in every)
    return schemas.WantedUrlsResponse(results=results, by_status=by_status, extracted=extracted)


@post("/submit", operation_id="submitUrl", status_code=200)
async def submit(call: Call, destination_limits: Limits, data: JSONBody[schemas.SubmittedUrl]) -> schemas.SubmitResult:
    """Submit a URL. A known URL is not queued twice, so that a request can be repeated."""
    checked = _check(data, allow_loopback=destination_limits.allow_loopback)
    if isinstance(checked, schemas.SubmitResult):
        raise schemas.field_error("body", "url", checked.reason or "", checked.code or "")
    async with call.database.transaction() as conn:
        if data.source_id and not await list_labels(conn, source_ids=[SourceId(data.source_id)]):
            raise schemas.field_error("body", "source_id", "source not found", "source_not_found")
        [submitted] = await submit_urls(conn, submissions=[_submission(data)], now=call.now)
    if submitted.result is SubmitOutcome.INVALID:
        raise schemas.field_error("body", "url", submitted.reason or "cannot be fetched", "invalid_url")
    return _result(submitted)


@post("/submit/bulk", operation_id="submitUrls", status_code=200, request_max_body_size=schemas.BULK_BYTES)
async def submit_bulk(
    call: Call, destination_limits: Limits, data: JSONBody[schemas.SubmittedUrls]
) -> schemas.SubmitResults:
    """Submit several URLs. Each has its own result; invalid ones do not affect the others."""
    allow_loopback = destination_limits.allow_loopback
    read = [_check(one, allow_loopback=allow_loopback) for one in data.read()]
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
    return schemas.RetryResponse(retried=part.changed, next_cursor=_cursor(part.next))


@delete("/{url_id:uuid}", operation_id="deleteUrl")
async def remove(call: Call, url_id: PathId) -> None:
    """Delete a URL. It is queued again if it is found again."""
    async with call.database.transaction() as conn:
        if not await _delete(conn, call, [url_id]):
            raise UrlNotFound(url_id)


@post("/delete", operation_id="deleteUrls", status_code=200)
async def remove_several(call: Call, data: JSONBody[schemas.DeletedUrls]) -> schemas.DeletedUrlsResponse:
    """Delete several URLs by id or URL. They are queued again if they are found again."""
    wanted = {str(one): one for one in data.ids} | {url: frontier_id(url) for url in data.urls}
    async with call.database.transaction() as conn:
        deleted = await _delete(conn, call, [one for one in wanted.values() if one])
    missing = [given for given, one in wanted.items() if one not in deleted]
    return schemas.DeletedUrlsResponse(deleted=len(deleted), missing=missing)


frontier_routes = Router(
    "/frontier",
    route_handlers=[
        list_urls,
        stats,
        find,
        find_several,
        submit,
        submit_bulk,
        retry,
        remove,
        remove_several,
    ],
)


async def _delete(conn: Connection, call: CallContext, ids: Sequence[UUID]) -> set[UUID]:
    """Delete URLs, with an entry in the audit log for each. Returns the ids that were in the frontier."""
    known = await listing.find_several(conn, ids=ids, now=call.now) if ids else {}
    deleted = set(await changes.delete(conn, ids=list(dict.fromkeys(ids)))) if ids else set[UUID]()
    await route_deleted(conn, [url.url for url in known.values()], call.now)
    for one in sorted(deleted):
        url = known.get(one)
        detail = {"status": url.status.value, "last_error": url.last_error} if url else {}
        await call.audit(conn, AuditAction.URL_DELETED, url.url if url else str(one), one, **detail)
    return deleted


async def _with_articles(conn: Connection, urls: Sequence[FrontierUrl]) -> list[schemas.UrlResponse]:
    """URLs with their articles."""
    keys = {one.id: key_or_none(one.url) for one in urls}
    found = await find_extracted(conn, url_keys=[key for key in keys.values() if key]) if urls else {}
    shown: list[schemas.UrlResponse] = []
    for one in urls:
        article_id, at = found.get(keys[one.id] or b"", (None, None))
        more = {"article_id": article_id, "extracted": at is not None, "extracted_at": at}
        shown.append(schemas.UrlResponse.model_validate(asdict(one) | more))
    return shown


def _wanted(shown: Mapping[UUID, schemas.UrlResponse], one: UUID | None, **asked: object) -> schemas.WantedUrl:
    found = shown.get(one) if one else None
    code = None if found else "url_not_found" if one else "invalid_url"
    return schemas.WantedUrl.model_validate({**asked, "found": found, "code": code})


def _check(
    one: schemas.SubmittedUrl | schemas.SubmitResult, *, allow_loopback: bool
) -> schemas.SubmittedUrl | schemas.SubmitResult:
    """The URL, or the result for one that leads to a private address as it is written."""
    if isinstance(one, schemas.SubmitResult):
        return one
    try:
        target = urlsplit(locate(one.url).url)
        default = 443 if target.scheme == "https" else 80
        check_submitted(target.hostname or "", target.port or default, allow_loopback=allow_loopback)
    except InvalidUrl:
        return one  # the queue says why
    except BlockedAddress as error:
        reason = f"blocked address: {error}"
        return schemas.SubmitResult(url=one.url, result=SubmitOutcome.INVALID, reason=reason, code="blocked_address")
    return one


def _cursor(place: PageCursor | None) -> str | None:
    return encode_cursor(*place) if place else None


def _submission(given: schemas.SubmittedUrl) -> Submission:
    source_id = SourceId(given.source_id) if given.source_id else None
    return Submission(given.url, Origin.MANUAL, source_id=source_id, kind=given.kind, priority=given.priority)


def _result(submitted: Submitted) -> schemas.SubmitResult:
    return schemas.SubmitResult(
        url=submitted.url, canonical_url=_canonical(submitted.url), result=submitted.result, id=submitted.id,
        reason=submitted.reason, code="invalid_url" if submitted.result is SubmitOutcome.INVALID else None,
    )  # fmt: skip


def _canonical(url: str) -> str | None:
    try:
        return locate(url).canonical
    except InvalidUrl:
        return None


async def _submit_batch(
    conn: Connection, items: Sequence[schemas.SubmittedUrl | schemas.SubmitResult], now: datetime
) -> list[schemas.SubmitResult]:
    """The result of each, in order; an item with a result keeps it."""
    wanted = [SourceId(one.source_id) for one in items if isinstance(one, schemas.SubmittedUrl) and one.source_id]
    known = await list_labels(conn, source_ids=wanted) if wanted else {}
    checked = [
        schemas.SubmitResult(
            url=one.url, result=SubmitOutcome.INVALID, reason="source_id: source not found", code="source_not_found"
        )
        if isinstance(one, schemas.SubmittedUrl) and one.source_id and one.source_id not in known
        else one
        for one in items
    ]
    submissions = [_submission(one) for one in checked if isinstance(one, schemas.SubmittedUrl)]
    submitted = iter(await submit_urls(conn, submissions=submissions, now=now))
    return [_result(next(submitted)) if isinstance(one, schemas.SubmittedUrl) else one for one in checked]
