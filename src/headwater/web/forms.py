"""What people type into forms, as it comes: checked by those who use it."""

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
    """Who one is."""

    email: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Whose password is to be reset."""

    email: str = ""


@dataclass(frozen=True, slots=True)
class Reset:
    """A new password, by a mailed link."""

    token: str = ""
    password: str = ""
    password_confirm: str = ""


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A new password, by the old one."""

    current_password: str = ""
    password: str = ""
    password_confirm: str = ""


@dataclass(frozen=True, slots=True)
class NewEmail:
    """Another address."""

    email: str = ""
    current_password: str = ""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token for programs."""

    name: str = ""
    scopes: list[str] | str = ""


@dataclass(frozen=True, slots=True)
class Consent:
    """Whether one may be counted."""

    answer: str = ""


@dataclass(frozen=True, slots=True)
class Deletion:
    """The end of an account."""

    current_password: str = ""


@dataclass(frozen=True, slots=True)
class FeedForm:
    """A feed to follow."""

    name: str = ""
    url: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class AllRead:
    """What is marked read at once: a feed, a category or all of it; all of it or down to a place."""

    feed: str = ""
    category: str = ""
    until: str = ""
    back: str = "/read"
