"""What a user exports, a page at a time. The names of the columns are the names in the files.

Run under `Database.as_user`: row-level security leaves only the user's rows. A page starts after an id, so that each is
a short transaction, however slow the download.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from headwater.db import Connection, fetch_rows, fetch_value
from headwater.errors import NotLoggedIn

Rows = Sequence[dict[str, Any]]
ReadPage = Callable[[Connection, Mapping[str, object]], Awaitable[Rows]]
"""Read one page of a file, by `after` and `limit`."""

_SUBSCRIPTIONS: Final = """
    SELECT subscriptions.id, subscriptions.name, coalesce(sources.feed_url, sources.url, sources.sitemap_url) AS url,
        sources.url AS site, subscriptions.category, subscriptions.tags,
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
        coalesce(described.published_at, articles.published_at) AS published_at, is_read, read_at, starred_at, saved_at,
        tags, hidden_at,
        (
            SELECT jsonb_object_agg(scheme, found)
            FROM (
                SELECT scheme, jsonb_agg(jsonb_build_object('label', label, 'score', score, 'method', method)) AS found
                FROM (
                    SELECT scheme, label, score, method FROM labels
                    WHERE labels.article_id = marks.article_id AND is_shown ORDER BY score DESC, label
                ) AS shown
                GROUP BY scheme
            ) AS by_scheme
        ) AS labels,
        (
            SELECT jsonb_agg(file)
            FROM article_sources
            CROSS JOIN LATERAL jsonb_array_elements(enclosures) AS file
            WHERE article_sources.article_id = marks.article_id AND (article_sources.title IS NULL OR EXISTS (
                SELECT FROM subscriptions WHERE subscriptions.source_id = article_sources.source_id
            ))
        ) AS enclosures
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

_VIEWS: Final = """
    SELECT id, name, icon, query, place, feed_key IS NOT NULL AS has_feed, created_at, updated_at
    FROM views WHERE id > %(after)s AND deleted_at IS NULL ORDER BY id LIMIT %(limit)s
"""

_FILTERS: Final = """
    SELECT id, page, name, query FROM saved_filters WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
"""

_RULES: Final = """
    SELECT id, name, query, mute, marks_read, stars, hides, tags, notify, is_enabled, created_at, updated_at, (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'article_id', article_id, 'applied_at', applied_at, 'actions', actions
        ) ORDER BY applied_at DESC, article_id DESC), '[]')
        FROM (
            SELECT * FROM rule_log WHERE rule_log.rule_id = rules.id ORDER BY applied_at DESC, article_id DESC LIMIT 200
        ) AS newest
    ) AS log
    FROM rules WHERE id > %(after)s AND deleted_at IS NULL ORDER BY id LIMIT %(limit)s
"""
_TARGETS: Final = """
    SELECT id, kind, name, url, is_enabled, created_at, sent_at
    FROM notification_targets WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
"""

FILES: Mapping[str, ReadPage] = {
    "subscriptions.json": lambda conn, page: fetch_rows(conn, _SUBSCRIPTIONS, page),
    "sources.json": lambda conn, page: fetch_rows(conn, _SUBMITTED, page),
    "custom_feeds.json": lambda conn, page: fetch_rows(conn, _SUGGESTIONS, page),
    "articles.json": lambda conn, page: fetch_rows(conn, _MARKS, page),
    "views.json": lambda conn, page: fetch_rows(conn, _VIEWS, page),
    "filters.json": lambda conn, page: fetch_rows(conn, _FILTERS, page),
    "rules.json": lambda conn, page: fetch_rows(conn, _RULES, page),
    "notifications.json": lambda conn, page: fetch_rows(conn, _TARGETS, page),
    "summaries.json": lambda conn, page: fetch_rows(conn, _SUMMARIES, page),
    "events.json": lambda conn, page: fetch_rows(conn, _EVENTS, page),
    "imports.json": lambda conn, page: fetch_rows(conn, _IMPORT_LINES, page),
    "clicks.json": lambda conn, page: fetch_rows(conn, _CLICKS, page),
}


async def read_profile(conn: Connection) -> dict[str, Any]:
    """The user, with settings, sessions, API tokens (without secrets), identities and consent to analytics. Raises
    NotLoggedIn, if the account was deleted meanwhile."""
    statement = "SELECT id, email, role, karma, confirmed_at, privacy_accepted_at, created_at FROM users"
    profiles = await fetch_rows(conn, statement)
    if not profiles:
        raise NotLoggedIn
    sessions = await fetch_rows(
        conn, "SELECT id, started_at, seen_at, address, user_agent FROM sessions ORDER BY started_at"
    )
    tokens = await fetch_rows(conn, "SELECT id, name, scopes, created_at, used_at FROM api_tokens ORDER BY created_at")
    identities = await fetch_rows(conn, "SELECT issuer, subject FROM outside_identities ORDER BY issuer, subject")
    counting = """
        SELECT (SELECT given_at FROM analytics_consents) AS given_at,
            (SELECT refused_at FROM analytics_refusals) AS refused_at
    """
    chosen = await fetch_value(conn, "SELECT to_jsonb(reading_options) - 'user_id' FROM reading_options")
    (consent,) = await fetch_rows(conn, counting)
    return {
        "profile": profiles[0], "sessions": sessions, "tokens": tokens, "identities": identities, "counting": consent,
        "settings": chosen,
    }  # fmt: skip
