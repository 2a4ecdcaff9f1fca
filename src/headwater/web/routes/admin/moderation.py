"""/admin/moderation: suggestions of users, and blocked domains.

Pending suggestions are shown oldest first; new ones are appended, so that nothing moves. A decision replaces its line.
"""

from dataclasses import dataclass
from uuid import UUID

from litestar import Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import AnyRequest, Db, Now, actor_of, decode_cursor, encode_cursor
from headwater.db import Connection
from headwater.errors import Invalid, SubmissionNotFound
from headwater.sources.custom import moderate
from headwater.sources.custom import store as custom_store
from headwater.sources.custom.decide import REASON_MOST, TRUSTED_KARMA, check_domain, check_reason
from headwater.sources.custom.moderate import hints_of
from headwater.sources.custom.types import QueueFilter, Shown
from headwater.types import Clock, SourceId
from headwater.web.errors import fragment
from headwater.web.query import is_htmx, search_text

PAGE = 20
DOMAINS = 100
TEXT_MAX = 200
ERRORS = "suggestion-{feed_id}-errors"


@dataclass(frozen=True, slots=True)
class ModerationForm:
    """A reason to reject a suggestion, or a domain to block or unblock; `reject` is a checkbox."""

    domain: str = ""
    reason: str = ""
    reject: str = ""


async def list_suggestions(
    database: Db, clock: Now, show: FromQuery[str] = "pending", q: FromQuery[str] = "", cursor: FromQuery[str] = ""
) -> dict[str, object]:
    if show not in set(Shown):
        raise Invalid(f"Unknown list. Use one of {', '.join(Shown)}.")
    shown, [text] = Shown(show), search_text(q, most=TEXT_MAX)
    after = decode_cursor(cursor) if cursor else None
    async with database.as_system() as conn:
        found = await custom_store.list_queue(conn, shown, wanted=QueueFilter(text or None), after=after, limit=PAGE)
        hints = await hints_of(conn, found.submissions, clock())
        waiting = await custom_store.count_pending(conn)
    last = found.submissions[-1] if found.submissions else None
    return {
        "submissions": found.submissions,
        "hints": hints,
        "waiting": waiting,
        "shown": shown,
        "text": text,
        "cursor": cursor,
        "next": encode_cursor(*found.next) if found.next else "",
        "here": encode_cursor(last.submitted_at, last.id) if last else cursor,
        "is_live": shown in {Shown.PENDING, Shown.UNREVIEWED},
        "trusted": TRUSTED_KARMA,
        "reason_most": REASON_MOST,
        "now": clock(),
    }


SUGGESTIONS = {"found": Provide(list_suggestions)}


@get("/admin/moderation", role=Role.MODERATOR, dependencies=SUGGESTIONS)
async def moderation(request: AnyRequest, found: NamedDependency[dict[str, object]]) -> Template:
    return Template("admin/moderation.html", context={**found, "user": request.user})


@fragment(get, "/admin/moderation/more", "Failed to load suggestions", role=Role.MODERATOR, dependencies=SUGGESTIONS)
async def more(found: NamedDependency[dict[str, object]]) -> Template | Response[None]:
    """New suggestions; 204 if there are none."""
    if not found["submissions"]:
        return Response(None, status_code=204)
    return Template("admin/moderation_lines.html", context={**found, "is_news": True})


@fragment(post, "/admin/moderation/{feed_id:uuid}/approve", "Failed to approve", place=ERRORS, role=Role.MODERATOR)
async def approve(request: AnyRequest, feed_id: FromPath[UUID], database: Db, clock: Now) -> Template | Redirect:
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await moderate.approve(conn, source_id, moderator=request.user, actor=actor_of(request), now=clock())
        return await _decided(request, conn, source_id)


@fragment(post, "/admin/moderation/{feed_id:uuid}/reject", "Failed to reject", place=ERRORS, role=Role.MODERATOR)
async def reject(
    request: AnyRequest, feed_id: FromPath[UUID], data: URLEncodedBody[ModerationForm], database: Db, clock: Now
) -> Template | Redirect:
    source_id = SourceId(feed_id)
    async with database.as_system() as conn:
        await moderate.reject(conn, source_id, reason=data.reason, actor=actor_of(request), now=clock())
        return await _decided(request, conn, source_id)


@get("/admin/moderation/domains", role=Role.MODERATOR)
async def domains(
    request: AnyRequest, database: Db, clock: Now, domain: FromQuery[str] = "", after: FromQuery[str] = ""
) -> Template:
    """Blocked domains, and a form with an optional domain filled in."""
    after, domain = search_text(after, domain, most=TEXT_MAX)
    async with database.as_system() as conn:
        context = await _domains(conn, clock, after=after)
    return Template("admin/moderation_domains.html", context={**context, "user": request.user, "domain": domain})


@fragment(post, "/admin/moderation/domains", "Failed to block", place="block-errors", role=Role.MODERATOR)
async def block(
    request: AnyRequest, data: URLEncodedBody[ModerationForm], database: Db, clock: Now
) -> Template | Redirect:
    domain, reason = check_domain(data.domain), check_reason(data.reason)
    async with database.as_system() as conn:
        rejected = await moderate.block(
            conn, domain=domain, reason=reason, reject_waiting=bool(data.reject), actor=actor_of(request), now=clock()
        )
        result = {"notice": f"{domain} is blocked.", "rejected": rejected}
        return _listed(request, await _domains(conn, clock) | result)


@fragment(post, "/admin/moderation/domains/unblock", "Failed to unblock", place="block-errors", role=Role.MODERATOR)
async def unblock(
    request: AnyRequest, data: URLEncodedBody[ModerationForm], database: Db, clock: Now
) -> Template | Redirect:
    [domain] = search_text(data.domain, most=TEXT_MAX)
    async with database.as_system() as conn:
        await moderate.unblock(conn, domain=domain, actor=actor_of(request), now=clock())
        return _listed(request, await _domains(conn, clock) | {"notice": f"{domain} is no longer blocked."})


async def _domains(conn: Connection, clock: Clock, after: str = "") -> dict[str, object]:
    found = await custom_store.list_blocked(conn, after=after, limit=DOMAINS + 1)
    return {
        "domains": found[:DOMAINS],
        "next": found[DOMAINS - 1].domain if len(found) > DOMAINS else "",
        "after": after,
        "waiting": await custom_store.count_pending(conn),
        "shown": "domains",
        "now": clock(),
    }


async def _decided(request: AnyRequest, conn: Connection, source_id: SourceId) -> Template | Redirect:
    found = await custom_store.lock(conn, source_id=source_id)
    if found is None:
        raise SubmissionNotFound
    if not is_htmx(request):
        return Redirect("/admin/moderation", status_code=303)
    context = {"one": found, "waiting": await custom_store.count_pending(conn), "trusted": TRUSTED_KARMA}
    return Template("admin/moderation_decided.html", context=context)


def _listed(request: AnyRequest, context: dict[str, object]) -> Template | Redirect:
    if not is_htmx(request):
        return Redirect("/admin/moderation/domains", status_code=303)
    return Template("admin/moderation_blocked.html", context=context)
