"""What operators do to rules, each with its entry in the audit log, in one transaction.

A rule that is enabled, disabled, or changed while enabled has articles of the last days classified again.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from headwater.articles.store.state import queue_recent
from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
from headwater.db import Connection
from headwater.errors import Invalid, TooManyRules
from headwater.ids import first_id_at, new_id
from headwater.types import SourceId
from headwater.understanding.rulebook import store
from headwater.understanding.rulebook.decide import RULES_MOST, check_rule
from headwater.understanding.rulebook.types import RuleDetails, RuleFields

AGAIN_WITHIN: Final = timedelta(days=7)
AGAIN_MOST: Final = 10_000  # articles


async def create(conn: Connection, *, fields: RuleFields, actor: Actor, now: datetime) -> RuleDetails:
    """A new rule, disabled. Raises Invalid, RuleExists, TooManyRules."""
    checked, rule_id = await check(conn, fields), new_id()
    if await store.count(conn) >= RULES_MOST:
        raise TooManyRules(RULES_MOST)
    await store.add(conn, rule_id=rule_id, fields=checked, now=now)
    rule = await store.find(conn, rule_id=rule_id)
    await _record(conn, actor, AuditAction.RULE_CREATED, rule, now, _plain(checked))
    return rule


async def change(
    conn: Connection, rule_id: UUID, *, fields: RuleFields, actor: Actor, now: datetime
) -> tuple[RuleDetails, int]:
    """The changed rule, and how many articles are classified again. Raises Invalid, RuleExists, RuleNotFound."""
    rule = await store.lock(conn, rule_id=rule_id)
    checked = await check(conn, fields, kept=rule.source_ids)
    if checked == rule.fields:
        return rule, 0
    is_only_name = replace(checked, name=rule.name) == rule.fields
    version = rule.version if is_only_name else rule.version + 1
    await store.change(conn, rule_id=rule_id, fields=checked, version=version)
    before, after = _plain(rule.fields), _plain(checked)
    detail = {name: after[name] for name in after if after[name] != before[name]}
    await _record(conn, actor, AuditAction.RULE_CHANGED, rule, now, detail)
    queued = await _queue(conn, now) if rule.is_enabled and not is_only_name else 0
    return await store.find(conn, rule_id=rule_id), queued


async def set_enabled(
    conn: Connection, rule_id: UUID, *, is_enabled: bool, actor: Actor, now: datetime
) -> tuple[RuleDetails, int]:
    """The rule, and how many articles are classified again. Raises RuleNotFound."""
    rule = await store.lock(conn, rule_id=rule_id)
    if rule.is_enabled == is_enabled:
        return rule, 0
    await store.set_enabled(conn, rule_id=rule_id, is_enabled=is_enabled)
    action = AuditAction.RULE_ENABLED if is_enabled else AuditAction.RULE_DISABLED
    await _record(conn, actor, action, rule, now, {"version": rule.version, "is_tested": rule.is_tested})
    return await store.find(conn, rule_id=rule_id), await _queue(conn, now)


async def delete(conn: Connection, rule_id: UUID, *, actor: Actor, now: datetime) -> int:
    """How many articles are classified again. Raises RuleNotFound."""
    rule = await store.lock(conn, rule_id=rule_id)
    await store.remove(conn, rule_id=rule_id)
    await _record(conn, actor, AuditAction.RULE_DELETED, rule, now, _plain(rule.fields))
    return await _queue(conn, now) if rule.is_enabled else 0


async def check(conn: Connection, fields: RuleFields, *, kept: Collection[SourceId] = ()) -> RuleFields:
    """The rule with clean values. `kept`: sources that it has already, deleted or not. Raises Invalid."""
    checked = check_rule(fields)
    known = {one.id for one in await store.find_sources(conn, source_ids=checked.source_ids)} | {*kept}
    if unknown := [str(one) for one in checked.source_ids if one not in known]:
        raise Invalid(f"There is no public source {unknown[0]}.")
    return checked


async def _queue(conn: Connection, now: datetime) -> int:
    return await queue_recent(conn, since=first_id_at(now - AGAIN_WITHIN), now=now, limit=AGAIN_MOST)


def _plain(fields: RuleFields) -> dict[str, object]:
    return {
        "name": fields.name, "scheme": fields.scheme.value, "label": fields.label, "keywords": list(fields.keywords),
        "patterns": list(fields.patterns), "source_ids": [str(one) for one in fields.source_ids],
        "min_score": fields.min_score,
    }  # fmt: skip


async def _record(
    conn: Connection, actor: Actor, action: AuditAction, rule: RuleDetails, now: datetime, detail: dict[str, object]
) -> None:
    await audit.record(conn, actor, action, now, subject=rule.name, subject_id=rule.id, detail=detail)
