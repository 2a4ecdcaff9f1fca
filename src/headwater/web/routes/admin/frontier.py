"""/admin/frontier: the crawl queue. List, submit, retry and delete URLs; throttled hosts.

The statistics and the table are loaded again every ten seconds; selected URLs stay selected. Retrying all matching URLs
is done in steps: each response requests the next one, and leaving the page stops it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import AnyRequest, Db, Now, actor_of, decode_cursor, encode_cursor
from headwater.audit import store as audit
from headwater.audit.types import AuditAction
from headwater.db import Connection
from headwater.errors import Invalid, UrlNotFound
from headwater.frontier.retrying import RETRIED, retry_matching
from headwater.frontier.store import changes, listing, queue
from headwater.frontier.types import (
    Fate,
    FrontierOptions,
    FrontierUrl,
    Origin,
    Status,
    Submission,
    UrlCounts,
    UrlFilter,
)  # fmt: skip
from headwater.hosts.store.status import find_status, list_waiting
from headwater.sources.store.sources import find_label, list_labels
from headwater.types import Clock, PageCursor, SourceId
from headwater.web.errors import fragment
from headwater.web.format import count
from headwater.web.query import is_htmx, parse_id, parse_number, search_text

PAGE = 50
SOURCES_SHOWN = 12
SOURCES_OFFERED = 200  # in the filter
NAME_MAX = 255
HOSTS_SHOWN = 20
RETRY_PAGES = 5  # of a thousand URLs each, per step
TEXT_MAX = 200
RESULTS = {Fate.QUEUED: "is queued", Fate.KNOWN: "is already known", Fate.REVIVED: "was given up and is queued again"}
NOTICE = "frontier-said"  # the element that shows messages


@dataclass(frozen=True, slots=True)
class FrontierForm:
    """The fields of all forms of the page; each form has some of them."""

    ids: list[str] | str = ""  # of selected URLs
    back: str = ""
    status: str = ""
    source: str = ""
    host: str = ""
    origin: str = ""
    q: str = ""
    cursor: str = ""  # of the next step of retrying all
    so_far: str = "0"
    url: str = ""  # to submit
    priority: str = ""


async def list_page(
    database: Db,
    clock: Now,
    frontier_options: NamedDependency[FrontierOptions],
    status: FromQuery[str] = "",
    source: FromQuery[str] = "",
    host: FromQuery[str] = "",
    origin: FromQuery[str] = "",
    q: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> dict[str, Any]:
    """A page of URLs that match the query string; a source is given by id or name. Raises Invalid."""
    async with database.transaction() as conn:
        wanted = read_filter(status, await _source_id(conn, source), host, origin, q)
        found = await listing.list_urls(conn, wanted=wanted, now=clock(), limit=PAGE, after=read_cursor(cursor))
        named = {url.source_id for url in found.urls} | {wanted.source_id}
        return {
            "urls": found.urls,
            "matching": await listing.count_urls(conn, wanted=wanted, now=clock()),
            "labels": await list_labels(conn, source_ids=[one for one in named if one]),
            "wanted": wanted,
            "values": filter_values(wanted),
            "address": urlencode(filter_values(wanted)),
            "cursor": cursor,
            "next": cursor_of(found.next),
            "can_retry": wanted.status in {None, *RETRIED},
            "shown_host": await find_status(conn, name=wanted.host, now=clock()) if wanted.host else None,
            "statuses": list(Status),
            "origins": list(Origin),
            "now": clock(),
            "options": frontier_options,
        }


URLS = {"found": Provide(list_page)}


@get("/admin/frontier", role=Role.SUPER_ADMIN, dependencies=URLS)
async def frontier(request: AnyRequest, database: Db, clock: Now, found: NamedDependency[dict[str, Any]]) -> Template:
    async with database.transaction() as conn:
        context = found | await _statistics(conn, clock)
    return Template("admin/frontier.html", context=context | {"user": request.user})


@fragment(get, "/admin/frontier/urls", "Failed to load URLs", place=NOTICE, role=Role.SUPER_ADMIN, dependencies=URLS)
async def urls(found: NamedDependency[dict[str, Any]]) -> Template:
    shown = urlencode(found["values"] | ({"cursor": found["cursor"]} if found["cursor"] else {}))
    address = f"/admin/frontier?{shown}" if shown else "/admin/frontier"
    return Template("admin/frontier_urls.html", context=found, headers={"HX-Replace-Url": address})


@fragment(get, "/admin/frontier/stats", "Failed to load statistics", role=Role.SUPER_ADMIN)
async def stats(database: Db, clock: Now, frontier_options: NamedDependency[FrontierOptions]) -> Template:
    """The statistics, and the throttled hosts."""
    async with database.transaction() as conn:
        context = await _statistics(conn, clock) | {"options": frontier_options}
    return Template("admin/frontier_stats.html", context=context)


@fragment(post, "/admin/frontier/submit", "Failed to submit", place="frontier-submit-said", role=Role.SUPER_ADMIN)
async def submit(
    request: AnyRequest, data: URLEncodedBody[FrontierForm], database: Db, clock: Now
) -> Template | Redirect:
    priority = read_number(data.priority or "5")
    if not 1 <= priority <= 10:
        raise Invalid("The priority is a number from 1 to 10.")
    source_id = read_source(data.source)
    submission = Submission(
        data.url.strip(), Origin.MANUAL, source_id=source_id, priority=priority if data.priority else None
    )
    async with database.transaction() as conn:
        if source_id and not await list_labels(conn, source_ids=[source_id]):
            raise Invalid("Source not found.")
        [submitted] = await queue.submit(conn, submissions=[submission], now=clock())
    if submitted.fate is Fate.INVALID:
        raise Invalid(f"This URL cannot be fetched: {submitted.reason}.")
    return _notice(request, f"{submitted.url} {RESULTS[submitted.fate]}.")


@fragment(post, "/admin/frontier/retry", "Failed to retry", place=NOTICE, role=Role.SUPER_ADMIN)
async def retry(
    request: AnyRequest, data: URLEncodedBody[FrontierForm], database: Db, clock: Now
) -> Template | Redirect:
    async with database.transaction() as conn:
        found = await _find(conn, data.ids, clock)
        await changes.retry(conn, ids=[url.id for url in found], now=clock())
        subject, subject_id = (found[0].url, found[0].id) if len(found) == 1 else (f"{len(found)} URLs", None)
        actor, detail = actor_of(request), {"urls": [url.url for url in found]}
        await audit.record(
            conn, actor, AuditAction.URLS_RETRIED, clock(), subject=subject, subject_id=subject_id, detail=detail
        )
    return _notice(request, f"{count(len(found), 'URL')} queued for retry.", data.back)


@fragment(post, "/admin/frontier/delete", "Failed to delete", place=NOTICE, role=Role.SUPER_ADMIN)
async def remove(
    request: AnyRequest, data: URLEncodedBody[FrontierForm], database: Db, clock: Now
) -> Template | Redirect:
    """Delete URLs. They are queued again if they are found again. Raises Invalid, UrlNotFound."""
    async with database.transaction() as conn:
        found = await _find(conn, data.ids, clock)
        await changes.delete(conn, ids=[url.id for url in found])
        for url in found:
            detail = {"status": url.status.value, "last_error": url.last_error}
            await audit.record(
                conn,
                actor_of(request),
                AuditAction.URL_DELETED,
                clock(),
                subject=url.url,
                subject_id=url.id,
                detail=detail,
            )
    return _notice(request, f"{count(len(found), 'URL')} deleted.", data.back)


@fragment(post, "/admin/frontier/retry-all", "Failed to retry", place=NOTICE, role=Role.SUPER_ADMIN)
async def retry_all(request: AnyRequest, data: URLEncodedBody[FrontierForm], database: Db, clock: Now) -> Template:
    """Retry failed and given-up URLs that match the filter: one step. Raises Invalid."""
    wanted = read_filter(data.status, data.source, data.host, data.origin, data.q)
    if wanted.status not in {None, *RETRIED}:
        raise Invalid("Only failed or given-up URLs can be retried.")
    so_far, is_logged = read_number(data.so_far), False

    async def log(conn: Connection) -> None:
        nonlocal is_logged
        if not is_logged:  # once per step, in the transaction of its first change
            subject, detail = f"all {describe(wanted)}", filter_values(wanted)
            await audit.record(
                conn, actor_of(request), AuditAction.URLS_RETRIED, clock(), subject=subject, detail=detail
            )
        is_logged = True

    after = read_cursor(data.cursor)
    part = await retry_matching(database, clock, wanted=wanted, after=after, pages=RETRY_PAGES, note=log)
    done = so_far + part.retried
    context = {
        "so_far": done,
        "values": filter_values(wanted) | {"cursor": cursor_of(part.next), "so_far": done},
        "is_done": part.next is None,
    }
    headers = {"HX-Trigger": "refreshFrontier"} if part.next is None else {}
    return Template("admin/frontier_retrying.html", context=context, headers=headers)


def read_filter(status: str, source: str, host: str, origin: str, text: str) -> UrlFilter:
    if status and status not in set(Status):
        raise Invalid(f"Unknown status. Use one of {', '.join(Status)}.")
    if origin and origin not in set(Origin):
        raise Invalid(f"Unknown origin. Use one of {', '.join(Origin)}.")
    host, text = search_text(host, text, most=TEXT_MAX)
    return UrlFilter(
        Status(status) if status else None, read_source(source), host.lower() or None,
        Origin(origin) if origin else None, text or None,
    )  # fmt: skip


def read_source(text: str) -> SourceId | None:
    """A source's id, if one is given. Raises Invalid."""
    found = parse_id(text)
    if text and found is None:
        raise Invalid("Source not found.")
    return SourceId(found) if found else None


