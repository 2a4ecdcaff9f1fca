"""The actor of a request, for the audit log."""

from typing import Any

from litestar.connection import ASGIConnection

from headwater.accounts.types import User
from headwater.audit.types import API_TOKEN, Actor


def actor_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Actor:
    """The logged-in user, or the operator's API token."""
    user: User | None = connection.user
    return Actor(user.id, user.email) if user else API_TOKEN
