"""Who may use the API: whoever brings a token of their account's, or the operator's own. Nothing by cookie.

In: the header Authorization. Out: `request.user` (None for the operator's own token) and `request.auth`, the Bearer.
A route names the role that it takes; one that names none takes nobody but super_admins.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.exceptions import (
    HTTPException,
    NotAuthorizedException,
    PermissionDeniedException,
    ValidationException,
)
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter
from litestar.typing import FieldDefinition

from headwater.accounts.bearers import Bearer, Bearers
from headwater.accounts.decide import grants, scope_needed
from headwater.accounts.types import Role

AnyConnection = ASGIConnection[Any, Any, Any, Any]
Check = Callable[[AnyConnection, BaseRouteHandler], Awaitable[None]]

CHALLENGE = 'Bearer realm="headwater"'
WRONG = f'{CHALLENGE}, error="invalid_token"'
READING = frozenset({"GET", "HEAD", "OPTIONS"})


def require_bearer(bearers: Bearers) -> Check:
    """A guard that lets those pass whose token is known, may do what is asked, and is of somebody who may."""

    async def check(connection: AnyConnection, handler: BaseRouteHandler) -> None:
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise NotAuthorizedException("The request came without a token.", headers={"WWW-Authenticate": CHALLENGE})
        bearer = await bearers.recognise(given.strip())
        if bearer is None:
            raise NotAuthorizedException("The token is not the right one.", headers={"WWW-Authenticate": WRONG})
        _permit(bearer, connection, handler)
        connection.scope["user"], connection.scope["auth"] = bearer.user, bearer

    return check


def _permit(bearer: Bearer, connection: AnyConnection, handler: BaseRouteHandler) -> None:
    role = Role(handler.opt.get("role", Role.SUPER_ADMIN))
    is_reading = connection.scope["type"] == "http" and connection.scope["method"] in READING
    needed = scope_needed(role, is_reading=is_reading)
    if not grants(bearer.scopes, needed):
        headers = {"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{needed}"'}
        raise PermissionDeniedException(f"The token lacks the scope `{needed}`.", headers=headers)
    if not bearer.role.includes(role):
        raise PermissionDeniedException(f"This needs the role {role}.")


def require_json(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """A guard that refuses bodies a foreign web page could make a browser send, and all that is not plain JSON.

    A route that takes no body reads none, whatever comes.
    """
    if "data" not in handler.parsed_fn_signature.parameters:
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
        if (problem := _query_fault(known.get(name), value))
    }
    if faults:
        told = [{"source": "query", "key": name, "message": faults[name]} for name in sorted(faults)]
        raise ValidationException(extra=told)


def _query_fault(field: FieldDefinition | None, value: str) -> str | None:
    if field is None or not isinstance(field.kwarg_definition, QueryParameter):
        return "there is no such parameter"
    takes_text = any(inner.annotation is str for inner in field.inner_types)
    # The framework reads the word as nothing at all, except where a text is asked for.
    return "null is none of the values" if value.lower() == "null" and not takes_text else None
