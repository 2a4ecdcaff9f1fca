"""/admin/moderation: suggestions of users, and blocked domains.

Pending suggestions are shown oldest first; new ones are appended, so that nothing moves. A decision replaces its line.
"""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from litestar import Response, get, post
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.actor import actor_of
from headwater.asgi.cursor import decode_cursor, encode_cursor
from headwater.asgi.handlers import AnyRequest, Db, Form, Now
from headwater.db import Connection, Database
from headwater.errors import Invalid, SubmissionNotFound
from headwater.sources.custom import judge
from headwater.sources.custom.decide import REASON_MOST, TRUSTED_KARMA, check_domain, check_reason
from headwater.sources.custom.queue import hints_of, list_shown
from headwater.sources.custom.store import domains as domains_store
from headwater.sources.custom.store import submissions
from headwater.sources.custom.types import QueueCursor, QueueFilter, Shown
from headwater.types import Clock, SourceId
from headwater.web.errors import error_handlers
from headwater.web.query import is_htmx, search_text

PAGE = 20
DOMAINS = 100
TEXT_MAX = 200


@dataclass(frozen=True, slots=True)
class RejectForm:
    """Why a suggestion is rejected."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class BlockForm:
    """A domain to block or unblock; `reject` is a checkbox."""

    domain: str = ""
    reason: str = ""
    reject: str = ""


@get("/admin/moderation", role=Role.MODERATOR)
async def moderation(
    request: AnyRequest,
    database: Db,
    clock: Now,
    show: FromQuery[str] = "pending",
    q: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template:
    """The page. Raises Invalid."""
    context = await _suggestions(database, clock, show, q, cursor)
    return Template("admin/moderation.html", context={**context, "user": request.user})


@get("/admin/moderation/more", role=Role.MODERATOR, exception_handlers=error_handlers("Failed to load suggestions"))
async def more(
    database: Db,
    clock: Now,
    show: FromQuery[str] = "pending",
    q: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template | Response[None]:
    """New suggestions; 204 if there are none. Raises Invalid."""
    context = await _suggestions(database, clock, show, q, cursor)
    if not context["submissions"]:
        return Response(None, status_code=204)
    return Template("admin/moderation_lines.html", context={**context, "is_news": True})


@post(
    "/admin/moderation/{feed_id:uuid}/approve",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=error_handlers("Failed to approve", place="suggestion-{feed_id}-errors"),
)
async def approve(
    request: AnyRequest,
    feed_id: FromPath[UUID],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Approve a suggestion. Raises SubmissionNotFound, AlreadyDecided, Forbidden."""
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await judge.approve(conn, source_id, judge=request.user, actor=actor_of(request), now=clock())
        return await _decided(request, conn, source_id)


