"""What sources are called."""

from collections.abc import Collection
from dataclasses import dataclass

from psycopg.rows import class_row

from headwater.db import Connection
from headwater.types import SourceId


@dataclass(frozen=True, slots=True)
class Label:
    """A source's name, and how its articles are found."""

    id: SourceId
    name: str
    ingestion_mode: str


async def list_labels(conn: Connection, *, source_ids: Collection[SourceId]) -> dict[SourceId, Label]:
    """Those of these sources that there are."""
    async with conn.cursor(row_factory=class_row(Label)) as cur:
        await cur.execute(
            "SELECT id, name, ingestion_mode FROM sources WHERE id = ANY(%(ids)s)", {"ids": list(source_ids)}
        )
        return {label.id: label for label in await cur.fetchall()}


async def find_label(conn: Connection, *, name: str) -> Label | None:
    """The source with this name, or else the first whose name begins with it, whatever the case."""
    async with conn.cursor(row_factory=class_row(Label)) as cur:
        await cur.execute(
            """
            SELECT id, name, ingestion_mode
            FROM sources
            WHERE starts_with(lower(name), lower(%(name)s))
            ORDER BY lower(name), id
            LIMIT 1
            """,
            {"name": name},
        )
        return await cur.fetchone()
