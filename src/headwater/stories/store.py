"""Every statement that writes `stories`, `story_state`, and the story of an article in `article_state`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.articles.store.state import hold
from headwater.channels.visible import find_visible
from headwater.db import Connection, fetch_all, fetch_column, fetch_row
from headwater.labels.store import queue_for_index
from headwater.stories.types import Placement, StoryLease, StoryRow
from headwater.types import ArticleId

LEAD_MAX_CHARS: Final = 2_000  # of markup; less of its text

# The shared record of articles `due`, never what feeds of other sites say of them.
_ARTICLES: Final = """
    SELECT articles.id, articles.listed_at, state.embedding, state.story_id, story.first_at AS story_first_at,
        coalesce(nullif(page.title, ''), nullif(articles.title, articles.url), '') AS title,
        coalesce(left(page.text, %(lead)s), left(original.text, %(lead)s), '') AS text,
        left(coalesce(page.description, articles.summary, articles.content, ''), %(lead)s) AS html,
        coalesce(listed.own, listed.every, '{}') AS source_ids,
        array_remove(ARRAY[page.duplicate_of, page.near_duplicate_of], NULL) AS twins,
        coalesce(spoken.language, '') AS language
    FROM unnest(%(ids)s::uuid[]) AS due (id)
    -- OFFSET 0: each in its month, where a join would read all of them
    CROSS JOIN LATERAL (
        SELECT embedding, story_id FROM article_state WHERE article_state.article_id = due.id OFFSET 0
    ) AS state
    CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = due.id OFFSET 0) AS articles
    LEFT JOIN LATERAL (
        SELECT title, text, description, duplicate_of, near_duplicate_of
        FROM content WHERE content.article_id = due.id OFFSET 0
    ) AS page ON true
    LEFT JOIN LATERAL (
        SELECT text FROM content WHERE content.article_id = page.duplicate_of OFFSET 0
    ) AS original ON true
    LEFT JOIN LATERAL (SELECT first_at FROM stories WHERE stories.id = state.story_id OFFSET 0) AS story ON true
    CROSS JOIN LATERAL (
        SELECT array_agg(source_id) FILTER (WHERE title IS NULL) AS own, array_agg(source_id) AS every
        FROM article_sources WHERE article_sources.article_id = due.id OFFSET 0
    ) AS listed
    LEFT JOIN LATERAL (
        SELECT label AS language FROM labels
        WHERE labels.article_id = due.id AND scheme = 'language' AND is_shown LIMIT 1 OFFSET 0
    ) AS spoken ON true
    ORDER BY articles.id
