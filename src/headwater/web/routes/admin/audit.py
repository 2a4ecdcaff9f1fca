"""/admin/audit: the audit log."""

from typing import Any
from urllib.parse import urlencode

from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, decode_cursor, encode_cursor
from headwater.audit import store
from headwater.audit.types import AuditAction, AuditFilter
from headwater.errors import Invalid
from headwater.web.errors import fragment
from headwater.web.query import search_text

PAGE = 50
TEXT_MAX = 500


async def list_page(
    call: Call, action: FromQuery[str] = "", person: FromQuery[str] = "", subject: FromQuery[str] = "",
    cursor: FromQuery[str] = ""
) -> dict[str, Any]:  # fmt: skip
    """The entries that match the query string. Raises Invalid."""
    if action and action not in set(AuditAction):
        raise Invalid("Unknown action.")
    actor, target = search_text(person, subject, most=TEXT_MAX)
    wanted = AuditFilter(AuditAction(action) if action else None, actor=actor, subject=target)
    after = decode_cursor(cursor) if cursor else None
    async with call.database.as_system() as conn:
        found = await store.list_entries(conn, wanted=wanted, after=after, limit=PAGE)
    values = {"action": action, "person": actor, "subject": target}
    return {
        "entries": found.entries, "wanted": wanted, "cursor": cursor,
        "address": urlencode({name: value for name, value in values.items() if value}),
        "next": encode_cursor(*found.next) if found.next else "",
    }  # fmt: skip


ENTRIES = {"found": Provide(list_page)}


@get("/admin/audit", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def audit(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("admin/audit.html", **found, actions=list(AuditAction))


@fragment(get, "/admin/audit/lines", "Failed to load the audit log", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def lines(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    shown = f"/admin/audit?{found['address']}" if found["address"] else "/admin/audit"
    return call.page("admin/audit_lines.html", **found, headers={"HX-Replace-Url": shown})
