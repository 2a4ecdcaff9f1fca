"""Authentication of the API by token; cookies are ignored.

Sets `request.user` (None for the operator's token) and `request.auth`, the Bearer, from the header Authorization. A
route names the role it requires; the default is super_admin.
"""

from collections.abc import Awaitable, Callable

from litestar.exceptions import HTTPException, NotAuthorizedException, PermissionDeniedException, ValidationException
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter
from litestar.typing import FieldDefinition

from headwater.accounts.bearers import Bearer, Bearers
from headwater.accounts.decide import grants, network_of, scope_needed
from headwater.accounts.types import Role
from headwater.asgi.handlers import AnyConnection
from headwater.asgi.session import RequestLimiter, visitor_of
from headwater.asgi.streams import IS_PERMITTED
from headwater.errors import Forbidden

Guard = Callable[[AnyConnection, BaseRouteHandler], Awaitable[None]]

CHALLENGE = 'Bearer realm="headwater"'
INVALID_TOKEN = f'{CHALLENGE}, error="invalid_token"'
READING = frozenset({"GET", "HEAD", "OPTIONS"})


def require_bearer(bearers: Bearers) -> Guard:
    """A guard: requires a valid token with the scope and the role of the route. Tokens are looked up for a few requests
    of a network at a time."""
    lookups = RequestLimiter()

    async def check(connection: AnyConnection, handler: BaseRouteHandler) -> None:
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise NotAuthorizedException(
                "Missing token.", headers={"WWW-Authenticate": CHALLENGE}, extra={"code": "missing_token"}
            )
        with await lookups.acquire(network_of(visitor_of(connection).address)):
            bearer = await bearers.recognise(given.strip())
        if bearer is None:
            raise NotAuthorizedException(
                "Invalid token.", headers={"WWW-Authenticate": INVALID_TOKEN}, extra={"code": "invalid_token"}
            )
        _permit(bearer, connection, handler)
        connection.scope["user"], connection.scope["auth"] = bearer.user, bearer

        async def is_permitted() -> bool:
            """Whether it is still so: for streams, which outlive this check."""
            try:
                now = await bearers.recognise(given.strip())
                if now is not None:
                    _permit(now, connection, handler)
            except (PermissionDeniedException, Forbidden):
                return False
            return now is not None

        connection.scope["state"][IS_PERMITTED] = is_permitted

    return check


def _permit(bearer: Bearer, connection: AnyConnection, handler: BaseRouteHandler) -> None:
    role = Role(handler.opt.get("role", Role.SUPER_ADMIN))
    is_reading = connection.scope["type"] == "http" and connection.scope["method"] in READING
    needed = scope_needed(role, is_reading=is_reading)
    if not grants(bearer.scopes, needed):
        headers = {"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{needed}"'}
        text = f"The token lacks the scope `{needed}`."
        raise PermissionDeniedException(text, headers=headers, extra={"code": "insufficient_scope"})
    if not bearer.role.includes(role):
        raise PermissionDeniedException(f"This requires the role {role}.", extra={"code": "insufficient_role"})


def require_json(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """A guard: requires a JSON body, which another site cannot make a browser send. Routes without a body pass."""
    if "data" not in handler.parsed_fn_signature.parameters:
        return
    given = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        text = f"Unsupported content type {given[:100]!r}." if given else "Missing Content-Type header."
        raise HTTPException(text, status_code=415)
    if connection.headers.get("content-encoding", "identity").lower() != "identity":
        raise HTTPException("Compressed bodies are not supported.", status_code=415)


def require_known_query(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """A guard: refuses unknown parameters. A misspelt filter would list everything."""
    known = handler.parsed_fn_signature.parameters
    errors = {
        name: problem
        for name, value in connection.query_params.multi_items()
        if (problem := _query_error(known.get(name), value))
    }
    if errors:
        extra = [{"source": "query", "key": name, "message": errors[name]} for name in sorted(errors)]
        raise ValidationException(extra=extra)


def _query_error(field: FieldDefinition | None, value: str) -> str | None:
    if field is None or not isinstance(field.kwarg_definition, QueryParameter):
        return "unknown parameter"
    takes_text = any(inner.annotation is str for inner in field.inner_types)
    # The framework converts `null` to None, except for text parameters.
    return "null is not allowed" if value.lower() == "null" and not takes_text else None
