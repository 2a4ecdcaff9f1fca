"""Mail that waits, and mail that is ready to be sent. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from headwater.types import UserId


class MailKind(StrEnum):
    """What a mail is about."""

    RESET = "reset"  # a link to set a new password
    CONFIRM = "confirm"  # a link to confirm the email of a new account
    NEW_EMAIL = "email"  # a link to confirm a changed email
    REMINDER = "reminder"  # somebody registered an email that has an account
    PASSWORD_CHANGED = "password_changed"  # noqa: S105  the name of a kind
    EMAIL_ASKED = "email_asked"  # to the present email: somebody asked to change it
    EMAIL_CHANGED = "email_changed"  # to the old email


# What tells a user of something that was done to their account; nothing that strangers do may hold these up.
NOTICES = frozenset({MailKind.PASSWORD_CHANGED, MailKind.EMAIL_ASKED, MailKind.EMAIL_CHANGED})


@dataclass(frozen=True, slots=True)
class QueuedMail:
    """A row of `outgoing_mail`."""

    id: UUID
    kind: MailKind
    email: str
    user_id: UserId | None
    site: str
    detail: str
    queued_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail as it is sent."""

    email: str
    subject: str
    text: str
