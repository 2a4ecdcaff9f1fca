"""Retrying all URLs that pass a filter: page by page, each in a short transaction of its own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from headwater.db import Connection, Database
from headwater.frontier.store import changes, listing
from headwater.frontier.types import Status, UrlFilter
from headwater.types import Clock, PageCursor

PAGE = 1_000
RETRIED = frozenset({Status.FAILED, Status.DEAD})


@dataclass(frozen=True, slots=True)
class RetriedPart:
    """How many URLs are retried, and where to continue; None at the end."""

    retried: int
    next: PageCursor | None


async def retry_matching(
    database: Database, clock: Clock, *, wanted: UrlFilter, after: PageCursor | None = None, pages: int | None = None,
    note: Callable[[Connection], Awaitable[None]] | None = None,
) -> RetriedPart:  # fmt: skip
    """Retry failed and dead URLs that match, on so many pages, or on all. `note` is called in the transaction of each
    page that changes something."""
    statuses = RETRIED if wanted.status is None else RETRIED & {wanted.status}
    every = replace(wanted, status=None)
    retried, looked = 0, 0
    while True:
        async with database.transaction() as conn:
            page = await listing.list_urls(conn, wanted=every, now=clock(), limit=PAGE, after=after)
            ids = [url.id for url in page.urls if url.status in statuses]
            retried += len(await changes.retry(conn, ids=ids, now=clock())) if ids else 0
            if ids and note:
                await note(conn)
        after, looked = page.next, looked + 1
        if after is None or looked == pages:
            return RetriedPart(retried, after)
