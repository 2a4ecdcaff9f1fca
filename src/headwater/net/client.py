"""The HTTP client: a URL in, a response or a FetchError out. Bounded in time, size and redirects; guarded."""

import asyncio
import re
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Self

import aiohttp
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from headwater.errors import InvalidUrl
from headwater.net.body import BoundedHandler, read_beginning, read_error_page, read_whole
from headwater.net.guard import BlockedAddress, BlockedName, check_address, check_target, is_address
from headwater.net.resolver import Resolver
from headwater.net.responses import REDIRECTS, redirect_of
from headwater.net.types import FetchError, FetchFailure, Hop, Response
from headwater.observability.log import get_logger
from headwater.urls import parse_url

_Reader = Callable[[aiohttp.ClientResponse, str, int], Awaitable[bytes]]
Turn = Callable[[str, Response], Awaitable[None]]
"""Waits until a URL, to which this response redirects, may be requested."""
_SocketAddress = tuple[int, int, int, str, tuple[Any, ...]]

log = get_logger()

MAX_REDIRECTS = 5
KEEP_ALIVE_S = 5  # for the next feed of the same host, three seconds later by default
OPEN_FILES = 65_536
NOT_PUBLIC = "its name leads to an address that is not public"
# As in `Connect call failed ('10.0.0.1', 80)`: an address that a name resolved to.
_SOCKET_ADDRESS = re.compile(r" ?\('[0-9a-fA-F:.%\w]*', \d+(?:, \d+)*\)")


@dataclass(frozen=True, slots=True)
class _Request:
    limit: asyncio.Timeout
    max_bytes: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    read: _Reader = read_whole
    method: str = "GET"
    data: Mapping[str, str] | bytes | None = None  # a form, or a body
    turn: Turn | None = None


