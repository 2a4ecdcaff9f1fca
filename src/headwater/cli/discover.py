"""`headwater source discover`: the feeds of a site."""

from contextlib import nullcontext
from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.options import AsJson
from headwater.cli.output import err, print_json, print_table, print_text, stamp
from headwater.cli.terminal import exit_failed, load_quietly, run
from headwater.hosts.robots_cache import PageRequests
from headwater.hosts.turns import USER_WAIT
from headwater.runtime import open_client, open_sandbox, open_turns, options_of, utc_now
from headwater.settings import Settings
from headwater.sources import discovery
from headwater.sources.discovery import Discovery

WITHIN = timedelta(minutes=1)


def discover(
    url: Annotated[str, typer.Argument(metavar="URL", help="A site, a page of it, or a feed.")], as_json: AsJson = False
) -> None:
    """Find the feeds of a site, and parse each of them. Exits with 1 when there are none.

    Example: headwater source discover example.com
    """
    with err.status("Searching for feeds…"):
        found = run(_discover(load_quietly(), url))
    if as_json:
        print_json(found)
    elif found.found:
        columns = ["title", "format", "entries", "newest", "feed", "found by"]
        print_table(columns, [
            (feed.title, feed.format, str(feed.entry_count), stamp(feed.latest_at), feed.url, feed.how)
            for feed in found.found
        ])  # fmt: skip
        print_text(f"\nFollow one with `headwater source add URL`: headwater source add {found.found[0].url}")
    else:
        print_text(f"No feed was found at {found.url}. These URLs were tried:\n")
        print_table(["URL", "found by", "result"], [(tried.url, tried.how, tried.reason) for tried in found.tried])
        print_text("\nIf you know the URL of its feed: headwater source add URL")
    exit_failed(not found.found)


async def _discover(settings: Settings, url: str) -> Discovery:
    async with (
        open_client(settings) as client,
        open_sandbox(settings) as sandbox,
        open_turns(settings) as turns,
        turns.borrow(wait=USER_WAIT) if turns else nullcontext() as turn,
    ):
        fetching, most = options_of(settings).fetching, settings.poll_max_bytes
        pages = PageRequests(client, turns, utc_now, fetching.robot, fetching.crawl_delay_max)
        return await discovery.discover(pages, sandbox, url, within=WITHIN, max_bytes=most, turn=turn)
