"""What an account shows without a log-in: the addresses of its views' feeds, and the webhooks and browsers that its
rules notify. Written here too, since they end with the access to the account, like its tokens."""

from typing import Final

from headwater.db import Connection
from headwater.types import UserId

REASON: Final = "Disabled when all access to your account was ended. Enable it only if it is yours."


async def close_all_of(conn: Connection, *, user_id: UserId) -> None:
    """End the feed addresses of a user's views, and disable their webhooks and browsers. Emails go to the user."""
    feeds = "UPDATE views SET feed_key = NULL WHERE user_id = %(user_id)s AND feed_key IS NOT NULL"
    await conn.execute(feeds, {"user_id": user_id})
    targets = """
        UPDATE notification_targets SET is_enabled = false, failures = 0, reason = %(reason)s
        WHERE user_id = %(user_id)s AND kind <> 'email' AND is_enabled
    """
    await conn.execute(targets, {"user_id": user_id, "reason": REASON})
