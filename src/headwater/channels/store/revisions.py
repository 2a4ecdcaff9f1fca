"""Revisions: what a message would say of an article, and the numbers that articles get when that changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from headwater.channels.types import ChannelId
from headwater.db import Connection, fetch_column, fetch_one
from headwater.types import ArticleId

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewRevision:
    """An article that gets a revision, and the channels that get it. `digest` None: what it says is the same."""

    article_id: ArticleId
    digest: bytes | None
    channel_ids: Sequence[ChannelId]


@dataclass(frozen=True, slots=True)
class TakenRevisions:
    last: int
    channels_version: int


async def find_changed(
    conn: Connection, *, ids: Sequence[ArticleId], visible: Sequence[ArticleId]
) -> dict[ArticleId, bytes]:
    """Those of these classified articles of which a message would say something new, each with the digest of it.

    Scores are not in it, except the quality: they change a little with each model. Nor is the story. An article that
    is `visible` from now on, or no longer, has changed: there is a message about it, or none.
    """
    statement = """
        SELECT state.article_id, said.digest
        FROM article_state AS state
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = state.article_id OFFSET 0) AS articles
        LEFT JOIN LATERAL (
            SELECT version, canonical_url, duplicate_of, near_duplicate_of
            FROM content WHERE content.article_id = state.article_id OFFSET 0
        ) AS page ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(jsonb_agg(jsonb_build_array(
                scheme, label, CASE WHEN scheme = 'quality' THEN round((score * 100)::numeric) END
            ) ORDER BY scheme, label), '[]') AS labels
            FROM (SELECT * FROM labels WHERE labels.article_id = state.article_id AND is_shown OFFSET 0) AS given
        ) AS shown
        CROSS JOIN LATERAL (
            SELECT coalesce(jsonb_agg(CASE
                WHEN sources.is_system OR sources.moderation_status = 'approved'
                    THEN jsonb_build_array(source_id, given.enclosures)
                ELSE jsonb_build_array(source_id, given.enclosures, 'not public')  -- a message does not name it
            END ORDER BY source_id), '[]') AS links
            FROM (SELECT * FROM article_sources WHERE article_sources.article_id = state.article_id OFFSET 0) AS given
            JOIN sources ON sources.id = given.source_id
        ) AS listed
        CROSS JOIN LATERAL (
            SELECT sha256(convert_to(jsonb_build_array(
                articles.url, articles.title, articles.author, extract(epoch FROM articles.published_at),
                md5(articles.summary), md5(articles.content), page.version, page.canonical_url, page.duplicate_of,
                page.near_duplicate_of, shown.labels, listed.links
            )::text || CASE WHEN state.article_id = ANY(%(visible)s) THEN '' ELSE ' hidden' END, 'UTF8')) AS digest
        ) AS said
        WHERE state.article_id = ANY(%(ids)s) AND state.classified_at IS NOT NULL
            AND said.digest IS DISTINCT FROM state.revision_digest
        ORDER BY state.article_id
    """
    cur = await conn.execute(statement, {"ids": list(ids), "visible": list(visible)})
    return {ArticleId(article_id): bytes(digest) for article_id, digest in await cur.fetchall()}


async def find_revised(conn: Connection, *, ids: Sequence[ArticleId]) -> list[ArticleId]:
    """Those of these articles that have a revision."""
    statement = """
        SELECT article_id FROM article_state
        WHERE article_id = ANY(%(ids)s) AND revision IS NOT NULL ORDER BY article_id
    """
    return await fetch_column(conn, statement, {"ids": list(ids)})


async def take(conn: Connection, *, count: int, now: datetime) -> TakenRevisions:
    """The next numbers, up to `last`. Whoever takes some holds them all until its transaction ends: so they become
    visible in order. Nothing else may be locked after this.

    They begin after the last one and after the time in microseconds: a database that was restored from a backup has
    forgotten which numbers it gave, and must not give one of them to another article.
    """
    statement = """
        UPDATE publishing_state SET last_revision = greatest(last_revision, %(time)s::bigint) + %(count)s
        RETURNING last_revision AS last, channels_version
    """
    time = (now - _EPOCH) // timedelta(microseconds=1)
    taken = await fetch_one(conn, TakenRevisions, statement, {"count": count, "time": time})
    assert taken is not None, "migration 0012 adds the row"
    return taken


async def write(
    conn: Connection, *, new: Mapping[int, NewRevision], read_only: frozenset[ChannelId], now: datetime
) -> None:
    """Write articles with their revisions, and the deliveries of their channels. The articles are locked.

    What only streams and feeds read (`read_only`) waits for no destination.
    """
    statement = """
        UPDATE article_state
        SET revision = given.revision, revised_at = %(now)s,
            revision_digest = coalesce(given.digest, article_state.revision_digest)
        FROM unnest(%(ids)s::uuid[], %(revisions)s::bigint[], %(digests)s::bytea[])
            AS given (article_id, revision, digest)
        WHERE article_state.article_id = given.article_id AND article_state.article_id = ANY(%(ids)s)
    """
    values = {
        "ids": [one.article_id for one in new.values()], "revisions": list(new),
        "digests": [one.digest for one in new.values()], "now": now,
    }  # fmt: skip
    await conn.execute(statement, values)
    queued = [
        (channel_id, revision, one.article_id, channel_id in read_only)
        for revision, one in new.items()
        for channel_id in one.channel_ids
    ]
    if not queued:
        return
    insert = """
        INSERT INTO deliveries (channel_id, revision, article_id, queued_at, delivered_at)
        SELECT channel_id, revision, article_id, %(now)s, CASE WHEN is_read THEN %(now)s::timestamptz END
        FROM unnest(%(channels)s::uuid[], %(revisions)s::bigint[], %(ids)s::uuid[], %(read)s::boolean[])
            AS queued (channel_id, revision, article_id, is_read)
    """
    channels, revisions, ids, read = zip(*queued, strict=True)
    given = {"channels": list(channels), "revisions": list(revisions), "ids": list(ids), "read": list(read)}
    await conn.execute(insert, given | {"now": now})