def read_cursor(cursor: str) -> PageCursor | None:
    return decode_cursor(cursor) if cursor else None


def cursor_of(place: PageCursor | None) -> str:
    return encode_cursor(*place) if place else ""


def read_number(text: str) -> int:
    number = parse_number(text, digits=12)
    if number is None:
        raise Invalid("Not a whole number.")
    return number


def filter_values(wanted: UrlFilter) -> dict[str, str]:
    names = {"status": "status", "source": "source_id", "host": "host", "origin": "origin", "q": "text"}
    return {name: str(value) for name, field in names.items() if (value := getattr(wanted, field)) is not None}


def describe(wanted: UrlFilter) -> str:
    """A filter as text, for the audit log."""
    narrowed = [f"{name} {value}" for name, value in filter_values(wanted).items() if name != "status"]
    state = {None: "failed and given-up", Status.FAILED: "failed", Status.DEAD: "given-up"}.get(wanted.status, "")
    return ", ".join([f"{state} URLs", *narrowed])


async def _source_id(conn: Connection, text: str) -> str:
    """The id of a source, by its id or the beginning of its name. Raises Invalid."""
    text = text.strip()
    if not text or parse_id(text):
        return text
    found = await find_label(conn, name=text) if len(text) <= NAME_MAX and "\0" not in text else None
    if found is None:
        raise Invalid("No source has this name.")
    return str(found.id)


