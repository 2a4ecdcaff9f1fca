"""`headwater articles`: the newest articles, and search."""

from typing import Annotated

import typer

from headwater.articles.store import content, listing
from headwater.cli.options import AsJson, Limit, OfSource
from headwater.cli.output import show, stamp
from headwater.cli.query import read_query
from headwater.cli.running import with_runtime
from headwater.downstream.read import NEWEST, RevisionQuery, read_page
from headwater.errors import Invalid
from headwater.query.sql import condition
from headwater.query.types import Audience
from headwater.runtime import Runtime, utc_now
from headwater.sources.follow import find

Search = Annotated[
    str | None,
    typer.Option("--search", "-s", help='Search the full text, the best matches first: "a phrase", or, -not.'),
]
FittingQuery = Annotated[
    str | None, typer.Option("--query", "-q", help="The newest articles of a query, such as 'ferry topic:weather'.")
]


@with_runtime
async def articles(
    runtime: Runtime, source: OfSource = None, search: Search = None, query: FittingQuery = None, limit: Limit = 20,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """List the newest articles, those of a query, or the best matches of a search.

    A query (docs/query.md) is looked for in the last 10,000 articles that were classified.

    Example: headwater articles --query '"night ferry" -topic:sport newer:7d' -n 5
    """
    if [source, search, query].count(None) < 2:
        raise Invalid("Use one of --source, --search and --query. In a query, `source:` names a source.")
    if query is not None:
        await _show_found(runtime, query, limit, as_json=as_json)
        return
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


async def _show_found(runtime: Runtime, query: str, limit: int, *, as_json: bool) -> None:
    now = utc_now()
    where = condition(read_query(query, Audience.EVERYONE, as_json=as_json), Audience.EVERYONE, now=now)
    wanted = RevisionQuery(NEWEST, limit, now, where, is_newest_first=True)
    async with runtime.database.transaction() as conn:
        found = (await read_page(conn, wanted)).articles
    names = [", ".join(str(each["name"]) for each in one.sources) for one in found]
    rows = [
        (stamp(one.listed_at, form="%m-%d %H:%M"), of, one.title, one.url) for one, of in zip(found, names, strict=True)
    ]
    show(found, ["when", "from", "title", "url"], rows, as_json=as_json, empty="No article matches.")
