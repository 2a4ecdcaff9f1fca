"""/admin/people: users, their roles, and ending their sessions and tokens."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Stream, Template

from headwater.accounts.changes import change_role, sign_out
from headwater.accounts.decide import email_key
from headwater.accounts.store import people as table
from headwater.accounts.store import saved_filters
from headwater.accounts.types import PersonFilter, PersonLine, PersonSort, Role
from headwater.asgi.handlers import Call, CallContext
from headwater.audit.types import AuditAction
from headwater.db import Connection
from headwater.errors import Invalid, NotFound
from headwater.types import SortPlace, UserId
from headwater.web.errors import fragment
from headwater.web.query import search_text
from headwater.web.tables import CSV_MOST, Sort, csv_response, read_place, read_sort, write_place

PAGE = 50
CSV_PAGE = 500
MOST = 10_000  # counted
TEXT_MAX = 254
ERRORS = "person-{person_id}-errors"
AGES = {"30d": timedelta(days=30), "90d": timedelta(days=90), "365d": timedelta(days=365)}  # of the last visit
CONFIRMED = {"yes": True, "no": False}
KINDS: dict[PersonSort, type] = {
    PersonSort.EMAIL: str, PersonSort.JOINED: datetime, PersonSort.REPUTATION: float, PersonSort.FEEDS: float,
    PersonSort.SEEN: datetime,
}  # fmt: skip
CSV_HEADER = (
    "Email", "Role", "Reputation", "Feeds", "Joined", "Email confirmed", "Last seen", "Sessions", "Tokens", "Id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PeopleFilters:
    """The filters of the table, as in the query string."""

    q: str = ""
    role: str = ""
    confirmed: str = ""
    seen: str = ""
    sort: str = ""

    @property
    def sorted(self) -> Sort[PersonSort]:
        return read_sort(self.sort, PersonSort, Sort(PersonSort.JOINED))

    def wanted(self, now: datetime) -> PersonFilter:
        """The filters for the store; unknown values are ignored. Raises Invalid."""
        [text] = search_text(self.q, most=TEXT_MAX)
        role = Role(self.role) if self.role in set(Role) else None
        seen_before = now - AGES[self.seen] if self.seen in AGES else None
        return PersonFilter(text, role, CONFIRMED.get(self.confirmed), seen_before)

    @property
    def given(self) -> dict[str, str]:
        """The filters that are set, for links."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class NewRole:
    role: str = ""


async def list_users(call: Call, after: FromQuery[str] = "") -> dict[str, Any]:
    """A page of the table, as the query string asks. Raises Invalid."""
    filters = read_filters(call.request.query_params)
    wanted, sort = filters.wanted(call.now), filters.sorted
    place = read_place(after, KINDS[sort.column])
    async with call.database.as_system() as conn:
        found = await table.list_rows(
            conn, wanted=wanted, sort=sort.column, is_descending=sort.is_descending, after=place, limit=PAGE + 1
        )
        total = await table.count_rows(conn, wanted=wanted, most=MOST + 1) if not after else 0
    shown = found[:PAGE]
    return {
        "people": shown, "filters": filters, "sort": sort, "total": total, "most": MOST, "roles": list(Role),
        "next": write_place(place_of(shown[-1], sort), KINDS[sort.column]) if len(found) > PAGE else "",
    }  # fmt: skip


USERS = {"found": Provide(list_users)}


@get("/admin/people", role=Role.SUPER_ADMIN, dependencies=USERS)
async def people(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    async with call.as_user() as conn:
        saved = await saved_filters.list_own(conn, page="people")
    return call.page("admin/people.html", **found, saved=saved, page="people", ages=AGES)


@fragment(get, "/admin/people/rows", "Failed to load users", role=Role.SUPER_ADMIN, dependencies=USERS)
async def more_rows(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    """The rows after a place, appended to the table when its end is reached."""
    return call.page("admin/people_rows.html", **found)


@get("/admin/people.csv", role=Role.SUPER_ADMIN, sync_to_thread=False)
def export(call: Call) -> Stream:
    """The users that match, in the order of the table. Raises Invalid."""
    filters = read_filters(call.request.query_params)
    return csv_response("people", CSV_HEADER, _csv_rows(call, filters.wanted(call.now), filters.sorted))


async def _csv_rows(call: CallContext, wanted: PersonFilter, sort: Sort[PersonSort]) -> AsyncIterator[Sequence[object]]:
    after = None
    for _ in range(CSV_MOST // CSV_PAGE):
        async with call.database.as_system() as conn:
            found = await table.list_rows(
                conn, wanted=wanted, sort=sort.column, is_descending=sort.is_descending, after=after, limit=CSV_PAGE
            )
        for one in found:
            yield [
                one.email, one.role, one.karma, one.feed_count, one.created_at, one.confirmed_at, one.seen_at,
                one.session_count, one.token_count, one.id,
            ]  # fmt: skip
        if len(found) < CSV_PAGE:
            return
        after = place_of(found[-1], sort)


def place_of(last: PersonLine, sort: Sort[PersonSort]) -> SortPlace:
    number = last.karma if sort.column is PersonSort.REPUTATION else last.feed_count
    at = last.created_at if sort.column is PersonSort.JOINED else last.seen_at
    return SortPlace(last.id, email_key(last.email), number, at)


def read_filters(given: Mapping[str, Any]) -> PeopleFilters:
    return PeopleFilters(**{name: str(given.get(name, "")) for name in PeopleFilters.__slots__})


@fragment(post, "/admin/people/{person_id:uuid}/role", "Failed to change the role", place=ERRORS, role=Role.SUPER_ADMIN)
async def set_role(call: Call, person_id: FromPath[UUID], data: URLEncodedBody[NewRole]) -> Template | Redirect:
    """Change a role. It applies from the next request. Raises Invalid, NotFound, LastAdministrator."""
    if data.role not in set(Role):
        raise Invalid(f"Unknown role. Use one of {', '.join(Role)}.")
    role = Role(data.role)
    async with call.database.as_system() as conn:
        before = await change_role(conn, user_id=UserId(person_id), role=role)
        if before.role != role:
            detail = {"from": before.role.value, "to": role.value}
            await call.audit(conn, AuditAction.ROLE_CHANGED, before.email, before.id, **detail)
        return await _user_line(call, conn, before.id, f"{before.email} is {role.replace('_', ' ')} now.")


@fragment(
    post, "/admin/people/{person_id:uuid}/sign-out", "Failed to log the user out", place=ERRORS, role=Role.SUPER_ADMIN
)
async def end_all(call: Call, person_id: FromPath[UUID]) -> Template | Redirect:
    async with call.database.as_system() as conn:
        person = await sign_out(conn, user_id=UserId(person_id))
        await call.audit(conn, AuditAction.ACCOUNT_SIGNED_OUT, person.email, person.id)
        return await _user_line(call, conn, person.id, f"{person.email} is logged out everywhere.")


async def _user_line(call: CallContext, conn: Connection, person_id: UserId, notice: str) -> Template | Redirect:
    if not call.is_htmx:
        return Redirect("/admin/people", status_code=303)
    person = await table.find(conn, user_id=person_id)
    if person is None:
        raise NotFound("User not found.")
    return call.page("admin/people_line.html", person=person, roles=list(Role), notice=notice)
