"""/admin/stories: the largest stories of the day, with their articles."""

from datetime import timedelta

from litestar import get
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call
from headwater.errors import Invalid
from headwater.stories.overview import store

SHOWN = 30
ARTICLES_SHOWN = 50
PERIODS = {"day": timedelta(days=1), "three-days": timedelta(days=3), "week": timedelta(days=7)}


@get("/admin/stories", role=Role.MODERATOR)
async def stories(call: Call, period: FromQuery[str] = "day") -> Template:
    """Raises Invalid."""
    if period not in PERIODS:
        raise Invalid(f"Unknown period. Use one of {', '.join(PERIODS)}.")
    async with call.database.transaction() as conn:
        largest = await store.list_largest(conn, since=call.now - PERIODS[period], limit=SHOWN)
        articles = await store.list_articles(
            conn, story_ids=[one.id for one in largest], limit=ARTICLES_SHOWN, now=call.now
        )
    return call.page("admin/stories.html", stories=largest, articles=articles, period=period)