async def _statistics(conn: Connection, clock: Clock) -> dict[str, object]:
    counted = await listing.stats(conn, now=clock())
    tallies = sorted((one for one in counted.by_source if one.total), key=lambda one: one.total, reverse=True)
    shown = tallies[:SOURCES_SHOWN]
    return {
        "by_status": counted.by_status,
        "total": sum(counted.by_status.values()),
        "tallies": shown,
        "tally_labels": await list_labels(conn, source_ids=_ids(shown)),
        "more_sources": len(tallies) - len(shown),
        "sources": (await list_labels(conn, source_ids=_ids(tallies[:SOURCES_OFFERED]))).values(),
        "hosts": await list_waiting(conn, now=clock(), limit=HOSTS_SHOWN),
        "now": clock(),
    }


def _ids(tallies: Sequence[UrlCounts]) -> list[SourceId]:
    return [one.source_id for one in tallies if one.source_id]


async def _find(conn: Connection, given: list[str] | str, clock: Clock) -> list[FrontierUrl]:
    """The selected URLs. Raises Invalid, and UrlNotFound if there is none."""
    ids = {text: parse_id(text) for text in ([given] if isinstance(given, str) else given) if text}
    if not 0 < len(ids) <= PAGE:
        raise Invalid("Select URLs first." if not ids else f"At most {PAGE} URLs at a time.")
    if None in ids.values():
        raise Invalid("URL not found.")
    looked = [await listing.find(conn, id=one, now=clock()) for one in ids.values() if one]
    found = [url for url in looked if url is not None]
    if not found:
        raise UrlNotFound(UUID(next(iter(ids))))
    return found


def _notice(request: AnyRequest, message: str, back: str = "") -> Template | Redirect:
    """A message; without htmx a redirect to the page with its filter."""
    if is_htmx(request):
        headers = {"HX-Trigger": "refreshFrontier"}
        return Template("admin/said.html", context={"message": message}, headers=headers)
    is_query = back.isascii() and back.isprintable()
    return Redirect(f"/admin/frontier?{back}" if back and is_query else "/admin/frontier", status_code=303)
