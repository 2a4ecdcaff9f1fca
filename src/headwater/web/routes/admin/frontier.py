"""/admin/frontier: the crawl queue. List, submit, retry and delete URLs; throttled hosts.

The statistics and the table are loaded again every ten seconds; selected URLs stay selected. Retrying all matching URLs
is done in steps: each response requests the next one, and leaving the page stops it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.handlers import BaseRouteHandler
from litestar.params import FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.actor import actor_of
from headwater.asgi.cursor import decode_cursor, encode_cursor
from headwater.asgi.handlers import AnyRequest, Db, Form, Now
from headwater.audit import store as audit
from headwater.audit.types import Deed
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
    UrlCursor,
    UrlFilter,
)
from headwater.hosts.store.looking import find_shown, list_waiting
from headwater.sources.store.sources import find_label, list_labels
from headwater.types import Clock, SourceId
from headwater.web.errors import error_handlers
from headwater.web.format import count
from headwater.web.query import is_htmx, parse_number, search_text

PAGE = 50
SOURCES_SHOWN = 12
SOURCES_OFFERED = 200  # in the filter
NAME_MAX = 255
HOSTS_SHOWN = 20
RETRY_PAGES = 5  # of a thousand URLs each, per step
TEXT_MAX = 200
NOTICE = "frontier-said"  # the element that shows messages


@dataclass(frozen=True, slots=True)
class SelectedUrls:
    """Selected URLs, by id."""

    ids: list[str] | str = ""
    back: str = ""


@dataclass(frozen=True, slots=True)
class RetryAllForm:
    """The filter, the cursor of the next step, and the number of URLs so far."""

    status: str = ""
    source: str = ""
    host: str = ""
    origin: str = ""
    q: str = ""
    cursor: str = ""
    so_far: str = "0"


@dataclass(frozen=True, slots=True)
class SubmitForm:
    """A URL to fetch."""

    url: str = ""
    source: str = ""
    priority: str = ""


async def url_filter(
    database: Db,
    status: FromQuery[str] = "",
    source: FromQuery[str] = "",
    host: FromQuery[str] = "",
    origin: FromQuery[str] = "",
    q: FromQuery[str] = "",
) -> UrlFilter:
    """The filter of the query string; a source is given by id or name. Raises Invalid."""
    async with database.transaction() as conn:
        return read_filter(status, await _source_id(conn, source), host, origin, q)


FILTER = {"wanted": Provide(url_filter)}


@get("/admin/frontier", role=Role.SUPER_ADMIN, dependencies=FILTER)
async def frontier(
    request: AnyRequest,
    database: Db,
    clock: Now,
    frontier_options: NamedDependency[FrontierOptions],
    wanted: NamedDependency[UrlFilter],
    cursor: FromQuery[str] = "",
) -> Template:
    """The page. Raises Invalid."""
    async with database.transaction() as conn:
        context = await _table(conn, clock, wanted, cursor) | await _statistics(conn, clock)
    context |= {"user": request.user, "options": frontier_options}
    return Template("admin/frontier.html", context=context)


@get(
    "/admin/frontier/urls",
    role=Role.SUPER_ADMIN,
    dependencies=FILTER,
    exception_handlers=error_handlers("Failed to load URLs", place=NOTICE),
)
async def urls(
    database: Db,
    clock: Now,
    frontier_options: NamedDependency[FrontierOptions],
    wanted: NamedDependency[UrlFilter],
    cursor: FromQuery[str] = "",
) -> Template:
    """The table. Raises Invalid."""
    async with database.transaction() as conn:
        context = await _table(conn, clock, wanted, cursor) | {"options": frontier_options}
    shown = urlencode(filter_values(wanted) | ({"cursor": cursor} if cursor else {}))
    address = f"/admin/frontier?{shown}" if shown else "/admin/frontier"
    return Template("admin/frontier_urls.html", context=context, headers={"HX-Replace-Url": address})


@get("/admin/frontier/stats", role=Role.SUPER_ADMIN, exception_handlers=error_handlers("Failed to load statistics"))
async def stats(
    database: Db,
    clock: Now,
    frontier_options: NamedDependency[FrontierOptions],
) -> Template:
    """The statistics, and the throttled hosts."""
    async with database.transaction() as conn:
        context = await _statistics(conn, clock) | {"options": frontier_options}
    return Template("admin/frontier_stats.html", context=context)


@post(
    "/admin/frontier/submit",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=error_handlers("Failed to submit", place="frontier-submit-said"),
)
async def submit(
    request: AnyRequest,
    data: Annotated[SubmitForm, Form],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Queue a URL. Raises Invalid."""
    priority = read_number(data.priority or "5")
    if not 1 <= priority <= 10:
        raise Invalid("The priority is a number from 1 to 10.")
    submission = Submission(
        data.url.strip(),
        Origin.MANUAL,
        source_id=read_source(data.source),
        priority=priority if data.priority else None,
    )
    async with database.transaction() as conn:
        if submission.source_id and not await list_labels(conn, source_ids=[submission.source_id]):
            raise Invalid("Source not found.")
        [submitted] = await queue.submit(conn, submissions=[submission], now=clock())
    if submitted.fate is Fate.INVALID:
        raise Invalid(f"This URL cannot be fetched: {submitted.reason}.")
    words = {
        Fate.QUEUED: "is queued",
        Fate.KNOWN: "is already known",
        Fate.REVIVED: "had been given up and is queued again",
    }
    return _notice(request, f"{submitted.url} {words[submitted.fate]}.", "")


