"""What the statements share: the letters in columns, keys as arrays, counters of URLs by source and status."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection
from headwater.frontier.decide import LAST_BAND
from headwater.frontier.keys import UrlKey
from headwater.frontier.types import Origin, Status
from headwater.hosts.arrays import numbers, uuids
from headwater.hosts.store.due import wake_for_pages
from headwater.hosts.types import Wake
from headwater.types import PageKind

STATUS_LETTER = {Status.PENDING: "p", Status.FETCHED: "f", Status.FAILED: "r", Status.DEAD: "d"}
# b: dead because robots.txt disallows it; such URLs are queued again when that changes. g: while the host is leased
STATUS_OF = {letter: status for status, letter in STATUS_LETTER.items()} | {"b": Status.DEAD, "g": Status.FETCHING}
ORIGIN_LETTER = {Origin.FEED: "f", Origin.SITEMAP: "x", Origin.SPIDER: "s", Origin.MANUAL: "m", Origin.SAVED: "v"}
ORIGIN_OF = {letter: origin for origin, letter in ORIGIN_LETTER.items()}
KIND_LETTER = {PageKind.ARTICLE: "a", PageKind.SITEMAP: "x", PageKind.LIST: "l"}
KIND_OF = {letter: kind for kind, letter in KIND_LETTER.items()}
COUNTED = ("p", "f", "r", "d")

GIVEN_KEYS: Final = """
    unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[]) AS given (shard, host_id, url_id)
"""
IS_GIVEN: Final = """
    frontier_url.shard = given.shard AND frontier_url.host_id = given.host_id AND frontier_url.url_id = given.url_id
"""


def key_columns(keys: Sequence[UrlKey]) -> dict[str, str]:
    return {
        "shards": numbers([key.shard for key in keys]),
        "host_ids": numbers([key.host_id for key in keys]),
        "url_ids": numbers([key.url_id for key in keys]),
    }


@dataclass(slots=True)
class UrlChanges:
    """What is still to be written after URLs were: hosts to wake, and by how much the counters change."""

    wakes: list[Wake] = field(default_factory=list[Wake])
    counts: dict[UUID | None, list[int]] = field(default_factory=dict[UUID | None, list[int]])

    def count(self, source_id: UUID | None, letter: str, by: int) -> None:
        row = self.counts.setdefault(source_id, [0, 0, 0, 0])
        row[COUNTED.index("d" if letter == "b" else letter)] += by

    def move(self, source_id: UUID | None, before: str, after: str) -> None:
        self.count(source_id, before, -1)
        self.count(source_id, after, 1)

    def remove(self, host_id: int, source_id: UUID | None, letter: str) -> None:
        self.count(source_id, letter, -1)
        self.wake(host_id, LAST_BAND, None, -1)

    def requeue(self, host_id: int, source_id: UUID | None, band: int, now: datetime, before: str) -> None:
        """Count a URL as pending, due now."""
        self.move(source_id, before, "p")
        self.wake(host_id, band, now)

    def wake(self, host_id: int, band: int, due_at: datetime | None, more: int = 0) -> None:
        self.wakes.append(Wake("", host_id, band, due_at, more))  # without a name: it has a row

    def add(self, other: "UrlChanges") -> None:
        self.wakes += other.wakes
        for source_id, row in other.counts.items():
            for letter, by in zip(COUNTED, row, strict=True):
                self.count(source_id, letter, by)


async def write_changes(conn: Connection, *, changes: UrlChanges, wakes: list[Wake] | None = None) -> None:
    """Change the counters and wake the hosts, or add them to `wakes`, to be woken later in the transaction."""
    await write_counts(conn, changes=changes)
    if wakes is None:
        await wake_for_pages(conn, wakes=changes.wakes)
    else:
        wakes += changes.wakes


async def write_counts(conn: Connection, *, changes: UrlChanges) -> None:
    """Change the counters: each batch inserts rows, and `tidy` sums them up."""
    rows = [(source_id, row) for source_id, row in changes.counts.items() if any(row)]
    if not rows:
        return
    statement = """
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT *
        FROM unnest(%(sources)s::uuid[], %(p)s::integer[], %(f)s::integer[], %(r)s::integer[], %(d)s::integer[])
    """
    values = {letter: numbers([row[column] for _, row in rows]) for column, letter in enumerate(COUNTED)}
    await conn.execute(statement, {**values, "sources": uuids([source_id for source_id, _ in rows])})
