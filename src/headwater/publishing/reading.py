"""A channel that is read instead of sent: its messages after a revision, and its feed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Final

from headwater.channels.store import deliveries
from headwater.channels.types import Channel
from headwater.channels.visible import find_visible
from headwater.db import Connection
from headwater.feeds.write import WrittenEntry, WrittenFeed
from headwater.publishing import store
from headwater.publishing.delivery.decide import first_pack
from headwater.publishing.delivery.types import OutgoingMessage
from headwater.publishing.message import ArticleRecord, article_fields, message_of

FEED_ENTRIES: Final = 50
COUNTED_AT_ONCE: Final = 1_000
BYTES_MOST: Final = 2_000_000  # of text and HTML, read at once: each stream has it in memory


@dataclass(frozen=True, slots=True)
class ChannelMessages:
    """Messages in the order of revisions. `cursor`: the revision up to which there are no others."""

    messages: Sequence[OutgoingMessage]
    cursor: int
    has_more: bool


async def count_documents(conn: Connection, *, now: datetime) -> int:
    """How many documents the search index should have: one for each visible article with content."""
    hidden, after = 0, None
    while doubtful := await store.list_doubtful(conn, after=after, limit=COUNTED_AT_ONCE):
        hidden += len(doubtful) - len(await find_visible(conn, doubtful, now))
        after = doubtful[-1]
    return await store.count_content(conn) - hidden


async def read_messages(
    conn: Connection, channel: Channel, *, after: int, limit: int, now: datetime, bytes_most: int = BYTES_MOST
) -> ChannelMessages:
    """What the channel has after a revision, without articles that are deleted or no longer visible: at most `limit`,
    and no more than are `bytes_most` together, but at least one."""
    latest = await deliveries.last_revision(conn)  # first: what is up to it is visible then
    rows = await deliveries.list_after(conn, channel_id=channel.id, after=after, limit=limit)
    sizes = await store.measure(conn, article_ids=[one.article_id for one in rows])
    count = first_pack([sizes.get(one.article_id, 2_000) for one in rows], bytes_most)
    has_more = len(rows) == limit or count < len(rows)
    rows = rows[:count]
    with_html = bool(channel.options.get("html"))
    visible = await find_visible(conn, [one.article_id for one in rows], now)
    records = await store.read_records(conn, article_ids=visible, with_html=with_html)
    messages = [
        message_of(
            records[one.article_id], channel_id=channel.id, channel=channel.name, revision=one.revision, now=now,
            with_html=with_html,
        )
        for one in rows
        if one.article_id in records
    ]  # fmt: skip
    last = rows[-1].revision if rows else after
    return ChannelMessages(messages, last if has_more else max(last, latest), has_more)


def feed_addresses(site: str, key: str) -> tuple[str, str]:
    """Of the Atom feed, and of the JSON Feed."""
    base = f"{site.rstrip('/')}/channel-feeds/{key}"
    return f"{base}/atom.xml", f"{base}/feed.json"


async def read_feed(conn: Connection, channel: Channel, *, url: str, now: datetime) -> WrittenFeed:
    """The newest articles of a channel, each once, without those that are no longer visible."""
    rows = await deliveries.list_newest(conn, channel_id=channel.id, limit=FEED_ENTRIES)
    with_html = bool(channel.options.get("html"))
    visible = await find_visible(conn, [one.article_id for one in rows], now)
    records = await store.read_records(conn, article_ids=visible, with_html=with_html)
    entries = [_entry(records[one.article_id], one.queued_at) for one in rows if one.article_id in records]
    updated_at = max((one.updated_at for one in entries), default=channel.created_at)
    return WrittenFeed(f"urn:uuid:{channel.id}", url, channel.name, updated_at, entries)


def _entry(record: ArticleRecord, updated_at: datetime) -> WrittenEntry:
    fields = article_fields(record, with_html=False)
    return WrittenEntry(
        f"urn:uuid:{record.id}", record.url, record.title, updated_at, record.published_at,
        ", ".join(record.authors) or None, escape(fields["intro"]), record.html,
        [*fields["topics"], *fields["categories"]],
    )  # fmt: skip
