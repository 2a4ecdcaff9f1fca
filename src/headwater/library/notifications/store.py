"""Every statement on `notification_targets` and `notifications`.

What readers do runs under `Database.as_user`, the stages under `Database.as_system`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.db import Connection, fetch_all, fetch_column, fetch_value
from headwater.library.notifications.types import (
    DueTarget,
    NotificationTarget,
    NotifiedArticle,
    WaitingNotifications,
    WantedNotification,
)
from headwater.library.rules.types import NotificationKind
from headwater.types import ArticleId, UserId

_HAS_USER: Final = "EXISTS (SELECT FROM users WHERE users.id = notification_targets.user_id)"
_IS_DUE: Final = "is_enabled AND ready_at IS NOT NULL AND (ready_at <= %(now)s OR ready_at > %(implausible)s)"
_WAITS: Final = "target_id = %(target_id)s AND sent_at IS NULL"


async def count_since(conn: Connection, *, user_ids: Sequence[UserId], since: datetime) -> dict[UserId, int]:
    """Of how many articles these users were notified since a time."""
    statement = """
        SELECT user_id, count(DISTINCT article_id) FROM notifications
        WHERE user_id = ANY(%(user_ids)s::uuid[]) AND queued_at > %(since)s
        GROUP BY user_id
    """
    cur = await conn.execute(statement, {"user_ids": list(user_ids), "since": since})
    return {UserId(user_id): count for user_id, count in await cur.fetchall()}


async def queue(conn: Connection, *, wanted: Sequence[WantedNotification], now: datetime, digest_at: datetime) -> None:
    """Notify users of articles, at each of their targets once."""
    statement = """
        INSERT INTO notifications (target_id, article_id, user_id, rule_id, queued_at)
        SELECT DISTINCT ON (targets.id, wanted.article_id)
            targets.id, wanted.article_id, targets.user_id, wanted.rule_id, %(now)s::timestamptz
        FROM jsonb_to_recordset(%(rows)s) AS wanted (user_id uuid, kind text, article_id uuid, rule_id uuid)
        JOIN notification_targets AS targets
            ON targets.user_id = wanted.user_id AND targets.kind = wanted.kind AND targets.is_enabled
        ORDER BY targets.id, wanted.article_id, wanted.rule_id
        ON CONFLICT DO NOTHING
        RETURNING target_id
    """
    rows = [
        {
            "user_id": str(one.user_id), "kind": one.kind.value, "article_id": str(one.article_id),
            "rule_id": str(one.rule_id),
        }
        for one in wanted
    ]  # fmt: skip
    targets = await fetch_column(conn, statement, {"rows": Jsonb(rows), "now": now})
    # No condition on ready_at: the stage may set it to NULL at this moment, having seen none of the new rows.
    wake = """
        UPDATE notification_targets
        SET ready_at = coalesce(ready_at, CASE kind WHEN 'email' THEN %(digest_at)s::timestamptz ELSE %(now)s END)
        WHERE id = ANY(%(ids)s::uuid[])
    """
    await conn.execute(wake, {"ids": sorted(set(targets)), "now": now, "digest_at": digest_at})


# Targets


async def list_targets(conn: Connection) -> list[NotificationTarget]:
    """Those of the user."""
    statement = """
        SELECT id, kind, name, url, is_enabled, failures, reason, sent_at FROM notification_targets
        ORDER BY kind, created_at, id
    """
    return [row.target() for row in await fetch_all(conn, _TargetRow, statement)]


@dataclass(frozen=True, slots=True)
class _TargetRow:
    id: UUID
    kind: str
    name: str
    url: str
    is_enabled: bool
    failures: int
    reason: str | None
    sent_at: datetime | None

    def target(self) -> NotificationTarget:
        return NotificationTarget(
            self.id, NotificationKind(self.kind), self.name, self.url, self.is_enabled, self.failures, self.reason,
            self.sent_at,
        )  # fmt: skip


async def count_targets(conn: Connection, *, kind: NotificationKind) -> int:
    statement = "SELECT count(*) FROM notification_targets WHERE kind = %(kind)s"
    return await fetch_value(conn, statement, {"kind": kind})


async def add_target(
    conn: Connection, *, target_id: UUID, user_id: UserId, kind: NotificationKind, now: datetime, url: str = "",
    name: str = "", secret: str | None = None, push_key: str | None = None, push_auth: str | None = None,
) -> UUID:  # fmt: skip
    """Add a target, or enable an equal one again, with the new keys. Returns its id."""
    statement = """
        INSERT INTO notification_targets (id, user_id, kind, url, name, secret, push_key, push_auth, created_at)
        VALUES (
            %(id)s, %(user_id)s, %(kind)s, %(url)s, %(name)s, %(secret)s, %(push_key)s, %(push_auth)s, %(now)s
        )
        ON CONFLICT (user_id, kind, md5(url)) DO UPDATE SET name = %(name)s, secret = %(secret)s,
            push_key = %(push_key)s, push_auth = %(push_auth)s, is_enabled = true, failures = 0, reason = NULL
        RETURNING id
    """
    ids = {"id": target_id, "user_id": user_id, "kind": kind, "url": url, "name": name, "secret": secret}
    return await fetch_value(conn, statement, ids | {"push_key": push_key, "push_auth": push_auth, "now": now})


async def set_target_enabled(conn: Connection, *, target_id: UUID, is_enabled: bool) -> bool:
    """Returns whether the user has such a target."""
    statement = """
        UPDATE notification_targets SET is_enabled = %(is_enabled)s, failures = 0, reason = NULL WHERE id = %(id)s
    """
    return (await conn.execute(statement, {"id": target_id, "is_enabled": is_enabled})).rowcount == 1


async def remove_target(conn: Connection, *, target_id: UUID) -> bool:
    """Returns whether there was such a target."""
    statement = "DELETE FROM notification_targets WHERE id = %(id)s"
    return (await conn.execute(statement, {"id": target_id})).rowcount == 1


async def end_digests(conn: Connection, *, user_id: UserId) -> bool:
    """Disable the emails of a user. Returns whether they had such a target."""
    statement = "UPDATE notification_targets SET is_enabled = false WHERE user_id = %(user_id)s AND kind = 'email'"
    return (await conn.execute(statement, {"user_id": user_id})).rowcount == 1


# The stage


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, implausible: datetime, limit: int,
    most_of_user: int, examined: int, slow: Collection[UserId] = (), most_slow: int = 0,
) -> list[DueTarget]:  # fmt: skip
    """Claim targets at which notifications wait, none of a deleted user. A time later than `implausible` was set by a
    clock that was ahead. At most `most_of_user` of one user are claimed at a time, by all processes together, and
    `most_slow` of the `slow` users now; so many due targets are `examined` for this, the longest ready first. The first
    target of a user goes before the second of another."""
    statement = f"""
        WITH due AS (
            SELECT id, user_id, ready_at, leased.number AS leased
            FROM notification_targets
            CROSS JOIN LATERAL (
                SELECT count(*) AS number FROM notification_targets AS others
                WHERE others.user_id = notification_targets.user_id AND others.lease IS NOT NULL
                    AND others.ready_at > %(now)s AND others.ready_at <= %(implausible)s
            ) AS leased
            WHERE {_IS_DUE} AND {_HAS_USER} AND leased.number < %(most_of_user)s
                AND (%(most_slow)s > 0 OR user_id <> ALL(%(slow)s::uuid[]))
            ORDER BY ready_at LIMIT %(examined)s
        ), ranked AS (
            SELECT id, ready_at, user_id = ANY(%(slow)s::uuid[]) AS is_slow,
                leased + row_number() OVER (PARTITION BY user_id ORDER BY ready_at, id) AS place
            FROM due
        ), allowed AS (
            SELECT id, ready_at, is_slow, place,
                row_number() OVER (PARTITION BY is_slow ORDER BY place, ready_at, id) AS number
            FROM ranked WHERE place <= %(most_of_user)s
        ), chosen AS (
            SELECT id FROM allowed
            WHERE NOT is_slow OR number <= %(most_slow)s
            ORDER BY place, ready_at, id LIMIT %(limit)s
        )
        UPDATE notification_targets SET ready_at = %(leased_until)s, lease = %(lease)s WHERE id IN (
            SELECT id FROM notification_targets
            WHERE id IN (SELECT id FROM chosen) AND {_IS_DUE} FOR UPDATE SKIP LOCKED
        )
        RETURNING id, user_id, kind, url, secret, push_key, push_auth, failures, lease
    """
    values = {
        "lease": lease, "now": now, "leased_until": leased_until, "implausible": implausible, "limit": limit,
        "most_of_user": most_of_user, "examined": examined, "slow": list(slow), "most_slow": most_slow,
    }  # fmt: skip
    cur = await conn.execute(statement, values)
    return [
        DueTarget(target_id, user_id, NotificationKind(kind), *rest)
        for target_id, user_id, kind, *rest in await cur.fetchall()
    ]


async def read_waiting(conn: Connection, *, target_id: UUID, most: int, shown: int) -> WaitingNotifications:
    """What waits at a target, the oldest first; of a deleted user, nothing. Run under `Database.as_user`: titles are
    those that the user sees, and an article that they can no longer open is not shown."""
    oldest = f"""
        SELECT article_id FROM notifications
        WHERE {_WAITS} AND EXISTS (SELECT FROM users) ORDER BY queued_at, article_id LIMIT %(most)s
    """
    ids = await fetch_column(conn, oldest, {"target_id": target_id, "most": most})
    readable = """
        SELECT waiting.id
        FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS waiting (id, place)
        WHERE EXISTS (
            SELECT FROM (SELECT source_id FROM article_sources WHERE article_id = waiting.id OFFSET 0) AS links
            JOIN subscriptions USING (source_id)
        ) OR EXISTS (
            SELECT FROM marks
            WHERE article_id = waiting.id AND coalesce(starred_at, saved_at) IS NOT NULL
            OFFSET 0
        )
        ORDER BY place
    """
    shown_ids = await fetch_column(conn, readable, {"ids": ids})
    statement = """
        SELECT articles.id, articles.url,
            coalesce(nullif(described.title, ''), nullif(articles.title, ''), articles.url) AS title,
            coalesce(listed.name, '') AS feed_name, coalesce(rules.name, '') AS rule_name,
            coalesce(listed.listed_at, articles.listed_at) AS listed_at
        FROM notifications AS waiting
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = waiting.article_id OFFSET 0) AS articles
        LEFT JOIN LATERAL article_for_user(waiting.article_id) AS described ON true
        LEFT JOIN LATERAL (
            SELECT subscriptions.name, links.listed_at
            FROM (SELECT * FROM article_sources WHERE article_sources.article_id = waiting.article_id OFFSET 0) AS links
            JOIN subscriptions USING (source_id)
            ORDER BY links.listed_at DESC, subscriptions.name LIMIT 1
        ) AS listed ON true
        LEFT JOIN rules ON rules.id = waiting.rule_id
        WHERE waiting.target_id = %(target_id)s AND waiting.article_id = ANY(%(ids)s::uuid[])
        ORDER BY waiting.queued_at, waiting.article_id
    """
    articles = await fetch_all(conn, NotifiedArticle, statement, {"target_id": target_id, "ids": shown_ids[:shown]})
    return WaitingNotifications(ids, articles, len(shown_ids))


async def settle(
    conn: Connection, *, target: DueTarget, article_ids: Sequence[ArticleId], now: datetime, next_at: datetime
) -> bool:
    """Mark notifications as sent. Returns whether the lease still held. More that waits is due at `next_at`.

    The row of the target is locked first: what is queued at this moment waits for it, or is seen here.
    """
    if not await _is_leased(conn, target=target):
        return False
    mark = f"UPDATE notifications SET sent_at = %(now)s WHERE {_WAITS} AND article_id = ANY(%(ids)s::uuid[])"
    await conn.execute(mark, {"target_id": target.id, "now": now, "ids": list(article_ids)})
    statement = f"""
        UPDATE notification_targets
        SET ready_at = CASE WHEN EXISTS (SELECT FROM notifications WHERE {_WAITS}) THEN %(next_at)s::timestamptz END,
            lease = NULL, failures = 0, reason = NULL, sent_at = %(now)s
        WHERE id = %(target_id)s
    """
    await conn.execute(statement, {"target_id": target.id, "now": now, "next_at": next_at})
    return True


async def retry(conn: Connection, *, target: DueTarget, at: datetime, reason: str) -> None:
    statement = """
        UPDATE notification_targets
        SET ready_at = %(at)s, lease = NULL, failures = failures + 1, reason = %(reason)s
        WHERE id = %(target_id)s AND lease = %(lease)s
    """
    await conn.execute(statement, {"target_id": target.id, "lease": target.lease, "at": at, "reason": reason})


async def postpone(conn: Connection, *, target: DueTarget, at: datetime) -> None:
    """Try again later, without a failure."""
    statement = """
        UPDATE notification_targets SET ready_at = %(at)s, lease = NULL WHERE id = %(target_id)s AND lease = %(lease)s
    """
    await conn.execute(statement, {"target_id": target.id, "lease": target.lease, "at": at})


async def give_up(conn: Connection, *, target: DueTarget, reason: str) -> None:
    """Disable a target, and delete what waits there."""
    if not await _is_leased(conn, target=target):
        return
    await conn.execute(f"DELETE FROM notifications WHERE {_WAITS}", {"target_id": target.id})
    statement = """
        UPDATE notification_targets
        SET is_enabled = false, ready_at = NULL, lease = NULL, failures = failures + 1, reason = %(reason)s
        WHERE id = %(target_id)s
    """
    await conn.execute(statement, {"target_id": target.id, "reason": reason})


async def _is_leased(conn: Connection, *, target: DueTarget) -> bool:
    statement = "SELECT id FROM notification_targets WHERE id = %(id)s AND lease = %(lease)s FOR UPDATE"
    return await fetch_value(conn, statement, {"id": target.id, "lease": target.lease}) is not None


async def oldest_ready(conn: Connection, *, now: datetime) -> datetime | None:
    statement = f"""
        SELECT min(ready_at) FROM notification_targets
        WHERE is_enabled AND ready_at IS NOT NULL AND ready_at <= %(now)s AND {_HAS_USER}
    """
    return await fetch_value(conn, statement, {"now": now})


async def remove_before(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete the oldest notifications before a time; returns how many."""
    statement = """
        DELETE FROM notifications WHERE (target_id, article_id) IN (
            SELECT target_id, article_id FROM notifications WHERE queued_at < %(before)s
            ORDER BY queued_at LIMIT %(limit)s
        )
    """
    return (await conn.execute(statement, {"before": before, "limit": limit})).rowcount


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Delete notifications of a removed user; returns how many. Targets are deleted with the user's id."""
    statement = """
        DELETE FROM notifications WHERE (target_id, article_id) IN (
            SELECT target_id, article_id FROM notifications WHERE user_id = %(user_id)s LIMIT %(limit)s
        )
    """
    return (await conn.execute(statement, {"user_id": user_id, "limit": limit})).rowcount