@post(
    "/admin/frontier/retry",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=error_handlers("Failed to retry", place=NOTICE),
)
async def retry(
    request: AnyRequest,
    data: Annotated[SelectedUrls, Form],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Retry URLs at once. Raises Invalid, UrlNotFound."""
    ids = read_ids(data.ids)
    async with database.transaction() as conn:
        found = await _find(conn, ids, clock)
        await changes.retry(conn, ids=[url.id for url in found], now=clock())
        first = found[0]
        await audit.record(
            conn,
            actor=actor_of(request),
            deed=Deed.URLS_RETRIED,
            subject_name=first.url if len(found) == 1 else f"{len(found)} URLs",
            subject_id=first.id if len(found) == 1 else None,
            now=clock(),
            detail={"urls": [url.url for url in found]},
        )
    return _notice(request, f"{count(len(found), 'URL')} queued for retry.", data.back)


@post(
    "/admin/frontier/delete",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=error_handlers("Failed to delete", place=NOTICE),
)
async def remove(
    request: AnyRequest,
    data: Annotated[SelectedUrls, Form],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Delete URLs. They are queued again if they are found again. Raises Invalid, UrlNotFound."""
    ids = read_ids(data.ids)
    async with database.transaction() as conn:
        found = await _find(conn, ids, clock)
        await changes.delete(conn, ids=[url.id for url in found])
        for url in found:
            await audit.record(
                conn,
                actor=actor_of(request),
                deed=Deed.URL_DELETED,
                subject_name=url.url,
                subject_id=url.id,
                now=clock(),
                detail={"status": url.status.value, "last_error": url.last_error},
            )
    return _notice(request, f"{count(len(found), 'URL')} deleted.", data.back)


@post(
    "/admin/frontier/retry-all",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=error_handlers("Failed to retry", place=NOTICE),
)
async def retry_all(
    request: AnyRequest,
    data: Annotated[RetryAllForm, Form],
    database: Db,
    clock: Now,
) -> Template:
    """Retry failed and given-up URLs that match the filter: one step. Raises Invalid."""
    wanted = read_filter(data.status, data.source, data.host, data.origin, data.q)
    if wanted.status not in {None, *RETRIED}:
        raise Invalid("Only failed or given-up URLs can be retried.")
    so_far = read_number(data.so_far)
    is_logged = False

    async def log(conn: Connection) -> None:
        nonlocal is_logged
        if not is_logged:  # once per step, in the transaction of its first change
            await audit.record(
                conn,
                actor=actor_of(request),
                deed=Deed.URLS_RETRIED,
                subject_name=f"all {describe(wanted)}",
                subject_id=None,
                now=clock(),
                detail=filter_values(wanted),
            )
        is_logged = True

    part = await retry_matching(
        database, clock, wanted=wanted, after=read_cursor(data.cursor), pages=RETRY_PAGES, note=log
    )
    done = so_far + part.retried
    context = {
        "so_far": done,
        "values": filter_values(wanted) | {"cursor": cursor_of(part.next), "so_far": done},
        "is_done": part.next is None,
    }
    headers = {"HX-Trigger": "refreshFrontier"} if part.next is None else {}
    return Template("admin/frontier_retrying.html", context=context, headers=headers)


def read_filter(status: str, source: str, host: str, origin: str, text: str) -> UrlFilter:
    """The filter. Raises Invalid."""
    if status and status not in set(Status):
        raise Invalid(f"Unknown status. Use one of {', '.join(Status)}.")
    if origin and origin not in set(Origin):
        raise Invalid(f"Unknown origin. Use one of {', '.join(Origin)}.")
    host, text = search_text(host, text, most=TEXT_MAX)
    return UrlFilter(
        Status(status) if status else None,
        read_source(source),
        host.lower() or None,
        Origin(origin) if origin else None,
        text or None,
    )


def read_source(text: str) -> SourceId | None:
    """A source's id, if one is given. Raises Invalid."""
    try:
        return SourceId(UUID(text)) if text else None
    except ValueError as error:
        raise Invalid("Source not found.") from error


def read_ids(given: list[str] | str) -> list[UUID]:
    """The ids of the selected URLs. Raises Invalid."""
    texts = [given] if isinstance(given, str) else given
    try:
        ids = [UUID(text) for text in texts if text]
    except ValueError as error:
        raise Invalid("URL not found.") from error
    if not 0 < len(ids) <= PAGE:
        raise Invalid("Select URLs first." if not ids else f"At most {PAGE} URLs at a time.")
    return list(dict.fromkeys(ids))


def read_cursor(cursor: str) -> UrlCursor | None:
    """The start of a page. Raises Invalid."""
    return UrlCursor(*decode_cursor(cursor)) if cursor else None


def cursor_of(place: UrlCursor | None) -> str:
    """The cursor of the next page; empty after the last."""
    return encode_cursor(place.discovered_at, place.id) if place else ""


def read_number(text: str) -> int:
    """A whole number. Raises Invalid."""
    number = parse_number(text, digits=12)
    if number is None:
        raise Invalid("Not a whole number.")
    return number


def filter_values(wanted: UrlFilter) -> dict[str, str]:
    """A filter as query parameters."""
    values = {
        "status": wanted.status,
        "source": wanted.source_id,
        "host": wanted.host,
        "origin": wanted.origin,
        "q": wanted.text,
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def describe(wanted: UrlFilter) -> str:
    """A filter as text, for the audit log."""
    narrowed = [f"{name} {value}" for name, value in filter_values(wanted).items() if name != "status"]
    state = {None: "failed and given-up", Status.FAILED: "failed", Status.DEAD: "given-up"}.get(wanted.status, "")
    return ", ".join([f"{state} URLs", *narrowed])


async def _source_id(conn: Connection, text: str) -> str:
    """The id of a source, by its id or the beginning of its name. Raises Invalid."""
    text = text.strip()
    if not text or _is_id(text):
        return text
    found = await find_label(conn, name=text) if len(text) <= NAME_MAX and "\0" not in text else None
    if found is None:
        raise Invalid("No source has this name.")
    return str(found.id)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


async def _table(conn: Connection, clock: Clock, wanted: UrlFilter, cursor: str) -> dict[str, object]:
    found = await listing.list_urls(conn, wanted=wanted, now=clock(), limit=PAGE, after=read_cursor(cursor))
    named = {url.source_id for url in found.urls if url.source_id} | ({wanted.source_id} - {None})
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
        "shown_host": await find_shown(conn, name=wanted.host, now=clock()) if wanted.host else None,
        "statuses": list(Status),
        "origins": list(Origin),
        "now": clock(),
    }


async def _statistics(conn: Connection, clock: Clock) -> dict[str, object]:
    counted = await listing.stats(conn, now=clock())
    largest = sorted(counted.by_source, key=lambda one: one.total, reverse=True)
    tallies = [tally for tally in largest if tally.total]
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


async def _find(conn: Connection, ids: Sequence[UUID], clock: Clock) -> list[FrontierUrl]:
    """The URLs with these ids. Raises UrlNotFound if there is none."""
    looked = [await listing.find(conn, id=one, now=clock()) for one in ids]
    found = {url.id: url for url in looked if url is not None}
    if not found:
        raise UrlNotFound(ids[0])
    return list(found.values())


def _notice(request: AnyRequest, message: str, back: str) -> Template | Redirect:
    """A message; without htmx a redirect to the page with its filter."""
    if is_htmx(request):
        return Template(
            "admin/frontier_said.html", context={"message": message}, headers={"HX-Trigger": "refreshFrontier"}
        )
    is_query = back.isascii() and back.isprintable()
    return Redirect(f"/admin/frontier?{back}" if back and is_query else "/admin/frontier", status_code=303)


frontier_pages: list[BaseRouteHandler] = [frontier, urls, stats, submit, retry, remove, retry_all]
