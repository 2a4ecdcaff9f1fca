"""Sources that users added: submitter, moderation status, subscriptions."""

from collections.abc import Sequence
from typing import Final

from headwater.db import Connection, fetch_all, fetch_column, fetch_value
from headwater.sources.store.sources import SOURCES
from headwater.sources.types import Source
from headwater.types import SourceId, UserId

_UNAPPROVED: Final = "moderation_status IN ('pending', 'rejected')"
_UNFOLLOWED: Final = "NOT EXISTS (SELECT FROM subscriptions WHERE source_id = sources.id)"


async def set_submitter(conn: Connection, *, source_id: SourceId, user_id: UserId) -> None:
    """Mark a source as added by a user, not by an operator."""
    statement = "UPDATE sources SET is_system = false, submitted_by = %(user_id)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": source_id, "user_id": user_id})


async def set_moderation(conn: Connection, *, source_id: SourceId, status: str | None) -> None:
    """Set the moderation status of a source; None: it is not suggested."""
    statement = "UPDATE sources SET moderation_status = %(status)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": source_id, "status": status})


async def is_unapproved(conn: Connection, *, source_id: SourceId) -> bool:
    """Whether the source's suggestion is pending or rejected: only its subscribers see it."""
    return bool(await fetch_value(conn, f"SELECT {_UNAPPROVED} FROM sources WHERE id = %(id)s", {"id": source_id}))


async def is_disabled_by_operator(conn: Connection, *, source_id: SourceId) -> bool:
    statement = "SELECT disabled_by_operator FROM sources WHERE id = %(id)s"
    return bool(await fetch_value(conn, statement, {"id": source_id}))


async def is_only_unfollowed(conn: Connection, *, source_id: SourceId) -> bool:
    """Whether a disabled source is so because it is unapproved and had no subscription: a new one enables it."""
    statement = f"SELECT {_UNAPPROVED} AND NOT disabled_by_operator FROM sources WHERE id = %(id)s"
    return bool(await fetch_value(conn, statement, {"id": source_id}))


async def needs_approval(conn: Connection, *, source_id: SourceId) -> bool:
    """Whether only an approval may enable this source: it is unapproved and has no subscription."""
    statement = f"SELECT {_UNAPPROVED} AND {_UNFOLLOWED} FROM sources WHERE id = %(id)s"
    return bool(await fetch_value(conn, statement, {"id": source_id}))


async def list_unfollowed(conn: Connection, *, limit: int) -> list[SourceId]:
    """Custom sources without subscriptions that `leave_unwanted` would delete or disable, without a lock."""
    statement = f"""
        SELECT id FROM sources
        WHERE NOT is_system AND {_UNFOLLOWED}
            AND CASE
                WHEN EXISTS (SELECT FROM submissions WHERE source_id = sources.id) OR moderation_status = 'rejected'
                    THEN enabled AND {_UNAPPROVED} ELSE true
            END LIMIT %(limit)s
    """
    return await fetch_column(conn, statement, {"limit": limit})


async def lock(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[SourceId]:
    """Lock those of these sources that users added: until the transaction ends none is polled or subscribed to. What
    the next statement reads of their subscriptions is final."""
    statement = "SELECT id FROM sources WHERE id = ANY(%(ids)s) AND NOT is_system ORDER BY id FOR UPDATE"
    return await fetch_column(conn, statement, {"ids": list(source_ids)})


async def clear_withdrawn(conn: Connection, *, source_ids: Sequence[SourceId]) -> None:
    """Clear the status of pending sources without a submission."""
    statement = """
        UPDATE sources SET moderation_status = NULL
        WHERE id = ANY(%(ids)s) AND moderation_status = 'pending'
            AND NOT EXISTS (SELECT FROM submissions WHERE source_id = sources.id)
    """
    await conn.execute(statement, {"ids": list(source_ids)})


async def list_unapproved(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[Source]:
    """Those of these sources that are enabled, pending or rejected, and have no subscription."""
    statement = f"""
        {SOURCES}
        WHERE sources.id = ANY(%(ids)s) AND NOT is_system AND enabled AND {_UNAPPROVED} AND {_UNFOLLOWED}
    """
    return await fetch_all(conn, Source, statement, {"ids": list(source_ids)})


async def list_unwanted(conn: Connection, *, source_ids: Sequence[SourceId]) -> list[SourceId]:
    """Those of these sources that users added and that have no subscription and no submission."""
    statement = f"""
        SELECT id FROM sources
        WHERE id = ANY(%(ids)s) AND NOT is_system AND {_UNFOLLOWED}
            AND moderation_status IS DISTINCT FROM 'rejected'  -- stays, or it could be suggested again and again
            AND NOT EXISTS (SELECT FROM submissions WHERE source_id = sources.id)
    """
    return await fetch_column(conn, statement, {"ids": list(source_ids)})


async def clear_submitter(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Clear a removed user's id from the sources they submitted. Returns how many were changed."""
    statement = """
        UPDATE sources SET submitted_by = NULL
        WHERE id = ANY(ARRAY(SELECT id FROM sources WHERE submitted_by = %(user_id)s LIMIT %(limit)s))
    """
    return (await conn.execute(statement, {"user_id": user_id, "limit": limit})).rowcount
