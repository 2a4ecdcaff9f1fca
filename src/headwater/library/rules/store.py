"""Every statement on `rules`, `rule_log` and `rules_state`.

What readers do runs under `Database.as_user`: row-level security leaves only their rows. The stage runs under
`Database.as_system`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_row, fetch_value
from headwater.library.rules.types import (
    MutableSource,
    MuteKind,
    NotificationKind,
    PreviewLine,
    ReaderRule,
    ReaderRuleFields,
    ReaderRuleHit,
    RevisionBatch,
    RuleActions,
    RuleInUse,
    RuleLogLine,
    RulesTurn,
)
from headwater.query.sql import SqlCondition
from headwater.types import ArticleId, UserId

MATCHED_COUNTED: Final = 1_000
_RULES: Final = """
    SELECT id, name, query, mute, marks_read, stars, hides, tags, notify, is_enabled, created_at, updated_at,
        (
            SELECT count(*)
            FROM (SELECT FROM rule_log WHERE rule_log.rule_id = rules.id LIMIT %(counted)s) AS counted
        ) AS matched,
        (
            SELECT applied_at FROM rule_log WHERE rule_log.rule_id = rules.id
            ORDER BY applied_at DESC, article_id DESC LIMIT 1
        ) AS matched_at
    FROM rules
"""
_IN_USE: Final = "is_enabled AND deleted_at IS NULL"


@dataclass(frozen=True, slots=True)
class _ActionsRow:
    marks_read: bool
    stars: bool
    hides: bool
    tags: list[str]
    notify: list[str]

    @property
    def actions(self) -> RuleActions:
        kinds = tuple(NotificationKind(kind) for kind in self.notify)
        return RuleActions(self.marks_read, self.stars, self.hides, tuple(self.tags), kinds)


@dataclass(frozen=True, slots=True)
class _RuleRow(_ActionsRow):
    id: UUID
    name: str
    query: str
    mute: str | None
    is_enabled: bool
    created_at: datetime
    updated_at: datetime
    matched: int
    matched_at: datetime | None

    def rule(self) -> ReaderRule:
        mute = MuteKind(self.mute) if self.mute else None
        return ReaderRule(
            self.id, self.name, self.query, mute, self.actions, self.is_enabled, self.created_at, self.updated_at,
            self.matched, self.matched_at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _InUseRow(_ActionsRow):
    id: UUID
    version: UUID
    user_id: UserId
    query: str


def _columns(fields: ReaderRuleFields) -> dict[str, Any]:
    actions = fields.actions
    return {
        "name": fields.name, "query": fields.query, "mute": fields.mute, "is_enabled": fields.is_enabled,
        "marks_read": actions.marks_read, "stars": actions.stars, "hides": actions.hides, "tags": list(actions.tags),
        "notify": [kind.value for kind in actions.notify],
    }  # fmt: skip


async def add(conn: Connection, *, rule_id: UUID, user_id: UserId, fields: ReaderRuleFields, now: datetime) -> None:
    statement = """
        INSERT INTO rules (
            id, user_id, name, query, mute, marks_read, stars, hides, tags, notify, is_enabled, created_at, updated_at
        )
        VALUES (
            %(id)s, %(user_id)s, %(name)s, %(query)s, %(mute)s, %(marks_read)s, %(stars)s, %(hides)s, %(tags)s::text[],
            %(notify)s::text[], %(is_enabled)s, %(now)s, %(now)s
        )
    """
    await conn.execute(statement, {"id": rule_id, "user_id": user_id, "now": now} | _columns(fields))


async def change(conn: Connection, *, rule_id: UUID, fields: ReaderRuleFields) -> bool:
    """Returns whether there is such a rule."""
    statement = """
        UPDATE rules SET name = %(name)s, query = %(query)s, marks_read = %(marks_read)s, stars = %(stars)s,
            hides = %(hides)s, tags = %(tags)s::text[], notify = %(notify)s::text[], is_enabled = %(is_enabled)s,
            version = gen_random_uuid()
        WHERE id = %(id)s AND deleted_at IS NULL
    """
    return (await conn.execute(statement, {"id": rule_id} | _columns(fields))).rowcount == 1


async def set_enabled(conn: Connection, *, rule_id: UUID, is_enabled: bool) -> bool:
    """Returns whether there is such a rule."""
    statement = "UPDATE rules SET is_enabled = %(is_enabled)s WHERE id = %(id)s AND deleted_at IS NULL"
    return (await conn.execute(statement, {"id": rule_id, "is_enabled": is_enabled})).rowcount == 1


async def count(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM rules WHERE deleted_at IS NULL")


async def list_rules(conn: Connection) -> list[ReaderRule]:
    """All of the user, the oldest first."""
    statement = f"{_RULES} WHERE deleted_at IS NULL ORDER BY id"
    return [row.rule() for row in await fetch_all(conn, _RuleRow, statement, {"counted": MATCHED_COUNTED})]


async def find(conn: Connection, *, rule_id: UUID) -> ReaderRule | None:
    statement = f"{_RULES} WHERE id = %(id)s AND deleted_at IS NULL"
    row = await fetch_one(conn, _RuleRow, statement, {"id": rule_id, "counted": MATCHED_COUNTED})
    return row.rule() if row else None


async def lock(conn: Connection, *, rule_id: UUID) -> None:
    """Wait for other changes of a rule, and keep them away until the end of the transaction."""
    await conn.execute("SELECT FROM rules WHERE id = %(id)s FOR UPDATE", {"id": rule_id})


async def find_mute(conn: Connection, *, kind: MuteKind, query: str) -> UUID | None:
    """The user's mute with this query."""
    statement = "SELECT id FROM rules WHERE mute = %(mute)s AND query = %(query)s AND deleted_at IS NULL LIMIT 1"
    return await fetch_value(conn, statement, {"mute": kind, "query": query})


