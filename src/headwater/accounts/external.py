"""Outside issuers: verifies a signed token (JWT) of the configured issuer, and finds or creates its user's account."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from joserfc import jws, jwt
from joserfc.errors import JoseError

from headwater.accounts.changes import add_user, revoke_access
from headwater.accounts.decide import email_key, email_problem, is_same_mailbox, role_of_new
from headwater.accounts.keys import Keys, algorithms_of
from headwater.accounts.store import users
from headwater.accounts.store.events import record
from headwater.accounts.types import AccountOptions, EventType, Identity, User
from headwater.db import Connection, Database
from headwater.errors import Forbidden, RegistrationClosed
from headwater.types import Clock

LEEWAY = timedelta(seconds=30)  # clocks differ
TOKEN_MAX = 16_000
SUBJECT_MAX = 255
# What the library raises for invalid tokens; a header such as `"crit": 5` leads to a TypeError.
UNREADABLE = (JoseError, ValueError, TypeError, KeyError, AttributeError, OverflowError)


class Issuer:
    """An issuer whose tokens are accepted if their audience is ours."""

    def __init__(self, keys: Keys, clock: Clock, *, name: str, audience: str) -> None:
        self.name, self._keys, self._clock = name, keys, clock
        self._audience = audience

    async def claims_of(self, token: str) -> Mapping[str, Any] | None:
        """The claims of a token; None if its signature, time or audience is invalid. Raises IssuerUnavailable."""
        if len(token) > TOKEN_MAX:
            return None
        try:
            kid = cast("object", jws.extract_compact(token.encode()).headers().get("kid"))
            key = await self._keys.find(kid if isinstance(kid, str) else None)
            if key is None:
                return None
            claims = jwt.decode(token, key, algorithms=algorithms_of(key)).claims
            jwt.JWTClaimsRegistry(
                now=int(self._clock().timestamp()), leeway=round(LEEWAY.total_seconds()),
                iss={"essential": True, "value": self.name}, aud={"essential": True, "value": self._audience},
                sub={"essential": True}, exp={"essential": True},
            ).validate(claims)  # fmt: skip
        except (*UNREADABLE, RecursionError):
            return None
        return claims

    async def identify(self, token: str) -> Identity | None:
        """The identity in a token. Raises IssuerUnavailable."""
        claims = await self.claims_of(token)
        return identity_of(self.name, claims) if claims is not None else None


def identity_of(issuer: str, claims: Mapping[str, Any]) -> Identity | None:
    """The identity in these claims. An email counts as verified only if `email_verified` is true."""
    subject, email = claims.get("sub"), claims.get("email")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_MAX or not subject.isprintable():
        return None
    given = email.strip() if isinstance(email, str) else ""
    return Identity(issuer, subject, "" if email_problem(given) else given, claims.get("email_verified") is True)


class ExternalAccounts:
    """Finds the accounts of identities, and creates one if registration is open."""

    def __init__(self, database: Database, clock: Clock, options: AccountOptions) -> None:
        self._database, self._clock, self._options = database, clock, options

    async def account_of(self, identity: Identity, *, may_be_first: bool) -> User:
        """The account of an identity. Raises Forbidden, RegistrationClosed, EmailTaken. `may_be_first`: whether it may
        be the first account, which is a super_admin."""
        now = self._clock()
        async with self._database.as_system() as conn:
            if known := await _known(conn, identity):
                return known
            # Concurrent first log-ins wait here, also a second request of the same user.
            is_first = await users.claim_first(conn)
            known = await _known(conn, identity) or await self._find_by_email(conn, identity, now)
            user = known or await self._make(conn, identity, now, is_first=is_first, may_be_first=may_be_first)
            await users.add_identity(conn, issuer=identity.issuer, subject=identity.subject, user_id=user.id)
            return user

    async def open_by_token(self, identity: Identity) -> User:
        """The account of an identity in a bearer token. Raises as `account_of`, and Forbidden until it is confirmed."""
        user = await self.account_of(identity, may_be_first=False)
        if user.confirmed_at is None and self._options.must_confirm:
            raise Forbidden("Confirm the email of this account first: request a new password at /auth/forgot.")
        return user

    async def _find_by_email(self, conn: Connection, identity: Identity, now: datetime) -> User | None:
        """The account with an email that the issuer has verified, locked: it may be changing its email."""
        if not identity.is_email_verified:
            return None
        found = await users.find_credentials(conn, email_key=email_key(identity.email))
        found = await users.lock_credentials(conn, user_id=found.user.id) if found else None
        if found is None or not is_same_mailbox(found.user.email, identity.email):
            return None
        if found.user.confirmed_at is None:
            # Another person may have registered with this email: all access that was given before is revoked.
            await revoke_access(conn, found.user, password_hash=None, keep=None)
            await users.confirm(conn, user_id=found.user.id, now=now)
            return replace(found.user, confirmed_at=now)
        return found.user

    async def _make(
        self, conn: Connection, identity: Identity, now: datetime, *, is_first: bool, may_be_first: bool
    ) -> User:
        if is_first and not may_be_first:
            raise Forbidden("There is no account yet. Create the first one on the registration page.")
        if not is_first and not self._options.registration:
            raise RegistrationClosed
        if email_problem(identity.email):
            raise Forbidden("The issuer gives no email address, and an account needs one.")
        confirmed_at = now if identity.is_email_verified else None
        user = await add_user(conn, identity.email, None, role_of_new(is_first=is_first), now, confirmed_at)
        await record(conn, user.id, EventType.USER_REGISTERED, now, issuer=identity.issuer)
        return user


async def _known(conn: Connection, identity: Identity) -> User | None:
    user_id = await users.find_identity(conn, issuer=identity.issuer, subject=identity.subject)
    found = await users.find_credentials_by_id(conn, user_id=user_id) if user_id else None
    return found.user if found else None
