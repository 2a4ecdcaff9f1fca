"""Exact numbers of unread articles. They cost as much as there are, so each has a time limit."""

from datetime import timedelta

from headwater.db import Connection, time_limit
from headwater.errors import QueryTimedOut
from headwater.library.store import subscriptions, unread
from headwater.library.types import UnreadFeed

TIME = timedelta(seconds=1)
ALL = 1_000_000_000


async def count_in_time(conn: Connection, *, time: timedelta = TIME) -> int | None:
    """How many articles are unread in all feeds; None: not counted in time."""
    try:
        async with time_limit(conn, time):
            return await unread.count(conn)
    except QueryTimedOut:
        return None


async def list_counts_in_time(conn: Connection, *, least: int, time: timedelta = TIME) -> tuple[list[UnreadFeed], int]:
    """The user's feeds with their unread numbers, and up to which number they are counted: all, or `least` if that
    takes too long."""
    try:
        async with time_limit(conn, time):
            return await subscriptions.list_unread_counts(conn, most=ALL), ALL
    except QueryTimedOut:
        return await subscriptions.list_unread_counts(conn, most=least), least
