"""/admin/people: users, their roles, and ending their sessions and tokens."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from litestar import get, post
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.people import change_role, sign_out
from headwater.accounts.store import users
from headwater.accounts.types import Role
from headwater.asgi.actor import actor_of
from headwater.asgi.handlers import AnyRequest, Db, Form, Now
from headwater.audit import store as audit
from headwater.audit.types import Deed
from headwater.db import Connection, Database
from headwater.errors import Invalid, NotFound
from headwater.library.decide import page_count
from headwater.types import Clock, UserId
from headwater.web.errors import error_handlers
from headwater.web.query import is_htmx, parse_number, search_text

PAGE = 50
TEXT_MAX = 254


@dataclass(frozen=True, slots=True)
class NewRole:
    """A new role."""

    role: str = ""


@get("/admin/people", role=Role.SUPER_ADMIN)
async def people(
    request: AnyRequest,
    database: Db,
    clock: Now,
    q: FromQuery[str] = "",
    page: FromQuery[str] = "1",
) -> Template:
    """The page. Raises Invalid."""
    context = await _users(database, clock, q, page)
    return Template("admin/people.html", context={**context, "user": request.user})


@get("/admin/people/list", role=Role.SUPER_ADMIN, exception_handlers=error_handlers("Failed to load users"))
async def user_list(
    request: AnyRequest,
    database: Db,
    clock: Now,
    q: FromQuery[str] = "",
    page: FromQuery[str] = "1",
) -> Template:
    """The list. Raises Invalid."""
    context = await _users(database, clock, q, page)
    return Template("admin/people_list.html", context={**context, "user": request.user})


@post(
    "/admin/people/{person_id:uuid}/role",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=error_handlers("Failed to change the role", place="person-{person_id}-errors"),
)
async def set_role(
    request: AnyRequest,
    person_id: FromPath[UUID],
    data: Annotated[NewRole, Form],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Change a role. It applies from the next request. Raises Invalid, NotFound, LastAdministrator."""
    try:
        role = Role(data.role)
    except ValueError as error:
        raise Invalid(f"Unknown role. Use one of {', '.join(Role)}.") from error
    async with database.as_system() as conn:
        before = await change_role(conn, user_id=UserId(person_id), role=role)
        if before.role != role:
            await audit.record(
                conn,
                actor=actor_of(request),
                deed=Deed.ROLE_CHANGED,
                subject_name=before.email,
                subject_id=before.id,
                now=clock(),
                detail={"from": before.role.value, "to": role.value},
            )
        return await _user_line(request, conn, clock, before.id, f"{before.email} is {role.replace('_', ' ')} now.")


@post(
    "/admin/people/{person_id:uuid}/sign-out",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=error_handlers("Failed to log the user out", place="person-{person_id}-errors"),
)
async def end_all(
    request: AnyRequest,
    person_id: FromPath[UUID],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """End all sessions and tokens of a user. Raises NotFound."""
    async with database.as_system() as conn:
        person = await sign_out(conn, user_id=UserId(person_id))
        await audit.record(
            conn,
            actor=actor_of(request),
            deed=Deed.ACCOUNT_SIGNED_OUT,
            subject_name=person.email,
            subject_id=person.id,
            now=clock(),
        )
        return await _user_line(request, conn, clock, person.id, f"{person.email} is logged out everywhere.")


async def _users(database: Database, clock: Clock, text: str, page: str) -> dict[str, object]:
    number = parse_number(page)
    if not number:
        raise Invalid("Invalid page.")
    [text] = search_text(text, most=TEXT_MAX)
    async with database.as_system() as conn:
        total = await users.count_people(conn, text=text)
        found = await users.list_people(conn, text=text, limit=PAGE, offset=(number - 1) * PAGE)
    return {
        "people": found,
        "total": total,
        "text": text,
        "page": number,
        "pages": page_count(total, PAGE),
        "roles": list(Role),
        "now": clock(),
    }


async def _user_line(
    request: AnyRequest, conn: Connection, clock: Clock, person_id: UserId, notice: str
) -> Template | Redirect:
    if not is_htmx(request):
        return Redirect("/admin/people", status_code=303)
    person = await users.find_person(conn, user_id=person_id)
    if person is None:
        raise NotFound("User not found.")
    context = {"person": person, "roles": list(Role), "now": clock(), "notice": notice, "user": request.user}
    return Template("admin/people_line.html", context=context)


people_pages: list[BaseRouteHandler] = [people, user_list, set_role, end_all]
