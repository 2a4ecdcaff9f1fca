"""Resolves names by the settings, then by DNS, without addresses that the guard refuses."""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from headwater.net.guard import BlockedAddress, BlockedName, check_address

# A lookup blocks its thread until the system gives up: 30 s for a name whose servers do not answer, even if it is no
# longer awaited. The event loop has only four threads more than processors, so six such names would block all others.
# Threads are created on demand; this is more than one process has polls in progress.
MOST_LOOKUPS = 512


class Resolver(AbstractResolver):
    """Resolves a name and its subdomains as the settings say, others by DNS."""

    def __init__(self, overrides: Mapping[str, str], *, allow_loopback: bool) -> None:
        self._overrides = overrides
        self._allow_loopback = allow_loopback
        self._threads = ThreadPoolExecutor(MOST_LOOKUPS, thread_name_prefix="lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        names = host.rstrip(".").split(".")
        suffixes = (".".join(names[start:]) for start in range(len(names)))
        if given := next((self._overrides[suffix] for suffix in suffixes if suffix in self._overrides), None):
            family = socket.AF_INET if ip_address(given).version == 4 else socket.AF_INET6
            found = [_found(host, port, family, [given])]
        else:
            found = await self._ask_dns(host, port, family)
        allowed: list[ResolveResult] = []
        refused: BlockedAddress | None = None
        for result in found:
            try:
                check_address(result["host"], allow_loopback=self._allow_loopback)
                allowed.append(result)
            except BlockedAddress as error:
                refused = refused or error
        if refused and not allowed:
            raise BlockedName(refused.address, refused.reason)
        return allowed

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ask_dns(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        lookup = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
        try:
            infos = await asyncio.get_running_loop().run_in_executor(self._threads, lookup)
        except UnicodeError as error:  # a label that is empty or too long, from Python's own codec
            raise OSError(f"{host!r} is not a host name") from error
        return [_found(host, port, family, address) for family, _, _, _, address in infos]


def _found(host: str, port: int, family: socket.AddressFamily, address: Sequence[Any]) -> ResolveResult:
    """A scoped address keeps its mark (`%eth0`), for which the guard refuses it."""
    written, scope = str(address[0]), address[3] if len(address) > 3 else 0
    written = f"{written}%{scope}" if scope and "%" not in written else written
    return ResolveResult(hostname=host, host=written, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
