"""Channels and deliveries for tests."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.types import Channel, ChannelFields, ChannelId, DestinationKind, DestinationLimits
from headwater.db import Connection
from headwater.ids import new_id
from headwater.query.types import Query, Words
from tests.clock import START

LIMITS = DestinationLimits(
    hosts=frozenset({"redis.internal", "127.0.0.1"}), has_directory=True, has_index=True, allow_loopback=True
)
WEBHOOK = {"url": "https://hooks.example.com/in"}


def revision_at(at: datetime, place: int = 1) -> int:
    """The revision that is taken at a time, or the next but so many: they begin after the time in microseconds."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) + place


async def a_channel(
    conn: Connection,
    name: str = "crime",
    *,
    destination: DestinationKind = DestinationKind.WEBHOOK,
    options: dict[str, Any] | None = None,
    query: str = "crime",
    now: datetime = START,
) -> Channel:
    fields = ChannelFields(name, query, destination, WEBHOOK if options is None else options)
    made = await operate.create(
        conn, fields=fields, query=Query(query, Words(query)), limits=LIMITS, actor=COMMAND_LINE, now=now
    )
    return made.channel


async def queue(
    conn: Connection, channel_id: ChannelId, revisions: Sequence[int], *, at: datetime = START,
    article_ids: Sequence[object] | None = None,
) -> None:  # fmt: skip
    """Deliveries of these revisions, a second apart, of articles that need not exist."""
    ids = article_ids or [new_id() for _ in revisions]
    for place, (revision, article_id) in enumerate(zip(revisions, ids, strict=True)):
        await conn.execute(
            "INSERT INTO deliveries (channel_id, revision, article_id, queued_at) VALUES (%s, %s, %s, %s)",
            (channel_id, revision, article_id, at + timedelta(seconds=place)),
        )
