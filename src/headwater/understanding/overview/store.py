"""Statements about labels for operators. They read a sample of limited size, so that they stay cheap."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from headwater.db import Connection, fetch_all, fetch_one, fetch_row, fetch_value
from headwater.ids import first_id_at
from headwater.labels.store import count_disputed
from headwater.labels.types import Method, Scheme
from headwater.types import SourceId
from headwater.understanding.overview.types import (
    ClassifyingProgress,
    LabelCount,
    LabelOverview,
    LabelSample,
    MethodCount,
    SourceReputation,
)

PERIOD: Final = timedelta(days=7)
SAMPLE_MOST: Final = 5_000  # articles; each has about ten labels
COUNTED_MOST: Final = 10_000  # waiting or disputed articles
LABELS_SHOWN: Final = 20  # of each scheme
_REPUTATION: Final = "source_id, name, articles, quality, spam_share, reputation, computed_at"
_LEAST_ARTICLES: Final = 10  # fewer say little about a source


@dataclass(frozen=True, slots=True)
class _CountRow:
    scheme: str
    label: str
    articles: int


async def count_labels(conn: Connection, *, now: datetime) -> LabelOverview:
    """The numbers of the newest articles of the last days."""
    sample = await _find_sample(conn, since=now - PERIOD)
    rows = await _count_shown(conn, sample=sample)
    return LabelOverview(
        sample, [LabelCount(Scheme(row.scheme), row.label, row.articles) for row in rows],
        await _count_methods(conn, sample=sample), await _count_progress(conn, sample=sample),
        await count_disputed(conn, most=COUNTED_MOST),
    )  # fmt: skip


async def _find_sample(conn: Connection, *, since: datetime) -> LabelSample:
    statement = """
        SELECT count(*), (array_agg(id ORDER BY id))[1]
        FROM (SELECT id FROM articles WHERE id >= %(since)s ORDER BY id DESC LIMIT %(most)s) AS newest
    """
    values = {"since": first_id_at(since), "most": SAMPLE_MOST}
    row = await fetch_row(conn, statement, values)
    count, first = row or (0, None)
    return LabelSample(first or first_id_at(since), count, is_whole=count < SAMPLE_MOST)


async def _count_shown(conn: Connection, *, sample: LabelSample) -> list[_CountRow]:
    """The most frequent labels of each scheme, once for each article. A quality is counted by its fifth."""
    statement = """
        SELECT scheme, label, articles
        FROM (
            SELECT scheme, label, count(*) AS articles,
                row_number() OVER (PARTITION BY scheme ORDER BY count(*) DESC, label) AS number
            FROM (
                SELECT DISTINCT article_id, scheme, CASE
                    WHEN scheme <> 'quality' THEN label
                    WHEN score < 0.2 THEN '0 to 19'
                    WHEN score < 0.4 THEN '20 to 39'
                    WHEN score < 0.6 THEN '40 to 59'
                    WHEN score < 0.8 THEN '60 to 79'
                    ELSE '80 to 100' END AS label
                FROM labels WHERE article_id >= %(first_id)s AND is_shown
            ) AS shown
            GROUP BY scheme, label
        ) AS counted
        WHERE number <= %(most)s
        ORDER BY scheme, number
    """
    return await fetch_all(conn, _CountRow, statement, {"first_id": sample.first_id, "most": LABELS_SHOWN})


async def _count_methods(conn: Connection, *, sample: LabelSample) -> list[MethodCount]:
    statement = """
        SELECT method, count(*) AS labels FROM labels WHERE article_id >= %(first_id)s AND is_shown
        GROUP BY method ORDER BY count(*) DESC, method
    """
    cur = await conn.execute(statement, {"first_id": sample.first_id})
    return [MethodCount(Method(method), labels) for method, labels in await cur.fetchall()]


async def _count_progress(conn: Connection, *, sample: LabelSample) -> ClassifyingProgress:
    statement = """
        SELECT count(*) FILTER (WHERE classified_at IS NOT NULL), count(*) FILTER (WHERE ai_tagged)
        FROM article_state WHERE article_id >= %(first_id)s
    """
    row = await fetch_row(conn, statement, {"first_id": sample.first_id})
    classified, tagged = row or (0, 0)
    return ClassifyingProgress(classified, tagged, await _count_waiting(conn, most=COUNTED_MOST))


async def _count_waiting(conn: Connection, *, most: int) -> int:
    statement = """
        SELECT count(*)
        FROM (SELECT FROM article_state WHERE classify_at IS NOT NULL LIMIT %(most)s) AS waiting
    """
    return await fetch_value(conn, statement, {"most": most})


async def list_best(conn: Connection, *, limit: int) -> list[SourceReputation]:
    """The public sources with the highest reputation."""
    statement = f"""
        SELECT {_REPUTATION} FROM source_reputation JOIN sources ON sources.id = source_id
        WHERE articles >= %(least)s AND (is_system OR moderation_status = 'approved')
        ORDER BY reputation DESC, source_id LIMIT %(limit)s
    """
    return await fetch_all(conn, SourceReputation, statement, {"limit": limit, "least": _LEAST_ARTICLES})


async def list_worst(conn: Connection, *, limit: int) -> list[SourceReputation]:
    """The public sources with the lowest reputation."""
    statement = f"""
        SELECT {_REPUTATION} FROM source_reputation JOIN sources ON sources.id = source_id
        WHERE articles >= %(least)s AND (is_system OR moderation_status = 'approved')
        ORDER BY reputation, source_id LIMIT %(limit)s
    """
    return await fetch_all(conn, SourceReputation, statement, {"limit": limit, "least": _LEAST_ARTICLES})


async def find_reputation(conn: Connection, *, source_id: SourceId) -> SourceReputation | None:
    statement = f"""
        SELECT {_REPUTATION} FROM source_reputation JOIN sources ON sources.id = source_id
        WHERE source_id = %(id)s AND computed_at IS NOT NULL
    """
    return await fetch_one(conn, SourceReputation, statement, {"id": source_id})
