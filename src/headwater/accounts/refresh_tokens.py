"""Refresh tokens: derived from the token before, and marked with their session. Pure."""

import base64
import hmac
from datetime import datetime
from uuid import UUID

from headwater.accounts.types import Tokens


def successor(key: bytes, refresh: str, session_id: UUID, access_until: datetime, refresh_until: datetime) -> Tokens:
    """The tokens that replace a refresh token; they cannot be derived without our key."""

    def derive(label: bytes) -> str:
        derived = hmac.digest(key, label + refresh.encode(errors="replace"), "sha256")
        return base64.urlsafe_b64encode(derived).rstrip(b"=").decode()

    following = f"{session_mark(key, session_id)}.{derive(b'refresh:')}"
    return Tokens(derive(b"access:"), access_until, following, refresh_until)


def session_mark(key: bytes, session_id: UUID) -> str:
    """The prefix of refresh tokens: signed, it identifies the session of an old token after its digest is deleted."""
    signature = hmac.digest(key, b"session:" + session_id.bytes, "sha256")[:16]
    return base64.urlsafe_b64encode(session_id.bytes + signature).rstrip(b"=").decode()


def marked_session(key: bytes, refresh: str) -> UUID | None:
    """The session that a refresh token was made for; None if the signature is invalid."""
    mark = refresh.partition(".")[0]
    try:
        session_id = UUID(bytes=base64.urlsafe_b64decode(mark + "=")[:16])
    except ValueError:
        return None
    is_ours = hmac.compare_digest(mark.encode(errors="replace"), session_mark(key, session_id).encode())
    return session_id if is_ours else None
