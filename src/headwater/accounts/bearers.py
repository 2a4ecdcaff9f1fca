"""Whoever comes with a token: a program of the operator's, or one that acts for a person."""

import hmac
from dataclasses import dataclass

from pydantic import SecretStr

from headwater.accounts import store
from headwater.accounts.secrets import digest
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


OPERATOR = Bearer(None, frozenset(Scope))


class Bearers:
    """Knows tokens. `operators` is the one of the settings."""

    def __init__(self, database: Database, clock: Clock, operators: SecretStr | None) -> None:
        self._database = database
        self._clock = clock
        # Digests have one length: comparing them tells nothing of the token's own.
        self._operators = digest(operators.get_secret_value()) if operators else None

    async def recognise(self, token: str) -> Bearer | None:
        """Who brings this token; None for one that is wrong or revoked, alike. Raises DatabaseUnavailable."""
        if self._operators is not None and hmac.compare_digest(digest(token), self._operators):
            return OPERATOR
        if token.startswith(PREFIX):
            # Found by its digest: how long that takes tells nothing of a token that is nearly right.
            async with self._database.transaction() as conn:
                found = await store.find_api_token(conn, token_hash=digest(token), now=self._clock())
            return Bearer(*found) if found else None
        return None
