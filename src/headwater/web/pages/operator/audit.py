"""/admin/audit: who changed what for everybody, and when."""

from typing import Any
from urllib.parse import urlencode

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.audit import store
from headwater.audit.types import AuditCursor, Deed, Wanted
from headwater.db import Database
from headwater.errors import Invalid
from headwater.frontier.cursor import from_word, to_word
from headwater.frontier.types import UrlCursor
from headwater.types import Clock
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
PAGE = 50
TEXT_MAX = 500


@get("/admin/audit", role=Role.SUPER_ADMIN)
async def audit(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    deed: FromQuery[str] = "",
    person: FromQuery[str] = "",
    subject: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template:
    """The page. Raises Invalid."""
    context = await _some(database, clock, read_filter(deed, person, subject), cursor)
    return Template("operator/audit.html", context={**context, "user": request.user, "deeds": list(Deed)})


@get("/admin/audit/lines", role=Role.SUPER_ADMIN, exception_handlers=refusals("Failed to load the audit log"))
async def lines(
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    deed: FromQuery[str] = "",
    person: FromQuery[str] = "",
    subject: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template:
    """The lines alone. Raises Invalid."""
    context = await _some(database, clock, read_filter(deed, person, subject), cursor)
    shown = f"/admin/audit?{context['address']}" if context["address"] else "/admin/audit"
    return Template("operator/audit_lines.html", context=context, headers={"HX-Replace-Url": shown})


def read_filter(deed: str, person: str, subject: str) -> Wanted:
    """What the filters say. Raises Invalid."""
    if deed and deed not in set(Deed):
        raise Invalid("Unknown action.")
    if max(len(person), len(subject)) > TEXT_MAX or "\0" in person + subject:
        raise Invalid(f"A search text has at most {TEXT_MAX} characters.")
    return Wanted(Deed(deed) if deed else None, actor=person.strip(), subject=subject.strip())


async def _some(database: Database, clock: Clock, wanted: Wanted, cursor: str) -> dict[str, object]:
    async with database.as_system() as conn:
        found = await store.list_entries(conn, wanted=wanted, after=_place(cursor), limit=PAGE)
    values = {"deed": wanted.deed or "", "person": wanted.actor, "subject": wanted.subject}
    return {
        "entries": found.entries,
        "wanted": wanted,
        "address": urlencode({name: value for name, value in values.items() if value}),
        "cursor": cursor,
        "next": to_word(UrlCursor(found.next.at, found.next.id)) if found.next else "",
        "now": clock(),
    }


def _place(word: str) -> AuditCursor | None:
    try:
        place = from_word(word) if word else None
    except ValueError as error:
        raise Invalid("Invalid cursor. Start at the first page.") from error
    return AuditCursor(place.discovered_at, place.id) if place else None


audit_pages: list[BaseRouteHandler] = [audit, lines]
