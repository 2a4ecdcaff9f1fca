"""Names in, addresses out: those given in settings and those of DNS, without what the guard would refuse."""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from headwater.net.guard import BlockedAddress, BlockedName, check_address

# A lookup holds its thread until the system gives up, half a minute for a name whose servers are silent, however long
# since it is not awaited. The loop's own threads are four more than processors: six such names would stop all others.
# Threads are made as they are needed; this many are more than the polls that one process can have under way.
MOST_LOOKUPS = 512


class Resolver(AbstractResolver):
    """DNS, save for the names given in settings; drops what the guard would refuse."""

    def __init__(self, overrides: Mapping[str, str], *, allow_loopback: bool) -> None:
        self._overrides = overrides
        self._allow_loopback = allow_loopback
        self._threads = ThreadPoolExecutor(MOST_LOOKUPS, thread_name_prefix="lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        override = self._override(host)
        found = [_given(host, port, override)] if override else await self._ask_dns(host, port, family)
        refusals = [self._refusal(result["host"]) for result in found]
        allowed = [result for result, refusal in zip(found, refusals, strict=True) if refusal is None]
        if not allowed and (refusal := next(filter(None, refusals), None)):
            raise refusal
        return allowed

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ask_dns(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        lookup = partial(
            socket.getaddrinfo, host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
        )
        try:
            infos = await asyncio.get_running_loop().run_in_executor(self._threads, lookup)
        except UnicodeError as error:  # a label that is empty or too long, from Python's own codec
            raise OSError(f"{host!r} is not a host name") from error
        return [_found(host, port, family, address) for family, _, _, _, address in infos]

    def _override(self, host: str) -> str | None:
        names = host.rstrip(".").split(".")
        suffixes = (".".join(names[start:]) for start in range(len(names)))
        return next((self._overrides[suffix] for suffix in suffixes if suffix in self._overrides), None)

    def _refusal(self, address: str) -> BlockedName | None:
        try:
            check_address(address, allow_loopback=self._allow_loopback)
        except BlockedAddress as refused:
            return BlockedName(refused.address, refused.reason)
        return None


def _given(host: str, port: int, address: str) -> ResolveResult:
    family = socket.AF_INET if ip_address(address).version == 4 else socket.AF_INET6
    return _result(host, port, family, address)


def _found(host: str, port: int, family: socket.AddressFamily, address: Sequence[Any]) -> ResolveResult:
    """An address bound to one network of this machine keeps its mark, for which the guard refuses it."""
    written, scope = str(address[0]), address[3] if len(address) > 3 else 0
    return _result(host, port, family, f"{written}%{scope}" if scope and "%" not in written else written)


def _result(host: str, port: int, family: socket.AddressFamily, address: str) -> ResolveResult:
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
