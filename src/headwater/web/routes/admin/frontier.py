"""/admin/frontier: the crawl queue. List, submit, retry and delete URLs; throttled hosts.

The statistics and the table are loaded again every ten seconds; selected URLs stay selected. Retrying all matching URLs
is done in steps: each response requests the next one, and leaving the page stops it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext, decode_cursor, encode_cursor
from headwater.audit.types import AuditAction
from headwater.channels.visible import route_deleted
from headwater.db import Connection
from headwater.errors import Invalid, UrlNotFound
from headwater.frontier.retrying import RETRIED, retry_matching
from headwater.frontier.store import changes, listing, queue
from headwater.frontier.types import FrontierOptions, FrontierUrl, Origin, Status, Submission, SubmitOutcome, UrlFilter
from headwater.hosts.store.status import find_status, list_waiting
from headwater.sources.store.sources import find_label, list_labels
from headwater.types import PageCursor, SourceId
from headwater.web.errors import fragment
from headwater.web.format import count
from headwater.web.query import parse_id, parse_number, search_text

PAGE = 50
SOURCES_SHOWN = 12
SOURCES_OFFERED = 200  # in the filter
NAME_MAX = 255
HOSTS_SHOWN = 20
RETRY_PAGES = 5  # of a thousand URLs each, per step
TEXT_MAX = 200
RESULTS = {
    SubmitOutcome.QUEUED: "is queued",
    SubmitOutcome.KNOWN: "is already known",
    SubmitOutcome.REVIVED: "was given up and is queued again",
}
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
    call: Call, frontier_options: NamedDependency[FrontierOptions], status: FromQuery[str] = "",
    source: FromQuery[str] = "", host: FromQuery[str] = "", origin: FromQuery[str] = "", q: FromQuery[str] = "",
    cursor: FromQuery[str] = ""
) -> dict[str, Any]:  # fmt: skip
    """A page of URLs that match the query string; a source is given by id or name. Raises Invalid."""
    async with call.database.transaction() as conn:
        wanted = read_filter(status, await _source_id(conn, source), host, origin, q)
        found = await listing.list_urls(conn, wanted=wanted, now=call.now, limit=PAGE, after=read_cursor(cursor))
        named = {url.source_id for url in found.urls} | {wanted.source_id}
        return {
            "urls": found.urls, "wanted": wanted, "values": filter_values(wanted), "cursor": cursor,
            "address": urlencode(filter_values(wanted)), "next": cursor_of(found.next), "options": frontier_options,
            "matching": await listing.count_urls(conn, wanted=wanted, now=call.now),
            "labels": await list_labels(conn, source_ids=[one for one in named if one]),
            "can_retry": wanted.status in {None, *RETRIED}, "statuses": list(Status), "origins": list(Origin),
            "shown_host": await find_status(conn, name=wanted.host, now=call.now) if wanted.host else None,
        }  # fmt: skip


URLS = {"found": Provide(list_page)}


@get("/admin/frontier", role=Role.SUPER_ADMIN, dependencies=URLS)
async def frontier(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    async with call.database.transaction() as conn:
        return call.page("admin/frontier.html", **found, **await _statistics(conn, call.now))


@fragment(get, "/admin/frontier/urls", "Failed to load URLs", place=NOTICE, role=Role.SUPER_ADMIN, dependencies=URLS)
async def urls(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    shown = urlencode(found["values"] | ({"cursor": found["cursor"]} if found["cursor"] else {}))
    address = f"/admin/frontier?{shown}" if shown else "/admin/frontier"
    return call.page("admin/frontier_urls.html", **found, headers={"HX-Replace-Url": address})


@fragment(get, "/admin/frontier/stats", "Failed to load statistics", role=Role.SUPER_ADMIN)
async def stats(call: Call, frontier_options: NamedDependency[FrontierOptions]) -> Template:
    """The statistics, and the throttled hosts."""
    async with call.database.transaction() as conn:
        return call.page("admin/frontier_stats.html", options=frontier_options, **await _statistics(conn, call.now))


@fragment(post, "/admin/frontier/submit", "Failed to submit", place="frontier-submit-said", role=Role.SUPER_ADMIN)
async def submit(call: Call, data: URLEncodedBody[FrontierForm]) -> Template | Redirect:
    priority = read_number(data.priority or "5")
    if not 1 <= priority <= 10:
        raise Invalid("The priority is a number from 1 to 10.")
    source_id = read_source(data.source)
    chosen = priority if data.priority else None
    submission = Submission(data.url.strip(), Origin.MANUAL, source_id=source_id, priority=chosen)
    async with call.database.transaction() as conn:
        if source_id and not await list_labels(conn, source_ids=[source_id]):
            raise Invalid("Source not found.")
        [submitted] = await queue.submit(conn, submissions=[submission], now=call.now)
    if submitted.result is SubmitOutcome.INVALID:
        raise Invalid(f"This URL cannot be fetched: {submitted.reason}.")
    return _notice(call, f"{submitted.url} {RESULTS[submitted.result]}.")


@fragment(post, "/admin/frontier/retry", "Failed to retry", place=NOTICE, role=Role.SUPER_ADMIN)
async def retry(call: Call, data: URLEncodedBody[FrontierForm]) -> Template | Redirect:
    async with call.database.transaction() as conn:
        found = await _find(conn, data.ids, call.now)
        await changes.retry(conn, ids=[url.id for url in found], now=call.now)
        subject, subject_id = (found[0].url, found[0].id) if len(found) == 1 else (f"{len(found)} URLs", None)
        await call.audit(conn, AuditAction.URLS_RETRIED, subject, subject_id, urls=[url.url for url in found])
    return _notice(call, f"{count(len(found), 'URL')} queued for retry.", data.back)


@fragment(post, "/admin/frontier/delete", "Failed to delete", place=NOTICE, role=Role.SUPER_ADMIN)
async def remove(call: Call, data: URLEncodedBody[FrontierForm]) -> Template | Redirect:
    """Delete URLs. They are queued again if they are found again. Raises Invalid, UrlNotFound."""
    async with call.database.transaction() as conn:
        found = await _find(conn, data.ids, call.now)
        await changes.delete(conn, ids=[url.id for url in found])
        await route_deleted(conn, [url.url for url in found], call.now)
        for url in found:
            detail = {"status": url.status.value, "last_error": url.last_error}
            await call.audit(conn, AuditAction.URL_DELETED, url.url, url.id, **detail)
    return _notice(call, f"{count(len(found), 'URL')} deleted.", data.back)


@fragment(post, "/admin/frontier/retry-all", "Failed to retry", place=NOTICE, role=Role.SUPER_ADMIN)
async def retry_all(call: Call, data: URLEncodedBody[FrontierForm]) -> Template:
    """Retry failed and given-up URLs that match the filter: one step. Raises Invalid."""
    wanted = read_filter(data.status, data.source, data.host, data.origin, data.q)
    if wanted.status not in {None, *RETRIED}:
        raise Invalid("Only failed or given-up URLs can be retried.")
    so_far, is_logged = read_number(data.so_far), False

    async def log(conn: Connection) -> None:
        nonlocal is_logged
        if not is_logged:  # once per step, in the transaction of its first change
            await call.audit(conn, AuditAction.URLS_RETRIED, f"all {describe(wanted)}", None, **filter_values(wanted))
        is_logged = True

    after = read_cursor(data.cursor)
    part = await retry_matching(call.database, call.clock, wanted=wanted, after=after, pages=RETRY_PAGES, note=log)
    done, is_done = so_far + part.retried, part.next is None
    values = filter_values(wanted) | {"cursor": cursor_of(part.next), "so_far": done}
    headers = {"HX-Trigger": "refreshFrontier"} if is_done else {}
    return call.page("admin/frontier_retrying.html", so_far=done, values=values, is_done=is_done, headers=headers)


def read_filter(status: str, source: str, host: str, origin: str, text: str) -> UrlFilter:
    for name, value, known in (("status", status, Status), ("origin", origin, Origin)):
        if value and value not in set(known):
            raise Invalid(f"Unknown {name}. Use one of {', '.join(known)}.")
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


async def _statistics(conn: Connection, now: datetime) -> dict[str, Any]:
    counted = await listing.stats(conn, now=now)
    tallies = sorted((one for one in counted.by_source if one.total), key=lambda one: one.total, reverse=True)
    ids = [one.source_id for one in tallies if one.source_id]
    return {
        "by_status": counted.by_status, "total": sum(counted.by_status.values()),
        "tallies": tallies[:SOURCES_SHOWN], "more_sources": len(tallies[SOURCES_SHOWN:]),
        "tally_labels": await list_labels(conn, source_ids=ids[:SOURCES_SHOWN]),
        "sources": (await list_labels(conn, source_ids=ids[:SOURCES_OFFERED])).values(),
        "hosts": await list_waiting(conn, now=now, limit=HOSTS_SHOWN),
    }  # fmt: skip


async def _find(conn: Connection, given: list[str] | str, now: datetime) -> list[FrontierUrl]:
    """The selected URLs. Raises Invalid, and UrlNotFound if there is none."""
    ids = {text: parse_id(text) for text in ([given] if isinstance(given, str) else given) if text}
    if not 0 < len(ids) <= PAGE:
        raise Invalid("Select URLs first." if not ids else f"At most {PAGE} URLs at a time.")
    if None in ids.values():
        raise Invalid("URL not found.")
    looked = [await listing.find(conn, id=one, now=now) for one in ids.values() if one]
    found = [url for url in looked if url is not None]
    if not found:
        raise UrlNotFound(UUID(next(iter(ids))))
    return found


def _notice(call: CallContext, message: str, back: str = "") -> Template | Redirect:
    """A message; without htmx a redirect to the page with its filter."""
    if call.is_htmx:
        return call.page("admin/said.html", message=message, headers={"HX-Trigger": "refreshFrontier"})
    is_query = back.isascii() and back.isprintable()
    return Redirect(f"/admin/frontier?{back}" if back and is_query else "/admin/frontier", status_code=303)
