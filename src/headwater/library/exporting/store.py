"""What a user exports, a page at a time. The names of the columns are the names in the files.

Run under `Database.as_user`: row-level security leaves only the user's rows. A page starts after an id, so that each is
a short transaction, however slow the download.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from headwater.db import Connection, fetch_rows

Rows = Sequence[dict[str, Any]]
ReadPage = Callable[[Connection, Mapping[str, object]], Awaitable[Rows]]
"""Read one page of a file, by `after` and `limit`."""

_SUBSCRIPTIONS: Final = """
    SELECT subscriptions.id, subscriptions.name, coalesce(sources.feed_url, sources.url, sources.sitemap_url) AS url,
        sources.url AS site, subscriptions.category,
        CASE WHEN last_polled_at IS NULL THEN 'pending' WHEN last_error IS NULL THEN 'working' ELSE 'error' END
            AS status,
        nullif(read_until, '-infinity') AS read_until, subscriptions.created_at
    FROM subscriptions
    JOIN sources ON sources.id = source_id
    LEFT JOIN feed_state USING (source_id)
    WHERE subscriptions.id > %(after)s
    ORDER BY subscriptions.id LIMIT %(limit)s
"""
# Sources are shared, so a WHERE selects them.
_SUBMITTED: Final = """
    SELECT id, name, feed_url, url, created_at
    FROM sources WHERE submitted_by = current_person() AND id > %(after)s ORDER BY id LIMIT %(limit)s
"""
_SUGGESTIONS: Final = """
    SELECT source_id AS id, submissions.name, coalesce(feed_url, url, '') AS url, submissions.category,
        submitted_at AS created_at, enabled AS is_active, coalesce(moderation_status, '') AS moderation_status, reason
    FROM submissions JOIN sources ON sources.id = source_id
    WHERE source_id > %(after)s
    ORDER BY source_id LIMIT %(limit)s
"""
_MARKS: Final = """
    SELECT article_id AS id, url, coalesce(nullif(described.title, ''), nullif(articles.title, ''), url) AS title,
        coalesce(described.published_at, articles.published_at) AS published_at, is_read, read_at, starred_at
    FROM marks
    JOIN articles ON articles.id = article_id
    LEFT JOIN LATERAL article_for_user(article_id) AS described ON true
    WHERE article_id > %(after)s
    ORDER BY article_id LIMIT %(limit)s
"""
_SUMMARIES: Final = """
    SELECT id, status, content, model, article_count, prompt_tokens, completion_tokens, cost, error, created_at,
        finished_at
    FROM summaries WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
"""
_EVENTS: Final = """
    SELECT id, event_type, metadata, created_at FROM events WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
"""
_IMPORT_LINES: Final = """
    SELECT import_lines.id, file_name, created_at AS imported_at, number, name, url, category, outcome, reason
    FROM import_lines JOIN imports ON imports.id = import_id
    WHERE import_lines.id > %(after)s
    ORDER BY import_lines.id LIMIT %(limit)s
"""
# The article may be deleted by now.
_CLICKS: Final = """
    SELECT feed_item_clicks.id, kind, clicked_at, article_id, articles.url, sources.name AS source
    FROM feed_item_clicks
    JOIN sources ON sources.id = source_id
    LEFT JOIN articles ON articles.id = article_id
    WHERE feed_item_clicks.id > %(after)s
    ORDER BY feed_item_clicks.id LIMIT %(limit)s
"""

FILES: Mapping[str, ReadPage] = {
    "subscriptions.json": lambda conn, page: fetch_rows(conn, _SUBSCRIPTIONS, page),
    "sources.json": lambda conn, page: fetch_rows(conn, _SUBMITTED, page),
    "custom_feeds.json": lambda conn, page: fetch_rows(conn, _SUGGESTIONS, page),
    "articles.json": lambda conn, page: fetch_rows(conn, _MARKS, page),
    "summaries.json": lambda conn, page: fetch_rows(conn, _SUMMARIES, page),
    "events.json": lambda conn, page: fetch_rows(conn, _EVENTS, page),
    "imports.json": lambda conn, page: fetch_rows(conn, _IMPORT_LINES, page),
    "clicks.json": lambda conn, page: fetch_rows(conn, _CLICKS, page),
}


async def read_profile(conn: Connection) -> dict[str, Any]:
    """The user, with sessions, API tokens (without their secrets), identities and consent to analytics."""
    (profile,) = await fetch_rows(
        conn, "SELECT id, email, role, karma, confirmed_at, privacy_accepted_at, created_at FROM users"
    )
    sessions = await fetch_rows(
        conn, "SELECT id, started_at, seen_at, address, user_agent FROM sessions ORDER BY started_at"
    )
    tokens = await fetch_rows(conn, "SELECT id, name, scopes, created_at, used_at FROM api_tokens ORDER BY created_at")
    identities = await fetch_rows(conn, "SELECT issuer, subject FROM outside_identities ORDER BY issuer, subject")
    statement = """
        SELECT (SELECT given_at FROM analytics_consents) AS given_at,
            (SELECT refused_at FROM analytics_refusals) AS refused_at
    """
    (consent,) = await fetch_rows(conn, statement)
    return {
        "profile": profile, "sessions": sessions, "tokens": tokens, "identities": identities, "counting": consent
    }  # fmt: skip
