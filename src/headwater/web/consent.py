"""Counting what is read: only of those who agreed, and never of a browser that asks not to be followed."""

from typing import Any

from litestar.connection import ASGIConnection

from headwater.analytics import store
from headwater.analytics.types import Answer, Deed
from headwater.db import Connection
from headwater.types import ArticleId, Clock

AnyConnection = ASGIConnection[Any, Any, Any, Any]


def objects_to_counting(connection: AnyConnection) -> bool:
    """Whether the browser itself says no: Global Privacy Control, or the older Do Not Track."""
    return "1" in {connection.headers.get("sec-gpc"), connection.headers.get("dnt")}


async def is_counted(conn: Connection, connection: AnyConnection) -> bool:
    """Whether this page may tell us what is clicked on it."""
    return not objects_to_counting(connection) and await store.find_answer(conn) is Answer.YES


async def count(conn: Connection, connection: AnyConnection, article_id: ArticleId, deed: Deed, clock: Clock) -> None:
    """Note what this person did with an article of theirs, if they may be counted."""
    if not objects_to_counting(connection):
        await store.record(conn, article_id=article_id, deed=deed, now=clock())
