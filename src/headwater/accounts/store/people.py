"""The operators' table of users: filtered, sorted by any column, and paged by the last row of a page."""

from dataclasses import asdict
from datetime import datetime
from typing import Final

from headwater.accounts.types import PersonFilter, PersonLine, PersonSort
from headwater.db import Connection, fetch_all, fetch_one, fetch_value
from headwater.types import SortPlace, UserId

_PEOPLE: Final = """
    SELECT users.id, email, role, karma, users.created_at, confirmed_at,
        greatest(session.seen_at, token.used_at) AS seen_at, feeds.count AS feed_count,
        session.count AS session_count, token.count AS token_count
"""
_TABLES: Final = """
    users
    CROSS JOIN LATERAL (SELECT count(*) FROM subscriptions WHERE user_id = users.id) AS feeds
    CROSS JOIN LATERAL (SELECT count(*), max(seen_at) AS seen_at FROM sessions WHERE user_id = users.id) AS session
    CROSS JOIN LATERAL (SELECT count(*), max(used_at) AS used_at FROM api_tokens WHERE user_id = users.id) AS token
"""
_MATCHES: Final = """
    (%(text)s = '' OR strpos(email_key, lower(%(text)s)) > 0)
    AND (%(role)s::text IS NULL OR role = %(role)s)
    AND (%(confirmed)s::boolean IS NULL OR (confirmed_at IS NOT NULL) = %(confirmed)s)
    AND (
        %(seen_before)s::timestamptz IS NULL
        OR NOT EXISTS (SELECT FROM sessions WHERE user_id = users.id AND seen_at >= %(seen_before)s)
        AND NOT EXISTS (SELECT FROM api_tokens WHERE user_id = users.id AND used_at >= %(seen_before)s)
    )
"""
_SEEN: Final = "coalesce(greatest(session.seen_at, token.used_at), '-infinity')"
# Statements are planned with their values: only the arm of the chosen column is left. Feeds and the last visit are
# counted for all users when they are sorted by.
_AFTER: Final = f"""
    (
        %(after)s::uuid IS NULL
        OR (%(sort)s = 'email' AND email_key > %(name)s)
        OR (%(sort)s = '-email' AND email_key < %(name)s)
        OR (%(sort)s = 'joined' AND (users.created_at, users.id) > (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = '-joined' AND (users.created_at, users.id) < (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = 'reputation' AND (karma, users.id) > (%(number)s::integer, %(after)s))
        OR (%(sort)s = '-reputation' AND (karma, users.id) < (%(number)s::integer, %(after)s))
        OR (%(sort)s = 'feeds' AND (feeds.count, users.id) > (%(number)s::bigint, %(after)s))
        OR (%(sort)s = '-feeds' AND (feeds.count, users.id) < (%(number)s::bigint, %(after)s))
        OR (%(sort)s = 'seen' AND ({_SEEN}, users.id) > (%(at)s::timestamptz, %(after)s))
        OR (%(sort)s = '-seen' AND ({_SEEN}, users.id) < (%(at)s::timestamptz, %(after)s))
    )
"""
_ORDER: Final = f"""
    CASE WHEN %(sort)s = 'email' THEN email_key END, CASE WHEN %(sort)s = '-email' THEN email_key END DESC,
    CASE WHEN %(sort)s = 'joined' THEN users.created_at END,
    CASE WHEN %(sort)s = '-joined' THEN users.created_at END DESC,
    CASE WHEN %(sort)s = 'reputation' THEN karma END, CASE WHEN %(sort)s = '-reputation' THEN karma END DESC,
    CASE WHEN %(sort)s = 'feeds' THEN feeds.count END, CASE WHEN %(sort)s = '-feeds' THEN feeds.count END DESC,
    CASE WHEN %(sort)s = 'seen' THEN {_SEEN} END, CASE WHEN %(sort)s = '-seen' THEN {_SEEN} END DESC,
    CASE WHEN %(sort)s NOT LIKE '-%%' THEN users.id END, CASE WHEN %(sort)s LIKE '-%%' THEN users.id END DESC
"""


async def list_rows(
    conn: Connection, *, wanted: PersonFilter, sort: PersonSort, is_descending: bool = False,
    after: SortPlace | None = None, limit: int,
) -> list[PersonLine]:  # fmt: skip
    statement = f"{_PEOPLE} FROM {_TABLES} WHERE {_MATCHES} AND {_AFTER} ORDER BY {_ORDER} LIMIT %(limit)s"
    place = {"after": after and after.id, "name": after.name if after else "", "number": after.number if after else 0}
    at: datetime | str = (after.at if after else None) or "-infinity"
    values = asdict(wanted) | place | {"at": at, "sort": f"-{sort}" if is_descending else sort.value, "limit": limit}
    return await fetch_all(conn, PersonLine, statement, values, prepare=False)


async def count_rows(conn: Connection, *, wanted: PersonFilter, most: int) -> int:
    """How many match, counted up to a limit."""
    statement = f"SELECT count(*) FROM (SELECT FROM users WHERE {_MATCHES} LIMIT %(most)s) AS found"
    return await fetch_value(conn, statement, asdict(wanted) | {"most": most})


async def find(conn: Connection, *, user_id: UserId) -> PersonLine | None:
    return await fetch_one(conn, PersonLine, f"{_PEOPLE} FROM {_TABLES} WHERE users.id = %(id)s", {"id": user_id})
