"""`headwater source import` and `headwater source catalogue`: follow many feeds at once. May be repeated."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from headwater.audit.types import COMMAND_LINE
from headwater.cli.options import AsJson, group
from headwater.cli.output import print_json, print_text, show
from headwater.cli.running import with_runtime
from headwater.cli.terminal import exit_failed
from headwater.errors import Invalid
from headwater.runtime import Runtime
from headwater.sources.catalogue import MOST_BYTES, CatalogueLine, LineResult, load, read_catalogue, read_feeds

catalogue_app = group("The feeds that ship with Headwater.", "source catalogue load")


@with_runtime
async def import_feeds(
    runtime: Runtime,
    file: Annotated[Path, typer.Argument(help="TOML with [[feed]] tables, JSON, or JSON lines.")],
    as_json: AsJson = False,
) -> None:
    """Follow the feeds of a file; exits with 1 when one of them cannot be followed.

    Each has a name and a url, and may have category, refresh_interval_minutes and is_critical. Feeds that are followed
    already are updated; disabled feeds stay disabled.

    Example: headwater source import feeds.toml
    """
    try:
        with file.open("rb") as opened:
            body = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}.") from error
    await _load(runtime, read_feeds(body), file.name, as_json=as_json)


@catalogue_app.command("load")
@with_runtime
async def load_catalogue(runtime: Runtime, as_json: AsJson = False) -> None:
    """Follow the feeds that ship with Headwater; disabled feeds stay disabled.

    Example: headwater source catalogue load
    """
    await _load(runtime, read_catalogue(), "the catalogue", as_json=as_json)


@catalogue_app.command("list")
def list_catalogue(as_json: AsJson = False) -> None:
    """List the feeds that ship with Headwater.

    Example: headwater source catalogue list
    """
    feeds = [line.feed for line in read_catalogue() if line.feed]
    rows = [(one.category or "", one.name, f"{one.refresh_interval_minutes} min", one.url) for one in feeds]
    show(feeds, ["category", "name", "polled every", "feed"], rows, as_json=as_json, empty="The catalogue is empty.")


async def _load(runtime: Runtime, lines: Sequence[CatalogueLine], origin: str, *, as_json: bool) -> None:
    report = await load(runtime.database, runtime.tools.clock, lines=lines, origin=origin, actor=COMMAND_LINE)
    if as_json:
        print_json(report.lines)
    else:
        for line in report.lines:
            what = f"{line.name} ({line.url})" if line.url else "no feed"
            print_text(f"{line.line}: {line.result}, {what}{f': {line.reason}' if line.reason else ''}")
        print_text(", ".join(f"{report.counts[result]} {result}" for result in LineResult) + ".")
    exit_failed(report.counts[LineResult.FAILED])
