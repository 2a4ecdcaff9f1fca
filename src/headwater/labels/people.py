"""What a person says about an article. It wins over every method, and stays until a person withdraws it.

Each change is in the audit log, in the same transaction.
"""

from collections.abc import Sequence
from datetime import datetime

from headwater.articles.store.state import hold, queue_classifying
from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
from headwater.db import Connection
from headwater.errors import ArticleNotFound, NotFound
from headwater.labels.decide import check_labels
from headwater.labels.store import find_articles, find_labels, replace_labels
from headwater.labels.types import Method, NewLabel, PersonsLabels, Scheme, TitledArticle
from headwater.types import ArticleId

_VERSION = "person"  # who it was is in the audit log, which only administrators read


async def set_by_person(
    conn: Connection, *, article_id: ArticleId, scheme: Scheme, labels: Sequence[str], actor: Actor, now: datetime
) -> PersonsLabels:
    """Replace a person's labels of a scheme. Raises Invalid, ArticleNotFound."""
    checked = check_labels(scheme, labels)
    article, before = await _lock(conn, article_id, scheme)
    if sorted(before) != sorted(checked):
        await _write(conn, article_id, scheme, checked, now)
        detail = {"scheme": scheme.value, "labels": checked, "before": list(before)}
        await audit.record(
            conn, actor, AuditAction.LABELS_SET, now, subject=article.title, subject_id=article_id, detail=detail
        )
    return PersonsLabels(article, scheme, checked, before)


async def withdraw_by_person(
    conn: Connection, *, article_id: ArticleId, scheme: Scheme, actor: Actor, now: datetime
) -> PersonsLabels:
    """Remove a person's labels of a scheme: the methods decide again. Raises ArticleNotFound, NotFound."""
    article, before = await _lock(conn, article_id, scheme)
    if not before:
        raise NotFound(f"No person has set the {scheme} of this article.")
    await _write(conn, article_id, scheme, (), now)
    detail = {"scheme": scheme.value, "before": list(before)}
    await audit.record(
        conn, actor, AuditAction.LABELS_WITHDRAWN, now, subject=article.title, subject_id=article_id, detail=detail
    )
    return PersonsLabels(article, scheme, (), before)


async def find_article(conn: Connection, *, article_id: ArticleId) -> TitledArticle:
    """Raises ArticleNotFound."""
    article = (await find_articles(conn, article_ids=[article_id])).get(article_id)
    if article is None:
        raise ArticleNotFound
    return article


async def classify_again(conn: Connection, *, article_id: ArticleId, actor: Actor, now: datetime) -> None:
    """Queue an article for classification at once. Raises ArticleNotFound."""
    article = await find_article(conn, article_id=article_id)
    await hold(conn, ids=[article_id])
    await queue_classifying(conn, ids=[article_id], at=now)
    await audit.record(conn, actor, AuditAction.ARTICLE_REQUEUED, now, subject=article.title, subject_id=article_id)


async def _lock(conn: Connection, article_id: ArticleId, scheme: Scheme) -> tuple[TitledArticle, Sequence[str]]:
    """The article, and what a person says of it now."""
    await hold(conn, ids=[article_id])
    article = await find_article(conn, article_id=article_id)
    known = (await find_labels(conn, article_ids=[article_id])).get(article_id, [])
    return article, [one.label for one in known if one.method is Method.PERSON and one.scheme is scheme]


async def _write(conn: Connection, article_id: ArticleId, scheme: Scheme, labels: Sequence[str], now: datetime) -> None:
    given = {article_id: [NewLabel(scheme, label, 1.0, _VERSION) for label in labels]}
    await replace_labels(conn, given=given, method=Method.PERSON, schemes=[scheme], now=now)
