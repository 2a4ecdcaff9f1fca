"""/admin/articles/…: an article as everyone may know it, for those who look after the sources."""

from typing import Final
from uuid import UUID

from litestar import get
from litestar.params import FromPath
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call
from headwater.downstream.read import read_articles
from headwater.downstream.types import SHORT_FIELDS, ArticleField
from headwater.errors import ArticleNotFound
from headwater.types import ArticleId

FIELDS: Final = SHORT_FIELDS | {ArticleField.HTML}


@get("/admin/articles/{article_id:uuid}", role=Role.MODERATOR)
async def article(call: Call, article_id: FromPath[UUID]) -> Template:
    """Raises ArticleNotFound, also for an article that only private feeds list."""
    async with call.database.transaction() as conn:
        found, _ = await read_articles(conn, [ArticleId(article_id)], FIELDS, call.now)
    if not found:
        raise ArticleNotFound
    return call.page("admin/article.html", article=found[0])
