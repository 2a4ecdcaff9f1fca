"""What we choose about accounts: which addresses and passwords do, what a session's token is worth, who has tried too
often. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from headwater.accounts.types import Role, Scope, SessionRow

EMAIL_MAX = 254
PASSWORD_MIN = 8
PASSWORD_MAX = 1024  # bytes go through argon2: nobody may keep it busy with a novel
GRACE = timedelta(seconds=30)  # several requests of one page may bring the same old token at once

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
    REPLACED = auto()  # just now, by another request of the same browser
    STOLEN = auto()  # replaced long ago: two people have it


@dataclass(frozen=True, slots=True)
class Limit:
    """So many tries within so long."""

    most: int
    within: timedelta


LOGIN_PER_ACCOUNT = Limit(10, timedelta(minutes=15))
LOGIN_PER_ADDRESS = Limit(50, timedelta(minutes=15))
REGISTER_PER_ADDRESS = Limit(10, timedelta(hours=1))
MAIL_PER_ACCOUNT = Limit(3, timedelta(hours=1))
MAIL_PER_ADDRESS = Limit(10, timedelta(hours=1))


def email_problem(email: str) -> str | None:
    """What is wrong with an address, for the person who typed it."""
    if not email:
        return "Email is required"
    if len(email) > EMAIL_MAX or not _EMAIL.fullmatch(email):
        return "Invalid email address"
    return None


def email_key(email: str) -> str:
    """Under which two spellings of an address are one account."""
    return email.casefold()


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
    if session.replaced_at is not None and now < session.replaced_at + GRACE:
        return Worth.REPLACED
    return Worth.STOLEN


def role_of_new(*, is_first: bool) -> Role:
    """The first who registers runs the place."""
    return Role.SUPER_ADMIN if is_first else Role.READER


def scopes_allowed(role: Role) -> frozenset[Scope]:
    """What tokens a person may make."""
    return frozenset(Scope) if role.includes(Role.SUPER_ADMIN) else frozenset({Scope.READ, Scope.WRITE})


def grants(scopes: frozenset[Scope], needed: Scope) -> bool:
    """Whether a token may do this: who may administer may also read and write."""
    return needed in scopes or Scope.ADMIN in scopes
