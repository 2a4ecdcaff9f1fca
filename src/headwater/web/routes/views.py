"""Views: saved queries of the user, their order, and the addresses of their feeds."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.errors import status_of
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import HeadwaterError, InvalidView, TooManyViews, ViewNameTaken
from headwater.library.store import subscriptions, tags
from headwater.library.views import operate, store
from headwater.library.views.counts import count_unread
from headwater.library.views.decide import ICONS, query_of_list
from headwater.web.query import parse_id

REFUSED = (InvalidView, ViewNameTaken, TooManyViews)


@dataclass(frozen=True, slots=True)
class ViewForm:
    name: str = ""
    icon: str = ICONS[0]
    query: str = ""


@dataclass(frozen=True, slots=True)
class MoveForm:
    """Up or down in the side bar."""

    to: str = "down"


@get("/views")
async def view_list(call: Call, deleted: FromQuery[str] = "") -> Template:
    """All views, with the undo of a deletion."""
    return await _list(call, deleted=parse_id(deleted))


@get("/views/new")
async def new_view(
    call: Call, q: FromQuery[str] = "", feed: FromQuery[str] = "", category: FromQuery[str] = "",
    shelf: FromQuery[str] = "",
) -> Template:  # fmt: skip
    """The form of a new view, with the query of the list that it is made from."""
    async with call.as_user() as conn:
        found = await subscriptions.find(conn, subscription_id=chosen) if (chosen := parse_id(feed)) else None
    source_id = found.source_id if found else None
    query = query_of_list(q.strip(), source_id=source_id, category=category, is_starred=shelf == "starred")
    return _form(call, ViewForm(query=query))


@post("/views", status_code=303)
async def save_view(call: Call, data: URLEncodedBody[ViewForm], quotas: NamedDependency[Quotas]) -> Redirect | Template:
    try:
        async with call.as_user() as conn:
            view_id = await operate.save_view(
                conn, user_id=call.user.id, name=data.name, icon=data.icon, query=data.query, most=quotas.views,
                now=call.now,
            )  # fmt: skip
    except REFUSED as error:
        return _form(call, data, error=error)
    return Redirect(f"/read?view={view_id}", status_code=303)


@get("/read/views")
async def side_bar(call: Call, view: FromQuery[str] = "", shelf: FromQuery[str] = "unread") -> Template:
    """The views and tags of the side bar, with their unread numbers."""
    async with call.as_user() as conn:
        views = await store.list_views(conn)
        counts, tagged = await count_unread(conn, views=views, now=call.now)
        names = await tags.list_names(conn)
    return call.page(
        "read/views.html", views=views, tags=names, counts=counts, tagged=tagged, view=parse_id(view), shelf=shelf
    )


@get("/views/{view_id:uuid}")
async def edit_view(call: Call, view_id: FromPath[UUID]) -> Template:
    """The form of a view, and its feed. Raises NotFound."""
    return await _edit(call, view_id)


@post("/views/{view_id:uuid}", status_code=303)
async def change_view(call: Call, view_id: FromPath[UUID], data: URLEncodedBody[ViewForm]) -> Redirect | Template:
    """Raises NotFound."""
    try:
        async with call.as_user() as conn:
            await operate.change_view(conn, view_id, name=data.name, icon=data.icon, query=data.query)
    except REFUSED as error:
        return await _edit(call, view_id, form=data, error=error)
    return Redirect("/views", status_code=303)


@post("/views/{view_id:uuid}/move", status_code=200)
async def move_view(call: Call, view_id: FromPath[UUID], data: URLEncodedBody[MoveForm]) -> Redirect | Template:
    """Raises NotFound."""
    async with call.as_user() as conn:
        await operate.move_view(conn, view_id, by=-1 if data.to == "up" else 1)
    return await _list(call, moved=view_id) if call.is_htmx else Redirect("/views", status_code=303)


@post("/views/{view_id:uuid}/delete", status_code=200)
async def delete_view(call: Call, view_id: FromPath[UUID]) -> Redirect | Template:
    """Delete a view; it can be restored for a day. Raises NotFound."""
    async with call.as_user() as conn:
        await operate.delete_view(conn, view_id, call.now)
    return (
        await _list(call, deleted=view_id) if call.is_htmx else Redirect(f"/views?deleted={view_id}", status_code=303)
    )


@post("/views/{view_id:uuid}/restore", status_code=200)
async def restore_view(call: Call, view_id: FromPath[UUID], quotas: NamedDependency[Quotas]) -> Redirect | Template:
    """Raises NotFound, ViewNameTaken, TooManyViews."""
    async with call.as_user() as conn:
        await operate.restore_view(conn, view_id, user_id=call.user.id, most=quotas.views, now=call.now)
    return await _list(call, moved=view_id) if call.is_htmx else Redirect("/views", status_code=303)


@post("/views/{view_id:uuid}/feed", status_code=200)
async def open_feed(call: Call, view_id: FromPath[UUID], site: NamedDependency[str]) -> Template:
    """Give a view a new feed address, which is shown only now; an earlier one ends. Raises NotFound."""
    async with call.as_logged_in() as conn:
        secret = await operate.open_feed(conn, view_id)
    return await _edit(call, view_id, address=f"{site.rstrip('/')}/view-feeds/{secret}")


@post("/views/{view_id:uuid}/feed/revoke", status_code=303)
async def revoke_feed(call: Call, view_id: FromPath[UUID]) -> Redirect:
    """End the feed of a view. Raises NotFound."""
    async with call.as_user() as conn:
        await operate.close_feed(conn, view_id)
    return Redirect(f"/views/{view_id}#feed", status_code=303)


async def _list(call: CallContext, *, deleted: UUID | None = None, moved: UUID | None = None) -> Template:
    async with call.as_user() as conn:
        views = await store.list_views(conn)
    name = "views/list.html" if call.is_htmx else "views/page.html"
    return call.page(name, views=views, deleted=deleted, moved=moved)


async def _edit(
    call: CallContext, view_id: UUID, *, form: ViewForm | None = None, error: HeadwaterError | None = None,
    address: str = "",
) -> Template:  # fmt: skip
    async with call.as_user() as conn:
        found = await operate.require_view(conn, view_id)
    shown = form or ViewForm(found.name, found.icon, found.query)
    return _form(call, shown, view=found, error=error, address=address)


def _form(call: CallContext, form: ViewForm, *, error: HeadwaterError | None = None, **more: Any) -> Template:  # noqa: ANN401
    """The form, with what is wrong at its fields."""
    invalid = error if isinstance(error, InvalidView) else None
    return call.page(
        "views/edit.html", form=form, icons_of_views=ICONS, invalid=invalid, query=form.query.strip(),
        error="" if invalid else str(error or ""), status_code=status_of(error) if error else 200, **more,
    )  # fmt: skip
