"""Sources: the list with its filters, and one source with all that is known of it and all that can be done to it.

Whatever is done goes through `sources.operate`, which writes the audit log in the same transaction. A deed answers with
a sentence and the event `sourceChanged`, upon which the state above it is asked for again.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath, FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.articles.store import listing
from headwater.asgi.actor import actor_of
from headwater.audit import store as audit
from headwater.audit.types import Wanted
from headwater.db import Connection, Database
from headwater.errors import Invalid, NotApproved, NotFound
from headwater.polling.policy import POLICIES
from headwater.polling.types import FailureClass, PollingOptions
from headwater.sources import operate
from headwater.sources.health.decide import story
from headwater.sources.health.store import state as state_store
from headwater.sources.health.types import Period, SourceCursor, SourcesWanted
from headwater.sources.operate import Changes
from headwater.sources.store import sources
from headwater.sources.trial import Trials
from headwater.sources.types import IngestionMode, Source, SourceOrder
from headwater.types import Clock, SourceId, SourceState
from headwater.urls import masked
from headwater.web.format import count
from headwater.web.pages.operator.source_form import SourceForm, changes_to, form_of, new_source
from headwater.web.plots import strip_of
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)
PER_PAGE = 50
POLLS_SHOWN = 100
ARTICLES_SHOWN = 20
DEEDS_SHOWN = 10
ENABLED_AT_ONCE = 500
TEXT_MAX = 255
AGES = {"24h": timedelta(hours=24), "7d": timedelta(days=7)}  # of the last success
NO_CATEGORY = "-"  # as a filter: those without one
CHANGED = {"HX-Trigger": "sourceChanged"}
BROKEN = "Something went wrong. Please try again."
REFUSED = refusals(BROKEN, place="said")
# How feeds are polled where nobody says otherwise; the story of a feed rests on it.
USUAL_POLLING = PollingOptions(
    interval=timedelta(hours=1),
    interval_min=timedelta(minutes=15),
    interval_max=timedelta(days=1),
    host_delay=timedelta(seconds=3),
    concurrency=1,
    timeout=timedelta(seconds=30),
    lease=timedelta(minutes=1),
    max_bytes=10_000_000,
    max_entries=1_000,
    policy="default",
)

Operation = Callable[..., Awaitable[object]]
# What a button does, and what is said when it is done.
DEEDS: Mapping[str, tuple[Operation, str]] = {
    "refresh": (operate.refresh, "Queued: it is fetched as soon as its host allows."),
    "enable": (operate.enable_whole, "Enabled. It is polled as soon as its host allows."),
    "reset": (operate.reset_errors, "Errors reset."),
}


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list shows, as the address says it."""

    status: str = ""
    reason: str = ""
    category: str = ""
    host: str = ""
    q: str = ""
    fetched: str = ""
    errors: str = ""
    order: str = ""

    def wanted(self, now: datetime) -> SourcesWanted:
        """The same for the store; what makes no sense is left out."""
        category = "" if self.category == NO_CATEGORY else self.category or None
        state = SourceState(self.status) if self.status in set(SourceState) else None
        return SourcesWanted(
            state,
            self.reason or None,
            category,
            self.host or None,
            self.q.strip() or None,
            fetched_before=now - AGES[self.fetched] if self.fetched in AGES else None,
            has_errors=bool(self.errors),
            order=SourceOrder.LAST_FETCHED if self.order == SourceOrder.LAST_FETCHED else None,
        )

    @property
    def given(self) -> dict[str, str]:
        """Those that are set, for links."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class Disabling:
    """Why a source is switched off."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a source's feed has gone, or where a page of it is."""

    url: str = ""


