"""Submissions, claims and answers; a test names only what it is about."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from headwater.db import Connection
from headwater.frontier.store import claims, listing, queue
from headwater.frontier.types import (
    Answer,
    Answered,
    ClaimedHost,
    Fetched,
    FrontierUrl,
    HostAnswer,
    Origin,
    Status,
    Submission,
    Submitted,
    UrlFilter,
)
from headwater.hosts.store import turns
from headwater.ids import new_id
from tests.clock import START

LEASE = timedelta(minutes=5)
PAGE = "https://example.com/a"
FETCHED = Fetched(etag='"1"', last_modified=None)


def a_submission(url: str = PAGE, origin: Origin = Origin.FEED, **more: Any) -> Submission:
    return Submission(url, origin, **more)


async def submit(
    conn: Connection, *urls: str, origin: Origin = Origin.FEED, now: datetime = START, **more: Any
) -> list[Submitted]:
    return await queue.submit(conn, submissions=[a_submission(url, origin, **more) for url in urls], now=now)


async def claim(
    conn: Connection, *, now: datetime = START, hosts: int = 10, urls: int = 10, **more: Any
) -> list[ClaimedHost]:
    return await claims.claim(
        conn,
        lease=new_id(),
        now=now,
        leased_until=now + LEASE,
        hosts=hosts,
        urls_per_host=urls,
        choice=more.pop("choice", 0.0),
        **more,
    )


async def renew(conn: Connection, host: ClaimedHost, leased_until: datetime) -> bool:
    return await turns.renew(conn, host=host.host, lease=host.lease, leased_until=leased_until)


def an_answer(host: ClaimedHost, *outcomes: Answer, at: datetime = START, **more: Any) -> HostAnswer:
    """The first URLs of a host answered in turn."""
    pairs = zip(host.urls, outcomes, strict=False)
    answered = [Answered(url, outcome, at) for url, outcome in pairs]
    return HostAnswer(host, last_request_at=at if outcomes else None, answered=answered, **more)


async def ask_all(conn: Connection, outcome: Answer = FETCHED, *, now: datetime = START) -> Sequence[ClaimedHost]:
    """Claim whatever is due, and answer it all alike."""
    hosts = await claim(conn, now=now)
    answers = [an_answer(host, *[outcome] * len(host.urls), at=now) for host in hosts]
    await claims.answer(conn, answers=answers, now=now)
    return hosts


async def found(conn: Connection, url: str = PAGE, *, now: datetime = START) -> FrontierUrl:
    from headwater.frontier.keys import locate

    row = await listing.find(conn, id=locate(url).key.id, now=now)
    assert row is not None
    return row


async def all_urls(conn: Connection, **wanted: Any) -> list[str]:
    page = await listing.list_urls(conn, wanted=UrlFilter(**wanted), now=START, limit=1000)
    return [one.url for one in page.urls]


async def counted(conn: Connection, *, now: datetime = START) -> dict[Status, int]:
    stats = await listing.stats(conn, now=now)
    return {status: number for status, number in stats.by_status.items() if number}
