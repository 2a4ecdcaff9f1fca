"""The destinations that a process has open, one for each channel and version of it."""

from collections import OrderedDict
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, assert_never
from uuid import UUID

from headwater.channels.decide import check_options, is_allowed_host
from headwater.channels.store.deliveries import LeasedChannel
from headwater.channels.types import DestinationKind
from headwater.errors import Invalid
from headwater.net import Client
from headwater.net.webhook import OpenClient
from headwater.publishing.delivery.types import DeliveringOptions, Destination
from headwater.publishing.destinations.file import FileDestination
from headwater.publishing.destinations.nats import NatsDestination
from headwater.publishing.destinations.nowhere import NowhereDestination
from headwater.publishing.destinations.redis import RedisDestination
from headwater.publishing.destinations.webhook import WebhookDestination
from headwater.types import Clock

MOST_OPEN: Final = 200

_Key = tuple[UUID, int, str | None]


class OpenDestinations:
    def __init__(self, client: Client, clock: Clock, options: DeliveringOptions) -> None:
        self._client, self._clock, self._options = client, clock, options
        self._plain = OpenClient()
        self._open: OrderedDict[_Key, Destination] = OrderedDict()

    async def get(self, channel: LeasedChannel) -> Destination:
        """The destination of a leased channel; nobody else uses it. Raises Invalid if the settings forbid it."""
        key = (channel.id, channel.version, channel.secret)
        found = self._open.pop(key, None)
        await self.forget(channel.id)
        self._open[key] = found = found or self._make(channel)
        return found

    async def forget(self, channel_id: UUID) -> None:
        """Close what is open for a channel."""
        for key in [one for one in self._open if one[0] == channel_id]:
            await self._open.pop(key).close()

    async def trim(self, in_use: set[UUID]) -> None:
        """Close those that were not used for longest, if there are too many."""
        idle = [key for key in self._open if key[0] not in in_use]
        for key in idle[: max(0, len(self._open) - MOST_OPEN)]:
            await self._open.pop(key).close()

    async def close(self) -> None:
        while self._open:
            await self._open.popitem()[1].close()
        await self._plain.close()

    def _make(self, channel: LeasedChannel) -> Destination:
        limits, timeout = self._options.limits, self._options.timeout
        # The settings may have changed since the channel was written.
        options = check_options(channel.destination, channel.options, limits)
        match channel.destination:
            case DestinationKind.NONE:
                return NowhereDestination()
            case DestinationKind.WEBHOOK:
                client = self._plain if is_allowed_host(options["url"], limits) else self._client
                return WebhookDestination(
                    options["url"], channel_id=channel.id, channel=channel.name, secret=channel.secret, client=client,
                    timeout=timeout, clock=self._clock,
                )  # fmt: skip
            case DestinationKind.REDIS:
                return _redis(options, channel.secret, timeout)
            case DestinationKind.NATS:
                return NatsDestination(
                    options["url"], subject=options["subject"], username=options.get("username"),
                    password=channel.secret, timeout=timeout,
                )  # fmt: skip
            case DestinationKind.FILE:
                assert self._options.directory is not None, "the options are checked"
                return FileDestination(Path(self._options.directory), options["name"])
            case DestinationKind.SEARCH_INDEX:
                raise Invalid("Documents of the search index are sent in another way.")
        assert_never(channel.destination)


def _redis(options: dict[str, Any], password: str | None, timeout: timedelta) -> RedisDestination:
    return RedisDestination(
        options["url"], stream=options["stream"], username=options.get("username"), password=password,
        database=options.get("database", 0), most=options.get("most"), timeout=timeout,
    )  # fmt: skip
