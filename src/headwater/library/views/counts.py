"""Unread numbers of views and tags, counted in the newest unread articles. Run under `Database.as_user`."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from headwater.db import Connection, time_limit
from headwater.errors import QueryInvalid, QueryTimedOut
from headwater.library.store import unread
from headwater.library.views.types import SavedView, UnreadNumber
from headwater.query.grammar import parse
from headwater.query.sql import condition
from headwater.query.store import find_among
from headwater.query.types import Audience

COUNTED = 1_000
TIME = timedelta(seconds=2)  # of all views together


async def count_unread(
    conn: Connection, *, views: Sequence[SavedView], now: datetime, time: timedelta = TIME
) -> tuple[Mapping[UUID, UnreadNumber], Mapping[str, UnreadNumber]]:
    """How many of the newest unread articles each view finds, and how many have each tag. A view whose query is no
    longer valid, or that could not be counted in time, has no number: a query of 64 words takes seconds, and a user has
    many views."""
    ends_at = monotonic() + time.total_seconds()
    newest = await unread.list_newest_unread(conn, limit=COUNTED)
    tagged = await unread.count_tags(conn, article_ids=newest.article_ids)
    found: dict[UUID, UnreadNumber] = {}
    for view in views:
        try:
            tree = parse(view.query, Audience.READER).tree
        except QueryInvalid:
            continue
        where = condition(tree, Audience.READER, now=now)
        if (left := ends_at - monotonic()) <= 0:
            break
        try:
            async with time_limit(conn, timedelta(seconds=left)):
                ids = await find_among(conn, where=where, article_ids=newest.article_ids)
        except QueryTimedOut:
            continue
        found[view.id] = UnreadNumber(len(ids), is_least=not newest.is_all)
    return found, {tag: UnreadNumber(count, is_least=not newest.is_all) for tag, count in tagged.items()}
