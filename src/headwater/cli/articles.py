"""`headwater articles`: the newest articles, and search."""

from typing import Annotated

import typer

from headwater.articles.store import content, listing
from headwater.cli.options import AsJson, Limit, OfSource
from headwater.cli.output import show, stamp
from headwater.cli.running import with_runtime
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
        hit_rows = [(stamp(hit.published_at, form="%Y-%m-%d"), hit.title, hit.snippet, hit.url) for hit in hits]
        show(hits, columns, hit_rows, as_json=as_json, empty="No article matches.")
        return
    async with runtime.database.transaction() as conn:
        if source is None:
            found = await listing.latest(conn, limit=limit)
        else:
            found = await listing.latest_of_source(conn, source_id=(await find(conn, source)).id, limit=limit)
    rows = [(stamp(one.listed_at, form="%m-%d %H:%M"), ", ".join(one.sources), one.title, one.url) for one in found]
    none = "No articles yet. `headwater source add URL` follows a feed."
    show(found, ["when", "from", "title", "url"], rows, as_json=as_json, empty=none)
