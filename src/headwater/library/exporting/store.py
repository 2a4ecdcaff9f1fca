"""What a person takes along, read a page at a time.

Run under `Database.as_user`: row-level security leaves only one's own rows. A page begins after an id, so that each can
be a short transaction of its own, however slowly the file is taken.
"""

from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one
from headwater.library.exporting.types import (
    ExportedClick,
    ExportedCounting,
    ExportedCustomFeed,
    ExportedEvent,
    ExportedIdentity,
    ExportedImportLine,
    ExportedMark,
    ExportedSession,
    ExportedSource,
    ExportedSubscription,
    ExportedSummary,
    ExportedToken,
    Profile,
)


async def find_profile(conn: Connection) -> Profile | None:
    """Who asks."""
    return await fetch_one(
        conn, Profile, "SELECT id, email, role, karma, confirmed_at, privacy_accepted_at, created_at FROM users"
    )


async def list_sessions(conn: Connection) -> list[ExportedSession]:
    """Where they are logged in."""
    return await fetch_all(
        conn, ExportedSession, "SELECT id, started_at, seen_at, address, user_agent FROM sessions ORDER BY started_at"
    )


async def list_tokens(conn: Connection) -> list[ExportedToken]:
    """Their tokens for programs."""
    return await fetch_all(
        conn, ExportedToken, "SELECT id, name, scopes, created_at, used_at FROM api_tokens ORDER BY created_at"
    )


async def list_identities(conn: Connection) -> list[ExportedIdentity]:
    """Who they are to others."""
    return await fetch_all(
        conn, ExportedIdentity, "SELECT issuer, subject FROM outside_identities ORDER BY issuer, subject"
    )


async def list_subscriptions(conn: Connection, *, after: UUID, limit: int) -> list[ExportedSubscription]:
    """What they follow."""
    return await fetch_all(
        conn,
        ExportedSubscription,
        """
        SELECT subscriptions.id, subscriptions.name,
            coalesce(sources.feed_url, sources.url, sources.sitemap_url) AS url, sources.url AS site,
            subscriptions.category,
            CASE
                WHEN last_polled_at IS NULL THEN 'pending'
                WHEN last_error IS NULL THEN 'working'
                ELSE 'error'
            END AS status,
            nullif(read_until, '-infinity') AS read_until, subscriptions.created_at
        FROM subscriptions
        JOIN sources ON sources.id = source_id
        LEFT JOIN feed_state USING (source_id)
        WHERE subscriptions.id > %(after)s
        ORDER BY subscriptions.id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def list_submitted(conn: Connection, *, after: UUID, limit: int) -> list[ExportedSource]:
    """What is followed because they named it. Sources are shared: here a WHERE says whose."""
    return await fetch_all(
        conn,
        ExportedSource,
        """
        SELECT id, name, feed_url, url, created_at
        FROM sources
        WHERE submitted_by = current_person() AND id > %(after)s
        ORDER BY id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def list_custom_feeds(conn: Connection, *, after: UUID, limit: int) -> list[ExportedCustomFeed]:
    """What they suggested for everybody."""
    return await fetch_all(
        conn,
        ExportedCustomFeed,
        """
        SELECT source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.category,
            submitted_at AS created_at, enabled AS is_active, coalesce(moderation_status, '') AS moderation_status,
            reason
        FROM submissions
        JOIN sources ON sources.id = source_id
        WHERE source_id > %(after)s
        ORDER BY source_id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def list_marks(conn: Connection, *, after: UUID, limit: int) -> list[ExportedMark]:
    """What they read, kept unread and starred."""
    return await fetch_all(
        conn,
        ExportedMark,
        """
        SELECT article_id AS id, url,
            coalesce(nullif(told.title, ''), nullif(articles.title, ''), url) AS title,
            coalesce(told.published_at, articles.published_at) AS published_at, is_read,
            read_at, starred_at
        FROM marks
        JOIN articles ON articles.id = article_id
        LEFT JOIN LATERAL told_to_reader(article_id) AS told ON true
        WHERE article_id > %(after)s
        ORDER BY article_id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def list_summaries(conn: Connection, *, after: UUID, limit: int) -> list[ExportedSummary]:
    """Their summaries."""
    return await fetch_all(
        conn,
        ExportedSummary,
        """
        SELECT id, status, content, model, article_count, prompt_tokens, completion_tokens, cost, error,
            created_at, finished_at
        FROM summaries
        WHERE id > %(after)s
        ORDER BY id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def list_events(conn: Connection, *, after: UUID, limit: int) -> list[ExportedEvent]:
    """What they did."""
    return await fetch_all(
        conn,
        ExportedEvent,
        """
        SELECT id, event_type, metadata, created_at
        FROM events
        WHERE id > %(after)s
        ORDER BY id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def list_import_lines(conn: Connection, *, after: UUID, limit: int) -> list[ExportedImportLine]:
    """The lines of files they brought."""
    return await fetch_all(
        conn,
        ExportedImportLine,
        """
        SELECT import_lines.id, file_name, created_at AS imported_at, number, name, url, category, outcome, reason
        FROM import_lines
        JOIN imports ON imports.id = import_id
        WHERE import_lines.id > %(after)s
        ORDER BY import_lines.id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )


async def find_counting(conn: Connection) -> ExportedCounting | None:
    """Whether they agreed to be counted."""
    return await fetch_one(
        conn,
        ExportedCounting,
        """
        SELECT (SELECT given_at FROM analytics_consents) AS given_at,
            (SELECT refused_at FROM analytics_refusals) AS refused_at
        """,
    )


async def list_clicks(conn: Connection, *, after: UUID, limit: int) -> list[ExportedClick]:
    """What was counted of them."""
    return await fetch_all(
        conn,
        ExportedClick,
        """
        SELECT feed_item_clicks.id, kind, clicked_at, article_id, articles.url, sources.name AS source
        FROM feed_item_clicks
        JOIN sources ON sources.id = source_id
        LEFT JOIN articles ON articles.id = article_id
        WHERE feed_item_clicks.id > %(after)s
        ORDER BY feed_item_clicks.id
        LIMIT %(limit)s
        """,
        {"after": after, "limit": limit},
    )
