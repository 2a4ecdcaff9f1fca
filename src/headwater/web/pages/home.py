"""The first page: what came in lately, and how the sources do."""

from collections import Counter
from collections.abc import Sequence

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Template

from headwater.articles import store as articles
from headwater.content import store as content
from headwater.db import Database
from headwater.sources import store as sources
from headwater.sources.types import SourceHealth, SourceStatus
from headwater.types import Clock

PAGE_SIZE = 50
WORDS_MAX = 200
SOURCES_SHOWN = 200


@get("/", include_in_schema=False)
async def home(database: NamedDependency[Database], clock: NamedDependency[Clock], q: FromQuery[str] = "") -> Template:
    """The newest articles, or those whose text holds some words, beside the sources they come from."""
    words = q.replace("\0", "").strip()[:WORDS_MAX]
    async with database.transaction() as conn:
        followed = await sources.list_health(conn)
        newest = [] if words else await articles.latest(conn, limit=PAGE_SIZE)
        hits = await content.search(conn, words=words, limit=PAGE_SIZE) if words else []
    return Template(
        "home.html",
        context={
            "now": clock(),
            "articles": newest,
            "words": words,
            "hits": hits,
            "sources": worst_first(followed)[:SOURCES_SHOWN],
            "source_count": len(followed),
            "tally": Counter(source.status.value for source in followed),
        },
    )


def worst_first(followed: Sequence[SourceHealth]) -> list[SourceHealth]:
    """What needs a look comes first."""
    order = {SourceStatus.ERROR: 0, SourceStatus.PENDING: 1, SourceStatus.WORKING: 2}
    return sorted(followed, key=lambda source: order[source.status])
