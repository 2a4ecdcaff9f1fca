"""/admin/filters: filters of the tables that a user saved under a name."""

from dataclasses import dataclass
from uuid import UUID

from litestar import delete, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Template

from headwater.accounts.store import saved_filters
from headwater.accounts.types import Role, SavedFilter
from headwater.asgi.handlers import Call, CallContext
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.web.errors import fragment

PAGES = frozenset({"sources", "frontier", "people", "audit"})
NAME_MAX = 60
QUERY_MAX = 2_000
FILTERS_MAX = 100  # of one user
BROKEN = "Failed to save the filter"


@dataclass(frozen=True, slots=True)
class FilterForm:
    page: str = ""
    name: str = ""
    query: str = ""


@fragment(post, "/admin/filters", BROKEN, place="filter-errors", role=Role.SUPER_ADMIN)
async def save(call: Call, data: URLEncodedBody[FilterForm]) -> Template:
    """Save the filter of a page. Raises Invalid."""
    name, query = " ".join(data.name.replace("\0", "").split()), data.query.replace("\0", "").lstrip("?")
    if data.page not in PAGES or len(query) > QUERY_MAX:
        raise Invalid("This filter cannot be saved.")
    if not 0 < len(name) <= NAME_MAX:
        raise Invalid(f"A name of at most {NAME_MAX} characters is required.")
    async with call.as_user() as conn:
        if await saved_filters.count(conn) >= FILTERS_MAX:
            raise Invalid(f"At most {FILTERS_MAX} filters can be saved. Delete one first.")
        await saved_filters.save(conn, user_id=call.user.id, saved=SavedFilter(new_id(), data.page, name, query))
        return await _listed(call, conn, data.page)


@fragment(delete, "/admin/filters/{page:str}/{filter_id:uuid}", BROKEN, place="filter-errors", role=Role.SUPER_ADMIN)
async def remove(call: Call, page: FromPath[str], filter_id: FromPath[UUID]) -> Template:
    async with call.as_user() as conn:
        await saved_filters.remove(conn, filter_id=filter_id)
        return await _listed(call, conn, page)


async def _listed(call: CallContext, conn: Connection, page: str) -> Template:
    saved = await saved_filters.list_own(conn, page=page)
    return call.page("admin/saved_filters.html", saved=saved, page=page)