@get("/admin/sources", role=Role.SUPER_ADMIN)
async def list_page(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    status: FromQuery[str] = "",
    reason: FromQuery[str] = "",
    category: FromQuery[str] = "",
    host: FromQuery[str] = "",
    q: FromQuery[str] = "",
    fetched: FromQuery[str] = "",
    errors: FromQuery[str] = "",
    order: FromQuery[str] = "",
    after: FromQuery[str] = "",
) -> Template:
    """A page of the list, and the form that adds to it."""
    filters = Filters(*(_plain(text) for text in (status, reason, category, host, q, fetched, errors, order)))
    wanted = filters.wanted(clock())
    async with database.as_system() as conn:
        found = await state_store.list_sources(conn, wanted=wanted, after=_cursor(after, wanted), limit=PER_PAGE)
        categories = await state_store.list_categories(conn)
    context = {
        "user": request.user,
        "now": clock(),
        "found": found,
        "filters": filters,
        "after": _plain(after),
        "next": f"{found.next.id}:{found.next.sort_name}" if found.next else "",
        "categories": categories,
        "states": list(SourceState),
        "reasons": list(FailureClass),
        **_choices(SourceForm(enabled="yes")),
    }
    return Template("operator/sources.html", context=context)


@post("/admin/sources", status_code=204, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def create(
    request: AnyRequest,
    data: Annotated[SourceForm, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Response[None]:
    """Follow something new; then its page is shown."""
    wanted = new_source(data)
    async with database.as_system() as conn:
        source = await operate.create(conn, wanted=wanted, actor=actor_of(request), now=clock())
    return Response(None, status_code=204, headers={"HX-Redirect": f"/admin/sources/{source.id}"})


@post("/admin/sources/enable", status_code=200, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def enable_all(
    request: AnyRequest,
    data: Annotated[Filters, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """Enable all disabled sources that meet a filter, each in a transaction of its own; no more than some at a time."""
    wanted = data.wanted(clock())
    if wanted.state not in {SourceState.AUTO_DISABLED, SourceState.DISABLED}:
        raise Invalid("Choose a status first: auto-disabled or disabled.")
    async with database.as_system() as conn:
        found = await state_store.list_sources(conn, wanted=wanted, after=None, limit=ENABLED_AT_ONCE)
    enabled = 0
    for line in found.sources:
        with suppress(NotApproved, NotFound):  # rejected or deleted since it was listed
            async with database.as_system() as conn:
                source = await sources.find_by_id(conn, source_id=line.id)
                await operate.enable_whole(conn, source, actor=actor_of(request), now=clock())
            enabled += 1
    more = " There are more: press again." if found.next else ""
    message = f"{count(enabled, 'source')} enabled.{more}"
    return Template("operator/said.html", context={"message": message}, headers=CHANGED)


@get("/admin/sources/{source_id:uuid}", role=Role.SUPER_ADMIN)
async def source_page(
    request: AnyRequest,
    source_id: FromPath[UUID],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    polling_options: NamedDependency[PollingOptions],
) -> Template:
    """One source."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        context = await _all_about(conn, source, polling_options, clock)
    return Template("operator/source.html", context={**context, "user": request.user})


@patch(
    "/admin/sources/{source_id:uuid}",
    status_code=200,
    role=Role.SUPER_ADMIN,
    exception_handlers=refusals(BROKEN, place="settings-said"),
)
async def change(
    request: AnyRequest,
    source_id: FromPath[UUID],
    data: Annotated[SourceForm, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """Other settings."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        wanted = changes_to(source, data)
        if wanted == operate.NOTHING:
            return _say("No changes.")
        await operate.change(conn, source, wanted=wanted, actor=actor_of(request), now=clock())
    return _say("Saved.")


@delete("/admin/sources/{source_id:uuid}", status_code=204, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def drop(
    request: AnyRequest,
    source_id: FromPath[UUID],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Response[None]:
    """Stop following it; then the list is shown."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await operate.delete(conn, source, actor=actor_of(request), now=clock())
    return Response(None, status_code=204, headers={"HX-Redirect": "/admin/sources"})


@post("/admin/sources/{source_id:uuid}/disable", status_code=200, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def disable(
    request: AnyRequest,
    source_id: FromPath[UUID],
    data: Annotated[Disabling, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """Leave its feed alone, for a reason."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await operate.disable(conn, source, reason=data.reason, actor=actor_of(request), now=clock())
    return _say("Disabled.")


@post("/admin/sources/{source_id:uuid}/adopt", status_code=200, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def adopt(
    request: AnyRequest,
    source_id: FromPath[UUID],
    data: Annotated[Address, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """Its feed is where it was found."""
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        found = await state_store.list_suggestions(conn, source_id=source.id)
        # The page shows what may be a secret masked, and sends it back so.
        url = next((one.feed_url for one in found if data.url == masked(one.feed_url)), data.url)
        await operate.change(conn, source, wanted=Changes(feed_url=url), actor=actor_of(request), now=clock())
    return _say("Feed URL changed. It is polled at once.")


@post("/admin/sources/{source_id:uuid}/test", status_code=200, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def try_out(
    source_id: FromPath[UUID], database: NamedDependency[Database], trials: NamedDependency[Trials | None]
) -> Template:
    """Ask for its feed now and show what would come of it; nothing is kept."""
    if trials is None:
        raise Invalid("This server makes no outgoing requests. Use `headwater source poll --explain` where it can.")
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
    return Template("operator/source_trial.html", context={"trial": await trials.attempt(source)})


@post("/admin/sources/{source_id:uuid}/test-page", status_code=200, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def try_page(
    source_id: FromPath[UUID],
    data: Annotated[Address, Form],
    database: NamedDependency[Database],
    trials: NamedDependency[Trials | None],
) -> Template:
    """Read a page of it now, with its selectors and without; nothing is kept."""
    if trials is None:
        raise Invalid("This server makes no outgoing requests. Use `headwater source test` where it can.")
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
    return Template("operator/page_trial.html", context={"trial": await trials.read_page(source, data.url)})


@post("/admin/sources/{source_id:uuid}/{deed:str}", status_code=200, role=Role.SUPER_ADMIN, exception_handlers=REFUSED)
async def act(
    request: AnyRequest,
    source_id: FromPath[UUID],
    deed: FromPath[str],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template:
    """What takes no more than a press of a button."""
    if deed not in DEEDS:
        raise NotFound("Unknown action.")
    async with database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=SourceId(source_id))
        await DEEDS[deed][0](conn, source, actor=actor_of(request), now=clock())
    return _say(DEEDS[deed][1])


async def _all_about(conn: Connection, source: Source, options: PollingOptions, clock: Clock) -> dict[str, Any]:
    now = clock()
    feed = await state_store.find_feed(conn, source_id=source.id, options=options)
    polls = await state_store.list_polls(conn, source_id=source.id, limit=POLLS_SHOWN)
    logged = await audit.list_entries(conn, wanted=Wanted(subject_id=source.id), limit=DEEDS_SHOWN)
    return {
        "now": now,
        "source": source,
        "line": await state_store.find_line(conn, source_id=source.id),
        "feed": feed,
        "story": story(feed, options, now) if feed else None,
        "polls": polls,
        "strip": strip_of(polls, POLLS_SHOWN),
        "uptimes": [
            await state_store.find_uptime(conn, source_id=source.id, period=period, now=now) for period in Period
        ],
        "articles": await listing.latest_of_source(conn, source_id=source.id, limit=ARTICLES_SHOWN),
        "suggestions": await state_store.list_suggestions(conn, source_id=source.id),
        "logged": logged.entries,
        "options": options,
        **_choices(form_of(source)),
    }


def _choices(form: SourceForm) -> dict[str, Any]:
    return {"form": form, "modes": list(IngestionMode), "policies": list(POLICIES)}


def _say(message: str) -> Template:
    return Template("operator/said.html", context={"message": message}, headers=CHANGED)


def _cursor(text: str, wanted: SourcesWanted) -> SourceCursor | None:
    """Where a page begins; what is no such place is the beginning."""
    id_, colon, name = _plain(text).partition(":")
    try:
        if wanted.order and name and datetime.fromisoformat(name).tzinfo is None:
            return None
        return SourceCursor(name, UUID(id_)) if colon else None
    except ValueError:
        return None


def _plain(text: str) -> str:
    """What can be looked for: not too long, and nothing that no text holds."""
    return text.replace("\0", "")[: 2 * TEXT_MAX]


source_pages = [list_page, create, enable_all, source_page, change, drop, disable, adopt, try_out, try_page, act]
