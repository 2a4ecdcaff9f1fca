"""Users, sessions and tokens. Pure data."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.accounts.preferences.types import Preferences
from headwater.types import UserId


class Role(StrEnum):
    """Each includes the rights of those before it."""

    READER = "reader"
    MODERATOR = "moderator"
    SUPER_ADMIN = "super_admin"

    def includes(self, other: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class EventType(StrEnum):
    USER_REGISTERED = "user_registered"
    USER_LOGIN = "user_login"
    FEED_ADDED = "feed_added"
    SUMMARY_GENERATED = "summary_generated"


@dataclass(frozen=True, slots=True)
class User:
    id: UserId
    email: str
    role: Role
    confirmed_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Credentials:
    user: User
    password_hash: str | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    id: UUID
    user: User
    access_hash: bytes
    access_until: datetime
    refresh_hash: bytes
    refresh_until: datetime
    replaced_hash: bytes | None
    replaced_at: datetime | None
    renewal_used_at: datetime | None = None  # None: the tokens of the last renewal are unused
    preferences: Preferences = field(default_factory=Preferences)


@dataclass(frozen=True, slots=True)
class SessionLine:
    id: UUID
    started_at: datetime
    seen_at: datetime
    address: str
    user_agent: str


class PersonSort(StrEnum):
    """By which column the operators' table of users is sorted."""

    EMAIL = "email"
    JOINED = "joined"
    REPUTATION = "reputation"
    FEEDS = "feeds"
    SEEN = "seen"


@dataclass(frozen=True, slots=True)
class PersonFilter:
    """Which users to list; None means all."""

    text: str = ""  # part of the email
    role: Role | None = None
    confirmed: bool | None = None
    seen_before: datetime | None = None  # also those who have no session and no token


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A user in the operators' list."""

    id: UserId
    email: str
    role: Role
    karma: int
    created_at: datetime
    confirmed_at: datetime | None
    seen_at: datetime | None
    feed_count: int
    session_count: int
    token_count: int


@dataclass(frozen=True, slots=True)
class Tokens:
    access: str
    access_until: datetime
    refresh: str
    refresh_until: datetime


@dataclass(frozen=True, slots=True)
class Visitor:
    address: str
    user_agent: str
    is_remote: bool = False  # not from a browser on this machine, or through a proxy


@dataclass(frozen=True, slots=True)
class Identity:
    """A user at an outside issuer."""

    issuer: str
    subject: str
    email: str  # empty if the issuer gives none
    is_email_verified: bool


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token for programs; the secret itself is shown once and not stored."""

    id: UUID
    name: str
    scopes: list[Scope]
    created_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class AccountOptions:
    access_lifetime: timedelta = timedelta(minutes=15)
    refresh_lifetime: timedelta = timedelta(days=30)
    mailed_lifetime: timedelta = timedelta(hours=1)
    registration: bool = True
    confirm_email: bool = False
    hide_accounts: bool = False  # no 409 on registration either
    setup_code: bool = False  # whether the first account needs the setup code from every visitor, local ones too

    @property
    def must_confirm(self) -> bool:
        """Whether logging in needs a confirmed email. Hiding accounts is useless without."""
        return self.confirm_email or self.hide_accounts


@dataclass(frozen=True, slots=True)
class SavedFilter:
    """A filter of an operators' table, as its query string."""

    id: UUID
    page: str
    name: str
    query: str
