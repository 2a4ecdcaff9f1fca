"""Quotas of one user, counted in the database. That of subscriptions is enforced in `sources/subscribe.py`, those of
views, tags, rules and notifications in `library/`."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.accounts.decide import Limit
from headwater.accounts.store import attempts
from headwater.db import Database
from headwater.errors import QuotaReached, TooManyAttempts
from headwater.types import UserId

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Quotas:
    subscriptions: int = 5_000
    imports_per_day: int = 50
    suggestions_per_day: int = 50
    retries_per_hour: int = 30
    additions_per_hour: int = 100  # by hand: a feed that is deleted and added again is polled again
    views: int = 100
    tags: int = 20  # of one article or feed
    rules: int = 100
    notifications_per_day: int = 200
    saved: int = 5_000  # articles and pages in Read later
    saved_per_day: int = 200  # pages: each is fetched


async def spend(database: Database, *, user_id: UserId, what: str, limit: Limit, now: datetime) -> None:
    """Count one use of `what` ("imports"), also if the request fails later. Raises QuotaReached."""
    async with database.transaction() as conn:
        used, ends_at = await attempts.count(conn, bucket=f"{what}:{user_id}", now=now, ends_at=now + limit.within)
    if used > limit.most:
        raise QuotaReached(what, limit.most, limit.within, ends_at - now)


async def count_attempt(database: Database, *, bucket: str, limit: Limit, now: datetime) -> None:
    """In a transaction of its own, so that failed attempts count too. Raises TooManyAttempts."""
    async with database.transaction() as conn:
        tried, ends_at = await attempts.count(conn, bucket=bucket, now=now, ends_at=now + limit.within)
    if tried > limit.most:
        raise TooManyAttempts(ends_at - now)
