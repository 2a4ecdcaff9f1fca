"""Sessions by cookie, and the role that each route requires.

Sets `request.user` and `request.auth` from the two cookies (None without a login), and new cookies on the response when
the access token was renewed. A route names the role it requires; the default is reader.
"""

import asyncio
from contextlib import ExitStack
from datetime import datetime, timedelta
from ipaddress import ip_address
from weakref import WeakValueDictionary

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie, MutableScopeHeaders
from litestar.handlers.base import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater.accounts.access import Access
from headwater.accounts.types import Role, SessionRow, Tokens, User, Visitor
from headwater.asgi.handlers import AnyConnection
from headwater.errors import Forbidden, NotLoggedIn, TooManyRequests
from headwater.text import printable
from headwater.types import Clock, UserId

ACCESS_COOKIE = "headwater_access"
REFRESH_COOKIE = "headwater_refresh"
PUBLIC = "public"
PUBLIC_HTTPS = "public_https"  # in the app's state: whether the public URL is https
# A proxy adds at least one of these; a request through a proxy may come from anywhere.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")

CONCURRENT = 5
WAITING_MAX = 50
LONGEST_WAIT = timedelta(seconds=30)


class _UserQueue(asyncio.Semaphore):
    waiting = 0


class RequestLimiter:
    """Limits the concurrent requests of one user. Further ones wait here, without a database connection.

    Without this, one user with many requests takes every connection of the pool from the others and the stages.
    """

    def __init__(
        self, *, concurrent: int = CONCURRENT, waiting_max: int = WAITING_MAX, longest_wait: timedelta = LONGEST_WAIT
    ) -> None:
        self._concurrent, self._waiting_max, self._longest_wait = concurrent, waiting_max, longest_wait
        self._queues: WeakValueDictionary[UserId, _UserQueue] = WeakValueDictionary()

    async def acquire(self, user_id: UserId) -> ExitStack:
        """Wait for a slot; closing it lets the next request begin. Raises TooManyRequests."""
        queue = self._queues.setdefault(user_id, _UserQueue(self._concurrent))
        if queue.waiting >= self._waiting_max:
            raise TooManyRequests(self._longest_wait)
        queue.waiting += 1
        try:
            async with asyncio.timeout(self._longest_wait.total_seconds()):
                await queue.acquire()
        except TimeoutError as error:
            raise TooManyRequests(self._longest_wait) from error
        finally:
            queue.waiting -= 1
        slot = ExitStack()
        slot.callback(queue.release)  # once, however often it is closed
        return slot


class SessionMiddleware:
    """Middleware: finds the session, renews an expired access token, and limits concurrent requests per user."""

    def __init__(self, app: ASGIApp, access: Access, clock: Clock, limiter: RequestLimiter) -> None:
        self._app, self._access, self._clock = app, access, clock
        self._limiter = limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection: AnyConnection = ASGIConnection(scope)
        session, renewed = await self._find(connection)
        scope["user"], scope["auth"] = (session.user, session) if session else (None, None)
        cookies = session_cookies(connection, renewed, self._clock()) if renewed else []
        lines: list[str] = [cookie.to_header(header="") for cookie in cookies]

        async def with_cookies(message: Message) -> None:
            if lines and message["type"] == "http.response.start":
                headers = MutableScopeHeaders.from_message(message)
                # Not if the handler has set them: a logout must not be undone by its own response.
                if not any(ACCESS_COOKIE in value for value in headers.getall("set-cookie", [])):
                    for line in lines:
                        headers.add("set-cookie", line)
            await send(message)

        if session is None:
            await self._app(scope, receive, with_cookies)
            return
        slot = await self._limiter.acquire(session.user.id)

        async def until_sent(message: Message) -> None:
            await with_cookies(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                slot.close()  # background tasks do not hold up further requests

        with slot:
            await self._app(scope, receive, until_sent)

    async def _find(self, connection: AnyConnection) -> tuple[SessionRow | None, Tokens | None]:
        access = connection.cookies.get(ACCESS_COOKIE)
        session = await self._access.recognise(access) if access else None
        if session is not None:
            return session, None
        refresh = connection.cookies.get(REFRESH_COOKIE)
        return (await self._access.renew(refresh) if refresh else None) or (None, None)


def require_role(connection: AnyConnection, handler: BaseRouteHandler) -> None:
    """A guard: checks the role that a route requires. Raises NotLoggedIn, Forbidden."""
    needed: Role | str = handler.opt.get("role", Role.READER)
    if needed == PUBLIC:
        return
    user: User | None = connection.user
    if user is None:
        raise NotLoggedIn
    if not user.role.includes(Role(needed)):
        raise Forbidden("You do not have access to this page.")


def session_cookies(connection: AnyConnection, tokens: Tokens | None, now: datetime) -> list[Cookie]:
    """The cookies of a session: HttpOnly, SameSite. Without tokens, those that delete them."""
    # Both last as long as the session: the refresh token renews an expired access token.
    lifetime = round((tokens.refresh_until - now).total_seconds()) if tokens else 0
    values = (tokens.access, tokens.refresh) if tokens else ("", "")
    return [
        Cookie(name, value=value, max_age=lifetime, secure=is_secure(connection), httponly=True, samesite="lax")
        for name, value in zip((ACCESS_COOKIE, REFRESH_COOKIE), values, strict=True)
    ]


def is_secure(connection: AnyConnection) -> bool:
    """Whether cookies are for https only: always, except on loopback."""
    if connection.url.scheme == "https" or connection.app.state.get(PUBLIC_HTTPS):
        return True
    return not is_loopback(connection.url.hostname or "")


def visitor_of(connection: AnyConnection) -> Visitor:
    """The client of a request.

    HTTP/1.0 counts as a proxy: browsers do not use it, and nginx with only `proxy_pass` set does, without adding a
    header and with the Host of the upstream.
    """
    address = connection.client.host if connection.client else "unknown"
    is_local = is_loopback(address) and is_loopback(connection.url.hostname or "")
    is_old = connection.scope["http_version"] == "1.0"
    is_forwarded = is_old or any(name in connection.headers for name in FORWARDED)
    agent = connection.headers.get("user-agent", "")
    return Visitor(printable(address), printable(agent), is_remote=is_forwarded or not is_local)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
