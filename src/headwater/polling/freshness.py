"""How long a response is fresh: Cache-Control, Expires, ttl, sy:update*, skipHours, skipDays. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from headwater.net.answers import retry_after
from headwater.polling.types import Freshness, ReadFeed

_MAX_AGE = re.compile(r"(?:^|[\s,])(?:s-maxage|max-age)\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"no-cache|no-store", re.IGNORECASE)


def freshness_of(headers: Mapping[str, str], feed: ReadFeed | None, now: datetime) -> Freshness:
    """What the response and its feed ask for; the longest counts."""
    lasts = max(_by_headers(headers, now), retry_after(headers, now) or timedelta(0))
    if feed is None:
        return Freshness(lasts)
    return Freshness(max(lasts, feed.hints.lasts), feed.skip_hours, feed.skip_days)


def _by_headers(headers: Mapping[str, str], now: datetime) -> timedelta:
    cache_control = headers.get("Cache-Control", "")
    if _NOT_KEPT.search(cache_control):
        return timedelta(0)
    ages = [timedelta(seconds=int(age)) for age in _MAX_AGE.findall(cache_control)]
    if ages:
        return max(ages) - _age(headers)
    expires_at = _moment(headers.get("Expires", ""))
    if expires_at is None:  # an invalid date, such as "0", is in the past: RFC 9111, section 5.3
        return timedelta(0)
    lifetime = expires_at - (_moment(headers.get("Date", "")) or now)
    return max(lifetime - _age(headers), timedelta(0))


def _age(headers: Mapping[str, str]) -> timedelta:
    age = headers.get("Age", "")
    return timedelta(seconds=int(age)) if age.isascii() and age.isdigit() and len(age) < 10 else timedelta(0)


def _moment(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
