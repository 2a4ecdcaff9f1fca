"""/admin/moderation: suggestions of users, and blocked domains.

Pending suggestions are shown oldest first; new ones are appended, so that nothing moves. A decision replaces its line.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from litestar import Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext, decode_cursor, encode_cursor
from headwater.db import Connection
from headwater.errors import Invalid, SubmissionNotFound
from headwater.sources.custom import moderate
from headwater.sources.custom import store as custom_store
from headwater.sources.custom.decide import REASON_MOST, TRUSTED_KARMA, check_domain, check_reason
from headwater.sources.custom.moderate import hints_of
from headwater.sources.custom.types import QueueFilter, Shown
from headwater.types import SourceId
from headwater.web.errors import fragment
from headwater.web.query import search_text

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
    call: Call, show: FromQuery[str] = "pending", q: FromQuery[str] = "", cursor: FromQuery[str] = ""
) -> dict[str, Any]:
    if show not in set(Shown):
        raise Invalid(f"Unknown list. Use one of {', '.join(Shown)}.")
    shown, [text] = Shown(show), search_text(q, most=TEXT_MAX)
    after = decode_cursor(cursor) if cursor else None
    async with call.database.as_system() as conn:
        found = await custom_store.list_queue(conn, shown, wanted=QueueFilter(text or None), after=after, limit=PAGE)
        hints = await hints_of(conn, found.submissions, call.now)
        waiting = await custom_store.count_pending(conn)
    last = found.submissions[-1] if found.submissions else None
    return {
        "submissions": found.submissions, "hints": hints, "waiting": waiting, "shown": shown, "text": text,
        "cursor": cursor, "next": encode_cursor(*found.next) if found.next else "",
        "here": encode_cursor(last.created_at, last.id) if last else cursor,
        "is_live": shown in {Shown.PENDING, Shown.UNREVIEWED}, "trusted": TRUSTED_KARMA, "reason_most": REASON_MOST,
    }  # fmt: skip


SUGGESTIONS = {"found": Provide(list_suggestions)}


@get("/admin/moderation", role=Role.MODERATOR, dependencies=SUGGESTIONS)
async def moderation(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("admin/moderation.html", **found)


@fragment(get, "/admin/moderation/more", "Failed to load suggestions", role=Role.MODERATOR, dependencies=SUGGESTIONS)
async def more(call: Call, found: NamedDependency[dict[str, Any]]) -> Template | Response[None]:
    """New suggestions; 204 if there are none."""
    if not found["submissions"]:
        return Response(None, status_code=204)
    return call.page("admin/moderation_lines.html", **found, is_news=True)


@fragment(post, "/admin/moderation/{feed_id:uuid}/approve", "Failed to approve", place=ERRORS, role=Role.MODERATOR)
async def approve(call: Call, feed_id: FromPath[UUID]) -> Template | Redirect:
    source_id = SourceId(feed_id)
    async with call.database.as_system() as conn:
        await moderate.approve(conn, source_id, moderator=call.user, actor=call.actor, now=call.now)
        return await _decided(call, conn, source_id)


@fragment(post, "/admin/moderation/{feed_id:uuid}/reject", "Failed to reject", place=ERRORS, role=Role.MODERATOR)
async def reject(call: Call, feed_id: FromPath[UUID], data: URLEncodedBody[ModerationForm]) -> Template | Redirect:
    source_id = SourceId(feed_id)
    async with call.database.as_system() as conn:
        await moderate.reject(conn, source_id, reason=data.reason, actor=call.actor, now=call.now)
        return await _decided(call, conn, source_id)


@get("/admin/moderation/domains", role=Role.MODERATOR)
async def domains(call: Call, domain: FromQuery[str] = "", after: FromQuery[str] = "") -> Template:
    """Blocked domains, and a form with an optional domain filled in."""
    after, domain = search_text(after, domain, most=TEXT_MAX)
    async with call.database.as_system() as conn:
        return call.page("admin/moderation_domains.html", domain=domain, **await _domains(conn, after))


@fragment(post, "/admin/moderation/domains", "Failed to block", place="block-errors", role=Role.MODERATOR)
async def block(call: Call, data: URLEncodedBody[ModerationForm]) -> Template | Redirect:
    domain, reason = check_domain(data.domain), check_reason(data.reason)
    async with call.database.as_system() as conn:
        rejected = await moderate.block(
            conn, domain=domain, reason=reason, reject_waiting=bool(data.reject), actor=call.actor, now=call.now
        )
        return await _listed(call, conn, f"{domain} is blocked.", rejected)


@fragment(post, "/admin/moderation/domains/unblock", "Failed to unblock", place="block-errors", role=Role.MODERATOR)
async def unblock(call: Call, data: URLEncodedBody[ModerationForm]) -> Template | Redirect:
    [domain] = search_text(data.domain, most=TEXT_MAX)
    async with call.database.as_system() as conn:
        await moderate.unblock(conn, domain=domain, actor=call.actor, now=call.now)
        return await _listed(call, conn, f"{domain} is no longer blocked.")


async def _domains(conn: Connection, after: str = "") -> dict[str, Any]:
    found = await custom_store.list_blocked(conn, after=after, limit=DOMAINS + 1)
    return {
        "domains": found[:DOMAINS], "next": found[DOMAINS - 1].domain if len(found) > DOMAINS else "", "after": after,
        "waiting": await custom_store.count_pending(conn), "shown": "domains",
    }  # fmt: skip


async def _decided(call: CallContext, conn: Connection, source_id: SourceId) -> Template | Redirect:
    found = await custom_store.lock(conn, source_id=source_id)
    if found is None:
        raise SubmissionNotFound
    if not call.is_htmx:
        return Redirect("/admin/moderation", status_code=303)
    waiting = await custom_store.count_pending(conn)
    return call.page("admin/moderation_decided.html", one=found, waiting=waiting, trusted=TRUSTED_KARMA)


async def _listed(call: CallContext, conn: Connection, notice: str, rejected: int = 0) -> Template | Redirect:
    if not call.is_htmx:
        return Redirect("/admin/moderation/domains", status_code=303)
    return call.page("admin/moderation_blocked.html", notice=notice, rejected=rejected, **await _domains(conn))
