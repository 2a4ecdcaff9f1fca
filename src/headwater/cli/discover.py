"""`headwater source discover`: the feeds of a site, to choose from."""

from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.exit_codes import ExitCode
from headwater.cli.terminal import AsJson, err, load_quietly, print_json, print_table, run, say
from headwater.runtime import open_client, open_sandbox
from headwater.settings import Settings
from headwater.sources import discovery
from headwater.sources.discovery import Discovery, FoundFeed

WITHIN = timedelta(minutes=1)


def discover(
    url: Annotated[str, typer.Argument(metavar="URL", help="A site, a page of it, or a feed.")], as_json: AsJson = False
) -> None:
    """Find the feeds of a site, and read each to see that it is one. Exits with 1 when there are none.

    Example: headwater source discover example.com
    """
    with err.status("Looking for feeds…"):
        discovered = run(_discover(load_quietly(), url))
    if as_json:
        print_json(discovered)
    elif discovered.found:
        _offer(discovered)
    else:
        _explain(discovered)
    if not discovered.found:
        raise typer.Exit(ExitCode.FAILED)


async def _discover(settings: Settings, url: str) -> Discovery:
    async with open_client(settings) as client, open_sandbox(settings) as sandbox:
        return await discovery.discover(client, sandbox, url, within=WITHIN, max_bytes=settings.poll_max_bytes)


def _offer(discovered: Discovery) -> None:
    print_table(["title", "format", "entries", "newest", "feed", "how"], [_row(feed) for feed in discovered.found])
    say(f"\nFollow one with `headwater source add URL`: headwater source add {discovered.found[0].url}")


def _explain(discovered: Discovery) -> None:
    say(f"No feed was found at {discovered.url}. This was tried:\n")
    print_table(["address", "why there", "what came of it"], [(t.url, t.how, t.reason) for t in discovered.tried])
    say("\nIf you know where its feed is: headwater source add URL")


def _row(feed: FoundFeed) -> tuple[str, ...]:
    newest = f"{feed.latest_at:%Y-%m-%d %H:%M}" if feed.latest_at else ""
    return feed.title, feed.format, str(feed.entry_count), newest, feed.url, feed.how
