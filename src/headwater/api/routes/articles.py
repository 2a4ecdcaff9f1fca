"""/api/v1/articles: articles by query and cursor, by id or URL, and as a stream. For moderators."""

from collections.abc import Sequence
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from litestar import MediaType, Response, Router, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, QueryParameter
from litestar.response import Stream

from headwater.accounts.types import Role
from headwater.api import article_schemas
from headwater.api.article_schemas import ArticleOrder
from headwater.api.parameters import PathId
from headwater.api.schemas import field_error
from headwater.asgi.handlers import Call, CallContext
from headwater.asgi.streams import IS_PERMITTED, StreamBatch, StreamItem, Streams, follow, form_for, stream_response
from headwater.downstream import store
from headwater.downstream.decide import chosen
from headwater.downstream.read import NEWEST, RevisionQuery, find_ids, read_articles, read_page
from headwater.downstream.types import ALL_FIELDS, SHORT_FIELDS, ArticleField, DownstreamArticle
from headwater.downstream.watch import RevisionWatch
from headwater.errors import ArticleNotFound, QueryInvalid
from headwater.query.grammar import CHARACTERS_MAX, parse
from headwater.query.sql import SqlCondition, condition
from headwater.query.types import Audience
from headwater.types import ArticleId

MODERATOR = {"role": Role.MODERATOR}
STREAMED_AT_ONCE: Final = 100  # articles
STREAMED_BYTES: Final = 2_000_000  # of text and HTML: what a stream has in memory
FIELDS_MAX: Final = 1_000  # characters
_REVISION_MAX: Final = 2**63 - 1

ByQuery = Annotated[
    str | None,
    QueryParameter(
        # The grammar limits its length: a longer one may be refused as a URL that is too long before.
        description=f"A query, such as `topic:sport -chess`; at most {CHARACTERS_MAX:,} characters. Default: all.",
    ),
]
After = Annotated[
    str | None,
    QueryParameter(description="A cursor: only articles that changed after it.", max_length=20, pattern=r"^[0-9]*$"),
]
InOrder = Annotated[ArticleOrder, QueryParameter(description="By their last change.")]
Fields = Annotated[
    str | None,
    QueryParameter(
        description="Names of fields, separated by commas; default: all but `text`, `html`, `open_graph` and "
        "`linked_data`.",
        max_length=FIELDS_MAX,
    ),
]
PageLimit = Annotated[
    int, QueryParameter(description="Maximum number of articles.", ge=1, le=article_schemas.PAGE_MOST)
]
StreamsOf = NamedDependency[Streams]
Revisions = NamedDependency[RevisionWatch]


@get("/", operation_id="listArticles", opt=MODERATOR)
async def list_articles(
    call: Call, q: ByQuery = None, after: After = None, order: InOrder = ArticleOrder.OLDEST, fields: Fields = None,
    limit: PageLimit = 100,
) -> Response[article_schemas.ArticlesResponse]:  # fmt: skip
    """List articles in the order of their last change. A cursor skips nothing, however late it was classified."""
    wanted, is_newest = _fields(fields), order is ArticleOrder.NEWEST
    start = _cursor(after, default=NEWEST if is_newest else 0)
    query = RevisionQuery(start, limit, call.now, _condition(call, q), is_newest, wanted)
    async with call.database.transaction() as conn:
        latest = await store.last_revision(conn)
        page = await read_page(conn, query)
    is_last = is_newest and not page.has_more
    content = {
        "articles": [chosen(one, wanted) for one in page.articles],
        "next_cursor": None if is_last else str(page.cursor),
        "has_more": page.has_more,
        "latest_cursor": str(latest),
    }
    return _json(content)


