"""Decisions about accounts: valid emails and passwords, the state of session tokens, rate limits, scopes. Pure."""

import base64
import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from ipaddress import IPv6Address, ip_address, ip_network

from headwater.accounts.types import Role, Scope, SessionRow
from headwater.text import text_problem

EMAIL_MAX = 254
PASSWORD_MIN = 8
PASSWORD_MAX = 1024  # bytes; argon2 takes longer for a longer one
GRACE = timedelta(seconds=30)  # several requests of one page may send the same old token at once
UNUSED_GRACE = timedelta(minutes=3)  # while the new tokens are unused: the response with them may have been lost

_EMAIL = re.compile(r"[^@\s<>\"'(),:;\[\]\\]+@[^@\s<>\"'(),:;\[\]\\]+\.[^@\s<>\"'(),:;\[\]\\.]+")
_TOO_COMMON = frozenset({
    "12345678", "123456789", "1234567890", "password", "password1", "passw0rd", "qwertyui", "qwerty123", "iloveyou",
    "11111111", "00000000", "abcd1234", "letmein1", "sunshine", "princess", "football", "baseball", "superman",
    "trustno1", "headwater",
})  # fmt: skip


class Worth(Enum):
    """The state of a session token that was sent."""

    GOOD = auto()
    EXPIRED = auto()
    REPLACED = auto()  # by another request of the same browser, or by one whose response was lost
    STOLEN = auto()  # replaced long ago: it was copied


@dataclass(frozen=True, slots=True)
class Limit:
    most: int
    within: timedelta


# Limits that refuse count account and network together: attempts of others do not lock a user out.
LOGIN_PER_ACCOUNT_AND_NETWORK = Limit(10, timedelta(minutes=15))
LOGIN_PER_NETWORK = Limit(50, timedelta(minutes=15))
LOGIN_PER_ACCOUNT = Limit(100, timedelta(hours=1))  # then only from networks where the account has logged in before
PASSWORD_PER_SESSION = Limit(10, timedelta(minutes=15))
REGISTER_PER_NETWORK = Limit(10, timedelta(hours=1))
MAIL_PER_ACCOUNT_AND_NETWORK = Limit(3, timedelta(hours=1))
MAIL_PER_NETWORK = Limit(10, timedelta(hours=1))
MAIL_PER_ACCOUNT = Limit(10, timedelta(hours=1))  # then no more is sent; the last link stays valid
SETUP_CODE_LENGTH = 10  # characters of 5 bits


def email_problem(email: str) -> str | None:
    if not email:
        return "Email is required"
    if text_problem(email, most=EMAIL_MAX) or not _EMAIL.fullmatch(email):
        return "Invalid email address"
    return None


def email_key(email: str) -> str:
    """Emails with the same key are one account. They can be two mailboxes: see `is_same_mailbox`."""
    return email.casefold()


def is_same_mailbox(email: str, other: str) -> bool:
    """Only the case of ASCII letters may differ."""
    return email.encode(errors="replace").lower() == other.encode(errors="replace").lower()


def password_problem(password: str, email: str) -> str | None:
    if not password:
        return "Password is required"
    if len(password) < PASSWORD_MIN:
        return f"Password must have at least {PASSWORD_MIN} characters"
    if len(password.encode()) > PASSWORD_MAX:
        return f"Password must have at most {PASSWORD_MAX} characters"
    if password.casefold() in _TOO_COMMON or password.casefold() == email_key(email):
        return "This password is too easy to guess"
    return None


def access_worth(session: SessionRow, now: datetime) -> Worth:
    return Worth.GOOD if now < session.access_until else Worth.EXPIRED


def refresh_worth(session: SessionRow, token_hash: bytes, now: datetime) -> Worth:
    """A refresh token is valid once: each use replaces it."""
    if now >= session.refresh_until:
        return Worth.EXPIRED
    if token_hash == session.refresh_hash:
        return Worth.GOOD
    grace = GRACE if session.renewal_used_at else UNUSED_GRACE
    if session.replaced_at is not None and now < session.replaced_at + grace:
        return Worth.REPLACED
    return Worth.STOLEN


def network_of(address: str) -> str:
    """An IPv4 address, or the /64 of an IPv6 address, which is one household's."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped  # the address of an IPv4 client at a socket for both
        return str(mapped) if mapped else str(ip_network(f"{parsed}/64", strict=False))
    return str(parsed)


def account_bucket(email_key: str) -> str:
    """A hash, so that emails without an account are not stored."""
    return hashlib.sha256(email_key.encode(errors="replace")).hexdigest()[:32]


def setup_code(secret: bytes) -> str:
    """The code that the first registration needs."""
    text = base64.b32encode(hashlib.sha256(secret).digest()).decode().lower()[:SETUP_CODE_LENGTH]
    return f"{text[:5]}-{text[5:]}"


def bare_code(typed: str) -> str:
    """The code without case, spaces and hyphens, for comparison."""
    return re.sub(r"[\s-]", "", typed[:100]).lower()


def role_of_new(*, is_first: bool) -> Role:
    return Role.SUPER_ADMIN if is_first else Role.READER


def scopes_allowed(role: Role) -> frozenset[Scope]:
    return frozenset(Scope) if role.includes(Role.MODERATOR) else frozenset({Scope.READ, Scope.WRITE})


def scope_needed(role: Role, *, is_reading: bool) -> Scope:
    """The scope that a route needs: `admin` for all that needs more than a reader's role, even reading."""
    if role is not Role.READER:
        return Scope.ADMIN
    return Scope.READ if is_reading else Scope.WRITE


def grants(scopes: frozenset[Scope], needed: Scope) -> bool:
    """`admin` includes read and write."""
    return needed in scopes or Scope.ADMIN in scopes
