"""People whom somebody else vouches for: their token is checked, and led to an account here.

In: a signed token (JWT) of the one issuer that is believed. Out: the Identity it names, and the account of that.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from joserfc import jws, jwt
from joserfc.errors import JoseError

from headwater.accounts.changes import add_user, record, revoke_links
from headwater.accounts.decide import email_key, email_problem, is_same_mailbox, role_of_new
from headwater.accounts.keys import Key, Keys, algorithms_of
from headwater.accounts.store import identities, users
from headwater.accounts.types import AccountOptions, EventType, Identity, User
from headwater.db import Connection, Database
from headwater.errors import Forbidden, RegistrationClosed
from headwater.types import Clock, UserId

LEEWAY = timedelta(seconds=30)  # clocks differ
TOKEN_MAX = 16_000
SUBJECT_MAX = 255
# What the library raises for a token that is not one; a header such as `"crit": 5` leads to a TypeError.
UNREADABLE = (JoseError, ValueError, TypeError, KeyError, AttributeError, OverflowError)


class Issuer:
    """Somebody whose tokens are believed, when they are meant for us."""

    def __init__(self, keys: Keys, clock: Clock, *, name: str, audience: str) -> None:
        self.name = name
        self._keys = keys
        self._clock = clock
        self._audience = audience

    async def claims_of(self, token: str) -> Mapping[str, Any] | None:
        """What a token says, when it is signed, in time and for us; None otherwise. Raises IssuerUnavailable."""
        if len(token) > TOKEN_MAX:
            return None
        try:
            kid = cast("object", jws.extract_compact(token.encode()).headers().get("kid"))
            key = await self._keys.find(kid if isinstance(kid, str) else None)
            return self._check(token, key) if key is not None else None
        except (*UNREADABLE, RecursionError):
            return None

    async def identify(self, token: str) -> Identity | None:
        """Whom a token names. Raises IssuerUnavailable."""
        claims = await self.claims_of(token)
        return identity_of(self.name, claims) if claims is not None else None

    def _check(self, token: str, key: Key) -> Mapping[str, Any]:
        claims = jwt.decode(token, key, algorithms=algorithms_of(key)).claims
        jwt.JWTClaimsRegistry(
            now=int(self._clock().timestamp()),
            leeway=round(LEEWAY.total_seconds()),
            iss={"essential": True, "value": self.name},
            aud={"essential": True, "value": self._audience},
            sub={"essential": True},
            exp={"essential": True},
        ).validate(claims)
        return claims


def identity_of(issuer: str, claims: Mapping[str, Any]) -> Identity | None:
    """Whom these claims name. An address counts as theirs only where the issuer itself says so, in so many words."""
    subject, email = claims.get("sub"), claims.get("email")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_MAX or not subject.isprintable():
        return None
    given = email.strip() if isinstance(email, str) else ""
    told = "" if email_problem(given) else given
    return Identity(issuer, subject, told, claims.get("email_verified") is True)


class Outsiders:
    """Leads identities to accounts; makes one on first sight where registration is open."""

    def __init__(self, database: Database, clock: Clock, options: AccountOptions) -> None:
        self._database = database
        self._clock = clock
        self._options = options

    async def account_of(self, identity: Identity, *, may_be_first: bool) -> User:
        """The account of an identity. Raises Forbidden, RegistrationClosed, EmailTaken.

        `may_be_first`: whether it may be the very first account, which looks after the place.
        """
        now = self._clock()
        async with self._database.as_system() as conn:
            known = await _known(conn, identity)
            if known:
                return known
            # Others who come for the first time wait here, this very person's next request among them.
            is_first = await users.claim_first(conn)
            known = await _known(conn, identity) or await self._by_address(conn, identity, now)
            user = known or await self._make(conn, identity, now, is_first=is_first, may_be_first=may_be_first)
            await identities.add(conn, issuer=identity.issuer, subject=identity.subject, user_id=user.id)
            return user

    async def open_by_token(self, identity: Identity) -> User:
        """The account of an identity that a token alone names, once its email is confirmed where that is demanded.

        Raises as `account_of` does.
        """
        user = await self.account_of(identity, may_be_first=False)
        if user.confirmed_at is None and self._options.must_confirm:
            raise Forbidden("Confirm the email of this account first: ask for a new password at /auth/forgot.")
        return user

    async def _by_address(self, conn: Connection, identity: Identity, now: datetime) -> User | None:
        """The account under an address that the issuer has seen to be theirs."""
        if not identity.is_email_verified:
            return None
        found = await users.find_credentials(conn, email_key=email_key(identity.email))
        if found is None or not is_same_mailbox(found.user.email, identity.email):
            return None
        if found.user.confirmed_at is None:
            # Whoever registered it never showed that the address is theirs: its owner comes now, and the ways in that
            # somebody may have laid before them are closed.
            await users.revoke_access(conn, user_id=found.user.id)
            await revoke_links(conn, found.user)
            await users.confirm(conn, user_id=found.user.id, now=now)
            return replace(found.user, confirmed_at=now)
        return found.user

    async def _make(
        self, conn: Connection, identity: Identity, now: datetime, *, is_first: bool, may_be_first: bool
    ) -> User:
        if is_first and not may_be_first:
            raise Forbidden("There is no account yet. Make the first one on the registration page.")
        if not is_first and not self._options.registration:
            raise RegistrationClosed
        if email_problem(identity.email):
            raise Forbidden("The issuer tells no email address of yours, and an account needs one.")
        confirmed_at = now if identity.is_email_verified else None
        role = role_of_new(is_first=is_first)
        user = await add_user(conn, identity.email, None, role, now, confirmed_at=confirmed_at)
        await record(conn, user.id, EventType.USER_REGISTERED, now, issuer=identity.issuer)
        return user


async def _known(conn: Connection, identity: Identity) -> User | None:
    user_id: UserId | None = await identities.find(conn, issuer=identity.issuer, subject=identity.subject)
    found = await users.find_credentials_by_id(conn, user_id=user_id) if user_id else None
    return found.user if found else None
