"""What we choose about accounts: which addresses and passwords do, what a session's token is worth, who has tried too
often. Pure."""

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
PASSWORD_MAX = 1024  # bytes go through argon2: nobody may keep it busy with a novel
GRACE = timedelta(seconds=30)  # several requests of one page may bring the same old token at once
UNUSED_GRACE = timedelta(minutes=3)  # while nobody has used the new tokens: the answer with them may have been lost

_EMAIL = re.compile(r"[^@\s<>\"'(),:;\[\]\\]+@[^@\s<>\"'(),:;\[\]\\]+\.[^@\s<>\"'(),:;\[\]\\.]+")
_TOO_COMMON = frozenset({
    "12345678", "123456789", "1234567890", "password", "password1", "passw0rd", "qwertyui", "qwerty123", "iloveyou",
    "11111111", "00000000", "abcd1234", "letmein1", "sunshine", "princess", "football", "baseball", "superman",
    "trustno1", "headwater",
})  # fmt: skip


class Worth(Enum):
    """What a token that was brought is worth."""

    GOOD = auto()
    EXPIRED = auto()
    REPLACED = auto()  # by another request of the same browser, or by one whose answer was lost
    STOLEN = auto()  # replaced long ago: two people have it


@dataclass(frozen=True, slots=True)
class Limit:
    """So many tries within so long."""

    most: int
    within: timedelta


# A limit that refuses counts the account and the network together: nobody's tries lock another person out.
LOGIN_PER_ACCOUNT_AND_NETWORK = Limit(10, timedelta(minutes=15))
LOGIN_PER_NETWORK = Limit(50, timedelta(minutes=15))
LOGIN_PER_ACCOUNT = Limit(100, timedelta(hours=1))  # then only from networks where the account has logged in before
PASSWORD_PER_SESSION = Limit(10, timedelta(minutes=15))
REGISTER_PER_NETWORK = Limit(10, timedelta(hours=1))
MAIL_PER_ACCOUNT_AND_NETWORK = Limit(3, timedelta(hours=1))
MAIL_PER_NETWORK = Limit(10, timedelta(hours=1))
MAIL_PER_ACCOUNT = Limit(10, timedelta(hours=1))  # then no more is sent; the last link that was sent is still good
SETUP_CODE_LENGTH = 10  # characters of 5 bits


def email_problem(email: str) -> str | None:
    """What is wrong with an address, for the person who typed it."""
    if not email:
        return "Email is required"
    if text_problem(email, most=EMAIL_MAX) or not _EMAIL.fullmatch(email):
        return "Invalid email address"
    return None


def email_key(email: str) -> str:
    """Under which two spellings of an address are one account. They can be two mailboxes: see `is_same_mailbox`."""
    return email.casefold()


def is_same_mailbox(email: str, other: str) -> bool:
    """Whether who owns one address owns the other: only the case of ASCII letters may differ."""
    return email.encode(errors="replace").lower() == other.encode(errors="replace").lower()


def password_problem(password: str, email: str) -> str | None:
    """What is wrong with a new password, for the person who chose it."""
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
    """Of the short-lived token."""
    return Worth.GOOD if now < session.access_until else Worth.EXPIRED


def refresh_worth(session: SessionRow, brought: bytes, now: datetime) -> Worth:
    """Of the long-lived token, which is good once: each use replaces it."""
    if now >= session.refresh_until:
        return Worth.EXPIRED
    if brought == session.refresh_hash:
        return Worth.GOOD
    grace = GRACE if session.renewal_used_at else UNUSED_GRACE
    if session.replaced_at is not None and now < session.replaced_at + grace:
        return Worth.REPLACED
    return Worth.STOLEN


def network_of(address: str) -> str:
    """What limits count: an IPv4 address, or the /64 of an IPv6 address, which one household has to itself."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped  # how a socket that takes both names an IPv4 client
        return str(mapped) if mapped else str(ip_network(f"{parsed}/64", strict=False))
    return str(parsed)


def account_bucket(email_key: str) -> str:
    """How attempts on an account are counted, without keeping the email of somebody who may have no account."""
    return hashlib.sha256(email_key.encode(errors="replace")).hexdigest()[:32]


def setup_code(secret: bytes) -> str:
    """The code that the first registration asks for, as it is printed."""
    text = base64.b32encode(hashlib.sha256(secret).digest()).decode().lower()[:SETUP_CODE_LENGTH]
    return f"{text[:5]}-{text[5:]}"


def bare_code(typed: str) -> str:
    """A set-up code as it is compared: case, spaces and hyphens do not matter."""
    return re.sub(r"[\s-]", "", typed[:100]).lower()


def role_of_new(*, is_first: bool) -> Role:
    """The first who registers runs the place."""
    return Role.SUPER_ADMIN if is_first else Role.READER


def scopes_allowed(role: Role) -> frozenset[Scope]:
    """The scopes a user may give a token: `admin` only to those who have more than a reader's role."""
    return frozenset(Scope) if role.includes(Role.MODERATOR) else frozenset({Scope.READ, Scope.WRITE})


def scope_needed(role: Role, *, is_reading: bool) -> Scope:
    """The scope that a route demands: `admin` for all that needs more than a reader's role, even to look at it."""
    if role is not Role.READER:
        return Scope.ADMIN
    return Scope.READ if is_reading else Scope.WRITE


def grants(scopes: frozenset[Scope], needed: Scope) -> bool:
    """Whether a token may do this: who may administer may also read and write."""
    return needed in scopes or Scope.ADMIN in scopes
