"""/admin/audit: the audit log."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery
from litestar.response import Stream, Template

from headwater.accounts.store import saved_filters
from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext
from headwater.audit import store
from headwater.audit.types import AuditAction, AuditFilter, AuditSort
from headwater.errors import Invalid
from headwater.urls import masked
from headwater.web.errors import fragment
from headwater.web.query import search_text
from headwater.web.tables import CSV_MOST, Sort, csv_response, read_place, read_sort, write_place

PAGE = 50
CSV_PAGE = 500
CSV_HEADER = ("When", "User", "Action", "Target", "Details", "Target id")
TEXT_MAX = 500
LAST_YEAR = 9_000
KINDS: dict[AuditSort, type] = {AuditSort.TIME: datetime, AuditSort.ACTION: str, AuditSort.TARGET: str}


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """The filters of the log, as in the query string."""

    action: str = ""
    person: str = ""
    subject: str = ""
    since: str = ""
    until: str = ""
    sort: str = ""

    @property
    def sorted(self) -> Sort[AuditSort]:
        return read_sort(self.sort, AuditSort, Sort(AuditSort.TIME, is_descending=True))

    @property
    def wanted(self) -> AuditFilter:
        """The filters for the store. Raises Invalid."""
        if self.action and self.action not in set(AuditAction):
            raise Invalid("Unknown action.")
        actor, target = search_text(self.person, self.subject, most=TEXT_MAX)
        action, until = AuditAction(self.action) if self.action else None, read_day(self.until)
        before = until + timedelta(days=1) if until else None
        return AuditFilter(action, actor=actor, subject=target, since=read_day(self.since), before=before)

    @property
    def given(self) -> dict[str, str]:
        """The filters that are set, for links."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


def read_day(text: str) -> datetime | None:
    """The start of a day in UTC, as a browser sends it. Raises Invalid."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise Invalid("A day is written as 2026-03-31.") from None
    if day.year > LAST_YEAR:
        raise Invalid(f"A day is not after {LAST_YEAR}.")
    return day


async def list_page(call: Call, after: FromQuery[str] = "") -> dict[str, Any]:
    """A page of the entries that match the query string. Raises Invalid."""
    filters = read_filters(call.request.query_params)
    sort = filters.sorted
    place = read_place(after, KINDS[sort.column])
    async with call.database.as_system() as conn:
        found = await store.list_entries(
            conn, wanted=filters.wanted, sort=sort.column, is_descending=sort.is_descending, after=place, limit=PAGE
        )
    next_ = write_place(found.next, KINDS[sort.column]) if found.next else ""
    return {"entries": found.entries, "filters": filters, "sort": sort, "after": after, "next": next_}


def read_filters(given: Mapping[str, Any]) -> AuditFilters:
    return AuditFilters(**{name: str(given.get(name, "")) for name in AuditFilters.__slots__})


ENTRIES = {"found": Provide(list_page)}


@get("/admin/audit", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def audit(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    async with call.as_user() as conn:
        saved = await saved_filters.list_own(conn, page="audit")
    return call.page("admin/audit.html", **found, actions=list(AuditAction), saved=saved, page="audit")


@fragment(get, "/admin/audit/rows", "Failed to load the audit log", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def more_rows(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    """The entries after a place, appended to the table when its end is reached."""
    return call.page("admin/audit_rows.html", **found)


@get("/admin/audit.csv", role=Role.SUPER_ADMIN, sync_to_thread=False)
def export(call: Call) -> Stream:
    """The entries that match, in the order of the table. Raises Invalid."""
    filters = read_filters(call.request.query_params)
    return csv_response("audit", CSV_HEADER, _csv_rows(call, filters.wanted, filters.sorted))


async def _csv_rows(call: CallContext, wanted: AuditFilter, sort: Sort[AuditSort]) -> AsyncIterator[Sequence[object]]:
    after = None
    for _ in range(CSV_MOST // CSV_PAGE):
        async with call.database.as_system() as conn:
            found = await store.list_entries(
                conn, wanted=wanted, sort=sort.column, is_descending=sort.is_descending, after=after, limit=CSV_PAGE
            )
        for one in found.entries:
            details = "; ".join(f"{name}: {value}" for name, value in one.detail.items() if value not in (None, ""))
            yield one.at, one.actor_name, one.action, one.subject_name, masked(details), one.subject_id
        after = found.next
        if after is None:
            return