@get("/stream", operation_id="streamArticles", opt={**MODERATOR, "is_stream": True})
async def stream(
    call: Call, streams: StreamsOf, revisions: Revisions, q: ByQuery = None, after: After = None, fields: Fields = None
) -> Stream:
    """Stream articles as they change: JSON lines, or server-sent events for `Accept: text/event-stream`.

    It begins after the cursor `after`, or after the header `Last-Event-ID`; without them, with what is new.
    """
    wanted, where = _fields(fields), _condition(call, q)
    given = call.request.headers.get("last-event-id") or after
    start = await revisions.look() if given is None else _cursor(given, default=0)

    async def read(cursor: int) -> StreamBatch:
        query = RevisionQuery(cursor, STREAMED_AT_ONCE, call.now, where, fields=wanted)
        async with call.database.transaction() as conn:
            page = await read_page(conn, query, bytes_most=STREAMED_BYTES)
        items = [_item(one, wanted) for one in page.articles]
        return StreamBatch(items, page.cursor, page.has_more)

    form = form_for(call.request, "article")
    slot = streams.open(call.user.id if call.user else None)
    is_permitted = call.request.scope["state"].get(IS_PERMITTED)
    content = follow(streams, slot, form, start=start, latest=revisions.latest, read=read, is_permitted=is_permitted)
    return stream_response(call.request, form, content)


@get("/{article_id:uuid}", operation_id="findArticle", opt=MODERATOR)
async def find(call: Call, article_id: PathId, fields: Fields = None) -> Response[article_schemas.ArticleResponse]:
    """Show an article with its text, HTML, metadata, labels, story, sources and enclosures."""
    wanted = _fields(fields, ALL_FIELDS)
    async with call.database.transaction() as conn:
        found, _ = await read_articles(conn, [ArticleId(article_id)], wanted, call.now)
    if not found:
        raise ArticleNotFound
    return _json(chosen(found[0], wanted))


@post("/batch", operation_id="findArticles", status_code=200, opt=MODERATOR)
async def find_several(
    call: Call, data: JSONBody[article_schemas.WantedArticles]
) -> Response[article_schemas.WantedArticlesResponse]:
    """Show articles by id or URL. Each has its own result."""
    wanted = frozenset(data.fields) if data.fields is not None else SHORT_FIELDS
    async with call.database.transaction() as conn:
        by_url = await find_ids(conn, data.urls)
        ids = list(dict.fromkeys([*map(ArticleId, data.ids), *by_url.values()]))
        found, left_out = await read_articles(conn, ids, wanted, call.now)
    articles = {one.id: chosen(one, wanted) for one in found}

    def result(article_id: UUID | None, **asked: object) -> dict[str, Any]:
        known = ArticleId(article_id) if article_id else None
        code = "response_too_large" if known in left_out else "article_not_found"
        article = articles.get(known) if known else None
        return {"id": None, "url": None, **asked, "article": article, "code": None if article else code}

    results = [result(one, id=one) for one in data.ids] + [result(by_url.get(url), url=url) for url in data.urls]
    return _json({"results": results})


article_routes = Router("/articles", route_handlers=[list_articles, stream, find, find_several])


def _json(content: object) -> Response[Any]:
    """Encoded here: a thousand articles would take the framework's models a second."""
    return Response(msgspec.json.encode(content), media_type=MediaType.JSON)


def _item(article: DownstreamArticle, fields: frozenset[ArticleField]) -> StreamItem:
    return StreamItem(article.revision or 0, msgspec.json.encode(chosen(article, fields)))


def _cursor(given: str | None, *, default: int) -> int:
    """Raises ValidationException."""
    if given is None:
        return default
    if not (given.isascii() and given.isdigit()) or len(given) > 19 or int(given) > _REVISION_MAX:
        raise field_error("query", "after", "invalid cursor")
    return int(given)


def _fields(given: str | None, default: frozenset[ArticleField] = SHORT_FIELDS) -> frozenset[ArticleField]:
    """Raises ValidationException."""
    if given is None:
        return default
    names = [name.strip() for name in given.split(",") if name.strip()]
    unknown: Sequence[str] = [name for name in names if name not in set(ArticleField)]
    if unknown:
        raise field_error("query", "fields", f"unknown field {unknown[0][:100]!r}")
    return frozenset(map(ArticleField, names))


def _condition(call: CallContext, text: str | None) -> SqlCondition | None:
    """Raises ValidationException."""
    if text is None or not text.strip():
        return None
    try:
        return condition(parse(text, Audience.EVERYONE).tree, Audience.EVERYONE, now=call.now)
    except QueryInvalid as error:
        raise field_error("query", "q", str(error), "invalid_query") from error