async def remove(conn: Connection, *, rule_id: UUID, now: datetime) -> str | None:
    """Delete a rule, which can be restored. Returns its name; None if there is no such rule."""
    statement = "UPDATE rules SET deleted_at = %(now)s WHERE id = %(id)s AND deleted_at IS NULL RETURNING name"
    return await fetch_value(conn, statement, {"id": rule_id, "now": now})


async def restore(conn: Connection, *, rule_id: UUID, since: datetime) -> bool:
    """Restore a rule that was deleted after a time."""
    statement = "UPDATE rules SET deleted_at = NULL WHERE id = %(id)s AND deleted_at >= %(since)s"
    return (await conn.execute(statement, {"id": rule_id, "since": since})).rowcount == 1


async def purge(conn: Connection, *, before: datetime) -> None:
    """Delete the rows of rules that were deleted before a time, with their logs."""
    await conn.execute("DELETE FROM rules WHERE deleted_at < %(before)s", {"before": before})


async def list_log(conn: Connection, *, rule_id: UUID, limit: int) -> list[RuleLogLine]:
    """What a rule did, the newest first."""
    statement = """
        SELECT article_id, coalesce(described.title, nullif(articles.title, ''), articles.url, '') AS title,
            applied_at, actions
        FROM (
            SELECT * FROM rule_log WHERE rule_id = %(rule_id)s
            ORDER BY applied_at DESC, article_id DESC LIMIT %(limit)s
        ) AS done
        LEFT JOIN LATERAL (
            SELECT title, url FROM articles WHERE articles.id = done.article_id OFFSET 0
        ) AS articles ON true
        LEFT JOIN LATERAL article_for_user(done.article_id) AS described ON true
        ORDER BY applied_at DESC, article_id DESC
    """
    return await fetch_all(conn, RuleLogLine, statement, {"rule_id": rule_id, "limit": limit})


async def add_log(
    conn: Connection, *, rule_id: UUID, user_id: UserId, article_ids: Sequence[ArticleId], actions: Sequence[str],
    now: datetime,
) -> None:  # fmt: skip
    """Log what a rule did to articles when it was made."""
    statement = """
        INSERT INTO rule_log (rule_id, article_id, user_id, applied_at, actions)
        SELECT %(rule_id)s, id, %(user_id)s, %(now)s, %(actions)s::text[] FROM unnest(%(ids)s::uuid[]) AS id
        ON CONFLICT DO NOTHING
    """
    ids = {"rule_id": rule_id, "user_id": user_id, "ids": list(article_ids)}
    await conn.execute(statement, ids | {"actions": list(actions), "now": now})


