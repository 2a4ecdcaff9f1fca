"""Passwords and tokens, and the hashes that are stored: argon2id for passwords, a plain digest for our tokens, whose
256 random bits cannot be guessed. Refresh tokens are derived from the token before, and marked with their session."""

import asyncio
import base64
import hashlib
import hmac
import secrets
from datetime import datetime
from functools import cache
from uuid import UUID

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from headwater.accounts.types import Tokens

_HASHER = PasswordHasher()


def new_token() -> str:
    return secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


async def hash_password(password: str) -> str:
    """In a thread: it takes tens of milliseconds on purpose."""
    return await asyncio.to_thread(_HASHER.hash, password)


async def is_password(password: str, password_hash: str | None) -> bool:
    """Takes as long when there is no hash."""
    return await asyncio.to_thread(_verify, password, password_hash)


async def rehash(password: str, password_hash: str) -> str | None:
    """A new hash if this one was made with weaker parameters than the current ones."""
    return await hash_password(password) if _HASHER.check_needs_rehash(password_hash) else None


def _verify(password: str, password_hash: str | None) -> bool:
    try:
        _HASHER.verify(password_hash or _dummy_hash(), password)
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _dummy_hash() -> str:
    """Verified when there is no account, so that the response time does not reveal that."""
    return _HASHER.hash(secrets.token_urlsafe())


def encode(data: bytes) -> str:
    """As base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def new_tokens(key: bytes, session_id: UUID, access_until: datetime, refresh_until: datetime) -> Tokens:
    return Tokens(new_token(), access_until, f"{session_mark(key, session_id)}.{new_token()}", refresh_until)


def successor(key: bytes, refresh: str, session_id: UUID, access_until: datetime, refresh_until: datetime) -> Tokens:
    """The tokens that replace a refresh token; they cannot be derived without our key."""

    def derive(label: bytes) -> str:
        return encode(hmac.digest(key, label + refresh.encode(errors="replace"), "sha256"))

    following = f"{session_mark(key, session_id)}.{derive(b'refresh:')}"
    return Tokens(derive(b"access:"), access_until, following, refresh_until)


def session_mark(key: bytes, session_id: UUID) -> str:
    """The prefix of refresh tokens: signed, it identifies the session of an old token after its digest is deleted."""
    signature = hmac.digest(key, b"session:" + session_id.bytes, "sha256")[:16]
    return encode(session_id.bytes + signature)


def marked_session(key: bytes, refresh: str) -> UUID | None:
    """The session that a refresh token was made for; None if the signature is invalid."""
    mark = refresh.partition(".")[0]
    try:
        session_id = UUID(bytes=base64.urlsafe_b64decode(mark + "=")[:16])
    except ValueError:
        return None
    is_ours = hmac.compare_digest(mark.encode(errors="replace"), session_mark(key, session_id).encode())
    return session_id if is_ours else None
