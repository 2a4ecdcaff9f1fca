"""Retrying and deleting all URLs that pass a filter: page by page, each in a short transaction of its own."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from headwater.db import Connection, Database
from headwater.frontier.store import changes, listing
from headwater.frontier.types import FrontierUrl, Status, UrlFilter
from headwater.types import Clock, PageCursor

PAGE = 1_000
RETRIED = frozenset({Status.FAILED, Status.DEAD})

Note = Callable[[Connection, Sequence[FrontierUrl]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """How many URLs are changed, and where to continue; None at the end."""

    changed: int
    next: PageCursor | None


async def retry_matching(
    database: Database, clock: Clock, *, wanted: UrlFilter, after: PageCursor | None = None, pages: int | None = None,
    note: Note | None = None,
) -> ChangedPart:  # fmt: skip
    """Retry failed and dead URLs that match, on so many pages, or on all. `note` is called with the URLs in the
    transaction of each page that changes something."""
    statuses = RETRIED if wanted.status is None else RETRIED & {wanted.status}

    async def retry(conn: Connection, ids: Sequence[UUID]) -> int:
        return len(await changes.retry(conn, ids=ids, now=clock()))

    return await _change_matching(database, clock, wanted, statuses, retry, after, pages, note)


async def delete_matching(
    database: Database, clock: Clock, *, wanted: UrlFilter, after: PageCursor | None = None, pages: int | None = None,
    note: Note | None = None,
) -> ChangedPart:  # fmt: skip
    """Delete URLs that match, as `retry_matching` retries them."""
    statuses = frozenset(Status) if wanted.status is None else frozenset({wanted.status})

    async def delete(conn: Connection, ids: Sequence[UUID]) -> int:
        return len(await changes.delete(conn, ids=ids))

    return await _change_matching(database, clock, wanted, statuses, delete, after, pages, note)


async def _change_matching(
    database: Database, clock: Clock, wanted: UrlFilter, statuses: frozenset[Status],
    change: Callable[[Connection, Sequence[UUID]], Awaitable[int]], after: PageCursor | None, pages: int | None,
    note: Note | None,
) -> ChangedPart:  # fmt: skip
    every = replace(wanted, status=None)
    changed, looked = 0, 0
    while True:
        async with database.transaction() as conn:
            page = await listing.list_urls(conn, wanted=every, now=clock(), limit=PAGE, after=after)
            urls = [url for url in page.urls if url.status in statuses]
            changed += await change(conn, [url.id for url in urls]) if urls else 0
            if urls and note:
                await note(conn, urls)
        after, looked = page.next, looked + 1
        if after is None or looked == pages:
            return ChangedPart(changed, after)