async def list_hidden_by(conn: Connection, *, rule_id: UUID) -> list[ArticleId]:
    """The articles that this rule hid and no other: a deleted mute does not count, another deleted rule does."""
    statement = """
        SELECT article_id
        FROM rule_log
        CROSS JOIN LATERAL (
            SELECT hidden_at FROM marks
            WHERE marks.user_id = rule_log.user_id AND marks.article_id = rule_log.article_id OFFSET 0
        ) AS marks
        WHERE rule_id = %(rule_id)s AND 'hide' = ANY(actions) AND hidden_at IS NOT NULL AND NOT EXISTS (
            SELECT
            FROM rule_log AS others JOIN rules ON rules.id = others.rule_id
            WHERE others.article_id = rule_log.article_id AND others.user_id = rule_log.user_id
                AND others.rule_id <> %(rule_id)s AND 'hide' = ANY(others.actions)
                AND (rules.mute IS NULL OR rules.deleted_at IS NULL)
        )
    """
    return await fetch_column(conn, statement, {"rule_id": rule_id})


async def list_unhidden(conn: Connection, *, article_ids: Sequence[ArticleId]) -> list[ArticleId]:
    """Those of these articles that the user has not hidden."""
    statement = """
        SELECT id FROM unnest(%(ids)s::uuid[]) AS id
        WHERE NOT EXISTS (SELECT FROM marks WHERE marks.article_id = id AND hidden_at IS NOT NULL OFFSET 0)
    """
    return await fetch_column(conn, statement, {"ids": list(article_ids)})


async def list_sources_of(conn: Connection, *, article_id: ArticleId) -> list[MutableSource]:
    """The user's feeds that list an article."""
    statement = """
        SELECT source_id AS id, name
        FROM (SELECT source_id FROM article_sources WHERE article_id = %(article_id)s OFFSET 0) AS links
        JOIN subscriptions USING (source_id)
        ORDER BY lower(name), source_id
    """
    return await fetch_all(conn, MutableSource, statement, {"article_id": article_id})


async def find_source_name(conn: Connection, *, source_id: UUID) -> str | None:
    """The user's name of a source that they follow."""
    return await fetch_value(conn, "SELECT name FROM subscriptions WHERE source_id = %(id)s", {"id": source_id})


async def preview(
    conn: Connection, *, where: SqlCondition, since: datetime, most: int, limit: int
) -> tuple[list[PreviewLine], list[ArticleId], int]:
    """Which of the user's newest `most` articles a query finds: the newest in full, all by id, and the number of
    articles examined."""
    statement = f"""
        WITH recent AS MATERIALIZED (
            SELECT article_id AS id, max(listed_at) AS listed_at, min(name) AS feed_name
            FROM (
                SELECT article_id, article_sources.listed_at, name
                FROM subscriptions JOIN article_sources USING (source_id)
                WHERE article_sources.listed_at >= %(since)s
                ORDER BY article_sources.listed_at DESC, article_id DESC LIMIT %(most)s
            ) AS newest
            GROUP BY article_id
        ), hits AS MATERIALIZED (
            SELECT wanted.id, wanted.listed_at, wanted.feed_name FROM recent AS wanted {where.joins} WHERE {where.sql}
        ), shown AS (
            SELECT hits.id, hits.listed_at, hits.feed_name,
                coalesce(nullif(described.title, ''), nullif(articles.title, ''), articles.url) AS title
            FROM (SELECT * FROM hits ORDER BY listed_at DESC, id DESC LIMIT %(limit)s) AS hits
            CROSS JOIN LATERAL (SELECT title, url FROM articles WHERE articles.id = hits.id OFFSET 0) AS articles
            LEFT JOIN LATERAL article_for_user(hits.id) AS described ON true
        )
        SELECT (SELECT count(*) FROM recent), ARRAY(SELECT id FROM hits ORDER BY id), (
            SELECT coalesce(
                jsonb_agg(jsonb_build_object('id', id, 'title', title, 'feed_name', feed_name,
                    'listed_at', extract(epoch FROM listed_at)) ORDER BY listed_at DESC, id DESC), '[]'
            ) FROM shown
        )
    """
    values = {**where.values, "since": since, "most": most, "limit": limit}
    row = await fetch_row(conn, statement, values)
    assert row is not None, "a statement without FROM returns a row"
    examined, ids, lines = row
    shown = [
        PreviewLine(
            ArticleId(UUID(line["id"])), line["title"], line["feed_name"],
            datetime.fromtimestamp(line["listed_at"], since.tzinfo),
        )
        for line in lines
    ]  # fmt: skip
    return shown, ids, examined


