"""How often the API may be asked: so many times a minute with one token, and so many from one address.

Counted in this process, for whole minutes of the clock: several processes let as many times more through. A request
counts against its address before anything is known of its token, so that guessing is limited too.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from litestar.connection import ASGIConnection
from litestar.datastructures import MutableScopeHeaders
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater.accounts.decide import network_of
from headwater.asgi.session import visitor_of
from headwater.types import Clock

WINDOW = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Requests a minute. 0: as many as one likes."""

    per_token: int = 0
    per_address: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a minute."""

    limit: int
    used: int
    resets_at: datetime

    @property
    def left(self) -> int:
        """How many more requests are answered."""
        return max(0, self.limit - self.used)


class Counting:
    """Counts requests by the minute, and forgets them with it."""

    def __init__(self, limits: RateLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._resets_at = clock()
        self._counts: Counter[str] = Counter()

    def count(self, *, address: str, token: str) -> Allowance | None:
        """Count a request. Returns what is left of the scarcer of its allowances; None where nothing is limited."""
        now = self._clock()
        if not timedelta(0) < self._resets_at - now <= WINDOW:  # over, or written by a clock that was ahead
            self._counts.clear()
            self._resets_at = _end_of_minute(now)
        found = [self._spend(network_of(address), self._limits.per_address)]
        # Who is over the limit of their address cannot use up a token of somebody else's.
        if token and (found[0] is None or found[0].used <= found[0].limit):
            found.append(self._spend(sha256(token.encode(errors="replace")).hexdigest(), self._limits.per_token))
        return min((one for one in found if one is not None), key=lambda one: one.limit - one.used, default=None)

    def seconds_left(self) -> int:
        """Until the minute is over."""
        return max(1, round((self._resets_at - self._clock()).total_seconds()))

    def _spend(self, who: str, limit: int) -> Allowance | None:
        if not limit:
            return None
        self._counts[who] += 1
        return Allowance(limit, self._counts[who], self._resets_at)


def limit_rate(limits: RateLimits, clock: Clock) -> Callable[[ASGIApp], ASGIApp]:
    """Middleware that tells what is left with every answer, and refuses what is too much."""
    counting = Counting(limits, clock)

    def limited(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            connection: ASGIConnection[Any, Any, Any, Any] = ASGIConnection(scope)
            token = connection.headers.get("authorization", "").partition(" ")[2].strip()
            allowance = counting.count(address=visitor_of(connection).address, token=token)
            if allowance is None:
                await app(scope, receive, send)
                return
            told = _headers(allowance, counting.seconds_left())
            if allowance.used > allowance.limit:
                raise HTTPException(
                    f"More than {allowance.limit} requests came within a minute.",
                    status_code=429,
                    headers={**told, "Retry-After": told["RateLimit-Reset"]},
                )

            async def with_allowance(message: Message) -> None:
                if message["type"] == "http.response.start":
                    headers = MutableScopeHeaders.from_message(message)
                    for name, value in told.items():
                        headers[name] = value
                await send(message)

            await app(scope, receive, with_allowance)

        return handle

    return limited


def _headers(allowance: Allowance, seconds: int) -> dict[str, str]:
    """As the IETF's draft on rate limits names them; the last one in seconds."""
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.left),
        "RateLimit-Reset": str(seconds),
    }


def _end_of_minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0) + WINDOW
