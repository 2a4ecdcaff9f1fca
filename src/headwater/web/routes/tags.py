"""Tags of the user, and those of one article."""

from dataclasses import dataclass
from uuid import UUID

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.errors import status_of
from headwater.asgi.handlers import Call, CallContext
from headwater.db import Connection
from headwater.errors import HeadwaterError, Invalid, NotFound, TooManyTags
from headwater.library.decide import check_tag
from headwater.library.store import lists, marks
from headwater.library.store import tags as store
from headwater.types import ArticleId, UserId


@dataclass(frozen=True, slots=True)
class TagForm:
    tag: str = ""


@get("/tags")
async def tag_list(call: Call) -> Template:
    """All tags, with how many articles and feeds have each."""
    async with call.as_user() as conn:
        found = await store.list_tags(conn)
    return call.page("tags/page.html", tags=found, counted=store.ARTICLES_COUNTED)


@get("/articles/{article_id:uuid}/tags")
async def article_tags(call: Call, article_id: FromPath[UUID]) -> Template:
    """The tags of an article, with the form to change them. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await _require(conn, chosen)
        return await _render(conn, call, chosen)


@post("/articles/{article_id:uuid}/tags", status_code=200)
async def add_tag(
    call: Call, article_id: FromPath[UUID], data: URLEncodedBody[TagForm], quotas: NamedDependency[Quotas]
) -> Template | Redirect:
    """Add a tag to an article. Raises NotFound."""
    chosen, error = ArticleId(article_id), None
    async with call.as_user() as conn:
        await _require(conn, chosen)
        try:
            await _add(conn, call.user.id, chosen, data.tag, quotas.tags)
        except (Invalid, TooManyTags) as refused:
            error = refused
        if call.is_htmx or error:
            return await _render(conn, call, chosen, error)
    return Redirect(f"/articles/{article_id}", status_code=303)


@post("/articles/{article_id:uuid}/tags/remove", status_code=200)
async def remove_tag(call: Call, article_id: FromPath[UUID], data: URLEncodedBody[TagForm]) -> Template:
    """Remove a tag from an article. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await _require(conn, chosen)
        await marks.remove_tag(conn, article_id=chosen, tag=data.tag)
        return await _render(conn, call, chosen)


@post("/articles/{article_id:uuid}/show", status_code=204)
async def show_again(call: Call, article_id: FromPath[UUID]) -> Response[None]:
    """List an article again that a rule hid. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await _require(conn, chosen)
        await marks.set_hidden(conn, user_id=call.user.id, article_ids=[chosen], hidden_at=None)
    return Response(None, status_code=204, headers={"HX-Refresh": "true"})


async def _add(conn: Connection, user_id: UserId, article_id: ArticleId, tag: str, most: int) -> None:
    """Raises Invalid, TooManyTags."""
    if not await marks.add_tag(conn, user_id=user_id, article_ids=[article_id], tag=check_tag(tag), most=most):
        raise TooManyTags(most)


async def _require(conn: Connection, article_id: ArticleId) -> None:
    if await lists.find_article(conn, article_id=article_id) is None:
        raise NotFound("Article not found.")


async def _render(
    conn: Connection, call: CallContext, article_id: ArticleId, error: HeadwaterError | None = None
) -> Template:
    """The tags of an article, and the form."""
    return call.page(
        "tags/article.html", article_id=article_id, tags=await marks.find_tags(conn, article_id=article_id),
        choices=await store.list_names(conn), problem=str(error or ""), is_open=True, is_focused=True,
        status_code=status_of(error) if error else 200,
    )  # fmt: skip