# The stage.


async def claim(conn: Connection, *, lease: UUID, now: datetime, ends_at: datetime) -> RulesTurn | None:
    """Claim the next revisions, if there are any and no other process has them. A lease that ends later than one made
    now was written by a clock that was ahead, and is ignored."""
    statement = """
        UPDATE rules_state SET lease = %(lease)s, leased_until = %(ends_at)s
        WHERE (lease IS NULL OR leased_until <= %(now)s OR leased_until > %(ends_at)s)
            AND done_to < (SELECT last_revision FROM publishing_state)
        RETURNING lease, done_to
    """
    return await fetch_one(conn, RulesTurn, statement, {"lease": lease, "now": now, "ends_at": ends_at})


async def read_batch(conn: Connection, *, after: int, limit: int) -> RevisionBatch:
    """The next articles in the order of revisions; with a limit of 0 none, up to the last revision."""
    last = await fetch_value(conn, "SELECT last_revision FROM publishing_state")
    rows = await list_revisions(conn, after=after, limit=limit)
    newest = rows[-1][0] if rows else after
    return RevisionBatch([row[1] for row in rows], newest if rows and len(rows) == limit else max(newest, last))


async def list_revisions(conn: Connection, *, after: int, limit: int) -> list[tuple[int, ArticleId]]:
    statement = """
        SELECT revision, article_id FROM article_state WHERE revision > %(after)s ORDER BY revision LIMIT %(limit)s
    """
    cur = await conn.execute(statement, {"after": after, "limit": limit})
    return [(revision, ArticleId(article_id)) for revision, article_id in await cur.fetchall()]


async def fingerprint(conn: Connection) -> tuple[int, int]:
    """Another one after each change of a rule in use."""
    statement = f"""
        SELECT count(*), coalesce(bit_xor(uuid_hash_extended(version, 0)), 0) FROM rules WHERE {_IN_USE}
    """
    row = await fetch_row(conn, statement)
    assert row is not None, "a count is a row"
    return row[0], row[1]


async def list_in_use(conn: Connection, *, without: Sequence[UUID]) -> list[RuleInUse]:
    """The rules in use of all users, without those of these versions."""
    statement = f"""
        SELECT id, version, user_id, query, marks_read, stars, hides, tags, notify
        FROM rules WHERE {_IN_USE} AND version <> ALL(%(without)s::uuid[])
    """
    rows = await fetch_all(conn, _InUseRow, statement, {"without": list(without)})
    return [RuleInUse(row.id, row.version, row.user_id, row.query, row.actions) for row in rows]


async def list_versions(conn: Connection) -> list[UUID]:
    return await fetch_column(conn, f"SELECT version FROM rules WHERE {_IN_USE}")


async def list_arrived(
    conn: Connection, *, article_ids: Sequence[ArticleId], since: datetime
) -> set[tuple[ArticleId, UserId]]:
    """The readers with rules in use for whom these articles arrived after a time: their feeds listed none of them
    before. None for a reader whose account is deleted, nor for a feed that is."""
    statement = f"""
        SELECT asked.id, mine.user_id
        FROM unnest(%(ids)s::uuid[]) AS asked (id)
        CROSS JOIN LATERAL (
            SELECT source_id, seen_at FROM article_sources WHERE article_sources.article_id = asked.id OFFSET 0
        ) AS links
        JOIN subscriptions AS mine ON mine.source_id = links.source_id
        WHERE EXISTS (SELECT FROM rules WHERE rules.user_id = mine.user_id AND {_IN_USE})
            AND EXISTS (SELECT FROM users WHERE users.id = mine.user_id)
        GROUP BY asked.id, mine.user_id
        HAVING min(links.seen_at) >= %(since)s
    """
    cur = await conn.execute(statement, {"ids": list(article_ids), "since": since})
    return {(article_id, user_id) for article_id, user_id in await cur.fetchall()}


