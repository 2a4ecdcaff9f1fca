"""Emails that are queued, and emails as they are sent. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from headwater.types import UserId


class MailKind(StrEnum):
    RESET = "reset"  # a link to set a new password
    CONFIRM = "confirm"  # a link to confirm the email of a new account
    NEW_EMAIL = "email"  # a link to confirm a changed email
    REMINDER = "reminder"  # a registration with an email that has an account
    PASSWORD_CHANGED = "password_changed"  # noqa: S105  the name of a kind
    EMAIL_ASKED = "email_asked"  # to the current email: a change was requested
    EMAIL_CHANGED = "email_changed"  # to the old email
    DIGEST = "digest"  # articles that match the user's rules; its whole text is the detail
    UNREAD = "unread"  # the newest unread articles; its whole text is the detail


# With a link whose token is stored under the same name, as its purpose.
WITH_LINK = frozenset({MailKind.RESET, MailKind.CONFIRM, MailKind.NEW_EMAIL})
# Sent after a change to the account; requests by others must not delay them.
NOTICES = frozenset({MailKind.PASSWORD_CHANGED, MailKind.EMAIL_ASKED, MailKind.EMAIL_CHANGED})

# With a link that ends them.
DIGESTS = frozenset({MailKind.DIGEST, MailKind.UNREAD})


@dataclass(frozen=True, slots=True)
class QueuedMail:
    id: UUID
    kind: MailKind
    email: str
    user_id: UserId | None
    site: str
    detail: str
    queued_at: datetime
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class AccountEmail:
    email: str
    subject: str
    text: str
    unsubscribe: str = ""  # a URL; mail programs show a button for it
