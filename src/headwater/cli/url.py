"""`headwater url`: the canonical form of a URL, and whether it would be requested."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from ipaddress import ip_address
from typing import Annotated

import typer
from yarl import URL

from headwater.cli.options import AsJson
from headwater.cli.output import print_json, print_table
from headwater.cli.terminal import exit_failed, load_quietly, run
from headwater.errors import InvalidUrl
from headwater.net.client import Resolver
from headwater.net.guard import BlockedAddress, check_target
from headwater.urls import canonical, complete_url, host_of, url_key

LOOKUP_TIMEOUT = timedelta(seconds=10)

Urls = Annotated[list[str], typer.Argument(metavar="URL…", help="URLs; - reads them from standard input, one a line.")]
Resolve = Annotated[bool, typer.Option("--resolve", help="Resolve host names, and check their addresses.")]


@dataclass(frozen=True, slots=True)
class UrlCheck:
    """The result for one URL. Of an invalid one there is only the reason."""

    url: str
    canonical: str | None = None
    hash: str | None = None
    host: str | None = None
    allowed: bool = False
    reason: str | None = None
    addresses: tuple[str, ...] | None = None


def url(urls: Urls, resolve: Resolve = False, as_json: AsJson = False) -> None:
    """Show the canonical form of URLs, its hash, the host, and whether a request would be made. Exits with 1 if not.

    With --json, one object a line.

    Example: headwater url http://2130706433/ https://example.com/feed?utm_source=x --json
    """
    settings = load_quietly()

    async def check_all() -> bool:
        all_allowed, rows = True, list[tuple[str, ...]]()
        resolver = Resolver(settings.resolve, allow_loopback=settings.allow_loopback)
        for text in _each(urls):
            check = check_url(text, allow_loopback=settings.allow_loopback)
            if resolve and check.allowed:
                check = await _resolved(check, resolver)
            all_allowed = all_allowed and check.allowed
            if as_json:
                print_json(check)
            else:
                rows.append(_row(check))
        if rows:
            print_table(["request", "canonical form", "hash", "host", "reason"], rows)
        return all_allowed

    exit_failed(not run(check_all()))


def check_url(text: str, *, allow_loopback: bool) -> UrlCheck:
    """What is known of a URL without resolving its host."""
    try:
        parsed = complete_url(text)
    except InvalidUrl as error:
        return UrlCheck(text, reason=error.reason)
    known = UrlCheck(text, canonical(parsed), url_key(parsed).hex(), host_of(parsed))
    target = URL(parsed, encoded=True)
    try:
        check_target(target.raw_host or "", target.port or 0, allow_loopback=allow_loopback)
    except BlockedAddress as error:
        return replace(known, reason=str(error))
    return replace(known, allowed=True)


async def _resolved(check: UrlCheck, resolver: Resolver) -> UrlCheck:
    """The same with the addresses that would be tried."""
    host = str(check.host).strip("[]")
    with suppress(ValueError):
        ip_address(host)
        return replace(check, addresses=(host,))
    try:
        async with asyncio.timeout(LOOKUP_TIMEOUT.total_seconds()):
            found = await resolver.resolve(host)
    except BlockedAddress as error:
        return replace(check, allowed=False, reason=str(error))
    except (OSError, UnicodeError):  # UnicodeError: a label of the name is empty or too long for DNS
        return replace(check, allowed=False, reason="its name cannot be resolved")
    return replace(check, addresses=tuple(dict.fromkeys(result["host"] for result in found)))


def _each(urls: Iterable[str]) -> Iterator[str]:
    for given in urls:
        if given == "-":
            lines = typer.get_text_stream("stdin", encoding="utf-8", errors="replace")
            yield from (line.strip() for line in lines if line.strip())
        else:
            yield os.fsencode(given).decode(errors="replace")  # invalid UTF-8 can be given, but not printed


def _row(check: UrlCheck) -> tuple[str, ...]:
    request, hosts = "allowed" if check.allowed else "refused", [check.host or "", *(check.addresses or ())]
    return request, check.canonical or check.url, (check.hash or "")[:12], ", ".join(hosts), check.reason or ""
