"""A Redis Stream: each message is an entry with the fields `id` and `data`. A batch is one transaction."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from headwater.publishing.delivery.decide import shortened
from headwater.publishing.delivery.types import Accepted, DestinationFailed, OutgoingMessage, SendOutcome

PORT: Final = 6379


class RedisDestination:
    def __init__(
        self, url: str, *, stream: str, username: str | None, password: str | None, database: int, most: int | None,
        timeout: timedelta,
    ) -> None:  # fmt: skip
        parts = urlsplit(url)
        self._stream, self._most = stream, most
        seconds = timeout.total_seconds()
        # No retries inside: a batch that may have arrived is sent again by the stage, under the same ids.
        self._redis: Any = Redis(
            host=parts.hostname or "", port=parts.port or PORT, db=database, username=username, password=password,
            ssl=parts.scheme == "rediss", socket_timeout=seconds, socket_connect_timeout=seconds,
            retry=Retry(NoBackoff(), 0), protocol=2,
        )  # fmt: skip

    async def send(self, messages: Sequence[OutgoingMessage]) -> SendOutcome:
        try:
            async with self._redis.pipeline(transaction=True) as batch:
                for one in messages:
                    fields = {"id": one.id, "data": one.body}
                    batch.xadd(self._stream, fields, maxlen=self._most, approximate=True)
                await batch.execute()
        except ResponseError as error:  # out of memory, no rights, not a stream
            return DestinationFailed(shortened(f"Redis refuses: {error}"))
        except (RedisError, OSError, TimeoutError, ValueError) as error:  # ValueError: a line that does not end
            return DestinationFailed(shortened(f"Redis does not answer: {type(error).__name__}."))
        return Accepted()

    async def close(self) -> None:
        await self._redis.aclose()
