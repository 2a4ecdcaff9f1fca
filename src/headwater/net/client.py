"""The one HTTP client: a URL in, a response or a FetchError out. Bounded in time, size and redirects; guarded."""

import asyncio
import re
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Self, TypeVar

import aiohttp
from yarl import URL

from headwater.errors import InvalidUrl
from headwater.net.body import read_beginning, read_error_page, read_whole
from headwater.net.guard import BlockedAddress, BlockedName, check_address, check_target
from headwater.net.redirects import REDIRECTS, redirect_of
from headwater.net.resolver import Resolver
from headwater.net.types import FetchError, FetchFailure, Hop, Response
from headwater.observability.log import get_logger
from headwater.urls import parse_url

_E = TypeVar("_E", bound=BaseException)
_Reader = Callable[[aiohttp.ClientResponse, str, int], Awaitable[bytes]]
Turn = Callable[[str], Awaitable[None]]
"""Returns when a URL may be asked for: for who must space what it asks."""
_SocketAddress = tuple[int, int, int, str, tuple[Any, ...]]

log = get_logger()

MAX_REDIRECTS = 5
KEEP_ALIVE_S = 5  # for the next feed of the same host, three seconds later by default
OPEN_FILES = 65_536
NOT_PUBLIC = "its name leads to an address that is not public"
_SOCKET_ADDRESS = re.compile(r" ?\('[0-9a-fA-F:.%\w]*', \d+(?:, \d+)*\)")


