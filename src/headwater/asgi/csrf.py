"""CSRF protection: every change must carry a token that only our own pages know.

The token is a signature over the visitor's cookie and the session. It is sent in the header X-CSRF-Token by htmx, or in
the form field `_csrf_token`. Forms are parsed here once, within limits: the framework's own form parser has no limit on
fields and caches the last thousand bodies, passwords included. The result of this one replaces it.
"""

import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from litestar import Request
from litestar.datastructures import Cookie, FormMultiDict, MutableScopeHeaders, UploadFile
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException
from litestar.handlers.base import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from litestar.utils.scope.state import ScopeState

from headwater.accounts.access import Access
from headwater.accounts.types import SessionRow
from headwater.asgi.handlers import AnyConnection, AnyRequest
from headwater.asgi.session import PUBLIC, is_secure
from headwater.errors import Forbidden
from headwater.text import check_text

VISITOR_COOKIE = "headwater_visitor"
HEADER = "X-CSRF-Token"
FIELD = "_csrf_token"
FORM_BYTES = 65_536
FIELDS_MAX = 1_000
PARTS_MAX = 100  # of a form with files
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class CsrfMiddleware:
    """Middleware inside SessionMiddleware: computes the token and checks the one that was sent."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request: AnyRequest = Request(scope, receive)
        known = request.cookies.get(VISITOR_COOKIE)
        visitor = known or secrets.token_urlsafe(24)
        token = sign(await self._access.secret(), visitor, scope["auth"])
        scope["state"]["csrf_token"] = mask(token)  # before the form is read, so that an error page has it too
        cookie = Cookie(VISITOR_COOKIE, value=visitor, secure=is_secure(request), httponly=True, samesite="lax")

        async def with_cookie(message: Message) -> None:
            if known is None and message["type"] == "http.response.start":
                MutableScopeHeaders.from_message(message).add("set-cookie", cookie.to_header(header=""))
            await send(message)

        is_safe = request.method in SAFE_METHODS
        if is_safe or (scope["auth"] is None and scope["route_handler"].opt.get("role") != PUBLIC):
            # Without a login, only forms of public routes are read.
            scope["state"]["is_forged"] = not is_safe
            await self._app(scope, receive, with_cookie)
            return
        async with read_form(request) as form:
            scope["state"]["is_forged"] = not hmac.compare_digest(unmask(_sent_token(request, form)), token)
            await self._app(scope, receive, with_cookie)


def require_csrf_token(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """A guard, so that the route's own exception handlers apply. Raises Forbidden."""
    if connection.scope["state"]["is_forged"] and handler.opt.get("needs_csrf_token", True):
        raise Forbidden("This form has expired. Reload the page and try again.")


def sign(secret: bytes, visitor: str, session: SessionRow | None) -> bytes:
    signed = f"{visitor}:{session.id if session else ''}"
    return hmac.new(secret, signed.encode(), hashlib.sha256).digest()


def mask(token: bytes) -> str:
    """The token in a form that differs each time: a compressed page does not reveal it by its length."""
    pad = secrets.token_bytes(len(token))
    return (pad + _xor(pad, token)).hex()


def unmask(text: str) -> bytes:
    """The token of `mask`; empty for anything else."""
    try:
        both = bytes.fromhex(text)
    except ValueError:
        return b""
    half = len(both) // 2
    return _xor(both[:half], both[half:])


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


def _sent_token(request: AnyRequest, form: FormMultiDict) -> str:
    given = request.headers.get(HEADER, form.get(FIELD))
    return given.encode("ascii", "replace").decode() if isinstance(given, str) else ""


@asynccontextmanager
async def read_form(request: AnyRequest) -> AsyncIterator[FormMultiDict]:
    """The form of a request, its text checked; empty where there is none. Its files are closed at the end.

    Raises HTTPException, Invalid.
    """
    if request.content_type[0] == RequestEncodingType.URL_ENCODED:
        ScopeState.from_scope(request.scope).form = parse_form(await request.body())
    try:
        form = await request.form()
    except (ValueError, LookupError) as error:  # text that is not in the encoding its part names
        raise HTTPException("The form is invalid.", status_code=400) from error
    try:
        for name, value in form.multi_items():
            check_text(name, name="The name of a field")
            if isinstance(value, str):
                check_text(value, name=name)
        yield form
    finally:
        await form.close()


def parse_form(body: bytes) -> dict[str, str | list[str] | UploadFile]:
    """The fields of a form; one that comes several times has a list of values. Raises HTTPException."""
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise HTTPException(f"The form has more than {FIELDS_MAX} fields.", status_code=413) from error
    return {name: values if len(values) > 1 else values[0] for name, values in fields.items()}
