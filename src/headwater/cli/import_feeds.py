"""`headwater source import` and `headwater source catalogue`: many system feeds at once, safe to do again."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headwater.audit.types import COMMAND_LINE
from headwater.cli.exit_codes import ExitCode
from headwater.cli.terminal import AsJson, load_quietly, print_json, print_table, run, say
from headwater.errors import Invalid
from headwater.runtime import open_runtime
from headwater.settings import Settings
from headwater.sources.catalogue.load import load
from headwater.sources.catalogue.read import MOST_BYTES, read_catalogue, read_feeds
from headwater.sources.catalogue.types import Line, LineFate, Report

catalogue_app = typer.Typer(
    help="The feeds that ship with Headwater.\n\nExample: headwater source catalogue load", no_args_is_help=True
)


def import_feeds(
    file: Annotated[Path, typer.Argument(help="TOML with [[feed]] tables, JSON, or one JSON object a line.")],
    as_json: AsJson = False,
) -> None:
    """Follow the feeds of a file, line by line; exits with 1 when one of them cannot be.

    Each has a name and a url, and may have category, refresh_interval_minutes and is_critical. What is followed already
    gets these; what was switched off stays off.

    Example: headwater source import feeds.toml
    """
    _tell(run(_load(load_quietly(), read_feeds(_read(file)), file.name)), as_json=as_json)


@catalogue_app.command("load")
def load_catalogue(as_json: AsJson = False) -> None:
    """Follow the feeds that ship with Headwater; what was switched off stays off.

    Example: headwater source catalogue load
    """
    _tell(run(_load(load_quietly(), read_catalogue(), "the catalogue")), as_json=as_json)


@catalogue_app.command("list")
def list_catalogue(as_json: AsJson = False) -> None:
    """Show the feeds that ship with Headwater.

    Example: headwater source catalogue list
    """
    feeds = [line.feed for line in read_catalogue() if line.feed]
    if as_json:
        print_json([asdict(feed) for feed in feeds])
        return
    rows = [(one.category or "", one.name, f"{one.refresh_interval_minutes} min", one.url) for one in feeds]
    print_table(["category", "name", "polled every", "feed"], rows)


async def _load(settings: Settings, lines: Sequence[Line], origin: str) -> Report:
    async with open_runtime(settings) as runtime:
        return await load(runtime.database, runtime.tools.clock, lines=lines, origin=origin, actor=COMMAND_LINE)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}.") from error


def _tell(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(line) for line in report.lines])
    else:
        for line in report.lines:
            what = f"{line.name} ({line.url})" if line.url else "no feed"
            say(f"{line.line}: {line.fate}, {what}{f': {line.reason}' if line.reason else ''}")
        say(", ".join(f"{report.count(fate)} {fate}" for fate in LineFate) + ".")
    if report.count(LineFate.FAILED):
        raise typer.Exit(ExitCode.FAILED)