@dataclass(frozen=True, slots=True)
class _Request:
    """A request, the same at every redirect, and its deadline."""

    limit: asyncio.Timeout
    max_bytes: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    read: _Reader = read_whole
    method: str = "GET"
    form: Mapping[str, str] | None = None
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
            limit=0,
            keepalive_timeout=KEEP_ALIVE_S,
            resolver=self._resolver,
            socket_factory=self._checked_socket,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "gzip, deflate, br, zstd"},
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,  # that is `unpack.py`'s
        )
        # aiohttp repeats a GET at once when the connection was reset: a second request, which no host's delay knows of.
        self._session._retry_connection = False  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        if self._resolver is not None:
            await self._resolver.close()

    async def get(
        self,
        url: str,
        *,
        within: timedelta,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        turn: Turn | None = None,
    ) -> Response:
        """The response at the end of at most five redirects. Raises FetchError, and what `turn` raises.

        `turn` is waited for before each request but the first; that time is not part of `within`.
        """
        async with _in_time(url, within) as limit:
            return await self._follow(_followable(url), _Request(limit, max_bytes, headers or {}, turn=turn))

    async def ask(
        self, url: str, *, within: timedelta, max_bytes: int, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The response to one request, a redirect among them: for who must space what it asks. Raises FetchError."""
        async with _in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, max_bytes, headers or {}))

    async def post(
        self, url: str, *, form: Mapping[str, str], within: timedelta, max_bytes: int, headers: Mapping[str, str]
    ) -> Response:
        """The response to a form, which goes nowhere but to this URL. Raises FetchError."""
        async with _in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, max_bytes, headers, method="POST", form=form))

    async def peek(self, url: str, *, within: timedelta, first_bytes: int) -> Response:
        """The response to one request, of whose body no more than the beginning is read. Raises FetchError."""
        async with _in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, first_bytes, read=read_beginning))

    async def head(self, url: str, *, within: timedelta) -> Response:
        """The response to one request for the headers alone, a redirect among them. Raises FetchError."""
        async with _in_time(url, within) as limit:
            return await self._ask(_followable(url), _Request(limit, 0, read=read_beginning, method="HEAD"))

    def check(self, url: str) -> None:
        """Raises FetchError for a URL with an address or a port that is never asked; its name may still lead there."""
        target = URL(_followable(url), encoded=True)
        try:
            check_target(target.raw_host or "", target.port or 0, allow_loopback=self._allow_loopback)
        except BlockedAddress as error:
            raise _failure(url, error) from error

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
                await _outside(request.limit, request.turn(url))

    async def _ask(self, url: str, request: _Request, hops: tuple[Hop, ...] = ()) -> Response:
        assert self._session is not None, "open the client first"
        target = URL(url, encoded=True)
        try:
            check_target(target.raw_host or "", target.port or 0, allow_loopback=self._allow_loopback)
            async with self._session.request(
                request.method, target, headers=request.headers, data=request.form, allow_redirects=False
            ) as answer:
                body = await _body(answer, url, request)
                return Response(url, answer.status, answer.headers, body, hops)
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            raise _failure(url, error) from error

    def _checked_socket(self, address: _SocketAddress) -> socket.socket:
        """The last look before a connection is made: at the very address it is made to."""
        family, kind, protocol, _, sockaddr = address
        check_address(str(sockaddr[0]), allow_loopback=self._allow_loopback)
        return socket.socket(family, kind, protocol)


def allow_many_connections() -> None:
    """Systems let a process have 1024 open files unless it asks for more, and idle connections to that many hosts are
    soon there: 200 polls a second times the seconds they are kept."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


@asynccontextmanager
async def _in_time(url: str, within: timedelta) -> AsyncIterator[asyncio.Timeout]:
    """What takes longer than it may ends in a FetchError."""
    try:
        async with asyncio.timeout(within.total_seconds()) as limit:
            yield limit
    except TimeoutError as error:
        detail = f"no complete answer within {within.total_seconds():g} s"
        raise FetchError(url, FetchFailure.TIMEOUT, detail) from error


async def _outside(limit: asyncio.Timeout, waiting: Awaitable[None]) -> None:
    """Wait without losing time."""
    loop, until = asyncio.get_running_loop(), limit.when()
    began = loop.time()
    limit.reschedule(None)
    await waiting
    limit.reschedule(None if until is None else until + loop.time() - began)


async def _body(answer: aiohttp.ClientResponse, url: str, request: _Request) -> bytes:
    """The part that is wanted: of a redirect nothing, of an error page what comes soon."""
    if answer.status in REDIRECTS:
        return b""
    if not answer.ok:
        return await read_error_page(answer, url, request.limit.when())
    return await request.read(answer, url, request.max_bytes)


def _followable(url: str) -> str:
    try:
        return parse_url(url)
    except InvalidUrl as error:
        raise FetchError(url, FetchFailure.BLOCKED, error.reason) from error


def _failure(url: str, error: Exception) -> FetchError:
    blocked = _cause(error, BlockedAddress)
    if blocked is not None:
        # Which address a name of the inside leads to is for the log: readers see this detail.
        shown = NOT_PUBLIC if _is_found_by_name(blocked.address, url) else str(blocked)
        log.info("address refused", url=url, address=blocked.address, reason=blocked.reason)
        detail = f"{shown}: Headwater does not connect there"
        return FetchError(url, FetchFailure.BLOCKED, detail, by_name=isinstance(blocked, BlockedName))
    match error:
        case aiohttp.ClientConnectorDNSError():
            return FetchError(url, FetchFailure.DNS, "its name cannot be found")
        case aiohttp.ClientSSLError():
            return FetchError(url, FetchFailure.NETWORK, f"no safe connection: {_without_addresses(error)}")
        case aiohttp.ClientResponseError():
            return FetchError(url, FetchFailure.NETWORK, "its answer is not proper HTTP")
        case _:
            return FetchError(url, FetchFailure.NETWORK, _without_addresses(error) or type(error).__name__)


def _is_found_by_name(address: str, url: str) -> bool:
    """Whether it is an address, and not one that the URL names itself."""
    try:
        ip_address(address)
    except ValueError:
        return False
    return address not in url


def _without_addresses(error: Exception) -> str:
    """What an error says, without the addresses that a name led to: `Connect call failed ('10.0.0.1', 80)`."""
    return _SOCKET_ADDRESS.sub("", str(error))


def _cause(error: BaseException | None, kind: type[_E]) -> _E | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error
