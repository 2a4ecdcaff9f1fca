"""Sources that only a person can help."""

from typing import Final

from headwater.db import Connection, fetch_all, fetch_value
from headwater.sources.types import StoppedSource, Suggestion

# Auto-disabled without a retry.
_STOPPED: Final = """
    SELECT sources.id, name, feed_disable_reason AS reason
    FROM sources JOIN feed_state ON source_id = sources.id
    WHERE sources.feed_disabled_at IS NOT NULL AND disabled_until IS NULL AND source_state(
        enabled, moderation_status, feed_disabled_at, feed_disable_reason, NULL, NULL
    ) = 'auto_disabled'
"""
_FOUND: Final = """
    SELECT DISTINCT ON (source_id) source_id, name AS source_name, source_suggestions.feed_url, title, entry_count
    FROM source_suggestions JOIN sources ON sources.id = source_id WHERE enabled
"""
# Ids of all of them: stopped, with a new feed found, or suggested by a user and not decided.
NEED_PERSON: Final = f"""
    SELECT id FROM ({_STOPPED}) AS stopped
    UNION SELECT source_id FROM source_suggestions JOIN sources ON sources.id = source_id WHERE enabled
    UNION SELECT id FROM sources WHERE NOT enabled AND moderation_status = 'pending'
"""


async def count_all(conn: Connection) -> int:
    return await fetch_value(conn, f"SELECT count(*) FROM ({NEED_PERSON}) AS need_person")


async def list_stopped(conn: Connection, *, limit: int) -> list[StoppedSource]:
    """Those that were disabled last, first. One for which a new feed was found is not among them."""
    statement = f"""
        {_STOPPED} AND NOT EXISTS (SELECT FROM source_suggestions WHERE source_id = sources.id)
        ORDER BY sources.feed_disabled_at DESC, sources.id LIMIT %(limit)s
    """
    return await fetch_all(conn, StoppedSource, statement, {"limit": limit})


async def list_found(conn: Connection, *, limit: int) -> list[Suggestion]:
    """For each source the found feed with the most entries."""
    statement = f"{_FOUND} ORDER BY source_id, entry_count DESC, source_suggestions.feed_url LIMIT %(limit)s"
    return await fetch_all(conn, Suggestion, statement, {"limit": limit})
