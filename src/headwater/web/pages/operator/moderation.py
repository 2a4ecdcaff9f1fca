"""/admin/moderation: what readers suggest for everybody, with what is needed to judge it; and domains that are blocked.

What waits is shown the oldest first, so that what comes meanwhile comes below: the list asks for that by itself, and
nothing that somebody reads or writes is moved. A decision replaces the line it was made on.
"""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.handlers import BaseRouteHandler
from litestar.params import Body, FromPath, FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.actor import actor_of
from headwater.db import Connection, Database
from headwater.errors import Invalid, SubmissionNotFound
from headwater.frontier.cursor import from_word, to_word
from headwater.frontier.types import UrlCursor
from headwater.sources.custom import judge
from headwater.sources.custom.decide import REASON_MOST, TRUSTED_KARMA, check_domain, check_reason
from headwater.sources.custom.queue import hints_of, list_shown
from headwater.sources.custom.store import domains as domains_store
from headwater.sources.custom.store import submissions
from headwater.sources.custom.types import QueueCursor, QueueFilter, Shown
from headwater.types import Clock, SourceId
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)
PAGE = 20
DOMAINS = 100
TEXT_MAX = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a suggestion is not taken."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Blocking:
    """A domain that nothing is to be taken from; `reject` is a tick."""

    domain: str = ""
    reason: str = ""
    reject: str = ""


@get("/admin/moderation", role=Role.MODERATOR)
async def moderation(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    show: FromQuery[str] = "pending",
    q: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template:
    """The page. Raises Invalid."""
    context = await _some(database, clock, show, q, cursor)
    return Template("operator/moderation.html", context={**context, "user": request.user})


@get("/admin/moderation/more", role=Role.MODERATOR, exception_handlers=refusals("Failed to load suggestions"))
async def more(
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    show: FromQuery[str] = "pending",
    q: FromQuery[str] = "",
    cursor: FromQuery[str] = "",
) -> Template | Response[None]:
    """What has come since; 204 when nothing has. Raises Invalid."""
    context = await _some(database, clock, show, q, cursor)
    if not context["submissions"]:
        return Response(None, status_code=204)
    return Template("operator/moderation_lines.html", context={**context, "is_news": True})


@post(
    "/admin/moderation/{feed_id:uuid}/approve",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=refusals("Failed to approve", place="suggestion-{feed_id}-errors"),
)
async def approve(
    request: AnyRequest,
    feed_id: FromPath[UUID],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Everybody may find it. Raises SubmissionNotFound, AlreadyDecided, Forbidden."""
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await judge.approve(conn, source_id, judge=request.user, actor=actor_of(request), now=clock())
        return await _decided(request, conn, source_id)


@post(
    "/admin/moderation/{feed_id:uuid}/reject",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=refusals("Failed to reject", place="suggestion-{feed_id}-errors"),
)
async def reject(
    request: AnyRequest,
    feed_id: FromPath[UUID],
    data: Annotated[Verdict, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """It is not taken, for a reason. Raises Invalid, SubmissionNotFound, AlreadyDecided."""
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await judge.reject(conn, source_id, reason=data.reason, actor=actor_of(request), now=clock())
        return await _decided(request, conn, source_id)


@get("/admin/moderation/domains", role=Role.MODERATOR)
async def domains(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    domain: FromQuery[str] = "",
    after: FromQuery[str] = "",
) -> Template:
    """Domains that nothing is taken from; with one to block already written in."""
    async with database.as_system() as conn:
        context = await _domains(conn, clock, after=_plain(after))
    return Template(
        "operator/moderation_domains.html", context={**context, "user": request.user, "domain": _plain(domain)}
    )


@post(
    "/admin/moderation/domains",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=refusals("Failed to block", place="block-errors"),
)
async def block(
    request: AnyRequest,
    data: Annotated[Blocking, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Take nothing from a domain any more. Raises Invalid, Conflict."""
    domain, reason = check_domain(data.domain), check_reason(data.reason)
    async with database.as_system() as conn:
        rejected = await judge.block(
            conn, domain=domain, reason=reason, reject_waiting=bool(data.reject), actor=actor_of(request), now=clock()
        )
        told = {"notice": f"{domain} is blocked.", "rejected": rejected}
        return _listed(request, await _domains(conn, clock) | told)


@post(
    "/admin/moderation/domains/unblock",
    role=Role.MODERATOR,
    status_code=200,
    exception_handlers=refusals("Failed to unblock", place="block-errors"),
)
async def unblock(
    request: AnyRequest,
    data: Annotated[Blocking, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Take from a domain again. Raises NotFound."""
    domain = _plain(data.domain)
    async with database.as_system() as conn:
        await judge.unblock(conn, domain=domain, actor=actor_of(request), now=clock())
        return _listed(request, await _domains(conn, clock) | {"notice": f"{domain} is no longer blocked."})


async def _some(database: Database, clock: Clock, show: str, text: str, cursor: str) -> dict[str, object]:
    shown, text, after = _shown(show), _plain(text), _place(cursor)
    wanted = QueueFilter(text or None)
    async with database.as_system() as conn:
        found = await list_shown(conn, shown, wanted=wanted, after=after, limit=PAGE)
        hints = await hints_of(conn, found.submissions, clock())
        waiting = await submissions.count_pending(conn)
    last = found.submissions[-1] if found.submissions else None
    here = to_word(UrlCursor(last.submitted_at, last.id)) if last else cursor
    return {
        "submissions": found.submissions,
        "hints": hints,
        "waiting": waiting,
        "shown": shown,
        "text": text,
        "cursor": cursor,
        "next": to_word(UrlCursor(found.next.at, found.next.id)) if found.next else "",
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
    if "hx-request" not in request.headers:
        return Redirect("/admin/moderation", status_code=303)
    context = {"one": found, "waiting": await submissions.count_pending(conn), "trusted": TRUSTED_KARMA}
    return Template("operator/moderation_decided.html", context=context)


def _listed(request: AnyRequest, context: dict[str, object]) -> Template | Redirect:
    if "hx-request" not in request.headers:
        return Redirect("/admin/moderation/domains", status_code=303)
    return Template("operator/moderation_blocked.html", context=context)


def _shown(text: str) -> Shown:
    try:
        return Shown(text)
    except ValueError as error:
        raise Invalid(f"Unknown list. Use one of {', '.join(Shown)}.") from error


def _plain(text: str) -> str:
    if len(text) > TEXT_MAX or "\0" in text:
        raise Invalid(f"A search text has at most {TEXT_MAX} characters.")
    return text.strip()


def _place(word: str) -> QueueCursor | None:
    try:
        place = from_word(word) if word else None
    except ValueError as error:
        raise Invalid("Invalid cursor. Start at the first page.") from error
    return QueueCursor(place.discovered_at, SourceId(place.id)) if place else None


moderation_pages: list[BaseRouteHandler] = [moderation, more, approve, reject, domains, block, unblock]
