"""Rate limits of the API, per token and per client address, in requests per minute.

Counted per process and per minute of the clock. A request counts against its address before its token is checked, so
that guessing tokens is limited too.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from litestar.connection import ASGIConnection
from litestar.datastructures import MutableScopeHeaders
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater.accounts.decide import network_of
from headwater.asgi.handlers import AnyConnection
from headwater.asgi.session import visitor_of
from headwater.types import Clock

WINDOW = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Requests per minute; 0: unlimited."""

    per_token: int = 0
    per_address: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """The requests used in the current minute."""

    limit: int
    used: int

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


class RequestCounter:
    def __init__(self, limits: RateLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._resets_at = clock()
        self._counts: Counter[str] = Counter()

    def count(self, *, address: str, token: str) -> Allowance | None:
        """Count a request. Returns the allowance with the fewest requests left; None without limits."""
        now = self._clock()
        if not timedelta(0) < self._resets_at - now <= WINDOW:  # over, or the clock was set back
            self._counts.clear()
            self._resets_at = now.replace(second=0, microsecond=0) + WINDOW
        found = [self._spend(network_of(address), self._limits.per_address)]
        # An address over its limit cannot use up the limit of a token.
        if token and (found[0] is None or found[0].used <= found[0].limit):
            found.append(self._spend(sha256(token.encode(errors="replace")).hexdigest(), self._limits.per_token))
        return min((one for one in found if one is not None), key=lambda one: one.limit - one.used, default=None)

    def seconds_left(self) -> int:
        return max(1, round((self._resets_at - self._clock()).total_seconds()))

    def _spend(self, key: str, limit: int) -> Allowance | None:
        if not limit:
            return None
        self._counts[key] += 1
        return Allowance(limit, self._counts[key])


def limit_rate(limits: RateLimits, clock: Clock) -> Callable[[ASGIApp], ASGIApp]:
    """Middleware: adds the RateLimit headers, and responds with 429 over the limit."""
    counter = RequestCounter(limits, clock)

    def limited(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            connection: AnyConnection = ASGIConnection(scope)
            token = connection.headers.get("authorization", "").partition(" ")[2].strip()
            allowance = counter.count(address=visitor_of(connection).address, token=token)
            if allowance is None:
                await app(scope, receive, send)
                return
            headers = {  # those of the IETF draft on rate limits
                "RateLimit-Limit": str(allowance.limit),
                "RateLimit-Remaining": str(allowance.left),
                "RateLimit-Reset": str(counter.seconds_left()),
            }
            if allowance.used > allowance.limit:
                headers["Retry-After"] = headers["RateLimit-Reset"]
                text = f"More than {allowance.limit} requests within a minute."
                raise HTTPException(text, status_code=429, headers=headers)

            async def with_allowance(message: Message) -> None:
                if message["type"] == "http.response.start":
                    sent = MutableScopeHeaders.from_message(message)
                    for name, value in headers.items():
                        sent[name] = value
                await send(message)

            await app(scope, receive, with_allowance)

        return handle

    return limited
