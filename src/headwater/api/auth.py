"""Who may use the API: until there are accounts, whoever brings the one token of the settings. Nothing by cookie."""

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from litestar.connection import ASGIConnection
from litestar.exceptions import (
    HTTPException,
    NotAuthorizedException,
    PermissionDeniedException,
    ValidationException,
)
from litestar.handlers import BaseRouteHandler
from pydantic import SecretStr

AnyConnection = ASGIConnection[Any, Any, Any, Any]
Check = Callable[[AnyConnection, BaseRouteHandler], None]

CHALLENGE = 'Bearer realm="headwater"'
WRONG = f'{CHALLENGE}, error="invalid_token"'
NOT_OF_THE_QUERY = frozenset({"database", "clock", "data", "url_id"})
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def require_token(token: SecretStr | None) -> Check:
    """A guard that lets requests with this token pass; without a token set, none."""
    expected = _digest(token.get_secret_value()) if token else None

    def check(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
        if expected is None:
            raise PermissionDeniedException("No token is set: HEADWATER_API_TOKEN is empty.")
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise NotAuthorizedException("The request came without a token.", headers={"WWW-Authenticate": CHALLENGE})
        if not hmac.compare_digest(_digest(given.strip()), expected):
            raise NotAuthorizedException("The token is not the right one.", headers={"WWW-Authenticate": WRONG})

    return check


def require_json(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    """A guard that refuses bodies a foreign web page could make a browser send, and all that is not plain JSON."""
    if connection.scope["type"] != "http" or connection.scope["method"] not in WITH_BODY:
        return
    given = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        raise HTTPException(f"The body is {given[:100]!r}." if given else "No Content-Type.", status_code=415)
    if connection.headers.get("content-encoding", "identity").lower() != "identity":
        raise HTTPException("The body is compressed.", status_code=415)


def require_known_query(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """A guard that refuses names nobody knows: a misspelt filter would otherwise list everything."""
    known = handler.parsed_fn_signature.parameters
    unknown = sorted({name for name in connection.query_params if name not in known or name in NOT_OF_THE_QUERY})
    if unknown:
        problem = "there is no such parameter"
        raise ValidationException(extra=[{"source": "query", "key": name, "message": problem} for name in unknown])


def _digest(token: str) -> bytes:
    # Digests have one length: comparing them tells nothing of the token's own.
    return sha256(token.encode()).digest()
