"""Every statement that writes rules, and what operators see of them."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value
from headwater.db.pool import translate
from headwater.errors import RuleExists, RuleNotFound
from headwater.ids import first_id_at
from headwater.labels.types import Scheme
from headwater.types import ArticleId, SourceId
from headwater.understanding.rulebook.types import PublicSourceName, RuleDetails, RuleFields

_COLUMNS: Final = """
    id, name, scheme, label, keywords, patterns, source_ids, min_score, is_enabled, version, tested_version,
    created_at, updated_at
"""
_NAME_TAKEN: Final = "classification_rules_by_name"


async def add(conn: Connection, *, rule_id: UUID, fields: RuleFields, now: datetime) -> None:
    """Disabled at first. Raises RuleExists."""
    statement = """
        INSERT INTO classification_rules (
            id, name, scheme, label, keywords, patterns, source_ids, min_score, created_at, updated_at
        )
        VALUES (
            %(id)s, %(name)s, %(scheme)s, %(label)s, %(keywords)s, %(patterns)s, %(source_ids)s, %(min_score)s, %(now)s,
            %(now)s
        )
    """
    with translate(**{_NAME_TAKEN: RuleExists(fields.name)}):
        await conn.execute(statement, _values(fields) | {"id": rule_id, "now": now})


async def change(conn: Connection, *, rule_id: UUID, fields: RuleFields, version: int) -> None:
    """Raises RuleExists."""
    statement = """
        UPDATE classification_rules
        SET name = %(name)s, scheme = %(scheme)s, label = %(label)s, keywords = %(keywords)s, patterns = %(patterns)s,
            source_ids = %(source_ids)s, min_score = %(min_score)s, version = %(version)s
        WHERE id = %(id)s
    """
    with translate(**{_NAME_TAKEN: RuleExists(fields.name)}):
        await conn.execute(statement, _values(fields) | {"id": rule_id, "version": version})


def _values(fields: RuleFields) -> dict[str, object]:
    return {
        "name": fields.name, "scheme": fields.scheme.value, "label": fields.label, "keywords": list(fields.keywords),
        "patterns": list(fields.patterns), "source_ids": list(fields.source_ids), "min_score": fields.min_score,
    }  # fmt: skip


async def set_enabled(conn: Connection, *, rule_id: UUID, is_enabled: bool) -> None:
    statement = "UPDATE classification_rules SET is_enabled = %(is_enabled)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": rule_id, "is_enabled": is_enabled})


async def set_tested(conn: Connection, *, rule_id: UUID, version: int) -> None:
    statement = "UPDATE classification_rules SET tested_version = %(version)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": rule_id, "version": version})


async def remove(conn: Connection, *, rule_id: UUID) -> None:
    await conn.execute("DELETE FROM classification_rules WHERE id = %(id)s", {"id": rule_id})


async def count(conn: Connection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM classification_rules")


async def list_details(conn: Connection) -> list[RuleDetails]:
    """All rules, by name."""
    statement = f"SELECT {_COLUMNS} FROM classification_rules ORDER BY lower(name)"
    return [_details(row) for row in await fetch_all(conn, RuleDetails, statement)]


async def find(conn: Connection, *, rule_id: UUID) -> RuleDetails:
    """Raises RuleNotFound."""
    statement = f"SELECT {_COLUMNS} FROM classification_rules WHERE id = %(id)s"
    return _found(await fetch_one(conn, RuleDetails, statement, {"id": rule_id}))


async def lock(conn: Connection, *, rule_id: UUID) -> RuleDetails:
    """Raises RuleNotFound."""
    statement = f"SELECT {_COLUMNS} FROM classification_rules WHERE id = %(id)s FOR UPDATE"
    return _found(await fetch_one(conn, RuleDetails, statement, {"id": rule_id}))


def _found(row: RuleDetails | None) -> RuleDetails:
    if row is None:
        raise RuleNotFound
    return _details(row)


def _details(row: RuleDetails) -> RuleDetails:
    return replace(row, scheme=Scheme(row.scheme))


async def list_recent(conn: Connection, *, since: datetime, limit: int) -> list[ArticleId]:
    """The newest articles, newest first."""
    statement = "SELECT id FROM articles WHERE id >= %(since)s ORDER BY id DESC LIMIT %(limit)s"
    return await fetch_column(conn, statement, {"since": first_id_at(since), "limit": limit})


async def find_sources(conn: Connection, *, source_ids: Collection[SourceId]) -> list[PublicSourceName]:
    """Those of these sources that every user may see: a label must not reveal what a private feed lists."""
    statement = """
        SELECT id, name FROM sources
        WHERE id = ANY(%(ids)s) AND (is_system OR moderation_status = 'approved') ORDER BY lower(name), id
    """
    return await fetch_all(conn, PublicSourceName, statement, {"ids": list(source_ids)})


async def search_sources(conn: Connection, *, text: str, limit: int) -> list[PublicSourceName]:
    """Public sources with this text in the name, those that begin with it first."""
    statement = """
        SELECT id, name FROM sources
        WHERE (is_system OR moderation_status = 'approved') AND strpos(lower(name), lower(%(text)s)) > 0
        ORDER BY strpos(lower(name), lower(%(text)s)) > 1, lower(name), id LIMIT %(limit)s
    """
    return await fetch_all(conn, PublicSourceName, statement, {"text": text, "limit": limit})
