"""/discover: the public sources, and suggesting a feed.

A suggested feed is fetched and checked first, which takes some seconds. The user's suggestions are below the form.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.exceptions import ValidationException
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.errors import status_of
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import FeedTaken, InvalidProposal, SourceNotFound, Unavailable
from headwater.library.decide import CATEGORY_MAX, page_count
from headwater.sources.custom import store as custom_store
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.submit import submit, withdraw
from headwater.sources.custom.types import ModerationStatus, Proposal
from headwater.sources.subscribe import add_feed, leave_unwanted
from headwater.types import SourceId, UserId
from headwater.web.errors import fragment
from headwater.web.query import page_number, parse_id, parse_number

PAGE = 20
SUGGESTIONS = 100
TEXT_MAX = 200


@dataclass(frozen=True, slots=True)
class SuggestionForm:
    name: str = ""
    url: str = ""
    category: str = ""
    interval: str = ""


async def list_page(
    call: Call, q: FromQuery[str] = "", category: FromQuery[str] = "", page: FromQuery[str] = "1",
    source: FromQuery[str] = ""
) -> dict[str, Any]:  # fmt: skip
    """A page of public sources; with `source`, only that source. Raises ValidationException."""
    number, text = page_number(page, q, category, most=TEXT_MAX), q.strip()
    async with call.database.as_system() as conn:
        categories = await custom_store.list_categories(conn)
        if source:
            if (source_id := parse_id(source)) is None:
                raise ValidationException("Invalid query parameters")
            one = await custom_store.find_public(conn, source_id=SourceId(source_id), user_id=call.user.id)
            found, total = ([one], 1) if one else ([], 0)
        else:
            total = await custom_store.count_public(conn, text=text, category=category)
            found = await custom_store.list_public(
                conn, user_id=call.user.id, text=text, category=category, limit=PAGE, offset=(number - 1) * PAGE
            )
    return {
        "sources": found, "total": total, "categories": categories, "text": text, "category": category,
        "source": source, "page": number, "pages": page_count(total, PAGE),
    }  # fmt: skip


SOURCES = {"found": Provide(list_page)}


@get("/discover", dependencies=SOURCES)
async def discover(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    async with call.as_user() as conn:
        suggested = await custom_store.list_own(conn, limit=SUGGESTIONS)
    return call.page("discover/page.html", suggested=suggested, **found)


@fragment(get, "/discover/list", "Failed to load sources", dependencies=SOURCES)
async def source_list(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("discover/list.html", **found)


@fragment(
    post, "/discover/{source_id:uuid}/follow", "Failed to add feed. Please try again.",
    place="public-{source_id}-errors",
)  # fmt: skip
async def follow(call: Call, source_id: FromPath[UUID], quotas: NamedDependency[Quotas]) -> Template | Redirect:
    user_id: UserId = call.user.id
    async with call.database.as_system() as conn:
        found = await custom_store.find_public(conn, source_id=SourceId(source_id), user_id=user_id)
        if found is None:
            raise SourceNotFound(str(source_id))
        await add_feed(
            conn, user_id=user_id, name=found.name, url=found.url, category=(found.category or "")[:CATEGORY_MAX],
            now=call.now, most=quotas.subscriptions, known=found.id,
        )  # fmt: skip
    if not call.is_htmx:
        return Redirect("/discover", status_code=303)
    async with call.database.as_system() as conn:
        now_followed = await custom_store.find_public(conn, source_id=found.id, user_id=user_id)
    return call.page("discover/line.html", one=now_followed or found)


@fragment(post, "/discover/suggest", "Failed to suggest feed", place="suggest-errors")
async def suggest(
    call: Call, data: URLEncodedBody[SuggestionForm], inspector: NamedDependency[Inspector | None],
    quotas: NamedDependency[Quotas],
) -> Template | Redirect:  # fmt: skip
    if inspector is None:
        raise Unavailable("Feeds cannot be checked on this server.")
    try:
        proposal = _proposal(data)
        feed = await submit(call.database, inspector, call.clock, user=call.user, proposal=proposal, quotas=quotas)
    except (InvalidProposal, FeedTaken) as error:
        return _refused(error)
    if not call.is_htmx:
        return Redirect("/discover#suggested", status_code=303)
    return await _suggested(call, added=feed.name, is_live=feed.status is ModerationStatus.APPROVED)


@fragment(
    post, "/discover/suggestions/{source_id:uuid}/withdraw", "Failed to withdraw the suggestion", place="suggest-errors"
)
async def withdraw_suggestion(call: Call, source_id: FromPath[UUID]) -> Template | Redirect:
    now = call.now
    async with call.database.as_system() as conn:
        await withdraw(conn, user=call.user, source_id=SourceId(source_id), now=now)
        await leave_unwanted(conn, [SourceId(source_id)], now)
    if not call.is_htmx:
        return Redirect("/discover#suggested", status_code=303)
    return await _suggested(call)


async def _suggested(call: CallContext, *, added: str = "", is_live: bool = False) -> Template:
    async with call.as_user() as conn:
        suggested = await custom_store.list_own(conn, limit=SUGGESTIONS)
    return call.page("discover/suggested.html", suggested=suggested, added=added, is_live=is_live)


def _refused(error: InvalidProposal | FeedTaken) -> Template:
    """The reasons, with feeds or a source to choose instead."""
    context: dict[str, object] = {"problems": [str(error)], "offers": [], "source_id": None}
    if isinstance(error, InvalidProposal):
        context |= {"problems": list(error.problems.values()), "offers": error.offers}
    elif error.is_public:
        context["source_id"] = error.source_id
    headers = {"HX-Retarget": "#suggest-errors", "HX-Reswap": "innerHTML"}
    status = 422 if isinstance(error, InvalidProposal) else status_of(error)
    return Template("discover/refused.html", context=context, status_code=status, headers=headers)


def _proposal(form: SuggestionForm) -> Proposal:
    interval = form.interval.strip()
    minutes = parse_number(interval)
    if interval and minutes is None:
        raise InvalidProposal({"refresh_interval_minutes": "The interval must be a whole number of minutes."})
    return Proposal(form.name, form.url, form.category, minutes)
