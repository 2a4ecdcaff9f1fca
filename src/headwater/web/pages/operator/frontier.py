"""/admin/frontier: which URLs wait, what came of them, which hosts hold back; submit, retry and delete them.

The numbers and the table ask for themselves again every few seconds; what is ticked stays ticked. Trying again all that
fits is done step by step: each answer asks for the next step, and leaving the page ends it with nothing half done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.handlers import BaseRouteHandler
from litestar.params import Body, FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.actor import actor_of
from headwater.audit import store as audit
from headwater.audit.types import Deed
from headwater.db import Connection, Database
from headwater.errors import Invalid, UrlNotFound
from headwater.frontier import store
from headwater.frontier.cursor import from_word, to_word
from headwater.frontier.listing import store as listing
from headwater.frontier.retrying import RETRIED, retry_matching
from headwater.frontier.types import (
    Fate,
    FrontierOptions,
    FrontierStats,
    FrontierUrl,
    Origin,
    Status,
    Submission,
    Tally,
    UrlCursor,
    UrlFilter,
)
from headwater.hosts.store.looking import find_shown, list_waiting
from headwater.sources.store.sources import find_label, list_labels
from headwater.types import Clock, SourceId
from headwater.web.format import count
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)
PAGE = 50
SOURCES_SHOWN = 12
SOURCES_OFFERED = 200  # in the filter
NAME_MAX = 255
HOSTS_SHOWN = 20
RETRY_PAGES = 5  # a thousand URLs each, of those that one step looks through
TEXT_MAX = 200
DIGITS = 12
SAID = "frontier-said"
"""Where the page says what came of a deed."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Some URLs, by their ids."""

    ids: list[str] | str = ""
    back: str = ""


@dataclass(frozen=True, slots=True)
class Everything:
    """All that fits a filter, from a place on; `so_far` only tells the person how far it is."""

    status: str = ""
    source: str = ""
    host: str = ""
    origin: str = ""
    q: str = ""
    cursor: str = ""
    so_far: str = "0"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A URL to fetch."""

    url: str = ""
    source: str = ""
    priority: str = ""


@get("/admin/frontier", role=Role.SUPER_ADMIN)
async def frontier(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    frontier_options: NamedDependency[FrontierOptions],
    status: FromQuery[str] = "",
    source: FromQuery[str] = "",
    host: FromQuery[str] = "",
    origin: FromQuery[str] = "",
    q: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template:
    """The page. Raises Invalid."""
    async with database.transaction() as conn:
        wanted = read_filter(status, await _source_id(conn, source), host, origin, q)
        context = await _table(conn, clock, wanted, cursor) | await _numbers(conn, clock)
    context |= {"user": request.user, "options": frontier_options}
    return Template("operator/frontier.html", context=context)


@get("/admin/frontier/urls", role=Role.SUPER_ADMIN, exception_handlers=refusals("Failed to load URLs", place=SAID))
async def urls(
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    frontier_options: NamedDependency[FrontierOptions],
    status: FromQuery[str] = "",
    source: FromQuery[str] = "",
    host: FromQuery[str] = "",
    origin: FromQuery[str] = "",
    q: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template:
    """The table. Raises Invalid."""
    async with database.transaction() as conn:
        wanted = read_filter(status, await _source_id(conn, source), host, origin, q)
        context = await _table(conn, clock, wanted, cursor) | {"options": frontier_options}
    shown = urlencode(filter_values(wanted) | ({"cursor": cursor} if cursor else {}))
    address = f"/admin/frontier?{shown}" if shown else "/admin/frontier"
    return Template("operator/frontier_urls.html", context=context, headers={"HX-Replace-Url": address})


@get("/admin/frontier/stats", role=Role.SUPER_ADMIN, exception_handlers=refusals("Failed to load statistics"))
async def stats(
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    frontier_options: NamedDependency[FrontierOptions],
) -> Template:
    """The numbers, and the hosts that wait."""
    async with database.transaction() as conn:
        context = await _numbers(conn, clock) | {"options": frontier_options}
    return Template("operator/frontier_stats.html", context=context)


@post(
    "/admin/frontier/submit",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=refusals("Failed to submit", place="frontier-submit-said"),
)
async def submit(
    request: AnyRequest,
    data: Annotated[Submitted, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
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
        [submitted] = await store.submit(conn, submissions=[submission], now=clock())
    if submitted.fate is Fate.INVALID:
        raise Invalid(f"This URL cannot be fetched: {submitted.reason}.")
    words = {
        Fate.QUEUED: "is queued",
        Fate.KNOWN: "is already known",
        Fate.REVIVED: "had been given up and is queued again",
    }
    return _said(request, f"{submitted.url} {words[submitted.fate]}.", "")


@post(
    "/admin/frontier/retry",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=refusals("Failed to retry", place=SAID),
)
async def retry(
    request: AnyRequest,
    data: Annotated[Chosen, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Try these again, at once. Raises Invalid, UrlNotFound."""
    ids = read_ids(data.ids)
    async with database.transaction() as conn:
        found = await _find(conn, ids, clock)
        await store.retry(conn, ids=[url.id for url in found], now=clock())
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
    return _said(request, f"{count(len(found), 'URL')} queued for retry.", data.back)


