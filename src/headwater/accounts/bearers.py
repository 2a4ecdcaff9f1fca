"""Whoever comes with a token: a program of the operator's, or one that acts for a person."""

import hmac
from dataclasses import dataclass

from pydantic import SecretStr

from headwater.accounts.outside import Issuer, Outsiders
from headwater.accounts.secrets import digest
from headwater.accounts.store import tokens
from headwater.accounts.tokens import PREFIX
from headwater.accounts.types import Role, Scope, User
from headwater.db import Database
from headwater.types import Clock


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who asks, and what their token lets them do. Without a person it is the operator's own."""

    user: User | None
    scopes: frozenset[Scope]

    @property
    def role(self) -> Role:
        """What the person may do as such; the operator may do everything."""
        return self.user.role if self.user else Role.SUPER_ADMIN


OUTSIDERS = frozenset({Scope.READ, Scope.WRITE})
OPERATOR = Bearer(None, frozenset(Scope))


class Bearers:
    """Knows tokens. `operators` is the one of the settings, `issuer` the outsider whose tokens are believed."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        operators: SecretStr | None,
        outsiders: Outsiders | None = None,
        issuer: Issuer | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._outsiders = outsiders
        self._issuer = issuer
        # Digests have one length: comparing them tells nothing of the token's own.
        self._operators = digest(operators.get_secret_value()) if operators else None

    async def recognise(self, token: str) -> Bearer | None:
        """Who brings this token; None for one that is wrong or revoked, alike.

        Raises Unavailable; and of somebody new whom an issuer vouches for Forbidden, RegistrationClosed, EmailTaken.
        """
        if self._operators is not None and hmac.compare_digest(digest(token), self._operators):
            return OPERATOR
        if token.startswith(PREFIX):
            # Found by its digest: how long that takes tells nothing of a token that is nearly right.
            async with self._database.as_system() as conn:
                found = await tokens.find(conn, token_hash=digest(token), now=self._clock())
            return Bearer(*found) if found else None
        return await self._recognise_outsider(token)

    async def _recognise_outsider(self, token: str) -> Bearer | None:
        if self._issuer is None or self._outsiders is None or token.count(".") != 2:
            return None
        identity = await self._issuer.identify(token)
        if identity is None:
            return None
        return Bearer(await self._outsiders.open_by_token(identity), OUTSIDERS)
