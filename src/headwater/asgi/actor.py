"""Who is to be written into the audit log for a request."""

from typing import Any

from litestar.connection import ASGIConnection

from headwater.accounts.types import User
from headwater.audit.types import API_TOKEN, Actor


def actor_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Actor:
    """The person who asks; nobody in particular when it is the operator's own API token."""
    user: User | None = connection.user
    return Actor(user.id, user.email) if user else API_TOKEN
