"""Channels with the numbers of their deliveries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from headwater.channels.store import deliveries, records
from headwater.channels.types import Channel, ChannelCounts, ChannelId, ChannelOverview
from headwater.db import Connection

COUNTED_MOST: Final = 1_000  # of each channel in a list
COUNTED_MOST_OF_ONE: Final = 100_000


async def list_overviews(conn: Connection, *, now: datetime) -> list[ChannelOverview]:
    """All channels, by name."""
    return await _with_counts(conn, await records.list_channels(conn), COUNTED_MOST, now)


async def find_overview(conn: Connection, channel_id: ChannelId, *, now: datetime) -> ChannelOverview:
    """Raises ChannelNotFound."""
    channel = await records.find(conn, channel_id=channel_id)
    [found] = await _with_counts(conn, [channel], COUNTED_MOST_OF_ONE, now)
    return found


async def _with_counts(
    conn: Connection, channels: Sequence[Channel], most: int, now: datetime
) -> list[ChannelOverview]:
    found = await deliveries.count(conn, channel_ids=[one.id for one in channels], most=most, now=now)
    counts = {one.channel_id: one for one in found}
    nothing = {one.id: ChannelCounts(one.id, 0, 0, 0, None) for one in channels}  # deleted in between
    return [ChannelOverview(one, counts.get(one.id, nothing[one.id])) for one in channels]
