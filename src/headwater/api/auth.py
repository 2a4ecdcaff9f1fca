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
from litestar.typing import FieldDefinition
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
    """A guard that refuses what would silently be left out: a misspelt filter would list everything."""
    known = handler.parsed_fn_signature.parameters
    faults = {
        name: problem
        for name, value in connection.query_params.multi_items()
        if (problem := _query_fault(None if name in NOT_OF_THE_QUERY else known.get(name), value))
    }
    if faults:
        told = [{"source": "query", "key": name, "message": faults[name]} for name in sorted(faults)]
        raise ValidationException(extra=told)


def _query_fault(field: FieldDefinition | None, value: str) -> str | None:
    if field is None:
        return "there is no such parameter"
    takes_text = any(inner.annotation is str for inner in field.inner_types)
    # The framework reads the word as nothing at all, except where a text is asked for.
    return "null is none of the values" if value.lower() == "null" and not takes_text else None


def _digest(token: str) -> bytes:
    # Digests have one length: comparing them tells nothing of the token's own.
    return sha256(token.encode()).digest()