async def is_leased(conn: Connection, *, lease: UUID) -> bool:
    """Whether a lease still holds. No other process claims until the end of the transaction."""
    statement = "SELECT EXISTS (SELECT FROM rules_state WHERE lease = %(lease)s FOR UPDATE)"
    return await fetch_value(conn, statement, {"lease": lease})


async def hold(conn: Connection, *, matches: Sequence[ReaderRuleHit]) -> None:
    """Until the end of the transaction nobody deletes the articles and readers of these matches. A deletion that began
    before is waited for."""
    articles = "SELECT FROM articles WHERE id = ANY(%(ids)s::uuid[]) ORDER BY id FOR KEY SHARE"
    await conn.execute(articles, {"ids": sorted({one.article_id for one in matches})})
    readers = "SELECT FROM users WHERE id = ANY(%(ids)s::uuid[]) ORDER BY id FOR KEY SHARE"
    await conn.execute(readers, {"ids": sorted({one.rule.user_id for one in matches})})


async def log_matches(conn: Connection, *, matches: Sequence[ReaderRuleHit], now: datetime) -> list[ReaderRuleHit]:
    """Log what rules are about to do. Returns those matches that are new, and whose rule is as it was when it was
    matched: a rule acts on an article once. Until the end of the transaction nobody changes or deletes these rules."""
    statement = f"""
        INSERT INTO rule_log (rule_id, article_id, user_id, applied_at, actions)
        SELECT rules.id, wanted.article_id, rules.user_id, %(now)s, wanted.actions
        FROM jsonb_to_recordset(%(rows)s) AS wanted (rule_id uuid, version uuid, article_id uuid, actions text[])
        JOIN rules ON rules.id = wanted.rule_id AND rules.version = wanted.version AND {_IN_USE}
        ORDER BY rules.id, wanted.article_id
        FOR SHARE OF rules
        ON CONFLICT DO NOTHING
        RETURNING rule_id, article_id
    """
    rows = [
        {
            "rule_id": str(one.rule.id), "version": str(one.rule.version), "article_id": str(one.article_id),
            "actions": one.rule.actions.names,
        }
        for one in matches
    ]  # fmt: skip
    cur = await conn.execute(statement, {"rows": Jsonb(rows), "now": now})
    logged = {(rule_id, article_id) for rule_id, article_id in await cur.fetchall()}
    return [one for one in matches if (one.rule.id, one.article_id) in logged]


async def finish(conn: Connection, *, lease: UUID, done_to: int) -> None:
    statement = """
        UPDATE rules_state SET done_to = greatest(done_to, %(done_to)s), lease = NULL, leased_until = NULL
        WHERE lease = %(lease)s
    """
    await conn.execute(statement, {"lease": lease, "done_to": done_to})


async def oldest_waiting_at(conn: Connection) -> datetime | None:
    """When the next revision was made."""
    statement = """
        SELECT revised_at FROM article_state WHERE revision > (SELECT done_to FROM rules_state)
        ORDER BY revision LIMIT 1
    """
    return await fetch_value(conn, statement)


async def remove_log(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete the oldest lines of all logs before a time; returns how many."""
    statement = """
        DELETE FROM rule_log WHERE (rule_id, article_id) IN (
            SELECT rule_id, article_id FROM rule_log WHERE applied_at < %(before)s ORDER BY applied_at LIMIT %(limit)s
        )
    """
    return (await conn.execute(statement, {"before": before, "limit": limit})).rowcount


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Disable the rules of a removed user, and delete lines of their logs; returns how many rows. The rules themselves
    are deleted with the user's id."""
    disable = "UPDATE rules SET is_enabled = false WHERE user_id = %(user_id)s AND is_enabled"
    disabled = (await conn.execute(disable, {"user_id": user_id})).rowcount
    statement = """
        DELETE FROM rule_log WHERE (rule_id, article_id) IN (
            SELECT rule_id, article_id FROM rule_log WHERE user_id = %(user_id)s LIMIT %(limit)s
        )
    """
    return disabled + (await conn.execute(statement, {"user_id": user_id, "limit": limit})).rowcount
