"""A subject of NATS JetStream. The server confirms each message before the next is sent, so that the order is kept; a
message that is sent again within the stream's window has the same `Nats-Msg-Id`, and the server drops it."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NoStreamResponseError

from headwater.publishing.delivery.decide import shortened
from headwater.publishing.delivery.types import Accepted, DestinationFailed, OutgoingMessage, SendOutcome

HEADERS_BYTES: Final = 512  # of a message, beside its body


class NatsDestination:
    def __init__(
        self, url: str, *, subject: str, username: str | None, password: str | None, timeout: timedelta
    ) -> None:
        self._url, self._subject, self._timeout = url, subject, timeout.total_seconds()
        # A password without a name is a token.
        self._login = {"user": username, "password": password} if username else {"token": password}
        self._connection: Any = None

    async def send(self, messages: Sequence[OutgoingMessage]) -> SendOutcome:
        accepted, refused = 0, dict[str, str]()
        try:
            connection = await self._connect()
            stream = connection.jetstream(timeout=self._timeout)
            for one in messages:
                most = connection.max_payload - HEADERS_BYTES
                if len(one.body) > most:
                    refused[one.id] = f"It has {len(one.body):,} bytes, and the server takes {most:,}."
                else:
                    await stream.publish(self._subject, one.body, headers={"Nats-Msg-Id": one.id})
                accepted += 1
        except NoStreamResponseError:
            return self._failed(f"NATS has no stream for the subject {self._subject}.", accepted, refused)
        except APIError as error:
            return self._failed(f"NATS refuses: {error.description or error.err_code}", accepted, refused)
        except (NatsError, OSError, TimeoutError, ValueError) as error:  # ValueError: a line that does not end
            await self.close()
            return self._failed(f"NATS does not answer: {type(error).__name__}.", accepted, refused)
        return Accepted(refused)

    def _failed(self, reason: str, accepted: int, refused: dict[str, str]) -> DestinationFailed:
        return DestinationFailed(shortened(reason), accepted=accepted, refused=refused)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(NatsError, OSError, TimeoutError):
                await connection.close()

    async def _connect(self) -> Any:  # noqa: ANN401  nats-py has no types here
        if self._connection is None or not self._connection.is_connected:
            await self.close()
            # It is opened again by the next batch. Other servers that it announces are not followed.
            self._connection = Client()
            async with asyncio.timeout(self._timeout):
                await self._connection.connect(
                    self._url, allow_reconnect=False, max_reconnect_attempts=1, reconnect_time_wait=0,
                    connect_timeout=self._timeout, error_cb=_ignore, **self._login,
                    tls=ssl.create_default_context() if self._url.startswith("tls:") else None,
                )  # fmt: skip
        return self._connection


async def _ignore(_: Exception) -> None:
    """Errors are raised where messages are sent; nats-py would log them too."""
