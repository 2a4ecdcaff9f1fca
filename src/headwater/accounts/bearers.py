"""Bearer tokens: the operator's token, API tokens of users, and tokens of an outside issuer."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import SecretStr

from headwater.accounts.decide import scopes_allowed
from headwater.accounts.external import ExternalAccounts, Issuer
from headwater.accounts.secrets import digest, new_token
from headwater.accounts.store import tokens
from headwater.accounts.types import ApiToken, Role, Scope, User
from headwater.db import Connection, Database
from headwater.errors import Conflict, Invalid
from headwater.ids import new_id
from headwater.types import Clock

NAME_MAX = 100
TOKENS_MOST = 100  # of one user
PREFIX = "hw_"  # identifies a token that is found in a log or a repository


@dataclass(frozen=True, slots=True)
class Bearer:
    """The user of a token, and its scopes. Without a user it is the operator's token."""

    user: User | None
    scopes: frozenset[Scope]

    @property
    def role(self) -> Role:
        return self.user.role if self.user else Role.SUPER_ADMIN


OUTSIDERS = frozenset({Scope.READ, Scope.WRITE})
OPERATOR = Bearer(None, frozenset(Scope))


class Bearers:
    """`operators` is the token in the settings, `issuer` the outside issuer whose tokens are accepted."""

    def __init__(
        self, database: Database, clock: Clock, operators: SecretStr | None,
        external_accounts: ExternalAccounts | None = None, issuer: Issuer | None = None,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._outsiders = external_accounts
        self._issuer = issuer
        # Digests have one length: comparing them reveals nothing about the token's.
        self._operators = digest(operators.get_secret_value()) if operators else None

    async def recognise(self, token: str) -> Bearer | None:
        """The bearer of this token; None if it is wrong or revoked. Raises Unavailable; for a new user of an outside
        issuer also Forbidden, RegistrationClosed, EmailTaken."""
        if self._operators is not None and hmac.compare_digest(digest(token), self._operators):
            return OPERATOR
        if token.startswith(PREFIX):
            # Found by its digest: the time that takes reveals nothing about a token that is nearly right.
            async with self._database.as_system() as conn:
                found = await tokens.find(conn, token_hash=digest(token), now=self._clock())
            return Bearer(*found) if found else None
        if self._issuer is None or self._outsiders is None or token.count(".") != 2:
            return None
        identity = await self._issuer.identify(token)
        if identity is None:
            return None
        return Bearer(await self._outsiders.open_by_token(identity), OUTSIDERS)


async def make_token(conn: Connection, *, user: User, name: str, scopes: Sequence[str], now: datetime) -> str:
    """Create an API token. Raises Invalid, TokenNameTaken, Conflict."""
    name = " ".join(name.split())
    if not 0 < len(name) <= NAME_MAX:
        raise Invalid(f"A token needs a name of at most {NAME_MAX} characters.")
    unknown = [scope for scope in scopes if scope and scope not in set(Scope)]
    if unknown:
        raise Invalid(f"There is no scope {unknown[0]!r}.")
    chosen = sorted({Scope(scope) for scope in scopes if scope})
    if not chosen:
        raise Invalid("Choose what the token may do.")
    if not scopes_allowed(user.role).issuperset(chosen):
        raise Invalid("You may not give a token more than you may do yourself.")
    if await tokens.count_of(conn, user_id=user.id) >= TOKENS_MOST:
        raise Conflict(f"You have {TOKENS_MOST} tokens. Revoke one first.")
    token = PREFIX + new_token()
    made = ApiToken(new_id(), name, chosen, created_at=now, used_at=None)
    await tokens.add(conn, made, user_id=user.id, token_hash=digest(token))
    return token