class Client:
    """Makes requests. Use as an async context manager."""

    def __init__(
        self, *, user_agent: str, allow_loopback: bool = False, resolve: Mapping[str, str] | None = None
    ) -> None:
        self._user_agent = user_agent
        self._allow_loopback = allow_loopback
        self._resolve = dict(resolve or {})
        self._resolver: Resolver | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        allow_many_connections()
        self._resolver = Resolver(self._resolve, allow_loopback=self._allow_loopback)
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=KEEP_ALIVE_S, resolver=self._resolver, socket_factory=self._checked_socket
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "gzip, deflate, br, zstd"},
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,  # done by `unpack.py`
        )
        bounded: partial[ResponseHandler] = partial(BoundedHandler, loop=asyncio.get_running_loop())
        connector._factory = bounded  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        # aiohttp repeats a GET at once when the connection was reset: a second request, without the host's delay.
        self._session._retry_connection = False  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        if self._resolver is not None:
            await self._resolver.close()

    async def get(
        self, url: str, *, within: timedelta, max_bytes: int, headers: Mapping[str, str] | None = None,
        turn: Turn | None = None,
    ) -> Response:  # fmt: skip
        """The response at the end of at most five redirects. Raises FetchError, and what `turn` raises. `turn` is
        awaited before each request but the first; that time is not part of `within`."""
        async with in_time(url, within) as limit:
            return await self._follow(_followable(url), _Request(limit, max_bytes, headers or {}, turn=turn))

    async def ask(
        self, url: str, *, within: timedelta, max_bytes: int, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The response to one request, which may be a redirect. Raises FetchError."""
        async with in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, max_bytes, headers or {}))

    async def post(
        self, url: str, *, form: Mapping[str, str], within: timedelta, max_bytes: int, headers: Mapping[str, str]
    ) -> Response:
        """The response to a form; redirects are not followed. Raises FetchError."""
        async with in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, max_bytes, headers, method="POST", data=form))

    async def send(self, url: str, *, body: bytes, within: timedelta, headers: Mapping[str, str]) -> Response:
        """The response to a POST, with the beginning of its body as far as it can be read; redirects are not followed.
        Raises FetchError."""
        async with in_time(url, within) as limit:

            async def read(answer: aiohttp.ClientResponse, url: str, _: int) -> bytes:
                return await read_error_page(answer, url, limit.when())

            return await self._ask(_followable(url), _Request(limit, 0, headers, read, method="POST", data=body))

    async def peek(self, url: str, *, within: timedelta, first_bytes: int) -> Response:
        """The response to one request, with only the beginning of its body. Raises FetchError."""
        async with in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, first_bytes, read=read_beginning))

    async def head(self, url: str, *, within: timedelta) -> Response:
        """The response to one HEAD request, which may be a redirect. Raises FetchError."""
        async with in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, 0, read=read_beginning, method="HEAD"))

    def check(self, url: str) -> None:
        """Raises FetchError for a URL whose address or port is blocked; a name is not resolved here."""
        try:
            self._checked(_followable(url))
        except BlockedAddress as error:
            raise failure(url, error) from error

    def _checked(self, url: str) -> URL:
        target = URL(url, encoded=True)
        check_target(target.raw_host or "", target.port or 0, allow_loopback=self._allow_loopback)
        return target

    async def _follow(self, url: str, request: _Request) -> Response:
        hops: list[Hop] = []
        seen = {url}
        while True:
            response = await self._ask(url, request, tuple(hops))
            target = redirect_of(response)
            if target is None:
                return response
            hops.append(Hop(response.status, url))
            url = target
            if url in seen:
                raise FetchError(url, FetchFailure.REDIRECT_LOOP, "the redirects lead back to where they began")
            if len(hops) > MAX_REDIRECTS:
                raise FetchError(url, FetchFailure.REDIRECT_LOOP, f"more than {MAX_REDIRECTS} redirects")
            seen.add(url)
            if request.turn is not None:
                self.check(url)
                loop, until = asyncio.get_running_loop(), request.limit.when()
                began = loop.time()
                request.limit.reschedule(None)
                await request.turn(url, response)
                request.limit.reschedule(None if until is None else until + loop.time() - began)

    async def _ask(self, url: str, request: _Request, hops: tuple[Hop, ...] = ()) -> Response:
        assert self._session is not None, "open the client first"
        try:
            async with self._session.request(
                request.method, self._checked(url), headers=request.headers, data=request.data, allow_redirects=False
            ) as answer:
                if answer.status in REDIRECTS:
                    body = b""
                elif answer.ok:
                    body = await request.read(answer, url, request.max_bytes)
                else:
                    body = await read_error_page(answer, url, request.limit.when())
                return Response(url, answer.status, answer.headers, body, hops)
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            raise failure(url, error) from error

    def _checked_socket(self, address: _SocketAddress) -> socket.socket:
        """Checks the address that is really connected to, just before the connection is made."""
        family, kind, protocol, _, sockaddr = address
        check_address(str(sockaddr[0]), allow_loopback=self._allow_loopback)
        return socket.socket(family, kind, protocol)


def allow_many_connections() -> None:
    """Raise the limit of open files, usually 1024: 200 polls a second, times the seconds a connection is kept."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


@asynccontextmanager
async def in_time(url: str, within: timedelta) -> AsyncIterator[asyncio.Timeout]:
    try:
        async with asyncio.timeout(within.total_seconds()) as limit:
            yield limit
    except TimeoutError as error:
        detail = f"no complete answer within {within.total_seconds():g} s"
        raise FetchError(url, FetchFailure.TIMEOUT, detail) from error


def _followable(url: str) -> str:
    try:
        return parse_url(url)
    except InvalidUrl as error:
        raise FetchError(url, FetchFailure.BLOCKED, error.reason) from error


def failure(url: str, error: Exception) -> FetchError:
    blocked: BaseException | None = error
    while blocked is not None and not isinstance(blocked, BlockedAddress):
        blocked = blocked.__cause__ or blocked.__context__
    if blocked is not None:
        # Users see this detail, so an internal address that a name resolves to goes to the log only.
        shown = NOT_PUBLIC if is_address(blocked.address) and blocked.address not in url else str(blocked)
        log.info("address refused", url=url, address=blocked.address, reason=blocked.reason)
        detail = f"{shown}: Headwater does not connect there"
        return FetchError(url, FetchFailure.BLOCKED, detail, by_name=isinstance(blocked, BlockedName))
    message = _SOCKET_ADDRESS.sub("", str(error))
    match error:
        case aiohttp.ClientConnectorDNSError():
            return FetchError(url, FetchFailure.DNS, "the host name cannot be resolved")
        case aiohttp.ClientSSLError():
            return FetchError(url, FetchFailure.NETWORK, f"no safe connection: {message}")
        case aiohttp.ClientResponseError():
            return FetchError(url, FetchFailure.NETWORK, "its answer is not proper HTTP")
        case _:
            return FetchError(url, FetchFailure.NETWORK, message or type(error).__name__)
