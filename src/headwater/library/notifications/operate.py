"""What readers do with their targets. Run under `Database.as_user`."""

import base64
from datetime import datetime
from secrets import token_bytes
from uuid import UUID

from headwater.db import Connection
from headwater.errors import Conflict, NotFound
from headwater.ids import new_id
from headwater.library.notifications import store
from headwater.library.notifications.decide import SECRET_PREFIX, check_target_url
from headwater.library.notifications.push import read_push_keys
from headwater.library.rules.types import NotificationKind
from headwater.library.store import subscriptions
from headwater.text import one_line
from headwater.types import UserId

WEBHOOKS_MOST = 3
BROWSERS_MOST = 10
TARGETS_MOST = WEBHOOKS_MOST + BROWSERS_MOST + 1  # of one user; one is their email
GONE = "There is no such target."


async def add_digest(conn: Connection, *, user_id: UserId, now: datetime) -> None:
    """Send a daily email from now on."""
    await store.add_target(conn, target_id=new_id(), user_id=user_id, kind=NotificationKind.EMAIL, now=now)


async def add_webhook(conn: Connection, url: str, *, user_id: UserId, now: datetime) -> str:
    """Returns the secret that signs its messages; it is not shown again. Raises Invalid, Conflict."""
    url = check_target_url(url)
    await subscriptions.lock(conn, user_id=user_id)
    if await store.count_targets(conn, kind=NotificationKind.WEBHOOK) >= WEBHOOKS_MOST:
        raise Conflict(f"You have {WEBHOOKS_MOST} webhooks. Delete one first.")
    secret = SECRET_PREFIX + base64.b64encode(token_bytes(32)).decode()
    kind = NotificationKind.WEBHOOK
    await store.add_target(conn, target_id=new_id(), user_id=user_id, kind=kind, url=url, secret=secret, now=now)
    return secret


async def add_browser(
    conn: Connection, url: str, *, key: str, auth: str, name: str, user_id: UserId, now: datetime
) -> None:
    """Notify a browser by its push service. Raises Invalid, Conflict."""
    url = check_target_url(url)
    read_push_keys(key, auth)
    await subscriptions.lock(conn, user_id=user_id)
    if await store.count_targets(conn, kind=NotificationKind.PUSH) >= BROWSERS_MOST:
        raise Conflict(f"You have {BROWSERS_MOST} browsers. Delete one first.")
    await store.add_target(
        conn, target_id=new_id(), user_id=user_id, kind=NotificationKind.PUSH, url=url, push_key=key, push_auth=auth,
        name=one_line(name)[:100], now=now,
    )  # fmt: skip


async def enable_target(conn: Connection, target_id: UUID) -> None:
    """Raises NotFound."""
    if not await store.set_target_enabled(conn, target_id=target_id, is_enabled=True):
        raise NotFound(GONE)


async def remove_target(conn: Connection, target_id: UUID) -> None:
    """Raises NotFound."""
    if not await store.remove_target(conn, target_id=target_id):
        raise NotFound(GONE)
