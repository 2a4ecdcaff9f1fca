"""/admin/people: users, their roles, and ending their sessions and tokens."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.changes import change_role, sign_out
from headwater.accounts.store import users
from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext
from headwater.audit.types import AuditAction
from headwater.db import Connection
from headwater.errors import Invalid, NotFound
from headwater.library.decide import page_count
from headwater.types import UserId
from headwater.web.errors import fragment
from headwater.web.query import parse_number, search_text

PAGE = 50
TEXT_MAX = 254
ERRORS = "person-{person_id}-errors"


@dataclass(frozen=True, slots=True)
class NewRole:
    role: str = ""


async def list_users(call: Call, q: FromQuery[str] = "", page: FromQuery[str] = "1") -> dict[str, Any]:
    number = parse_number(page)
    if not number:
        raise Invalid("Invalid page.")
    [text] = search_text(q, most=TEXT_MAX)
    async with call.database.as_system() as conn:
        total = await users.count_people(conn, text=text)
        found = await users.list_people(conn, text=text, limit=PAGE, offset=(number - 1) * PAGE)
    pages = page_count(total, PAGE)
    return {"people": found, "total": total, "text": text, "page": number, "pages": pages, "roles": list(Role)}


USERS = {"found": Provide(list_users)}


@get("/admin/people", role=Role.SUPER_ADMIN, dependencies=USERS)
async def people(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("admin/people.html", **found)


@fragment(get, "/admin/people/list", "Failed to load users", role=Role.SUPER_ADMIN, dependencies=USERS)
async def user_list(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("admin/people_list.html", **found)


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
    person = await users.find_person(conn, user_id=person_id)
    if person is None:
        raise NotFound("User not found.")
    return call.page("admin/people_line.html", person=person, roles=list(Role), notice=notice)
