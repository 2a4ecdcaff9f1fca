"""/admin/frontier: the crawl queue. List, submit, retry and delete URLs; throttled hosts.

The statistics and the table are loaded again every ten seconds, the table not while URLs are selected or more were
loaded. Retrying or deleting all matching URLs is done in steps: each response requests the next one, and leaving the
page stops it.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery, URLEncodedBody
from litestar.response import Redirect, Stream, Template

from headwater.accounts.store import saved_filters
from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext, decode_cursor, encode_cursor
from headwater.audit.types import AuditAction
from headwater.channels.visible import find_visible, route_deleted, submit_urls
from headwater.db import Connection
from headwater.downstream.store import find_extracted
from headwater.errors import Invalid, UrlNotFound
from headwater.frontier.matching import RETRIED, delete_matching, retry_matching
from headwater.frontier.store import changes, listing
from headwater.frontier.types import (
    FrontierOptions,
    FrontierUrl,
    Origin,
    Status,
    Submission,
    SubmitOutcome,
    UrlFilter,
    UrlSort,
    UrlTotal,
)
from headwater.hosts.store.status import find_status, list_waiting
from headwater.sources.store.sources import find_label, list_labels
from headwater.types import ArticleId, PageCursor, SortPlace, SourceId
from headwater.urls import key_or_none, masked
from headwater.web.errors import fragment
from headwater.web.format import count
from headwater.web.query import parse_id, parse_number, search_text
from headwater.web.tables import CSV_MOST, Sort, csv_response, read_place, read_sort, write_place

PAGE = 50
SOURCES_SHOWN = 12
SOURCES_OFFERED = 200  # in the filter
NAME_MAX = 255
HOSTS_SHOWN = 20
RETRY_PAGES = 5  # of a thousand URLs each, per step
PREVIEWED = 20
MOST = 500  # selected at once
CSV_PAGE = 500
CSV_HEADER = (
    "URL", "Status", "Origin", "Source", "Priority", "Retries", "Found", "Last fetch", "Next fetch", "Last error", "Id",
)  # fmt: skip
NEWEST = Sort(UrlSort.FOUND, is_descending=True)
DONE = {"retry": "queued for retry", "delete": "deleted"}
STEPS = {"retry": (AuditAction.URLS_RETRIED, retry_matching), "delete": (AuditAction.URLS_DELETED, delete_matching)}
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
    everything: str = ""  # all that match the filter
    action: str = ""
    cursor: str = ""  # of the next step of retrying or deleting all
    so_far: str = "0"
    url: str = ""  # to submit
    priority: str = ""


async def list_page(
    call: Call, frontier_options: NamedDependency[FrontierOptions], status: FromQuery[str] = "",
    source: FromQuery[str] = "", host: FromQuery[str] = "", origin: FromQuery[str] = "", q: FromQuery[str] = "",
    sort: FromQuery[str] = "", cursor: FromQuery[str] = ""
) -> dict[str, Any]:  # fmt: skip
    """A page of URLs that match the query string; a source is given by id or name. Raises Invalid."""
    async with call.database.transaction() as conn:
        wanted = read_filter(status, await _source_id(conn, source), host, origin, q)
        order = read_sort(sort, UrlSort, NEWEST)
        urls, next_ = await find_page(conn, wanted, order, cursor, PAGE, call.now)
        named = {url.source_id for url in urls} | {wanted.source_id}
        given = filter_values(wanted) | ({"sort": str(order)} if order != NEWEST else {})
        return {
            "urls": urls, "wanted": wanted, "values": filter_values(wanted), "given": given, "cursor": cursor,
            "sort": order, "next": next_, "options": frontier_options, "is_sorted": order.column is not UrlSort.FOUND,
            "matching": await listing.count_urls(conn, wanted=wanted, now=call.now) if not cursor else None,
            "labels": await list_labels(conn, source_ids=[one for one in named if one]),
            "statuses": list(Status), "origins": list(Origin), "articles": await _articles_of(conn, urls, call.now),
            "shown_host": await find_status(conn, name=wanted.host, now=call.now) if wanted.host else None,
        }  # fmt: skip


async def _articles_of(conn: Connection, urls: Sequence[FrontierUrl], now: datetime) -> dict[UUID, ArticleId]:
    """The articles of these URLs that everyone may know, by the id of the URL."""
    keys = {url.id: key for url in urls if (key := key_or_none(url.url)) is not None}
    found = await find_extracted(conn, url_keys=list(keys.values())) if keys else {}
    ids = {url_id: found[key][0] for url_id, key in keys.items() if key in found}
    visible = set(await find_visible(conn, list(ids.values()), now))
    return {url_id: article_id for url_id, article_id in ids.items() if article_id in visible}


async def find_page(
    conn: Connection, wanted: UrlFilter, sort: Sort[UrlSort], cursor: str, limit: int, now: datetime
) -> tuple[Sequence[FrontierUrl], str]:
    """Some URLs in this order after a cursor, and the next cursor. Raises Invalid."""
    if sort.column is UrlSort.FOUND:
        page = await listing.list_urls(conn, wanted=wanted, now=now, limit=limit, after=read_cursor(cursor))
        return page.urls, cursor_of(page.next)
    kind = float if sort.column in {UrlSort.PRIORITY, UrlSort.RETRIES} else datetime
    place = read_place(cursor, kind)
    if cursor and place is None:
        raise Invalid("Invalid cursor. Start at the first page.")
    found = await listing.list_sorted(
        conn, wanted=wanted, sort=sort.column, is_descending=sort.is_descending, after=place, now=now, limit=limit + 1
    )
    return found[:limit], write_place(place_of(found[limit - 1], sort), kind) if len(found) > limit else ""


def place_of(last: FrontierUrl, sort: Sort[UrlSort]) -> SortPlace:
    number = last.priority if sort.column is UrlSort.PRIORITY else last.retry_count
    return SortPlace(last.id, "", number, last.next_fetch_at if sort.column is UrlSort.DUE else last.last_fetched_at)


URLS = {"found": Provide(list_page)}


@get("/admin/frontier", role=Role.SUPER_ADMIN, dependencies=URLS)
async def frontier(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    async with call.as_user() as conn:
        saved = await saved_filters.list_own(conn, page="frontier")
    async with call.database.transaction() as conn:
        counted = await _statistics(conn, call.now)
    return call.page("admin/frontier.html", **found, **counted, saved=saved, page="frontier")


@fragment(get, "/admin/frontier/urls", "Failed to load URLs", place=NOTICE, role=Role.SUPER_ADMIN, dependencies=URLS)
async def urls(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    shown = urlencode(found["given"] | ({"cursor": found["cursor"]} if found["cursor"] else {}))
    address = f"/admin/frontier?{shown}" if shown else "/admin/frontier"
    return call.page("admin/frontier_urls.html", **found, headers={"HX-Replace-Url": address})


@fragment(get, "/admin/frontier/rows", "Failed to load URLs", place=NOTICE, role=Role.SUPER_ADMIN, dependencies=URLS)
async def more_rows(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    """The rows after a cursor, appended to the table when its end is reached."""
    return call.page("admin/frontier_rows.html", **found)


@get("/admin/frontier.csv", role=Role.SUPER_ADMIN)
async def export(
    call: Call, status: FromQuery[str] = "", source: FromQuery[str] = "", host: FromQuery[str] = "",
    origin: FromQuery[str] = "", q: FromQuery[str] = "", sort: FromQuery[str] = ""
) -> Stream:  # fmt: skip
    """The URLs that match, in the order of the table. Raises Invalid."""
    async with call.database.transaction() as conn:
        wanted = read_filter(status, await _source_id(conn, source), host, origin, q)
    return csv_response("crawl-queue", CSV_HEADER, _csv_rows(call, wanted, read_sort(sort, UrlSort, NEWEST)))


async def _csv_rows(call: CallContext, wanted: UrlFilter, sort: Sort[UrlSort]) -> AsyncIterator[Sequence[object]]:
    """A page per transaction. A rare filter reads many pages that show nothing, so the number of pages has a limit."""
    cursor, now = "", call.now
    for _ in range(CSV_MOST // CSV_PAGE):
        async with call.database.transaction() as conn:
            found, cursor = await find_page(conn, wanted, sort, cursor, CSV_PAGE, now)
            labels = await list_labels(conn, source_ids=[one.source_id for one in found if one.source_id])
        for one in found:
            label = labels.get(one.source_id) if one.source_id else None
            yield [
                masked(one.url), one.status, one.origin, label.name if label else None, one.priority, one.retry_count,
                one.discovered_at, one.last_fetched_at, one.next_fetch_at, one.last_error, one.id,
            ]  # fmt: skip
        if not cursor:
            return


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
        [submitted] = await submit_urls(conn, submissions=[submission], now=call.now)
    if submitted.result is SubmitOutcome.INVALID:
        raise Invalid(f"This URL cannot be fetched: {submitted.reason}.")
    return _notice(call, f"{submitted.url} {RESULTS[submitted.result]}.")


@fragment(post, "/admin/frontier/preview", "Failed to show a preview", place=NOTICE, role=Role.SUPER_ADMIN)
async def preview(call: Call, data: URLEncodedBody[FrontierForm]) -> Template:
    """Show what an action would change; nothing is changed. Raises Invalid, UrlNotFound."""
    if data.action not in DONE:
        raise Invalid("Choose an action.")
    wanted = read_filter(data.status, data.source, data.host, data.origin, data.q)
    async with call.database.transaction() as conn:
        if data.everything:
            found, ids = await find_changed(conn, wanted, data.action, call.now), []
        else:
            chosen = await _find(conn, data.ids, call.now)
            found, ids = (chosen, UrlTotal(len(chosen), is_exact=True)), [one.id for one in chosen]
    return call.page(
        "admin/frontier_preview.html", action=data.action, urls=found[0][:PREVIEWED], matching=found[1], ids=ids,
        values=filter_values(wanted), back=urlencode(filter_values(wanted)),
    )  # fmt: skip


@fragment(post, "/admin/frontier/cancel", "Failed to cancel", place=NOTICE, role=Role.SUPER_ADMIN, sync_to_thread=False)
def cancel(call: Call) -> Template:
    return call.page("admin/said.html", message="Cancelled. Nothing was changed.")


async def find_changed(
    conn: Connection, wanted: UrlFilter, action: str, now: datetime
) -> tuple[list[FrontierUrl], UrlTotal]:
    """The first of all URLs that match and that the action changes, and how many there are. Raises Invalid."""
    statuses = [wanted.status] if action == "delete" else retried_statuses(wanted)
    urls, total, is_exact = list[FrontierUrl](), 0, True
    for status in statuses:
        part = replace(wanted, status=status)
        urls += (await listing.list_urls(conn, wanted=part, now=now, limit=PREVIEWED)).urls
        counted = await listing.count_urls(conn, wanted=part, now=now)
        total, is_exact = total + counted.urls, is_exact and counted.is_exact
    if action == "delete":
        check_narrow(wanted)
    if is_exact and not total:
        raise Invalid("Nothing would change.")
    return urls, UrlTotal(total, is_exact)


def retried_statuses(wanted: UrlFilter) -> list[Status | None]:
    """Raises Invalid."""
    if wanted.status not in {None, *RETRIED}:
        raise Invalid("Only failed or given-up URLs can be retried.")
    return [wanted.status] if wanted.status else [*sorted(RETRIED)]


def check_narrow(wanted: UrlFilter) -> None:
    """The whole queue is not deleted by a button. Raises Invalid."""
    if wanted == UrlFilter():
        raise Invalid("Filter the table first: all URLs at once are not deleted here.")


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
    retried_statuses(wanted)
    return await _step(call, data, wanted, "retry")


@fragment(post, "/admin/frontier/delete-all", "Failed to delete", place=NOTICE, role=Role.SUPER_ADMIN)
async def delete_all(call: Call, data: URLEncodedBody[FrontierForm]) -> Template:
    """Delete the URLs that match the filter: one step. Raises Invalid."""
    wanted = read_filter(data.status, data.source, data.host, data.origin, data.q)
    check_narrow(wanted)
    return await _step(call, data, wanted, "delete")


async def _step(call: CallContext, data: FrontierForm, wanted: UrlFilter, action: str) -> Template:
    so_far, is_logged = read_number(data.so_far), False
    logged, change = STEPS[action]

    async def log(conn: Connection, urls: Sequence[FrontierUrl]) -> None:
        nonlocal is_logged
        if action == "delete":
            await route_deleted(conn, [url.url for url in urls], call.now)
        if not is_logged:  # once per step, in the transaction of its first change
            subject = f"all {describe(wanted, action)}"
            await call.audit(conn, logged, subject, None, **filter_values(wanted))
        is_logged = True

    after = read_cursor(data.cursor)
    part = await change(call.database, call.clock, wanted=wanted, after=after, pages=RETRY_PAGES, note=log)
    done, is_done = so_far + part.changed, part.next is None
    values = filter_values(wanted) | {"cursor": cursor_of(part.next), "so_far": done}
    headers = {"HX-Trigger": "refreshFrontier"} if is_done else {}
    return call.page(
        "admin/frontier_step.html", so_far=done, values=values, is_done=is_done, action=action, done=DONE[action],
        headers=headers,
    )  # fmt: skip


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


def describe(wanted: UrlFilter, action: str = "retry") -> str:
    """A filter as text, for the audit log."""
    narrowed = [f"{name} {value}" for name, value in filter_values(wanted).items() if name != "status"]
    all_ = "failed and given-up" if action == "retry" else ""
    names = {None: all_, Status.FAILED: "failed", Status.DEAD: "given-up"}
    state = names.get(wanted.status, wanted.status or "")
    return ", ".join([f"{state} URLs".strip(), *narrowed])


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
    if not 0 < len(ids) <= MOST:
        raise Invalid("Select URLs first." if not ids else f"At most {MOST} URLs at a time.")
    if None in ids.values():
        raise Invalid("URL not found.")
    wanted = [one for one in ids.values() if one]
    looked = await listing.find_several(conn, ids=wanted, now=now)
    found = [looked[one] for one in wanted if one in looked]
    if not found:
        raise UrlNotFound(wanted[0])
    return found


def _notice(call: CallContext, message: str, back: str = "") -> Template | Redirect:
    """A message; without htmx a redirect to the page with its filter."""
    if call.is_htmx:
        return call.page("admin/said.html", message=message, headers={"HX-Trigger": "refreshFrontier"})
    is_query = back.isascii() and back.isprintable()
    return Redirect(f"/admin/frontier?{back}" if back and is_query else "/admin/frontier", status_code=303)
