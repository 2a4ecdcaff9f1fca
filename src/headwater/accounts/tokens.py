"""Tokens for programs: named, with what they may do, shown once."""

from collections.abc import Sequence
from datetime import datetime

from headwater.accounts.decide import scopes_allowed
from headwater.accounts.secrets import digest, new_token
from headwater.accounts.store import tokens
from headwater.accounts.types import Scope, User
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.ids import new_id

NAME_MAX = 100
PREFIX = "hw_"  # so that whoever finds one in a log or a repository knows what it is


async def make_token(conn: Connection, *, user: User, name: str, scopes: Sequence[str], now: datetime) -> str:
    """A new token of this person's. Raises Invalid, TokenNameTaken."""
    name = " ".join(name.split())
    if not 0 < len(name) <= NAME_MAX:
        raise Invalid(f"A token needs a name of at most {NAME_MAX} characters.")
    chosen = sorted({_scope(scope) for scope in scopes if scope})
    if not chosen:
        raise Invalid("Choose what the token may do.")
    if not scopes_allowed(user.role).issuperset(chosen):
        raise Invalid("You may not give a token more than you may do yourself.")
    token = PREFIX + new_token()
    await tokens.add(
        conn, token_id=new_id(), user_id=user.id, name=name, token_hash=digest(token), scopes=chosen, now=now
    )
    return token


def _scope(text: str) -> Scope:
    try:
        return Scope(text)
    except ValueError as error:
        raise Invalid(f"There is no scope {text!r}.") from error
