"""Sessions by cookie, and the role that each route requires.

Sets `request.user` and `request.auth` from the two cookies (None without a login), and new cookies on the response when
the access token was renewed. A route names the role it requires; the default is reader.
"""

import asyncio
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from datetime import datetime, timedelta
from ipaddress import ip_address
from weakref import WeakValueDictionary

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie, MutableScopeHeaders
from litestar.handlers.base import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater.accounts.access import Access
from headwater.accounts.decide import network_of
from headwater.accounts.types import Role, SessionRow, Tokens, User, Visitor
from headwater.asgi.handlers import AnyConnection
from headwater.errors import Forbidden, NotLoggedIn, TooManyRequests
from headwater.text import printable
from headwater.types import Clock

ACCESS_COOKIE = "headwater_access"
REFRESH_COOKIE = "headwater_refresh"
PUBLIC = "public"
PUBLIC_HTTPS = "public_https"  # in the app's state: whether the public URL is https
# A proxy adds at least one of these; a request through a proxy may come from anywhere.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")

CONCURRENT = 5
WAITING_MAX = 1_000  # waiting costs less than an immediate refusal, which a flood answers with the next request
LONGEST_WAIT = timedelta(seconds=30)


class _Queue(asyncio.Semaphore):
    waiting = 0


class RequestLimiter:
    """Limits the concurrent requests of one user, or of one network without a login. Further ones wait here, without a
    database connection.

    Without this, one client with many requests takes every connection of the pool from the others and the stages.
    """

    def __init__(
        self, *, concurrent: int = CONCURRENT, waiting_max: int = WAITING_MAX, longest_wait: timedelta = LONGEST_WAIT
    ) -> None:
        self._concurrent, self._waiting_max, self._longest_wait = concurrent, waiting_max, longest_wait
        self._queues: WeakValueDictionary[Hashable, _Queue] = WeakValueDictionary()

    async def acquire(self, client: Hashable) -> ExitStack:
        """Wait for a slot; closing it lets the next request begin. Raises TooManyRequests."""
        queue = self._queues.setdefault(client, _Queue(self._concurrent))
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


def limit_visitors(limiter: RequestLimiter) -> Callable[[ASGIApp], ASGIApp]:
    """Middleware of routes that need no session: limits concurrent requests per network."""

    def limited(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            slot = await limiter.acquire(_network(ASGIConnection(scope)))
            with slot:
                await app(scope, receive, _until_sent(send, slot))

        return handle

    return limited


class SessionMiddleware:
    """Middleware: finds the session, renews an expired access token, and limits concurrent requests: per user, and
    without a session per network. Sessions are looked up for a few requests of a network at a time."""

    def __init__(
        self, app: ASGIApp, access: Access, clock: Clock, limiter: RequestLimiter, lookups: RequestLimiter
    ) -> None:
        self._app, self._access, self._clock = app, access, clock
        self._limiter, self._lookups = limiter, lookups

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

        slot = await self._limiter.acquire(session.user.id if session else _network(connection))
        with slot:
            await self._app(scope, receive, _until_sent(with_cookies, slot))

    async def _find(self, connection: AnyConnection) -> tuple[SessionRow | None, Tokens | None]:
        access, refresh = connection.cookies.get(ACCESS_COOKIE), connection.cookies.get(REFRESH_COOKIE)
        if not access and not refresh:
            return None, None
        with await self._lookups.acquire(_network(connection)):
            session = await self._access.recognise(access) if access else None
            if session is not None:
                return session, None
            return (await self._access.renew(refresh) if refresh else None) or (None, None)


def _network(connection: AnyConnection) -> str:
    return network_of(visitor_of(connection).address)


def _until_sent(send: Send, slot: ExitStack) -> Send:
    """Releases the slot with the end of the response: background tasks do not hold up further requests."""

    async def send_and_release(message: Message) -> None:
        await send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            slot.close()

    return send_and_release


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
