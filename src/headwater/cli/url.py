"""`headwater url`: what a URL means to Headwater, and whether it would be asked for."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from ipaddress import ip_address
from typing import Annotated

import typer
from yarl import URL

from headwater.cli.exit_codes import ExitCode
from headwater.cli.terminal import AsJson, load_quietly, print_json, print_table, run
from headwater.errors import InvalidUrl
from headwater.net.client import Resolver
from headwater.net.guard import BlockedAddress, check_target
from headwater.settings import Settings
from headwater.urls import canonical, complete_url, host_of, url_key

LOOKUP_TIMEOUT = timedelta(seconds=10)

Urls = Annotated[list[str], typer.Argument(metavar="URL…", help="URLs; - reads them from standard input, one a line.")]
Resolve = Annotated[bool, typer.Option("--resolve", help="Look names up, and judge the addresses they lead to.")]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one URL. Of one that cannot be followed there is only the reason."""

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
    if not run(_judge_all(_each(urls), load_quietly(), resolve=resolve, as_json=as_json)):
        raise typer.Exit(ExitCode.FAILED)


async def _judge_all(texts: Iterable[str], settings: Settings, *, resolve: bool, as_json: bool) -> bool:
    all_allowed = True
    rows: list[tuple[str, ...]] = []
    async for verdict in _verdicts(texts, settings, resolve=resolve):
        all_allowed = all_allowed and verdict.allowed
        if as_json:
            print_json(verdict)
        else:
            rows.append(_row(verdict))
    if rows:
        print_table(["request", "canonical form", "hash", "host", "why not"], rows)
    return all_allowed


async def _verdicts(texts: Iterable[str], settings: Settings, *, resolve: bool) -> AsyncIterator[Verdict]:
    resolver = Resolver(settings.resolve, allow_loopback=settings.allow_loopback)
    for text in texts:
        verdict = judge(text, allow_loopback=settings.allow_loopback)
        yield await _looked_up(verdict, resolver) if resolve and verdict.allowed else verdict


def judge(text: str, *, allow_loopback: bool) -> Verdict:
    """All that can be said of a URL by reading it."""
    try:
        followed = complete_url(text)
    except InvalidUrl as error:
        return Verdict(text, reason=error.reason)
    known = Verdict(text, canonical(followed), url_key(followed).hex(), host_of(followed))
    target = URL(followed, encoded=True)
    try:
        check_target(target.raw_host or "", target.port or 0, allow_loopback=allow_loopback)
    except BlockedAddress as error:
        return replace(known, reason=str(error))
    return replace(known, allowed=True)


async def _looked_up(verdict: Verdict, resolver: Resolver) -> Verdict:
    """The same after a look at where its name leads: to the addresses that would be tried, or nowhere."""
    host = str(verdict.host).strip("[]")
    if _is_address(host):
        return replace(verdict, addresses=(host,))
    try:
        async with asyncio.timeout(LOOKUP_TIMEOUT.total_seconds()):
            found = await resolver.resolve(host)
    except BlockedAddress as error:
        return replace(verdict, allowed=False, reason=str(error))
    except (OSError, UnicodeError):  # UnicodeError: a part of the name is empty, or longer than DNS allows
        return replace(verdict, allowed=False, reason="its name cannot be found")
    return replace(verdict, addresses=tuple(dict.fromkeys(result["host"] for result in found)))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _each(urls: Iterable[str]) -> Iterator[str]:
    for given in urls:
        if given == "-":
            lines = typer.get_text_stream("stdin", encoding="utf-8", errors="replace")
            yield from (line.strip() for line in lines if line.strip())
        else:
            yield os.fsencode(given).decode(errors="replace")  # bytes that are no text can be typed, but not printed


def _row(verdict: Verdict) -> tuple[str, ...]:
    return (
        "allowed" if verdict.allowed else "refused",
        verdict.canonical or verdict.url,
        (verdict.hash or "")[:12],
        ", ".join([verdict.host or "", *(verdict.addresses or ())]),
        verdict.reason or "",
    )
