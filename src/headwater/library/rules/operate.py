"""What readers do with rules. Run under `Database.as_user`.

Rules are locked before marks, in the order of the stage.
"""

from datetime import datetime
from uuid import UUID

from headwater.db import Connection
from headwater.errors import NotFound, TooManyReaderRules
from headwater.ids import new_id
from headwater.library.rules import store
from headwater.library.rules.decide import check_rule
from headwater.library.rules.types import (
    PREVIEWED,
    RESTORABLE,
    ReaderRule,
    ReaderRuleFields,
    RulePreview,
)
from headwater.library.store import marks, subscriptions
from headwater.query.grammar import parse
from headwater.query.sql import condition
from headwater.query.types import Audience
from headwater.types import UserId

EXAMINED_MOST = 2_000  # articles of a preview
SHOWN_MOST = 50
GONE = "This rule does not exist, or is deleted."


async def preview_rule(conn: Connection, query: str, *, now: datetime) -> RulePreview:
    """Which articles of the last days a query finds, among the newest. Raises QueryInvalid."""
    where = condition(parse(query.strip(), Audience.READER).tree, Audience.READER, now=now)
    lines, ids, examined = await store.preview(
        conn, where=where, since=now - PREVIEWED, most=EXAMINED_MOST, limit=SHOWN_MOST
    )
    return RulePreview(lines, len(ids), examined, is_complete=examined < EXAMINED_MOST)


async def save_rule(conn: Connection, fields: ReaderRuleFields, *, user_id: UserId, most: int, now: datetime) -> UUID:
    """Add a rule. Raises InvalidReaderRule, TooManyReaderRules."""
    checked = check_rule(fields)
    await subscriptions.lock(conn, user_id=user_id)
    await store.purge(conn, before=now - RESTORABLE)
    if await store.count(conn) >= most:
        raise TooManyReaderRules(most)
    rule_id = new_id()
    await store.add(conn, rule_id=rule_id, user_id=user_id, fields=checked, now=now)
    return rule_id


async def require_rule(conn: Connection, rule_id: UUID) -> ReaderRule:
    """Raises NotFound."""
    found = await store.find(conn, rule_id=rule_id)
    if found is None:
        raise NotFound(GONE)
    return found


async def lock_rule(conn: Connection, rule_id: UUID) -> ReaderRule:
    """A rule that is about to be changed: no other change gets lost. Raises NotFound."""
    await store.lock(conn, rule_id=rule_id)
    return await require_rule(conn, rule_id)


async def change_rule(conn: Connection, rule_id: UUID, fields: ReaderRuleFields) -> None:
    """Raises InvalidReaderRule, NotFound."""
    if not await store.change(conn, rule_id=rule_id, fields=check_rule(fields)):
        raise NotFound(GONE)


async def enable_rule(conn: Connection, rule_id: UUID, *, is_enabled: bool) -> None:
    """Raises NotFound."""
    if not await store.set_enabled(conn, rule_id=rule_id, is_enabled=is_enabled):
        raise NotFound(GONE)


async def delete_rule(conn: Connection, rule_id: UUID, now: datetime) -> str:
    """Returns its name. What it did stays. Raises NotFound."""
    name = await store.remove(conn, rule_id=rule_id, now=now)
    if name is None:
        raise NotFound(GONE)
    return name


async def restore_rule(conn: Connection, rule_id: UUID, *, user_id: UserId, most: int, now: datetime) -> None:
    """Raises NotFound, TooManyReaderRules."""
    await subscriptions.lock(conn, user_id=user_id)
    if await store.count(conn) >= most:
        raise TooManyReaderRules(most)
    if not await store.restore(conn, rule_id=rule_id, since=now - RESTORABLE):
        raise NotFound("This rule can no longer be restored.")


async def mute(
    conn: Connection, fields: ReaderRuleFields, *, user_id: UserId, most: int, now: datetime
) -> tuple[UUID, int]:
    """Hide articles from now on, and those of the last days at once. Returns the rule, and how many were hidden. The
    same mute again changes nothing. Raises InvalidReaderRule, TooManyReaderRules."""
    assert fields.mute is not None, "made by mute_rule"
    await subscriptions.lock(conn, user_id=user_id)
    found = await store.find_mute(conn, kind=fields.mute, query=fields.query)
    if found is not None:
        return found, 0
    where = condition(parse(fields.query, Audience.READER).tree, Audience.READER, now=now)
    _, ids, _ = await store.preview(conn, where=where, since=now - PREVIEWED, most=EXAMINED_MOST, limit=0)
    hidden = await store.list_unhidden(conn, article_ids=ids)
    await marks.set_hidden(conn, user_id=user_id, article_ids=hidden, hidden_at=now)
    rule_id = await save_rule(conn, fields, user_id=user_id, most=most, now=now)
    await store.add_log(conn, rule_id=rule_id, user_id=user_id, article_ids=ids, actions=["hide"], now=now)
    return rule_id, len(hidden)


async def unmute(conn: Connection, rule_id: UUID, *, user_id: UserId, now: datetime) -> str:
    """Delete a mute, and list again what it hid and no other rule. Returns its name. Raises NotFound."""
    rule = await lock_rule(conn, rule_id)
    if rule.mute is None:
        raise NotFound("This rule is not a mute.")
    # First: the stage may be about to hide an article by it, and ends before this or does not.
    name = await delete_rule(conn, rule_id, now)
    hidden = await store.list_hidden_by(conn, rule_id=rule_id)
    await marks.set_hidden(conn, user_id=user_id, article_ids=hidden, hidden_at=None)
    return name
