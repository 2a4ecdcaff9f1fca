"""The link that ends emails with articles. Pure."""

import hashlib
import hmac
from typing import Final
from uuid import UUID

from headwater.types import UserId

UNSUBSCRIBE: Final = "unsubscribe"  # the name of a shared secret


def unsubscribe_code(key: bytes, user_id: UserId) -> str:
    """Ends the digests of a user, without a login."""
    return f"{user_id.hex}.{_code(key, user_id)}"


def unsubscribed_user(key: bytes, code: str) -> UserId | None:
    """The user whose code it is; None if it is not valid."""
    try:
        user_id = UserId(UUID(code.partition(".")[0]))
    except ValueError:
        return None
    is_valid = hmac.compare_digest(code.encode(errors="replace"), unsubscribe_code(key, user_id).encode())
    return user_id if is_valid else None


def _code(key: bytes, user_id: UserId) -> str:
    return hmac.new(key, user_id.bytes, hashlib.sha256).hexdigest()[:40]
