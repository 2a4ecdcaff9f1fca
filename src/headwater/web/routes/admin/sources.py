"""/admin/sources: the list with its filters, and one source with its state, settings and actions.

Actions go through `sources.operate`, which writes the audit log in the same transaction. They respond with a message
and the event `sourceChanged`, on which the state is loaded again.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from litestar import Response, delete, get, patch, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Stream, Template

from headwater.accounts.store import saved_filters
from headwater.accounts.types import Role
from headwater.articles.store import listing
from headwater.asgi.handlers import Call, CallContext, open_source
from headwater.audit import store as audit
from headwater.audit.types import AuditFilter
from headwater.errors import Invalid, NotFound
from headwater.polling.policy import POLICIES
from headwater.polling.types import FailureClass, PollingOptions
from headwater.sources import operate
from headwater.sources.decide import apply_overrides
from headwater.sources.health.decide import describe
from headwater.sources.health.store import state as state_store
from headwater.sources.health.types import Period
from headwater.sources.store import details, sources, suggestions, table
from headwater.sources.trial import Trials
from headwater.sources.types import (
    BulkAction,
    Changes,
    IngestionMode,
    SourceFilter,
    SourceOverrides,
    SourceRow,
    SourceSort,
)
from headwater.types import SortPlace, SourceId, SourceState
from headwater.understanding.overview.store import find_reputation
from headwater.urls import masked
from headwater.web.errors import fragment
from headwater.web.plots import poll_strip
from headwater.web.routes.admin.source_form import SourceForm, changes_to, form_of, new_source, read_lines
from headwater.web.tables import CSV_MOST, Sort, csv_response, plain_text, read_place, read_sort, write_place

PER_PAGE = 50
POLLS_SHOWN = 100
ARTICLES_SHOWN = 20
ENTRIES_SHOWN = 10
CSV_PAGE = 500
MOST = 10_000  # counted, and changed at once
AGES = {"24h": timedelta(hours=24), "7d": timedelta(days=7)}  # of the last success
NO_CATEGORY = "-"  # as a filter: those without one
CHANGED = {"HX-Trigger": "sourceChanged"}
BROKEN = "Something went wrong. Please try again."
CSV_HEADER = (
    "Name", "URL", "Status", "Error type", "Category", "Mode", "Articles in 7 days", "Error rate in 7 days", "Readers",
    "Last success", "Next poll", "Failure policy", "Poll interval (minutes)", "Id",
)  # fmt: skip
ADMIN: dict[str, Any] = {"role": Role.SUPER_ADMIN, "place": "said"}
NO_REQUESTS = "This server makes no outgoing requests."
ONE = "/admin/sources/{source_id:uuid}"
# Used without settings, for the description of a feed's state.
DEFAULT_POLLING = PollingOptions(
    interval=timedelta(hours=1), interval_min=timedelta(minutes=15), interval_max=timedelta(days=1),
    host_delay=timedelta(seconds=3), concurrency=1, timeout=timedelta(seconds=30), lease=timedelta(minutes=1),
    max_bytes=10_000_000, max_entries=1_000, policy="default",
)  # fmt: skip

OwnTrials = NamedDependency[Trials | None]
Operation = Callable[..., Awaitable[object]]
# The buttons: the operation and the message afterwards.
ACTIONS: Mapping[str, tuple[Operation, str]] = {
    "refresh": (operate.refresh, "Queued: it is fetched as soon as its host allows."),
    "enable": (operate.enable_whole, "Enabled. It is polled as soon as its host allows."),
    "reset": (operate.reset_errors, "Errors reset."),
}


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list, as in the query string."""

    status: str = ""
    reason: str = ""
    category: str = ""
    host: str = ""
    q: str = ""
    fetched: str = ""
    errors: str = ""
    attention: str = ""
    sort: str = ""

    @property
    def sorted(self) -> Sort[SourceSort]:
        return read_sort(self.sort, SourceSort, Sort(SourceSort.NAME))

    def wanted(self, now: datetime) -> SourceFilter:
        """The filters for the store; invalid values are ignored."""
        category = "" if self.category == NO_CATEGORY else self.category or None
        state = SourceState(self.status) if self.status in set(SourceState) else None
        return SourceFilter(
            state=state, reason=self.reason or None, category=category, host=self.host or None,
            text=self.q.strip() or None,
            fetched_before=now - AGES[self.fetched] if self.fetched in AGES else None,
            errors_min=1 if self.errors else None, needs_person=True if self.attention else None,
        )  # fmt: skip

    @property
    def given(self) -> dict[str, str]:
        """The filters that are set, for links."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class SourceActionForm:
    """Why a feed is disabled; the new URL of a feed, or the URL of a page to test and the selectors in the form."""

    reason: str = ""
    url: str = ""
    selectors: str | None = None  # None: those that are saved


async def read_page(call: Call, after: FromQuery[str] = "") -> dict[str, Any]:
    """A page of the table, as the query string asks."""
    filters = read_filters(call.request.query_params)
    wanted, sort = filters.wanted(call.now), filters.sorted
    async with call.database.as_system() as conn:
        found = await table.list_rows(
            conn, wanted=wanted, sort=sort.column, is_descending=sort.is_descending,
            after=read_place(after, kind_of(sort)), now=call.now, limit=PER_PAGE + 1,
        )  # fmt: skip
        total = await table.count_rows(conn, wanted=wanted, now=call.now, most=MOST + 1) if not after else 0
    shown = found[:PER_PAGE]
    return {
        "sources": shown, "filters": filters, "sort": sort, "after": plain_text(after), "total": total, "most": MOST,
        "next": write_place(place_of(shown[-1], sort), kind_of(sort)) if len(found) > PER_PAGE else "",
    }  # fmt: skip


ROWS = {"found": Provide(read_page)}


@get("/admin/sources", role=Role.SUPER_ADMIN, dependencies=ROWS)
async def list_page(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    """The table with its filters, and the form for a new source."""
    async with call.database.as_system() as conn:
        categories = await state_store.list_categories(conn)
    async with call.as_user() as conn:
        saved = await saved_filters.list_own(conn, page="sources")
    return call.page(
        "admin/sources.html", **found, categories=categories, states=list(SourceState), reasons=list(FailureClass),
        bulk_actions=list(BulkAction), saved=saved, page="sources", **_choices(SourceForm(enabled="yes")),
    )  # fmt: skip


@fragment(get, "/admin/sources/rows", "Failed to load sources", role=Role.SUPER_ADMIN, dependencies=ROWS)
async def more_rows(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    """The rows after a place, appended to the table when its end is reached."""
    return call.page("admin/source_rows.html", **found)


@get("/admin/sources.csv", role=Role.SUPER_ADMIN, sync_to_thread=False)
def export(call: Call) -> Stream:
    return csv_response("sources", CSV_HEADER, _csv_rows(call, read_filters(call.request.query_params)))


async def _csv_rows(call: CallContext, filters: Filters) -> AsyncIterator[Sequence[object]]:
    """A page per transaction, so that a slow reader of the file holds none open."""
    wanted, sort, after, now = filters.wanted(call.now), filters.sorted, None, call.now
    for _ in range(CSV_MOST // CSV_PAGE):
        async with call.database.as_system() as conn:
            found = await table.list_rows(
                conn, wanted=wanted, sort=sort.column, is_descending=sort.is_descending, after=after, now=now,
                limit=CSV_PAGE,
            )  # fmt: skip
        for one in found:
            yield [
                one.name, masked(one.address), one.state, one.reason, one.category, one.badge, one.articles,
                round(one.error_rate, 4), one.readers, one.last_succeeded_at, one.next_poll_at, one.policy,
                one.interval_minutes, one.id,
            ]  # fmt: skip
        if len(found) < CSV_PAGE:
            return
        after = place_of(found[-1], sort)


@fragment(post, "/admin/sources", BROKEN, **ADMIN, status_code=204)
async def create(call: Call, data: URLEncodedBody[SourceForm]) -> Response[None]:
    wanted = new_source(data)
    async with call.database.as_system() as conn:
        source = await operate.create(conn, wanted=wanted, actor=call.actor, now=call.now)
    return Response(None, status_code=204, headers={"HX-Redirect": f"/admin/sources/{source.id}"})


@get(ONE, role=Role.SUPER_ADMIN)
async def source_page(
    call: Call, source_id: FromPath[UUID], polling_options: NamedDependency[PollingOptions]
) -> Template:
    async with open_source(call.database, source_id) as (conn, source):
        one, now = {"source_id": source.id}, call.now
        feed = await state_store.find_feed(conn, **one, options=polling_options)
        polls = await state_store.list_polls(conn, **one, limit=POLLS_SHOWN)
        logged = await audit.list_entries(conn, wanted=AuditFilter(subject_id=source.id), limit=ENTRIES_SHOWN)
        return call.page(
            "admin/source.html", source=source, feed=feed, polls=polls, logged=logged.entries, options=polling_options,
            line=await details.find_details(conn, **one, now=now),
            description=describe(feed, polling_options, now) if feed else None,
            strip=poll_strip(polls, POLLS_SHOWN),
            uptimes=[await state_store.find_uptime(conn, **one, period=period, now=now) for period in Period],
            articles=await listing.latest_of_source(conn, **one, limit=ARTICLES_SHOWN),
            suggestions=await suggestions.list_for(conn, source_ids=[source.id]),
            reputation=await find_reputation(conn, **one), **_choices(form_of(source)),
        )  # fmt: skip


@fragment(patch, ONE, BROKEN, place="settings-said", role=Role.SUPER_ADMIN)
async def change(call: Call, source_id: FromPath[UUID], data: URLEncodedBody[SourceForm]) -> Template:
    async with open_source(call.database, source_id) as (conn, source):
        wanted = changes_to(source, data)
        if wanted == operate.NO_CHANGES:
            return _notice("No changes.")
        await operate.change(conn, source, wanted=wanted, actor=call.actor, now=call.now)
    return _notice("Saved.")


@fragment(delete, ONE, BROKEN, **ADMIN, status_code=204)
async def remove(call: Call, source_id: FromPath[UUID]) -> Response[None]:
    async with open_source(call.database, source_id) as (conn, source):
        await operate.delete(conn, source, actor=call.actor, now=call.now)
    return Response(None, status_code=204, headers={"HX-Redirect": "/admin/sources"})


@fragment(post, ONE + "/disable", BROKEN, **ADMIN)
async def disable(call: Call, source_id: FromPath[UUID], data: URLEncodedBody[SourceActionForm]) -> Template:
    async with open_source(call.database, source_id) as (conn, source):
        await operate.disable(conn, source, reason=data.reason, actor=call.actor, now=call.now)
    return _notice("Disabled.")


@fragment(post, ONE + "/adopt", BROKEN, **ADMIN)
async def adopt(call: Call, source_id: FromPath[UUID], data: URLEncodedBody[SourceActionForm]) -> Template:
    """Use a feed that was found on the site."""
    async with open_source(call.database, source_id) as (conn, source):
        found = await suggestions.list_for(conn, source_ids=[source.id])
        # The page shows and sends URLs with secrets masked.
        url = next((one.feed_url for one in found if data.url == masked(one.feed_url)), data.url)
        changed = await operate.change(conn, source, wanted=Changes(feed_url=url), actor=call.actor, now=call.now)
    polled = "It is polled at once." if changed.enabled else "It is not polled: the source is disabled."
    return _notice(f"Feed URL changed. {polled}")


@fragment(post, ONE + "/test", BROKEN, **ADMIN)
async def test_feed(call: Call, source_id: FromPath[UUID], trials: OwnTrials) -> Template:
    """Fetch the feed now and show the result; nothing is saved."""
    if trials is None:
        raise Invalid(f"{NO_REQUESTS} Use `headwater source poll --explain` where it can.")
    async with call.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
    return call.page("admin/source_trial.html", trial=await trials.attempt(source))


@fragment(post, ONE + "/test-page", BROKEN, **ADMIN)
async def test_page(
    call: Call, source_id: FromPath[UUID], data: URLEncodedBody[SourceActionForm], trials: OwnTrials
) -> Template:
    """Fetch a page now and extract it with and without the selectors in the form; nothing is saved. Raises Invalid."""
    if trials is None:
        raise Invalid(f"{NO_REQUESTS} Use `headwater source test` where it can.")
    async with call.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
    if data.selectors is not None:
        source = apply_overrides(source, SourceOverrides(selectors=read_lines(data.selectors)))
    return call.page("admin/page_trial.html", trial=await trials.read_page(source, data.url))


@fragment(post, ONE + "/{action:str}", BROKEN, **ADMIN)
async def act(call: Call, source_id: FromPath[UUID], action: FromPath[str]) -> Template:
    """An action without further input."""
    if action not in ACTIONS:
        raise NotFound("Unknown action.")
    async with open_source(call.database, source_id) as (conn, source):
        await ACTIONS[action][0](conn, source, actor=call.actor, now=call.now)
    return _notice(ACTIONS[action][1])


def _choices(form: SourceForm) -> dict[str, Any]:
    return {"form": form, "modes": list(IngestionMode), "policies": list(POLICIES)}


def _notice(message: str) -> Template:
    return Template("admin/said.html", context={"message": message}, headers=CHANGED)


def place_of(last: SourceRow, sort: Sort[SourceSort]) -> SortPlace:
    number = {SourceSort.ARTICLES: last.articles, SourceSort.ERRORS: last.error_rate, SourceSort.READERS: last.readers}
    at = last.due_at if sort.column is SourceSort.DUE else last.last_succeeded_at
    return SortPlace(last.id, last.name, number.get(sort.column, 0), at)


def kind_of(sort: Sort[SourceSort]) -> type:
    times = {SourceSort.SUCCESS, SourceSort.DUE}
    return str if sort.column is SourceSort.NAME else datetime if sort.column in times else float


def read_filters(given: Mapping[str, Any]) -> Filters:
    return Filters(**{name: plain_text(str(given.get(name, ""))) for name in Filters.__slots__})
