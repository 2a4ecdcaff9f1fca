"""No destination: the channel is only read. What waited for an earlier destination counts as delivered."""

from collections.abc import Sequence

from headwater.publishing.delivery.types import Accepted, OutgoingMessage, SendOutcome


class NowhereDestination:
    async def send(self, messages: Sequence[OutgoingMessage]) -> SendOutcome:  # noqa: ARG002
        return Accepted()

    async def close(self) -> None:
        pass
