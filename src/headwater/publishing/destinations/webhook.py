"""A webhook: a batch of messages by POST, signed as Standard Webhooks describes it.

Requests go through the guarded client, unless the settings allow the host: its address may be private then.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import msgspec

from headwater.net import Client
from headwater.net.responses import retry_after
from headwater.net.types import FetchError
from headwater.net.webhook import OpenClient
from headwater.publishing.delivery.decide import outcome_of_response, shortened, signature
from headwater.publishing.delivery.types import DestinationFailed, OutgoingMessage, SendOutcome
from headwater.publishing.message import SCHEMA_VERSION
from headwater.types import Clock


class WebhookDestination:
    def __init__(
        self, url: str, *, channel_id: UUID, channel: str, secret: str | None, client: Client | OpenClient,
        timeout: timedelta, clock: Clock,
    ) -> None:  # fmt: skip
        self._url, self._secret, self._client, self._clock = url, secret, client, clock
        self._channel_id, self._channel = channel_id, channel
        self._timeout = timeout

    async def send(self, messages: Sequence[OutgoingMessage]) -> SendOutcome:
        body = body_of(self._channel_id, self._channel, messages)
        headers = self._headers(messages, body)
        try:
            answer = await self._client.send(self._url, body=body, within=self._timeout, headers=headers)
        except FetchError as error:
            return DestinationFailed(shortened(f"{error.detail[:1].upper()}{error.detail[1:]}."))
        ids = [one.id for one in messages]
        asked = retry_after(answer.headers, self._clock())
        return outcome_of_response(answer.status, answer.body, ids, asked=asked)

    async def close(self) -> None:
        pass

    def _headers(self, messages: Sequence[OutgoingMessage], body: bytes) -> dict[str, str]:
        # The same for the same messages, whenever they are sent.
        batch_id = f"{messages[0].id}-{messages[-1].revision}"
        timestamp = int(self._clock().timestamp())
        headers = {
            "Content-Type": "application/json", "webhook-id": batch_id, "webhook-timestamp": str(timestamp),
            "Accept": "application/json",
        }  # fmt: skip
        if self._secret:
            headers["webhook-signature"] = signature(self._secret, batch_id, timestamp, body)
        return headers


def body_of(channel_id: UUID, channel: str, messages: Sequence[OutgoingMessage]) -> bytes:
    envelope = {
        "schema_version": SCHEMA_VERSION,
        "channel": {"id": str(channel_id), "name": channel},
        "messages": [msgspec.Raw(one.body) for one in messages],
    }
    return msgspec.json.encode(envelope)
