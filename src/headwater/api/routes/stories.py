"""/api/v1/stories: articles of several sources about one event. For moderators."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from headwater.accounts.types import Role
from headwater.api import label_schemas
from headwater.api.parameters import Limit, PathId
from headwater.api.schemas import LIST_MOST
from headwater.asgi.handlers import Call
from headwater.errors import StoryNotFound
from headwater.stories.overview import store

MODERATOR = {"role": Role.MODERATOR}
DEFAULT_PERIOD = timedelta(days=1)
_SINCE = "Only with an article since this time, such as 2026-11-15T12:00:00Z; default: the last 24 hours."
Since = Annotated[datetime | None, QueryParameter(description=_SINCE)]


@get("/", operation_id="listStories", opt=MODERATOR)
async def largest(call: Call, since: Since = None, limit: Limit = 50) -> label_schemas.StoryListResponse:
    """List the largest stories of several sources, those of most sources first."""
    if since is not None and since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    async with call.database.transaction() as conn:
        found = await store.list_largest(conn, since=since or call.now - DEFAULT_PERIOD, limit=limit)
    return label_schemas.StoryListResponse.model_validate({"stories": found})


@get("/{story_id:uuid}", operation_id="findStory", opt=MODERATOR)
async def find(call: Call, story_id: PathId) -> label_schemas.StoryWithArticles:
    """Show a story with its newest articles."""
    async with call.database.transaction() as conn:
        story = await store.find_story(conn, story_id=story_id)
        if story is None:
            raise StoryNotFound
        articles = await store.list_articles(conn, story_ids=[story_id], limit=LIST_MOST, now=call.now)
    return label_schemas.StoryWithArticles.model_validate(asdict(story) | {"articles": articles.get(story_id, [])})


story_routes = Router("/stories", route_handlers=[largest, find])
