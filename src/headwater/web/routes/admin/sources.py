"""/admin/sources: the list with its filters, and one source with its state, settings and actions.

Actions go through `sources.operate`, which writes the audit log in the same transaction. They respond with a message
and the event `sourceChanged`, on which the state is loaded again.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from litestar import Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.articles.store import listing
from headwater.asgi.handlers import Call, open_source
from headwater.audit import store as audit
from headwater.audit.types import AuditFilter
from headwater.errors import Invalid, NotApproved, NotFound
from headwater.polling.policy import POLICIES
from headwater.polling.types import FailureClass, PollingOptions
from headwater.sources import operate
from headwater.sources.health.decide import describe
from headwater.sources.health.store import state as state_store
from headwater.sources.health.types import Period
from headwater.sources.store import details, sources, suggestions
from headwater.sources.trial import Trials
from headwater.sources.types import Changes, IngestionMode, SourceDetails, SourceFilter, SourceOrder, SourcePlace
from headwater.types import SourceId, SourceState
from headwater.urls import masked
from headwater.web.errors import fragment
from headwater.web.format import count
from headwater.web.plots import poll_strip
from headwater.web.routes.admin.source_form import SourceForm, changes_to, form_of, new_source

PER_PAGE = 50
POLLS_SHOWN = 100
ARTICLES_SHOWN = 20
ENTRIES_SHOWN = 10
ENABLED_AT_ONCE = 500
TEXT_MAX = 255
AGES = {"24h": timedelta(hours=24), "7d": timedelta(days=7)}  # of the last success
NO_CATEGORY = "-"  # as a filter: those without one
CHANGED = {"HX-Trigger": "sourceChanged"}
BROKEN = "Something went wrong. Please try again."
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
    order: str = ""

    def wanted(self, now: datetime) -> SourceFilter:
        """The filters for the store; invalid values are ignored."""
        category = "" if self.category == NO_CATEGORY else self.category or None
        state = SourceState(self.status) if self.status in set(SourceState) else None
        return SourceFilter(
            state=state, reason=self.reason or None, category=category, host=self.host or None,
            text=self.q.strip() or None,
            fetched_before=now - AGES[self.fetched] if self.fetched in AGES else None,
            errors_min=1 if self.errors else None,
            order=SourceOrder.LAST_FETCHED if self.order == SourceOrder.LAST_FETCHED else None,
        )  # fmt: skip

    @property
    def given(self) -> dict[str, str]:
        """The filters that are set, for links."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class SourceActionForm:
    """Why a feed is disabled; the new URL of a feed, or the URL of a page to test."""

    reason: str = ""
    url: str = ""


@get("/admin/sources", role=Role.SUPER_ADMIN)
async def list_page(call: Call, after: FromQuery[str] = "") -> Template:
    """A page of the list, and the form for a new source."""
    filters = Filters(**{name: _plain(call.request.query_params.get(name, "")) for name in Filters.__slots__})
    wanted = filters.wanted(call.now)
    async with call.database.as_system() as conn:
        place, limit = _place(after, wanted), PER_PAGE + 1
        found = await details.list_details(conn, wanted=wanted, now=call.now, after=place, limit=limit, by_name=True)
        categories = await state_store.list_categories(conn)
    return call.page(
        "admin/sources.html", sources=found[:PER_PAGE], filters=filters, after=_plain(after), categories=categories,
        next=_cursor(found[PER_PAGE - 1], wanted) if len(found) > PER_PAGE else "", states=list(SourceState),
        reasons=list(FailureClass), **_choices(SourceForm(enabled="yes")),
    )  # fmt: skip


@fragment(post, "/admin/sources", BROKEN, **ADMIN, status_code=204)
async def create(call: Call, data: URLEncodedBody[SourceForm]) -> Response[None]:
    wanted = new_source(data)
    async with call.database.as_system() as conn:
        source = await operate.create(conn, wanted=wanted, actor=call.actor, now=call.now)
    return Response(None, status_code=204, headers={"HX-Redirect": f"/admin/sources/{source.id}"})


@fragment(post, "/admin/sources/enable", BROKEN, **ADMIN)
async def enable_all(call: Call, data: URLEncodedBody[Filters]) -> Template:
    """Enable disabled sources that match a filter, each in its own transaction, up to a limit."""
    wanted = data.wanted(call.now)
    if wanted.state not in {SourceState.AUTO_DISABLED, SourceState.DISABLED}:
        raise Invalid("Choose a status first: auto-disabled or disabled.")
    async with call.database.as_system() as conn:
        limit = ENABLED_AT_ONCE + 1
        found = await details.list_details(conn, wanted=wanted, now=call.now, limit=limit, by_name=True)
    enabled = 0
    for line in found[:ENABLED_AT_ONCE]:
        with suppress(NotApproved, NotFound):  # rejected or deleted since it was listed
            async with open_source(call.database, line.id) as (conn, source):
                await operate.enable_whole(conn, source, actor=call.actor, now=call.now)
            enabled += 1
    more = " There are more: press again." if len(found) > ENABLED_AT_ONCE else ""
    return _notice(f"{count(enabled, 'source')} enabled.{more}")


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
            **_choices(form_of(source)),
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
        await operate.change(conn, source, wanted=Changes(feed_url=url), actor=call.actor, now=call.now)
    return _notice("Feed URL changed. It is polled at once.")


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
    """Fetch a page now and extract it with and without selectors; nothing is saved."""
    if trials is None:
        raise Invalid(f"{NO_REQUESTS} Use `headwater source test` where it can.")
    async with call.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
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


def _cursor(last: SourceDetails, wanted: SourceFilter) -> str:
    fetched = last.last_succeeded_at.isoformat() if last.last_succeeded_at else ""
    return f"{last.id}:{fetched if wanted.order else last.name}"


def _place(cursor: str, wanted: SourceFilter) -> SourcePlace | None:
    """The start of a page; an invalid cursor is the first page."""
    id_, colon, last = _plain(cursor).partition(":")
    try:
        at = datetime.fromisoformat(last) if wanted.order and last else None
        return SourcePlace(UUID(id_), at, last) if colon and (at is None or at.tzinfo) else None
    except ValueError:
        return None


def _plain(text: str) -> str:
    """A search text without NUL and of limited length."""
    return text.replace("\0", "")[: 2 * TEXT_MAX]
