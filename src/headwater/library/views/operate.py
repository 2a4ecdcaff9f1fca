"""What users do with views. Run under `Database.as_user`."""

from datetime import datetime
from uuid import UUID

from headwater.accounts.secrets import digest, new_token
from headwater.db import Connection
from headwater.errors import NotFound, TooManyViews
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.library.views import store
from headwater.library.views.decide import check_view, moved
from headwater.library.views.types import RESTORABLE, SavedView
from headwater.types import UserId

GONE = "This view does not exist, or is deleted."


async def save_view(
    conn: Connection, *, user_id: UserId, name: str, icon: str, query: str, most: int, now: datetime
) -> UUID:
    """Add a view. Raises InvalidView, ViewNameTaken, TooManyViews."""
    name, icon, parsed = check_view(name, icon, query)
    await subscriptions.lock(conn, user_id=user_id)
    await store.purge(conn, before=now - RESTORABLE)
    if await store.count(conn) >= most:
        raise TooManyViews(most)
    view_id = new_id()
    await store.add(conn, view_id=view_id, user_id=user_id, name=name, icon=icon, query=parsed.text, now=now)
    return view_id


async def require_view(conn: Connection, view_id: UUID) -> SavedView:
    """Raises NotFound."""
    found = await store.find(conn, view_id=view_id)
    if found is None:
        raise NotFound(GONE)
    return found


async def change_view(conn: Connection, view_id: UUID, *, name: str, icon: str, query: str) -> None:
    """Raises InvalidView, ViewNameTaken, NotFound."""
    name, icon, parsed = check_view(name, icon, query)
    if not await store.change(conn, view_id=view_id, name=name, icon=icon, query=parsed.text):
        raise NotFound(GONE)


async def move_view(conn: Connection, view_id: UUID, *, by: int) -> None:
    """Raises NotFound."""
    ids = [view.id for view in await store.list_views(conn)]
    if view_id not in ids:
        raise NotFound(GONE)
    await store.order(conn, view_ids=moved(ids, view_id, by=by))


async def delete_view(conn: Connection, view_id: UUID, now: datetime) -> str:
    """Returns its name. Raises NotFound."""
    name = await store.remove(conn, view_id=view_id, now=now)
    if name is None:
        raise NotFound(GONE)
    await store.purge(conn, before=now - RESTORABLE)
    return name


async def restore_view(conn: Connection, view_id: UUID, *, user_id: UserId, most: int, now: datetime) -> None:
    """Raises NotFound, ViewNameTaken, TooManyViews."""
    await subscriptions.lock(conn, user_id=user_id)
    if await store.count(conn) >= most:
        raise TooManyViews(most)
    if not await store.restore(conn, view_id=view_id, since=now - RESTORABLE):
        raise NotFound("This view can no longer be restored.")


async def open_feed(conn: Connection, view_id: UUID) -> str:
    """Give a view a feed with a new secret, which ends an earlier one. Returns the secret. Raises NotFound."""
    secret = new_token()
    if not await store.set_feed_key(conn, view_id=view_id, feed_key=digest(secret)):
        raise NotFound(GONE)
    return secret


async def close_feed(conn: Connection, view_id: UUID) -> None:
    """Raises NotFound."""
    if not await store.set_feed_key(conn, view_id=view_id, feed_key=None):
        raise NotFound(GONE)
