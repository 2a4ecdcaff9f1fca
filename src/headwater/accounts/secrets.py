"""Passwords and tokens: made, and turned into what may be kept of them. argon2id for what people choose, a plain digest
for what we make ourselves: 256 bits of chance cannot be guessed."""

import asyncio
import hashlib
import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_HASHER = PasswordHasher()


def new_token() -> str:
    """A secret to hand out."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    """What is kept of it."""
    return hashlib.sha256(token.encode()).digest()


async def hash_password(password: str) -> str:
    """What is kept of a password. In a thread: it takes tens of milliseconds on purpose."""
    return await asyncio.to_thread(_HASHER.hash, password)


async def is_password(password: str, password_hash: str | None) -> bool:
    """Whether this is the password; takes as long when there is none."""
    return await asyncio.to_thread(_verify, password, password_hash)


def is_outdated(password_hash: str) -> bool:
    """Whether it was made with weaker parameters than today's."""
    return _HASHER.check_needs_rehash(password_hash)


def _verify(password: str, password_hash: str | None) -> bool:
    try:
        _HASHER.verify(password_hash or _dummy_hash(), password)
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _dummy_hash() -> str:
    """What a password is compared with when there is no account: the answer then takes as long as any other."""
    return _HASHER.hash(secrets.token_urlsafe())
