"""/admin/people: who has an account, what they may do, and an end to their sessions and tokens."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.handlers import BaseRouteHandler
from litestar.params import Body, FromPath, FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.people import change_role, sign_out
from headwater.accounts.store import users
from headwater.accounts.types import Role
from headwater.asgi.actor import actor_of
from headwater.audit import store as audit
from headwater.audit.types import Deed
from headwater.db import Connection, Database
from headwater.errors import Invalid, NotFound
from headwater.library.decide import page_count
from headwater.types import Clock, UserId
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)
PAGE = 50
TEXT_MAX = 254


@dataclass(frozen=True, slots=True)
class NewRole:
    """What somebody may do from now on."""

    role: str = ""


@get("/admin/people", role=Role.SUPER_ADMIN)
async def people(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    q: FromQuery[str] = "",
    page: FromQuery[str] = "1",
) -> Template:
    """The page. Raises Invalid."""
    context = await _some(database, clock, q, page)
    return Template("operator/people.html", context={**context, "user": request.user})


@get("/admin/people/list", role=Role.SUPER_ADMIN, exception_handlers=refusals("Failed to load users"))
async def listed(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    q: FromQuery[str] = "",
    page: FromQuery[str] = "1",
) -> Template:
    """The list alone. Raises Invalid."""
    context = await _some(database, clock, q, page)
    return Template("operator/people_list.html", context={**context, "user": request.user})


@post(
    "/admin/people/{person_id:uuid}/role",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=refusals("Failed to change the role", place="person-{person_id}-errors"),
)
async def give_role(
    request: AnyRequest,
    person_id: FromPath[UUID],
    data: Annotated[NewRole, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """It holds from their next request on. Raises Invalid, NotFound, LastAdministrator."""
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
        return await _told(request, conn, clock, before.id, f"{before.email} is {role.replace('_', ' ')} now.")


@post(
    "/admin/people/{person_id:uuid}/sign-out",
    role=Role.SUPER_ADMIN,
    status_code=200,
    exception_handlers=refusals("Failed to log the user out", place="person-{person_id}-errors"),
)
async def end_all(
    request: AnyRequest,
    person_id: FromPath[UUID],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """End every session and token of somebody. Raises NotFound."""
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
        return await _told(request, conn, clock, person.id, f"{person.email} is logged out everywhere.")


async def _some(database: Database, clock: Clock, text: str, page: str) -> dict[str, object]:
    number = int(page) if page.isascii() and page.isdigit() and len(page) <= 6 else 0
    if number < 1 or len(text) > TEXT_MAX or "\0" in text:
        raise Invalid("Invalid page.")
    text = text.strip()
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


async def _told(
    request: AnyRequest, conn: Connection, clock: Clock, person_id: UserId, notice: str
) -> Template | Redirect:
    if "hx-request" not in request.headers:
        return Redirect("/admin/people", status_code=303)
    person = await users.find_person(conn, user_id=person_id)
    if person is None:
        raise NotFound("User not found.")
    context = {"person": person, "roles": list(Role), "now": clock(), "notice": notice, "user": request.user}
    return Template("operator/people_line.html", context=context)


people_pages: list[BaseRouteHandler] = [people, listed, give_role, end_all]
