"""/api/v1/saved: Read later of the token's user. Nobody reaches that of another."""

from litestar import Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from headwater.accounts.quotas import Quotas
from headwater.accounts.types import Role
from headwater.api import saved_schemas as models
from headwater.api.parameters import Cursor, Limit, PathId, read_cursor
from headwater.api.routes.rules import user_of
from headwater.api.schemas import field_error
from headwater.asgi.handlers import Call, encode_cursor
from headwater.errors import Invalid, NotFound
from headwater.library.saved import operate
from headwater.library.store import lists, marks
from headwater.library.types import ArticlesQuery, Shelf
from headwater.types import ArticleId

READER = {"role": Role.READER}


@get("/", operation_id="listSaved", opt=READER)
async def list_saved(call: Call, cursor: Cursor = None, limit: Limit = 50) -> models.SavedArticles:
    """List what the token's user saved for later, the latest first."""
    query = ArticlesQuery(Shelf.LATER, after=read_cursor(cursor), limit=limit)
    async with call.database.as_user(user_of(call).id) as conn:
        lines = await lists.list_saved(conn, query=query)
    next_cursor = encode_cursor(*lines[-1].place) if len(lines) == limit else None
    return models.SavedArticles(articles=[models.SavedArticle.of(one) for one in lines], next_cursor=next_cursor)


@post("/", operation_id="savePage", opt=READER | {"refusals": (409,)})
async def save_page(
    call: Call, data: JSONBody[models.PageToSave], quotas: NamedDependency[Quotas]
) -> models.SavedArticle:
    """Save a page for later. It is fetched soon; a page that is in the list already stays where it is."""
    user = user_of(call)
    try:
        saved = await operate.save_page(call.database, user_id=user.id, address=data.url, quotas=quotas, now=call.now)
    except Invalid as error:
        raise field_error("body", "url", str(error)) from error
    async with call.database.as_user(user.id) as conn:
        line = await lists.find_saved(conn, article_id=saved.article_id)
    if line is None:
        raise NotFound("It was removed meanwhile.")
    return models.SavedArticle.of(line)


@delete("/{article_id:uuid}", operation_id="removeSaved", opt=READER)
async def remove_saved(call: Call, article_id: PathId) -> None:
    """Remove an article or page from the list. A page that nobody else keeps is deleted a day later."""
    user, chosen = user_of(call), ArticleId(article_id)
    async with call.database.as_user(user.id) as conn:
        if not await marks.is_saved(conn, article_id=chosen):
            raise NotFound("This article is not in the list.")
        await marks.mark(conn, user_id=user.id, article_id=chosen, now=call.now, is_saved=False)


saved_routes = Router("/saved", route_handlers=[list_saved, save_page, remove_saved])
