"""Read later: articles and pages that a reader saves, by a field, a bookmarklet or what an app shares."""

from dataclasses import dataclass
from uuid import UUID

from litestar import MediaType, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import Invalid, QuotaReached, TooManySaved
from headwater.library.saved import operate
from headwater.library.saved.decide import address_of
from headwater.library.saved.types import TextState
from headwater.types import ArticleId
from headwater.web.routes.read import buttons_of, explain, require_article

TITLE_MAX = 200


@dataclass(frozen=True, slots=True)
class PageForm:
    """The page to save."""

    url: str = ""


@get("/later")
async def confirm_page(
    call: Call, url: FromQuery[str] = "", text: FromQuery[str] = "", title: FromQuery[str] = ""
) -> Template:
    """Ask whether to save a page: a bookmarklet or another app opened this. Nothing is saved by opening it."""
    return _confirm(call, address_of(url, text, title), title=title)


@post("/later", status_code=303)
async def save_page(call: Call, data: URLEncodedBody[PageForm], quotas: NamedDependency[Quotas]) -> Redirect | Template:
    try:
        saved = await operate.save_page(
            call.database, user_id=call.user.id, address=data.url, quotas=quotas, now=call.now
        )
    except (Invalid, TooManySaved) as error:
        return _confirm(call, data.url, error=str(error), status_code=400 if isinstance(error, Invalid) else 409)
    except QuotaReached as error:
        return _confirm(call, data.url, error=str(error), status_code=429)
    return Redirect(f"/read?shelf=later&saved={'new' if saved.is_new else 'known'}", status_code=303)


@post("/articles/{article_id:uuid}/save", status_code=200)
async def save_article(call: Call, article_id: FromPath[UUID], quotas: NamedDependency[Quotas]) -> Template | Redirect:
    """Put an article into Read later; responds with its buttons. Raises NotFound, TooManySaved."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await require_article(conn, chosen)
        await operate.keep(conn, user_id=call.user.id, article_id=chosen, most=quotas.saved, now=call.now)
        return buttons_of(call, await require_article(conn, chosen))


@post("/later/{article_id:uuid}/undo", status_code=200)
async def undo_remove(call: Call, article_id: FromPath[UUID], quotas: NamedDependency[Quotas]) -> Template | Redirect:
    """Put back what was removed; responds with its buttons. Raises NotFound, TooManySaved."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await operate.restore(conn, user_id=call.user.id, article_id=chosen, most=quotas.saved, now=call.now)
        return buttons_of(call, await require_article(conn, chosen))


@get("/later/{article_id:uuid}/text")
async def text_of_page(call: Call, article_id: FromPath[UUID]) -> Response[str]:
    """Whether the text of a saved page has come: then htmx loads the page again. Raises NotFound."""
    async with call.as_user() as conn:
        found = await require_article(conn, ArticleId(article_id))
    is_waiting = not found.html and (await explain(call, found.url)).state is TextState.WAITING
    return Response("", media_type=MediaType.HTML, headers={} if is_waiting else {"HX-Refresh": "true"})


def _confirm(call: CallContext, url: str, *, title: str = "", error: str = "", status_code: int = 200) -> Template:
    title = title.strip()[:TITLE_MAX]
    return call.page("read/later.html", url=url, title=title, error=error, status_code=status_code)
