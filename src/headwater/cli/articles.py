"""`headwater articles`: what came in."""

from typing import Annotated

import typer

from headwater.articles.store import content, listing
from headwater.articles.types import Hit, ListedArticle
from headwater.cli.terminal import AsJson, load_quietly, print_json, print_table, run, say
from headwater.errors import Invalid
from headwater.runtime import open_runtime
from headwater.settings import Settings
from headwater.sources.follow import find

OfSource = Annotated[str | None, typer.Option("--source", help="Only those of one source: its id or feed URL.")]
Search = Annotated[
    str | None,
    typer.Option(
        "--search", "-s", help='Only those whose text holds these words, the best first: "a phrase", or, -not.'
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many.", min=1, max=10_000)]


def articles(source: OfSource = None, search: Search = None, limit: Limit = 20, as_json: AsJson = False) -> None:
    """List the newest articles, or those that hold some words.

    Example: headwater articles --search "night ferry" -n 5
    """
    if search is not None:
        if source is not None:
            raise Invalid("--search looks through all sources; leave --source out.")
        _show_hits(run(_search(load_quietly(), search, limit)), as_json=as_json)
        return
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


def _show_hits(hits: list[Hit], *, as_json: bool) -> None:
    if as_json:
        print_json(hits)
    elif hits:
        print_table(["published", "title", "text", "url"], [_row(hit) for hit in hits])
    else:
        say("No article's text holds these words.")


def _row(hit: Hit) -> tuple[str, ...]:
    return f"{hit.published_at:%Y-%m-%d}" if hit.published_at else "", hit.title, hit.snippet, hit.url


async def _search(settings: Settings, words: str, limit: int) -> list[Hit]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        return await content.search(conn, words=words, limit=limit)


async def _latest(settings: Settings, source: str | None, limit: int) -> list[ListedArticle]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        if source is None:
            return await listing.latest(conn, limit=limit)
        wanted = await find(conn, source)
        return await listing.latest_of_source(conn, source_id=wanted.id, limit=limit)
