"""/admin/audit: the audit log."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import urlencode

from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery
from litestar.response import Stream, Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext, decode_cursor, encode_cursor
from headwater.audit import store
from headwater.audit.types import AuditAction, AuditFilter
from headwater.errors import Invalid
from headwater.urls import masked
from headwater.web.errors import fragment
from headwater.web.query import search_text
from headwater.web.tables import CSV_MOST, csv_response

PAGE = 50
CSV_PAGE = 500
CSV_HEADER = ("When", "User", "Action", "Target", "Details", "Target id")
TEXT_MAX = 500


async def list_page(
    call: Call, action: FromQuery[str] = "", person: FromQuery[str] = "", subject: FromQuery[str] = "",
    cursor: FromQuery[str] = ""
) -> dict[str, Any]:  # fmt: skip
    """The entries that match the query string. Raises Invalid."""
    wanted = read_filter(action, person, subject)
    after = decode_cursor(cursor) if cursor else None
    async with call.database.as_system() as conn:
        found = await store.list_entries(conn, wanted=wanted, after=after, limit=PAGE)
    values = {"action": action, "person": wanted.actor, "subject": wanted.subject}
    return {
        "entries": found.entries, "wanted": wanted, "cursor": cursor,
        "address": urlencode({name: value for name, value in values.items() if value}),
        "next": encode_cursor(*found.next) if found.next else "",
    }  # fmt: skip


def read_filter(action: str, person: str, subject: str) -> AuditFilter:
    """Raises Invalid."""
    if action and action not in set(AuditAction):
        raise Invalid("Unknown action.")
    actor, target = search_text(person, subject, most=TEXT_MAX)
    return AuditFilter(AuditAction(action) if action else None, actor=actor, subject=target)


ENTRIES = {"found": Provide(list_page)}


@get("/admin/audit", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def audit(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("admin/audit.html", **found, actions=list(AuditAction))


@fragment(get, "/admin/audit/lines", "Failed to load the audit log", role=Role.SUPER_ADMIN, dependencies=ENTRIES)
async def lines(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    shown = f"/admin/audit?{found['address']}" if found["address"] else "/admin/audit"
    return call.page("admin/audit_lines.html", **found, headers={"HX-Replace-Url": shown})


@get("/admin/audit.csv", role=Role.SUPER_ADMIN, sync_to_thread=False)
def export(
    call: Call, action: FromQuery[str] = "", person: FromQuery[str] = "", subject: FromQuery[str] = ""
) -> Stream:
    """The entries that match, newest first. Raises Invalid."""
    return csv_response("audit", CSV_HEADER, _csv_rows(call, read_filter(action, person, subject)))


async def _csv_rows(call: CallContext, wanted: AuditFilter) -> AsyncIterator[Sequence[object]]:
    after = None
    for _ in range(CSV_MOST // CSV_PAGE):
        async with call.database.as_system() as conn:
            found = await store.list_entries(conn, wanted=wanted, after=after, limit=CSV_PAGE)
        for one in found.entries:
            details = "; ".join(f"{name}: {value}" for name, value in one.detail.items() if value not in (None, ""))
            yield one.at, one.actor_name, one.action, one.subject_name, masked(details), one.subject_id
        after = found.next
        if after is None:
            return