@post(
    "/admin/frontier/delete",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=refusals("Failed to delete", place=SAID),
)
async def remove(
    request: AnyRequest,
    data: Annotated[Chosen, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Forget these. They are new again for whoever finds them next. Raises Invalid, UrlNotFound."""
    ids = read_ids(data.ids)
    async with database.transaction() as conn:
        found = await _find(conn, ids, clock)
        await store.delete(conn, ids=[url.id for url in found])
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
    return _said(request, f"{count(len(found), 'URL')} deleted.", data.back)


@post(
    "/admin/frontier/retry-all",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=refusals("Failed to retry", place=SAID),
)
async def retry_all(
    request: AnyRequest,
    data: Annotated[Everything, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """Try again what failed or is dead and fits the filter: one step of it. Raises Invalid."""
    wanted = read_filter(data.status, data.source, data.host, data.origin, data.q)
    if wanted.status not in {None, *RETRIED}:
        raise Invalid("Only failed or given-up URLs can be retried.")
    so_far = read_number(data.so_far)
    is_written = False

    async def note(conn: Connection) -> None:
        nonlocal is_written
        if not is_written:  # one line for each step, in the transaction of its first change
            await audit.record(
                conn,
                actor=actor_of(request),
                deed=Deed.URLS_RETRIED,
                subject_name=f"all {words_of(wanted)}",
                subject_id=None,
                now=clock(),
                detail=filter_values(wanted),
            )
        is_written = True

    part = await retry_matching(
        database, clock, wanted=wanted, after=read_cursor(data.cursor), pages=RETRY_PAGES, note=note
    )
    done = so_far + part.retried
    context = {
        "so_far": done,
        "values": filter_values(wanted) | {"cursor": to_word(part.next) if part.next else "", "so_far": done},
        "is_done": part.next is None,
    }
    headers = {"HX-Trigger": "refreshFrontier"} if part.next is None else {}
    return Template("operator/frontier_retrying.html", context=context, headers=headers)


def read_filter(status: str, source: str, host: str, origin: str, text: str) -> UrlFilter:
    """What the filters say. Raises Invalid."""
    if status and status not in set(Status):
        raise Invalid(f"Unknown status. Use one of {', '.join(Status)}.")
    if origin and origin not in set(Origin):
        raise Invalid(f"Unknown origin. Use one of {', '.join(Origin)}.")
    if max(len(host), len(text)) > TEXT_MAX or "\0" in host + text:
        raise Invalid(f"A host or search text has at most {TEXT_MAX} characters.")
    return UrlFilter(
        Status(status) if status else None,
        read_source(source),
        host.strip().lower() or None,
        Origin(origin) if origin else None,
        text.strip() or None,
    )


def read_source(text: str) -> SourceId | None:
    """A source's id, if one is given. Raises Invalid."""
    try:
        return SourceId(UUID(text)) if text else None
    except ValueError as error:
        raise Invalid("Source not found.") from error


def read_ids(given: list[str] | str) -> list[UUID]:
    """Which URLs were chosen. Raises Invalid."""
    texts = [given] if isinstance(given, str) else given
    try:
        ids = [UUID(text) for text in texts if text]
    except ValueError as error:
        raise Invalid("URL not found.") from error
    if not 0 < len(ids) <= PAGE:
        raise Invalid("Select URLs first." if not ids else f"At most {PAGE} URLs at a time.")
    return list(dict.fromkeys(ids))


def read_cursor(word: str) -> UrlCursor | None:
    """Where a page begins. Raises Invalid."""
    try:
        return from_word(word) if word else None
    except ValueError as error:
        raise Invalid("Invalid cursor. Start at the first page.") from error


def read_number(text: str) -> int:
    """A whole number. Raises Invalid."""
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        raise Invalid("Not a whole number.")
    return int(text)


def filter_values(wanted: UrlFilter) -> dict[str, str]:
    """A filter as it stands in an address; what is not asked for is left out."""
    values = {
        "status": wanted.status,
        "source": wanted.source_id,
        "host": wanted.host,
        "origin": wanted.origin,
        "q": wanted.text,
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def words_of(wanted: UrlFilter) -> str:
    """A filter in words, for the audit log."""
    narrowed = [f"{name} {value}" for name, value in filter_values(wanted).items() if name != "status"]
    state = {None: "failed and given-up", Status.FAILED: "failed", Status.DEAD: "given-up"}.get(wanted.status, "")
    return ", ".join([f"{state} URLs", *narrowed])


async def _source_id(conn: Connection, text: str) -> str:
    """The id of a source that is given by its id or by its name, or how that begins. Raises Invalid."""
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
        "next": to_word(found.next) if found.next else "",
        "can_retry": wanted.status in {None, *RETRIED},
        "shown_host": await find_shown(conn, name=wanted.host, now=clock()) if wanted.host else None,
        "statuses": list(Status),
        "origins": list(Origin),
        "now": clock(),
    }


async def _numbers(conn: Connection, clock: Clock) -> dict[str, object]:
    counted: FrontierStats = await listing.stats(conn, now=clock())
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


def _ids(tallies: Sequence[Tally]) -> list[SourceId]:
    return [one.source_id for one in tallies if one.source_id]


async def _find(conn: Connection, ids: Sequence[UUID], clock: Clock) -> list[FrontierUrl]:
    """Those of these URLs that there are. Raises UrlNotFound when there is none."""
    looked = [await listing.find(conn, id=one, now=clock()) for one in ids]
    found = {url.id: url for url in looked if url is not None}
    if not found:
        raise UrlNotFound(ids[0])
    return list(found.values())


def _said(request: AnyRequest, message: str, back: str) -> Template | Redirect:
    """What was done, in place; without htmx the page again, with the filter as it was."""
    if "hx-request" in request.headers:
        return Template(
            "operator/frontier_said.html", context={"message": message}, headers={"HX-Trigger": "refreshFrontier"}
        )
    is_ours = back.isascii() and back.isprintable()
    return Redirect(f"/admin/frontier?{back}" if back and is_ours else "/admin/frontier", status_code=303)


frontier_pages: list[BaseRouteHandler] = [frontier, urls, stats, submit, retry, remove, retry_all]
