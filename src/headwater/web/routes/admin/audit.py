"""/admin/audit: the audit log."""

from urllib.parse import urlencode

from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import AnyRequest, Db, Now, decode_cursor, encode_cursor
from headwater.audit import store
from headwater.audit.types import AuditAction, AuditFilter
from headwater.errors import Invalid
from headwater.web.errors import fragment
from headwater.web.query import search_text

PAGE = 50
TEXT_MAX = 500


async def list_page(
    database: Db,
    clock: Now,
    action: FromQuery[str] = "",
    person: FromQuery[str] = "",
    subject: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> dict[str, object]:
    """The entries that match the query string. Raises Invalid."""
    if action and action not in set(AuditAction):
        raise Invalid("Unknown action.")
    actor, target = search_text(person, subject, most=TEXT_MAX)
    wanted = AuditFilter(AuditAction(action) if action else None, actor=actor, subject=target)
    after = decode_cursor(cursor) if cursor else None
    async with database.as_system() as conn:
        found = await store.list_entries(conn, wanted=wanted, after=after, limit=PAGE)
    values = {"action": action, "person": actor, "subject": target}
    return {
        "entries": found.entries,
        "wanted": wanted,
        "address": urlencode({name: value for name, value in values.items() if value}),
        "cursor": cursor,
        "next": encode_cursor(*found.next) if found.next else "",
        "now": clock(),
    }


ENTRIES = {"entries": Provide(list_page)}


@get("/admin/audit", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def audit(request: AnyRequest, entries: NamedDependency[dict[str, object]]) -> Template:
    return Template("admin/audit.html", context=entries | {"user": request.user, "actions": list(AuditAction)})


@fragment(get, "/admin/audit/lines", "Failed to load the audit log", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def lines(entries: NamedDependency[dict[str, object]]) -> Template:
    shown = f"/admin/audit?{entries['address']}" if entries["address"] else "/admin/audit"
    return Template("admin/audit_lines.html", context=entries, headers={"HX-Replace-Url": shown})
