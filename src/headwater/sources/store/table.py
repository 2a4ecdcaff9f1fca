"""The operators' table of sources: filtered, sorted by any column, and paged by the last row of a page."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_value
from headwater.sources.store.details import COLUMNS, MATCHES, TABLES
from headwater.sources.types import SourceFilter, SourceRow, SourceSort
from headwater.types import SortPlace, SourceId

_ROWS: Final = f"""
    SELECT {COLUMNS}, articles, error_rate, readers, CASE WHEN enabled THEN feed_state.next_poll_at END AS due_at
    FROM {TABLES} JOIN source_numbers ON source_numbers.source_id = sources.id
"""
_SUCCESS: Final = "coalesce(last_succeeded_at, other.last_read_at, '-infinity')"
_DUE: Final = "CASE WHEN enabled THEN coalesce(feed_state.next_poll_at, 'infinity') ELSE 'infinity' END"
# Statements are planned with their values: only the arm of the chosen column is left, and its index is used.
_AFTER: Final = f"""
    (
        %(after)s::uuid IS NULL
        OR (%(sort)s = 'name' AND (lower(name), sources.id) > (lower(%(name)s), %(after)s))
        OR (%(sort)s = '-name' AND (lower(name), sources.id) < (lower(%(name)s), %(after)s))
        OR (%(sort)s = 'articles' AND (articles, source_numbers.source_id) > (%(number)s::integer, %(after)s))
        OR (%(sort)s = '-articles' AND (articles, source_numbers.source_id) < (%(number)s::integer, %(after)s))
        OR (%(sort)s = 'errors' AND (error_rate, source_numbers.source_id) > (%(number)s::real, %(after)s))
        OR (%(sort)s = '-errors' AND (error_rate, source_numbers.source_id) < (%(number)s::real, %(after)s))
        OR (%(sort)s = 'readers' AND (readers, source_numbers.source_id) > (%(number)s::integer, %(after)s))
        OR (%(sort)s = '-readers' AND (readers, source_numbers.source_id) < (%(number)s::integer, %(after)s))
        OR (%(sort)s = 'success' AND ({_SUCCESS}, sources.id) > (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = '-success' AND ({_SUCCESS}, sources.id) < (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = 'due' AND ({_DUE}, sources.id) > (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = '-due' AND ({_DUE}, sources.id) < (%(at)s::timestamptz, %(after)s))
    )
"""
_ORDER: Final = f"""
    CASE WHEN %(sort)s = 'name' THEN lower(name) END, CASE WHEN %(sort)s = '-name' THEN lower(name) END DESC,
    CASE WHEN %(sort)s = 'articles' THEN articles END, CASE WHEN %(sort)s = '-articles' THEN articles END DESC,
    CASE WHEN %(sort)s = 'errors' THEN error_rate END, CASE WHEN %(sort)s = '-errors' THEN error_rate END DESC,
    CASE WHEN %(sort)s = 'readers' THEN readers END, CASE WHEN %(sort)s = '-readers' THEN readers END DESC,
    CASE WHEN %(sort)s = 'success' THEN {_SUCCESS} END, CASE WHEN %(sort)s = '-success' THEN {_SUCCESS} END DESC,
    CASE WHEN %(sort)s = 'due' THEN {_DUE} END, CASE WHEN %(sort)s = '-due' THEN {_DUE} END DESC,
    CASE WHEN %(sort)s NOT LIKE '-%%' THEN sources.id END, CASE WHEN %(sort)s LIKE '-%%' THEN sources.id END DESC
"""


async def list_rows(
    conn: Connection, *, wanted: SourceFilter, sort: SourceSort, is_descending: bool = False,
    after: SortPlace | None = None, now: datetime, limit: int,
) -> list[SourceRow]:  # fmt: skip
    statement = f"""
        {_ROWS} WHERE {MATCHES} AND {_AFTER} ORDER BY {_ORDER} LIMIT %(limit)s
    """
    never = "infinity" if sort is SourceSort.DUE else "-infinity"
    at = (after.at if after else None) or never
    place = {"after": after and after.id, "name": after.name if after else "", "number": after.number if after else 0}
    values = _values(wanted, now) | place | {"at": at, "sort": f"-{sort}" if is_descending else sort.value}
    return await fetch_all(conn, SourceRow, statement, values | {"limit": limit}, prepare=False)


async def count_rows(conn: Connection, *, wanted: SourceFilter, now: datetime, most: int) -> int:
    """How many match, counted up to a limit."""
    statement = f"SELECT count(*) FROM (SELECT FROM {TABLES} WHERE {MATCHES} LIMIT %(most)s) AS found"
    return await fetch_value(conn, statement, _values(wanted, now) | {"most": most})


async def list_ids(conn: Connection, *, wanted: SourceFilter, now: datetime, limit: int) -> list[SourceId]:
    """The sources that match, by name."""
    statement = f"SELECT sources.id FROM {TABLES} WHERE {MATCHES} ORDER BY lower(name), sources.id LIMIT %(limit)s"
    return await fetch_column(conn, statement, _values(wanted, now) | {"limit": limit})


async def find_rows(conn: Connection, *, ids: Sequence[UUID]) -> list[SourceRow]:
    """These sources, by name."""
    statement = f"""
        {_ROWS} WHERE sources.id = ANY(%(ids)s) ORDER BY lower(name), sources.id
    """
    return await fetch_all(conn, SourceRow, statement, {"ids": list(ids)})


def _values(wanted: SourceFilter, now: datetime) -> dict[str, Any]:
    return {**asdict(wanted), "now": now}