"""


async def lock_lease(conn: Connection) -> StoryLease:
    """Which worker has the stories in memory. Locked until the transaction ends."""
    statement = "SELECT lease, leased_until, reviewed_at, swept_at FROM story_state FOR UPDATE"
    [found] = await fetch_all(conn, StoryLease, statement, {})
    return found


async def set_lease(conn: Connection, *, lease: UUID, leased_until: datetime) -> None:
    statement = "UPDATE story_state SET lease = %(lease)s, leased_until = %(until)s"
    await conn.execute(statement, {"lease": lease, "until": leased_until})


async def finish_review(conn: Connection, *, now: datetime) -> None:
    await conn.execute("UPDATE story_state SET reviewed_at = %(now)s", {"now": now})


async def list_due(conn: Connection, *, limit: int) -> list[ArticleId]:
    """The articles that wait to be joined to a story, in the order of their arrival."""
    statement = "SELECT article_id FROM article_state WHERE story_due ORDER BY article_id LIMIT %(limit)s"
    return await fetch_column(conn, statement, {"limit": limit})


async def oldest_due_at(conn: Connection) -> datetime | None:
    """When the article that has waited since its arrival for longest was classified."""
    statement = "SELECT classified_at FROM article_state WHERE story_due ORDER BY article_id LIMIT 1"
    row = await fetch_row(conn, statement, {})
    return row[0] if row else None


async def read_articles(conn: Connection, *, ids: Sequence[ArticleId]) -> list[StoryRow]:
    """What decides about the stories of these articles, without those that no longer exist."""
    return await fetch_all(conn, StoryRow, _ARTICLES, {"ids": list(ids), "lead": LEAD_MAX_CHARS})


async def list_placed(conn: Connection, *, after: UUID, limit: int) -> list[ArticleId]:
    """The next articles that were placed before, in a story or in none."""
    statement = """
        SELECT article_id FROM article_state
        WHERE article_id > %(after)s AND embedding IS NOT NULL AND NOT story_due
        ORDER BY article_id LIMIT %(limit)s
    """
    return await fetch_column(conn, statement, {"after": after, "limit": limit})


async def finish_articles(
    conn: Connection, *, ids: Sequence[ArticleId], embeddings: Mapping[ArticleId, bytes | None]
) -> None:
    """These articles wait no longer, unless their embedding is no longer the one that was read."""
    statement = """
        UPDATE article_state
        SET story_due = given.is_read AND embedding IS NOT NULL AND embedding IS DISTINCT FROM given.embedding_read
        FROM unnest(%(ids)s::uuid[], %(read)s::boolean[], %(embeddings)s::bytea[])
            AS given (article_id, is_read, embedding_read)
        WHERE article_state.article_id = given.article_id AND article_state.article_id = ANY(%(ids)s)
    """
    values = {
        "ids": list(ids), "read": [one in embeddings for one in ids], "embeddings": [embeddings.get(one) for one in ids]
    }  # fmt: skip
    await conn.execute(statement, values)


async def write_placements(
    conn: Connection, *, placements: Sequence[Placement], heads: Mapping[UUID, ArticleId], now: datetime
) -> list[ArticleId]:
    """Write which story these articles are in, then count the stories that gained or lost one. `heads` has for each
    story the article that gives its title. Returns the articles whose story changed."""
    wanted = {one.article_id: one.story_id for one in placements}
    held = await hold(conn, ids=sorted(wanted))
    before = await _stories_of(conn, ids=held)
    changed = {article_id: wanted[article_id] for article_id in held if before[article_id] != wanted[article_id]}
    statement = """
        UPDATE article_state SET story_id = given.story_id
        FROM unnest(%(ids)s::uuid[], %(stories)s::uuid[]) AS given (article_id, story_id)
        WHERE article_state.article_id = given.article_id AND article_state.article_id = ANY(%(ids)s)
    """
    if changed:
        await conn.execute(statement, {"ids": list(changed), "stories": list(changed.values())})
    touched = {*heads, *changed.values(), *(before[article_id] for article_id in changed)} - {None}
    await count_stories(conn, ids=sorted(one for one in touched if one is not None), heads=heads, now=now)
    await queue_for_index(conn, article_ids=list(changed), now=now)
    return list(changed)


async def _stories_of(conn: Connection, *, ids: Sequence[ArticleId]) -> dict[ArticleId, UUID | None]:
    statement = "SELECT article_id, story_id FROM article_state WHERE article_id = ANY(%(ids)s)"
    cur = await conn.execute(statement, {"ids": list(ids)})
    return {ArticleId(article_id): story_id for article_id, story_id in await cur.fetchall()}


async def list_of_articles(conn: Connection, *, ids: Sequence[ArticleId]) -> list[UUID]:
    """The stories that these articles are in."""
    statement = """
        SELECT DISTINCT story_id FROM article_state
        WHERE article_id = ANY(%(ids)s::uuid[]) AND story_id IS NOT NULL ORDER BY story_id
    """
    return await fetch_column(conn, statement, {"ids": list(ids)})


async def count_stories(
    conn: Connection, *, ids: Sequence[UUID], now: datetime, heads: Mapping[UUID, ArticleId] | None = None
) -> None:
    """Write what the articles of these stories amount to; those without articles are deleted. Articles that only
    private feeds list give no title and are not counted: everyone may see that.

    The stories are locked first: of two that delete articles of one, the second counts what the first has left.
    """
    if not ids:
        return
    await conn.execute("SELECT FROM stories WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE", {"ids": list(ids)})
    placed = "SELECT article_id FROM article_state WHERE story_id = ANY(%(ids)s) ORDER BY article_id"
    members = await fetch_column(conn, placed, {"ids": list(ids)})
    visible = await find_visible(conn, members, now)
    await _write_counts(conn, ids=ids, heads=heads or {}, visible=visible)
    await _delete_empty(conn, ids=ids)


async def _write_counts(
    conn: Connection, *, ids: Sequence[UUID], heads: Mapping[UUID, ArticleId], visible: Sequence[ArticleId]
) -> None:
    statement = """
        WITH members AS MATERIALIZED (
            SELECT touched.id AS story_id, articles.id, articles.listed_at, listed.source_ids,
                articles.id = touched.head AS is_head, known.title AS known_title,
                articles.id = ANY(%(visible)s::uuid[]) AS is_visible,
                coalesce(nullif(page.title, ''), articles.title) AS title
            FROM unnest(%(ids)s::uuid[], %(heads)s::uuid[]) AS touched (id, head)
            LEFT JOIN LATERAL (SELECT title FROM stories WHERE stories.id = touched.id OFFSET 0) AS known ON true
            JOIN article_state ON article_state.story_id = touched.id
            CROSS JOIN LATERAL (
                SELECT * FROM articles WHERE articles.id = article_state.article_id OFFSET 0
            ) AS articles
            LEFT JOIN LATERAL (
                SELECT title FROM content WHERE content.article_id = article_state.article_id OFFSET 0
            ) AS page ON true
            CROSS JOIN LATERAL (
                SELECT coalesce(array_agg(source_id) FILTER (WHERE title IS NULL), array_agg(source_id)) AS source_ids
                FROM article_sources WHERE article_sources.article_id = article_state.article_id OFFSET 0
            ) AS listed
        ), counted AS (
            SELECT story_id, min(members.listed_at) AS first_at, max(members.listed_at) AS last_at,
                count(*) FILTER (WHERE is_visible) AS articles,
                (array_agg(
                    members.title
                    ORDER BY is_head DESC NULLS LAST, members.title = known_title DESC NULLS LAST, members.id
                ) FILTER (WHERE is_visible))[1] AS title
            FROM members
            GROUP BY story_id
        ), listed AS (
            SELECT story_id, count(DISTINCT source_id) AS sources
            FROM members, unnest(source_ids) AS source_id
            WHERE is_visible
            GROUP BY story_id
        )
        INSERT INTO stories (id, title, first_at, last_at, article_count, source_count)
        SELECT story_id, coalesce(title, ''), first_at, last_at, articles, coalesce(sources, 0)
        FROM counted LEFT JOIN listed USING (story_id)
        ORDER BY story_id
        ON CONFLICT (id) DO UPDATE
        SET title = excluded.title, first_at = excluded.first_at, last_at = excluded.last_at,
            article_count = excluded.article_count, source_count = excluded.source_count
        WHERE (stories.title, stories.first_at, stories.last_at, stories.article_count, stories.source_count)
            IS DISTINCT FROM
            (excluded.title, excluded.first_at, excluded.last_at, excluded.article_count, excluded.source_count)
    """
    known = {"ids": list(ids), "heads": [heads.get(one) for one in ids], "visible": list(visible)}
    await conn.execute(statement, known)


async def _delete_empty(conn: Connection, *, ids: Sequence[UUID]) -> None:
    statement = """
        DELETE FROM stories
        WHERE id = ANY(%(ids)s) AND NOT EXISTS (SELECT FROM article_state WHERE article_state.story_id = stories.id)
    """
    await conn.execute(statement, {"ids": list(ids)})


async def sweep(conn: Connection, *, after: datetime | None, limit: int, now: datetime) -> datetime | None:
    """Count the next stories again, from the oldest on: articles may have been deleted. Returns how far it came; None
    after the last."""
    statement = """
        SELECT id, last_at FROM stories
        WHERE last_at > coalesce(%(after)s::timestamptz, '-infinity')
        ORDER BY last_at FETCH FIRST (%(limit)s) ROWS WITH TIES  -- it goes on after this time
    """
    cur = await conn.execute(statement, {"after": after, "limit": limit})
    rows = await cur.fetchall()
    await count_stories(conn, ids=sorted(row[0] for row in rows), now=now)
    return rows[-1][1] if len(rows) >= limit else None


async def finish_sweep(conn: Connection, *, until: datetime | None) -> None:
    await conn.execute("UPDATE story_state SET swept_at = %(until)s", {"until": until})
