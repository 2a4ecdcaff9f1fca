"""`headwater articles`: the newest articles, and search."""

from typing import Annotated

import typer

from headwater.articles.store import content, listing
from headwater.articles.types import Hit, ListedArticle
from headwater.cli.running import with_runtime
from headwater.cli.terminal import AsJson, Limit, OfSource, show
from headwater.errors import Invalid
from headwater.runtime import Runtime
from headwater.sources.follow import find

Search = Annotated[
    str | None,
    typer.Option("--search", "-s", help='Search the full text, the best matches first: "a phrase", or, -not.'),
]


@with_runtime
async def articles(
    runtime: Runtime, source: OfSource = None, search: Search = None, limit: Limit = 20, as_json: AsJson = False
) -> None:
    """List the newest articles, or search them.

    Example: headwater articles --search "night ferry" -n 5
    """
    if search is not None and source is not None:
        raise Invalid("--search searches all sources; omit --source.")
    if search is not None:
        async with runtime.database.transaction() as conn:
            hits = await content.search(conn, words=search, limit=limit)
        columns = ["published", "title", "text", "url"]
        show(hits, columns, _hit_row, as_json=as_json, empty="No article matches.")
        return
    async with runtime.database.transaction() as conn:
        if source is None:
            found = await listing.latest(conn, limit=limit)
        else:
            found = await listing.latest_of_source(conn, source_id=(await find(conn, source)).id, limit=limit)
    none = "No articles yet. `headwater source add URL` follows a feed."
    show(found, ["when", "from", "title", "url"], _row, as_json=as_json, empty=none)


def _hit_row(hit: Hit) -> tuple[str, ...]:
    return f"{hit.published_at:%Y-%m-%d}" if hit.published_at else "", hit.title, hit.snippet, hit.url


def _row(article: ListedArticle) -> tuple[str, ...]:
    return f"{article.listed_at:%m-%d %H:%M}", ", ".join(article.sources), article.title, article.url
