"""Decisions about accounts: valid emails and passwords, the state of tokens, networks, roles and scopes."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from headwater.accounts import decide
from headwater.accounts.decide import (
    Limit,
    Worth,
    access_worth,
    account_bucket,
    bare_code,
    email_key,
    email_problem,
    grants,
    is_same_mailbox,
    network_of,
    password_problem,
    refresh_worth,
    role_of_new,
    scope_needed,
    scopes_allowed,
    setup_code,
)
from headwater.accounts.types import Role, Scope, SessionRow, User
from headwater.types import UserId
from tests.clock import START

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
EMAIL = "ann@example.com"
INVALID = "Invalid email address"
TOO_COMMON = "This password is too easy to guess"


# Emails


@pytest.mark.parametrize(
    ("email", "problem"),
    [
        (EMAIL, None),
        ("Ann.ONeil+tag@mail.example.co.uk", None),
        ("ünï@straße.example", None),
        ("a@b.c", None),
        ("", "Email is required"),
        ("ann", INVALID),
        ("ann@example", INVALID),
        ("@example.com", INVALID),
        ("ann@.com@x.com", INVALID),
        ("ann@example.", INVALID),
        ("ann smith@example.com", INVALID),
        ("<ann@example.com>", INVALID),
        ('"ann"@example.com', INVALID),
        ("ann@exam\0ple.com", INVALID),
        ("ann@example.com\nBcc: x@example.com", INVALID),
        ("a" * 242 + "@example.com", None),  # 254 characters
        ("a" * 243 + "@example.com", INVALID),
    ],
)
def test_which_emails_are_valid(email: str, problem: str | None) -> None:
    assert email_problem(email) == problem


@pytest.mark.parametrize(
    ("email", "other", "is_one_account", "is_one_mailbox"),
    [
        (EMAIL, EMAIL, True, True),
        (EMAIL, "ANN@Example.COM", True, True),
        ("ann@straße.example", "ann@strasse.example", True, False),
        ("\u212a@example.com", "k@example.com", True, False),  # the Kelvin sign
        (EMAIL, "bob@example.com", False, False),
    ],
)
def test_emails_of_one_account_can_be_two_mailboxes(
    email: str, other: str, is_one_account: bool, is_one_mailbox: bool
) -> None:
    assert (email_key(email) == email_key(other)) is is_one_account
    assert is_same_mailbox(email, other) is is_one_mailbox


def test_half_a_character_breaks_neither_comparison_nor_bucket() -> None:
    assert not is_same_mailbox("ann\ud800@example.com", EMAIL)
    assert len(account_bucket("ann\ud800@example.com")) == 32


# Passwords


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("", "Password is required"),
        ("1234567", "Password must have at least 8 characters"),
        ("ä" * 7, "Password must have at least 8 characters"),  # characters, not bytes
        ("corréct", "Password must have at least 8 characters"),
        ("corrects", None),
        ("x" * 1024, None),
        ("x" * 1025, "Password must have at most 1024 characters"),
        ("ä" * 512, None),
        ("ä" * 513, "Password must have at most 1024 characters"),  # bytes, not characters
        (EMAIL, TOO_COMMON),
        (EMAIL.upper(), TOO_COMMON),
        (EMAIL + "x", None),
    ],
)
def test_which_passwords_are_accepted(password: str, problem: str | None) -> None:
    assert password_problem(password, EMAIL) == problem


@pytest.mark.parametrize(
    "password",
    [
        "12345678", "123456789", "1234567890", "password", "password1", "passw0rd", "qwertyui", "qwerty123",
        "iloveyou", "11111111", "00000000", "abcd1234", "letmein1", "sunshine", "princess", "football", "baseball",
        "superman", "trustno1", "headwater",
    ],
)  # fmt: skip
def test_common_passwords_are_refused_in_any_case(password: str) -> None:
    assert password_problem(password, EMAIL) == TOO_COMMON
    assert password_problem(password.upper(), EMAIL) == TOO_COMMON
    assert password_problem(password + "-x", EMAIL) is None


# Sessions


SESSION = SessionRow(
    id=UUID(int=1),
    user=User(UserId(UUID(int=2)), EMAIL, Role.READER, None, START),
    access_hash=b"access",
    access_until=START + 15 * MINUTE,
    refresh_hash=b"new",
    refresh_until=START + HOUR,
    replaced_hash=b"old",
    replaced_at=START,
)
USED = replace(SESSION, renewal_used_at=START)


@pytest.mark.parametrize(
    ("after", "worth"),
    [(0 * MINUTE, Worth.GOOD), (15 * MINUTE - SECOND, Worth.GOOD), (15 * MINUTE, Worth.EXPIRED), (HOUR, Worth.EXPIRED)],
)
def test_an_access_token_is_good_until_it_expires(after: timedelta, worth: Worth) -> None:
    assert access_worth(SESSION, START + after) is worth


@pytest.mark.parametrize(
    ("session", "token_hash", "after", "worth"),
    [
        (SESSION, b"new", 0 * MINUTE, Worth.GOOD),
        (SESSION, b"new", HOUR - SECOND, Worth.GOOD),
        (SESSION, b"new", HOUR, Worth.EXPIRED),
        (SESSION, b"old", HOUR, Worth.EXPIRED),  # expired before it can be stolen
        (USED, b"old", 29 * SECOND, Worth.REPLACED),
        (USED, b"old", 30 * SECOND, Worth.STOLEN),
        (SESSION, b"old", 3 * MINUTE - SECOND, Worth.REPLACED),  # the response may have been lost
        (SESSION, b"old", 3 * MINUTE, Worth.STOLEN),
        (replace(SESSION, replaced_at=None), b"old", 0 * MINUTE, Worth.STOLEN),
    ],
)
def test_a_refresh_token_is_good_once_and_replaced_for_a_grace_period(
    session: SessionRow, token_hash: bytes, after: timedelta, worth: Worth
) -> None:
    assert refresh_worth(session, token_hash, START + after) is worth


# Limits


@pytest.mark.parametrize(
    ("name", "most", "within"),
    [
        ("LOGIN_PER_ACCOUNT_AND_NETWORK", 10, 15 * MINUTE),
        ("LOGIN_PER_NETWORK", 50, 15 * MINUTE),
        ("LOGIN_PER_ACCOUNT", 100, HOUR),
        ("PASSWORD_PER_SESSION", 10, 15 * MINUTE),
        ("REGISTER_PER_NETWORK", 10, HOUR),
        ("MAIL_PER_ACCOUNT_AND_NETWORK", 3, HOUR),
        ("MAIL_PER_NETWORK", 10, HOUR),
        ("MAIL_PER_ACCOUNT", 10, HOUR),
    ],
)
def test_limits_are_those_that_the_documentation_names(name: str, most: int, within: timedelta) -> None:
    assert getattr(decide, name) == Limit(most, within)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_an_ipv6_network_counts_as_one_and_an_ipv4_address_does(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_bucket_is_a_digest_of_the_email() -> None:
    assert account_bucket(EMAIL) == hashlib.sha256(EMAIL.encode()).hexdigest()[:32]


# The setup code, roles and scopes


def test_a_set_up_code_is_two_groups_of_five_characters_made_of_its_secret() -> None:
    assert setup_code(b"secret") == "fo4a2-u33dw"
    assert setup_code(b"secret") != setup_code(b"another")


@pytest.mark.parametrize(
    ("typed", "bare"),
    [
        ("abcde-fghij", "abcdefghij"),
        (" ABCDE fghij\n", "abcdefghij"),
        ("", ""),
        ("a" * 100 + "b", "a" * 100),  # what is longer is not read
    ],
)
def test_case_spaces_and_hyphens_of_a_code_do_not_matter(typed: str, bare: str) -> None:
    assert bare_code(typed) == bare


def test_the_first_user_is_a_super_admin() -> None:
    assert (role_of_new(is_first=True), role_of_new(is_first=False)) == (Role.SUPER_ADMIN, Role.READER)


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        (Role.READER, {Scope.READ, Scope.WRITE}),
        (Role.MODERATOR, {Scope.READ, Scope.WRITE, Scope.ADMIN}),
        (Role.SUPER_ADMIN, {Scope.READ, Scope.WRITE, Scope.ADMIN}),
    ],
)
def test_readers_give_no_token_the_scope_admin(role: Role, scopes: set[Scope]) -> None:
    assert scopes_allowed(role) == scopes


@pytest.mark.parametrize(
    ("role", "is_reading", "scope"),
    [
        (Role.READER, True, Scope.READ),
        (Role.READER, False, Scope.WRITE),
        (Role.MODERATOR, True, Scope.ADMIN),
        (Role.MODERATOR, False, Scope.ADMIN),
        (Role.SUPER_ADMIN, True, Scope.ADMIN),
    ],
)
def test_a_route_for_operators_needs_the_scope_admin_even_to_read(role: Role, is_reading: bool, scope: Scope) -> None:
    assert scope_needed(role, is_reading=is_reading) is scope


@pytest.mark.parametrize(
    ("scopes", "granted"),
    [
        ({Scope.READ}, {Scope.READ}),
        ({Scope.WRITE}, {Scope.WRITE}),
        ({Scope.READ, Scope.WRITE}, {Scope.READ, Scope.WRITE}),
        ({Scope.ADMIN}, set(Scope)),
        (set[Scope](), set[Scope]()),
    ],
)
def test_the_scope_admin_includes_the_others(scopes: set[Scope], granted: set[Scope]) -> None:
    assert {needed for needed in Scope if grants(frozenset(scopes), needed)} == granted
