"""/admin/people: users, their roles, and ending their sessions and tokens."""

from dataclasses import dataclass
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.changes import change_role, sign_out
from headwater.accounts.store import users
from headwater.accounts.types import Role
from headwater.asgi.handlers import AnyRequest, Db, Now, actor_of
from headwater.audit import store as audit
from headwater.audit.types import AuditAction
from headwater.db import Connection
from headwater.errors import Invalid, NotFound
from headwater.library.decide import page_count
from headwater.types import Clock, UserId
from headwater.web.errors import fragment
from headwater.web.query import is_htmx, parse_number, search_text

PAGE = 50
TEXT_MAX = 254
ERRORS = "person-{person_id}-errors"


@dataclass(frozen=True, slots=True)
class NewRole:
    role: str = ""


async def list_users(
    request: AnyRequest, database: Db, clock: Now, q: FromQuery[str] = "", page: FromQuery[str] = "1"
) -> dict[str, object]:
    number = parse_number(page)
    if not number:
        raise Invalid("Invalid page.")
    [text] = search_text(q, most=TEXT_MAX)
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
        "user": request.user,
    }


USERS = {"found": Provide(list_users)}


@get("/admin/people", role=Role.SUPER_ADMIN, dependencies=USERS, sync_to_thread=False)
def people(found: NamedDependency[dict[str, object]]) -> Template:
    return Template("admin/people.html", context=found)


@fragment(
    get, "/admin/people/list", "Failed to load users", role=Role.SUPER_ADMIN, dependencies=USERS, sync_to_thread=False
)
def user_list(found: NamedDependency[dict[str, object]]) -> Template:
    return Template("admin/people_list.html", context=found)


@fragment(post, "/admin/people/{person_id:uuid}/role", "Failed to change the role", place=ERRORS, role=Role.SUPER_ADMIN)
async def set_role(
    request: AnyRequest, person_id: FromPath[UUID], data: URLEncodedBody[NewRole], database: Db, clock: Now
) -> Template | Redirect:
    """Change a role. It applies from the next request. Raises Invalid, NotFound, LastAdministrator."""
    if data.role not in set(Role):
        raise Invalid(f"Unknown role. Use one of {', '.join(Role)}.")
    role = Role(data.role)
    async with database.as_system() as conn:
        before = await change_role(conn, user_id=UserId(person_id), role=role)
        if before.role != role:
            await audit.record(
                conn, actor_of(request), AuditAction.ROLE_CHANGED, clock(), subject=before.email, subject_id=before.id,
                detail={"from": before.role.value, "to": role.value},
            )  # fmt: skip
        return await _user_line(request, conn, clock, before.id, f"{before.email} is {role.replace('_', ' ')} now.")


@fragment(
    post, "/admin/people/{person_id:uuid}/sign-out", "Failed to log the user out", place=ERRORS, role=Role.SUPER_ADMIN
)
async def end_all(request: AnyRequest, person_id: FromPath[UUID], database: Db, clock: Now) -> Template | Redirect:
    async with database.as_system() as conn:
        person = await sign_out(conn, user_id=UserId(person_id))
        actor, email = actor_of(request), person.email
        await audit.record(conn, actor, AuditAction.ACCOUNT_SIGNED_OUT, clock(), subject=email, subject_id=person.id)
        return await _user_line(request, conn, clock, person.id, f"{person.email} is logged out everywhere.")


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
