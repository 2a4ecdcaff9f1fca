"""/api/v1/articles/{article_id}: the labels of an article, and what a person says. For moderators."""

from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, PathParameter

from headwater.accounts.types import Role
from headwater.api import label_schemas
from headwater.api.parameters import PathId
from headwater.api.routes.moderation import respond_to_invalid
from headwater.asgi.handlers import Call
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.labels.people import classify_again, find_article, set_by_person, withdraw_by_person
from headwater.labels.store import find_labels
from headwater.labels.types import Scheme
from headwater.types import ArticleId

MODERATOR = {"role": Role.MODERATOR}
ONE = "/{article_id:uuid}"
PathScheme = Annotated[label_schemas.GivenScheme, PathParameter(description="The scheme of the labels.")]


@get(ONE + "/labels", operation_id="listLabels", opt=MODERATOR)
async def list_labels(call: Call, article_id: PathId) -> label_schemas.ArticleLabelsResponse:
    """List what each method says about an article."""
    await call.require_visible(ArticleId(article_id))
    async with call.database.transaction() as conn:
        return await _labels(conn, article_id)


@put(ONE + "/labels/{scheme:str}", operation_id="setLabels", opt=MODERATOR)
async def set_labels(
    call: Call, article_id: PathId, scheme: PathScheme, data: JSONBody[label_schemas.PersonLabelsRequest]
) -> label_schemas.ArticleLabelsResponse:
    """Set a person's labels of a scheme. They win over every method and are never overwritten by one."""
    wanted, one = Scheme(scheme.value), ArticleId(article_id)
    await call.require_visible(one)
    async with call.database.transaction() as conn:
        await set_by_person(conn, article_id=one, scheme=wanted, labels=data.labels, actor=call.actor, now=call.now)
        said = await _labels(conn, article_id)
        await call.route(conn, one)
    return said


@delete(ONE + "/labels/{scheme:str}", operation_id="withdrawLabels", opt=MODERATOR)
async def withdraw_labels(call: Call, article_id: PathId, scheme: PathScheme) -> None:
    """Withdraw a person's labels of a scheme: the methods decide again."""
    wanted, one = Scheme(scheme.value), ArticleId(article_id)
    await call.require_visible(one)
    async with call.database.transaction() as conn:
        await withdraw_by_person(conn, article_id=one, scheme=wanted, actor=call.actor, now=call.now)
        await call.route(conn, one)


@post(ONE + "/classify", operation_id="classifyArticle", status_code=200, opt=MODERATOR)
async def classify(call: Call, article_id: PathId) -> label_schemas.QueuedArticle:
    """Queue an article for classification at once."""
    now = call.now
    await call.require_visible(ArticleId(article_id))
    async with call.database.transaction() as conn:
        await classify_again(conn, article_id=ArticleId(article_id), actor=call.actor, now=now)
    return label_schemas.QueuedArticle(article_id=article_id, classify_at=now)


async def _labels(conn: Connection, article_id: UUID) -> label_schemas.ArticleLabelsResponse:
    article = await find_article(conn, article_id=ArticleId(article_id))
    found = (await find_labels(conn, article_ids=[article.id])).get(article.id, [])
    return label_schemas.ArticleLabelsResponse.model_validate(
        {"article_id": article.id, "url": article.url, "title": article.title, "labels": found}
    )


label_routes = Router(
    "/articles",
    route_handlers=[list_labels, set_labels, withdraw_labels, classify],
    exception_handlers={Invalid: respond_to_invalid},
)