@post(
    "/admin/moderation/{feed_id:uuid}/reject",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=error_handlers("Failed to reject", place="suggestion-{feed_id}-errors"),
)
async def reject(
    request: AnyRequest,
    feed_id: FromPath[UUID],
    data: Annotated[RejectForm, Form],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Reject a suggestion with a reason. Raises Invalid, SubmissionNotFound, AlreadyDecided."""
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await judge.reject(conn, source_id, reason=data.reason, actor=actor_of(request), now=clock())
        return await _decided(request, conn, source_id)


@get("/admin/moderation/domains", role=Role.MODERATOR)
async def domains(
    request: AnyRequest,
    database: Db,
    clock: Now,
    domain: FromQuery[str] = "",
    after: FromQuery[str] = "",
) -> Template:
    """Blocked domains, and a form with an optional domain filled in."""
    async with database.as_system() as conn:
        context = await _domains(conn, clock, after=_search(after))
    return Template(
        "admin/moderation_domains.html", context={**context, "user": request.user, "domain": _search(domain)}
    )


@post(
    "/admin/moderation/domains",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=error_handlers("Failed to block", place="block-errors"),
)
async def block(
    request: AnyRequest,
    data: Annotated[BlockForm, Form],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Block a domain. Raises Invalid, Conflict."""
    domain, reason = check_domain(data.domain), check_reason(data.reason)
    async with database.as_system() as conn:
        rejected = await judge.block(
            conn, domain=domain, reason=reason, reject_waiting=bool(data.reject), actor=actor_of(request), now=clock()
        )
        result = {"notice": f"{domain} is blocked.", "rejected": rejected}
        return _listed(request, await _domains(conn, clock) | result)


@post(
    "/admin/moderation/domains/unblock",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=error_handlers("Failed to unblock", place="block-errors"),
)
async def unblock(
    request: AnyRequest,
    data: Annotated[BlockForm, Form],
    database: Db,
    clock: Now,
) -> Template | Redirect:
    """Unblock a domain. Raises NotFound."""
    domain = _search(data.domain)
    async with database.as_system() as conn:
        await judge.unblock(conn, domain=domain, actor=actor_of(request), now=clock())
        return _listed(request, await _domains(conn, clock) | {"notice": f"{domain} is no longer blocked."})


async def _suggestions(database: Database, clock: Clock, show: str, text: str, cursor: str) -> dict[str, object]:
    shown, text, after = _shown(show), _search(text), _place(cursor)
    wanted = QueueFilter(text or None)
    async with database.as_system() as conn:
        found = await list_shown(conn, shown, wanted=wanted, after=after, limit=PAGE)
        hints = await hints_of(conn, found.submissions, clock())
        waiting = await submissions.count_pending(conn)
    last = found.submissions[-1] if found.submissions else None
    here = encode_cursor(last.submitted_at, last.id) if last else cursor
    return {
        "submissions": found.submissions,
        "hints": hints,
        "waiting": waiting,
        "shown": shown,
        "text": text,
        "cursor": cursor,
        "next": encode_cursor(found.next.at, found.next.id) if found.next else "",
        "here": here,
        "is_live": shown in {Shown.PENDING, Shown.UNREVIEWED},
        "trusted": TRUSTED_KARMA,
        "reason_most": REASON_MOST,
        "now": clock(),
    }


async def _domains(conn: Connection, clock: Clock, after: str = "") -> dict[str, object]:
    found = await domains_store.list_blocked(conn, after=after, limit=DOMAINS + 1)
    return {
        "domains": found[:DOMAINS],
        "next": found[DOMAINS - 1].domain if len(found) > DOMAINS else "",
        "after": after,
        "waiting": await submissions.count_pending(conn),
        "shown": "domains",
        "now": clock(),
    }


async def _decided(request: AnyRequest, conn: Connection, source_id: SourceId) -> Template | Redirect:
    found = await submissions.lock(conn, source_id=source_id)
    if found is None:
        raise SubmissionNotFound
    if not is_htmx(request):
        return Redirect("/admin/moderation", status_code=303)
    context = {"one": found, "waiting": await submissions.count_pending(conn), "trusted": TRUSTED_KARMA}
    return Template("admin/moderation_decided.html", context=context)


def _listed(request: AnyRequest, context: dict[str, object]) -> Template | Redirect:
    if not is_htmx(request):
        return Redirect("/admin/moderation/domains", status_code=303)
    return Template("admin/moderation_blocked.html", context=context)


def _shown(text: str) -> Shown:
    try:
        return Shown(text)
    except ValueError as error:
        raise Invalid(f"Unknown list. Use one of {', '.join(Shown)}.") from error


def _search(text: str) -> str:
    return search_text(text, most=TEXT_MAX)[0]


def _place(cursor: str) -> QueueCursor | None:
    if not cursor:
        return None
    at, source_id = decode_cursor(cursor)
    return QueueCursor(at, SourceId(source_id))


moderation_pages: list[BaseRouteHandler] = [moderation, more, approve, reject, domains, block, unblock]
