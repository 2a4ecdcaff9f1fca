"""`headwater articles`: what came in."""

from typing import Annotated

import typer

from headwater.articles import store
from headwater.articles.types import ListedArticle
from headwater.cli.terminal import AsJson, load_quietly, print_json, print_table, run, say
from headwater.runtime import open_runtime
from headwater.settings import Settings
from headwater.sources.follow import find

OfSource = Annotated[str | None, typer.Option("--source", help="Only those of one source: its id or feed URL.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many.", min=1, max=10_000)]


def articles(source: OfSource = None, limit: Limit = 20, as_json: AsJson = False) -> None:
    """List the newest articles.

    Example: headwater articles -n 5 --json
    """
    found = run(_latest(load_quietly(), source, limit))
    if as_json:
        print_json(found)
    elif found:
        print_table(
            ["when", "from", "title", "url"],
            [(f"{a.listed_at:%m-%d %H:%M}", ", ".join(a.sources), a.title, a.url) for a in found],
        )
    else:
        say("No articles yet. `headwater source add URL` follows a feed.")


async def _latest(settings: Settings, source: str | None, limit: int) -> list[ListedArticle]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        if source is None:
            return await store.latest(conn, limit=limit)
        wanted = await find(conn, source)
        return await store.latest_of_source(conn, source_id=wanted.id, limit=limit)
