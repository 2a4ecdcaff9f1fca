"""Forms of the reader's pages, as sent. The code that uses them validates them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Registration:
    """A new account."""

    email: str = ""
    password: str = ""
    password_confirm: str = ""
    privacy: str = ""
    setup_code: str = ""


@dataclass(frozen=True, slots=True)
class Login:
    """Email and password."""

    email: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class ForgotPassword:
    """The email whose password is reset."""

    email: str = ""


@dataclass(frozen=True, slots=True)
class ResetPassword:
    """A new password, with the token of an email."""

    token: str = ""
    password: str = ""
    password_confirm: str = ""


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A new password, with the current one."""

    current_password: str = ""
    password: str = ""
    password_confirm: str = ""


@dataclass(frozen=True, slots=True)
class NewEmail:
    """A new email."""

    email: str = ""
    current_password: str = ""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new API token."""

    name: str = ""
    scopes: list[str] | str = ""


@dataclass(frozen=True, slots=True)
class Consent:
    """The answer to the question on reading statistics."""

    answer: str = ""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Deletion of an account."""

    current_password: str = ""


@dataclass(frozen=True, slots=True)
class FeedForm:
    """A feed to add or change."""

    name: str = ""
    url: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class MarkRead:
    """What to mark as read: a feed, a category or everything; all of it, or down to the cursor `until`."""

    feed: str = ""
    category: str = ""
    until: str = ""
    back: str = "/read"
