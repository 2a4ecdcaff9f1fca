"""/admin/audit: the audit log."""

from urllib.parse import urlencode

from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.handlers import BaseRouteHandler
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.cursor import decode_cursor, encode_cursor
from headwater.asgi.handlers import AnyRequest, Db, Now
from headwater.audit import store
from headwater.audit.types import AuditCursor, Deed, Wanted
from headwater.db import Database
from headwater.errors import Invalid
from headwater.types import Clock
from headwater.web.errors import error_handlers
from headwater.web.query import search_text

PAGE = 50
TEXT_MAX = 500


def read_filter(deed: FromQuery[str] = "", person: FromQuery[str] = "", subject: FromQuery[str] = "") -> Wanted:
    """The filter of the query string. Raises Invalid."""
    if deed and deed not in set(Deed):
        raise Invalid("Unknown action.")
    actor, target = search_text(person, subject, most=TEXT_MAX)
    return Wanted(Deed(deed) if deed else None, actor=actor, subject=target)


FILTER = {"wanted": Provide(read_filter, sync_to_thread=False)}


@get("/admin/audit", role=Role.SUPER_ADMIN, dependencies=FILTER)
async def audit(
    request: AnyRequest,
    database: Db,
    clock: Now,
    wanted: NamedDependency[Wanted],
    cursor: FromQuery[str] = "",
) -> Template:
    """The page. Raises Invalid."""
    context = await _entries(database, clock, wanted, cursor)
    return Template("admin/audit.html", context={**context, "user": request.user, "deeds": list(Deed)})


@get(
    "/admin/audit/lines",
    role=Role.SUPER_ADMIN,
    dependencies=FILTER,
    exception_handlers=error_handlers("Failed to load the audit log"),
)
async def lines(
    database: Db,
    clock: Now,
    wanted: NamedDependency[Wanted],
    cursor: FromQuery[str] = "",
) -> Template:
    """The lines. Raises Invalid."""
    context = await _entries(database, clock, wanted, cursor)
    shown = f"/admin/audit?{context['address']}" if context["address"] else "/admin/audit"
    return Template("admin/audit_lines.html", context=context, headers={"HX-Replace-Url": shown})


async def _entries(database: Database, clock: Clock, wanted: Wanted, cursor: str) -> dict[str, object]:
    async with database.as_system() as conn:
        after = AuditCursor(*decode_cursor(cursor)) if cursor else None
        found = await store.list_entries(conn, wanted=wanted, after=after, limit=PAGE)
    values = {"deed": wanted.deed or "", "person": wanted.actor, "subject": wanted.subject}
    return {
        "entries": found.entries,
        "wanted": wanted,
        "address": urlencode({name: value for name, value in values.items() if value}),
        "cursor": cursor,
        "next": encode_cursor(found.next.at, found.next.id) if found.next else "",
        "now": clock(),
    }


audit_pages: list[BaseRouteHandler] = [audit, lines]
