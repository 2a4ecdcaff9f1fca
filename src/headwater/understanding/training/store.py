"""Every statement that writes `classifier_models`, and people's labels as examples."""

from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one, fetch_value
from headwater.understanding.training.types import LabelledArticle, StoredModel, TrainingReport

_KEPT: Final = 5  # models, to go back to


async def list_labelled(conn: Connection, *, limit: int) -> list[LabelledArticle]:
    """The newest English articles to which people gave topics."""
    statement = """
        SELECT article_id, given.topics, given.categories, given.labelled_at
        FROM (
            SELECT DISTINCT article_id FROM labels
            WHERE method = 'person' AND scheme = 'topic'
            ORDER BY article_id DESC
        ) AS labelled
        CROSS JOIN LATERAL (
            SELECT array_agg(label ORDER BY label) FILTER (WHERE scheme = 'topic') AS topics,
                coalesce(array_agg(label) FILTER (WHERE scheme = 'category'), '{}') AS categories,
                max(made_at) FILTER (WHERE scheme = 'topic') AS labelled_at
            FROM labels
            WHERE labels.article_id = labelled.article_id AND method = 'person' AND scheme IN ('topic', 'category')
        ) AS given
        WHERE NOT EXISTS (
            SELECT FROM labels
            WHERE labels.article_id = labelled.article_id AND scheme = 'language' AND is_shown AND label <> 'en'
        )
        ORDER BY article_id DESC
        LIMIT %(limit)s
    """
    return await fetch_all(conn, LabelledArticle, statement, {"limit": limit})


async def find_active_version(conn: Connection) -> str | None:
    return await fetch_value(conn, "SELECT version FROM classifier_models WHERE scheme = 'topic' AND is_active")


async def find_active(conn: Connection) -> StoredModel | None:
    statement = "SELECT version, data, trained_at FROM classifier_models WHERE scheme = 'topic' AND is_active"
    return await fetch_one(conn, StoredModel, statement)


async def activate(conn: Connection, *, id: UUID, report: TrainingReport, data: bytes, now: datetime) -> None:  # noqa: A002
    """Store a model and make it the active one. Of the models before it, the last are kept."""
    await conn.execute("UPDATE classifier_models SET is_active = false WHERE scheme = 'topic' AND is_active")
    statement = """
        INSERT INTO classifier_models
            (id, scheme, version, examples, accuracy, accuracy_before, data, trained_at, is_active)
        VALUES (%(id)s, 'topic', %(version)s, %(labels)s, %(accuracy)s, %(before)s, %(data)s, %(now)s, true)
    """
    values = {
        "id": id, "version": report.version, "labels": report.labels, "accuracy": report.accuracy,
        "before": report.accuracy_before, "data": data, "now": now,
    }  # fmt: skip
    await conn.execute(statement, values)
    outdated = """
        DELETE FROM classifier_models
        WHERE scheme = 'topic' AND id NOT IN (
            SELECT id FROM classifier_models WHERE scheme = 'topic'
            ORDER BY is_active DESC, trained_at DESC, id DESC LIMIT %(kept)s
        )
    """
    await conn.execute(outdated, {"kept": _KEPT})
