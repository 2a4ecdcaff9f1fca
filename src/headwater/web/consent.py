"""Reading statistics: only of users who consented, and not with Global Privacy Control or Do Not Track."""

from headwater.analytics import store
from headwater.analytics.types import ConsentAnswer, ReaderAction
from headwater.asgi.handlers import AnyConnection
from headwater.db import Connection
from headwater.types import ArticleId, Clock


def opts_out(connection: AnyConnection) -> bool:
    """Whether the browser sends Global Privacy Control or the older Do Not Track."""
    return "1" in {connection.headers.get("sec-gpc"), connection.headers.get("dnt")}


async def is_counted(conn: Connection, connection: AnyConnection) -> bool:
    """Whether clicks on this page are counted."""
    return not opts_out(connection) and await store.find_answer(conn) is ConsentAnswer.YES


async def record(
    conn: Connection, connection: AnyConnection, article_id: ArticleId, deed: ReaderAction, clock: Clock
) -> None:
    """Record what the user did with an article, if they consented."""
    if not opts_out(connection):
        await store.record(conn, article_id=article_id, deed=deed, now=clock())
