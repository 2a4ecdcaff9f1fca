"""`headwater channel`: queries whose articles are sent to a destination."""

import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.overview import find_overview, list_overviews
from headwater.channels.store import deliveries, records
from headwater.channels.types import Channel, ChannelFields, ChannelOverview, DeliveryState, DestinationKind
from headwater.cli.channel_follower import Follower
from headwater.cli.options import AsJson, Yes, group
from headwater.cli.output import counted, print_json, print_result, print_table, print_text, show, stamp
from headwater.cli.running import stop_on_signals, with_runtime
from headwater.cli.terminal import confirm
from headwater.db import Connection
from headwater.errors import Invalid, InvalidSettings
from headwater.query.grammar import parse
from headwater.query.types import Audience
from headwater.runtime import Runtime, destination_limits
from headwater.settings import read_duration

channel_app = group("Send the articles of a query to a destination.", "channel list")

ChannelName = Annotated[str, typer.Argument(metavar="NAME", help="The name of a channel.")]
LETTERS_SHOWN = 20
NUMBERS = frozenset({"batch", "database", "most"})


@channel_app.command("list")
@with_runtime
async def list_all(runtime: Runtime, as_json: AsJson = False) -> None:
    """List all channels with what waits, what was refused, and how far they are behind.

    Example: headwater channel list
    """
    now = runtime.tools.clock()
    async with runtime.database.transaction() as conn:
        found = await list_overviews(conn, now=now)
    rows = [
        (
            one.channel.name, one.channel.state, one.channel.destination, f"{one.counts.waiting:,}",
            f"{one.lag(now).total_seconds():,.0f} s", f"{one.counts.last_hour:,}", f"{one.counts.refused:,}",
            one.channel.query,
        )
        for one in found
    ]  # fmt: skip
    show(
        [_record(one, now) for one in found],
        ["name", "status", "destination", "waiting", "lag", "last hour", "dead letters", "query"],
        rows,
        as_json=as_json,
        empty="No channels yet. `headwater channel create --help` shows how to add one.",
    )


@channel_app.command("show")
@with_runtime
async def show_one(runtime: Runtime, name: ChannelName, as_json: AsJson = False) -> None:
    """Show a channel and its newest dead letters.

    Example: headwater channel show articles:crime
    """
    now = runtime.tools.clock()
    async with runtime.database.transaction() as conn:
        channel = await _find(conn, name)
        found = await find_overview(conn, channel.id, now=now)
        letters = await deliveries.list_page(
            conn, channel_id=channel.id, state=DeliveryState.REFUSED, before=None, limit=LETTERS_SHOWN
        )
    record = _record(found, now)
    if as_json:
        print_json(record | {"newest_dead_letters": [asdict(one) | {"id": one.id} for one in letters]})
        return
    print_table(["", ""], [(key.replace("_", " "), _text(value)) for key, value in record.items()])
    if letters:
        print_text("")
        rows = [(str(one.revision), stamp(one.queued_at), one.reason or "", one.title or "deleted") for one in letters]
        print_table(["revision", "queued", "reason", "article"], rows)


@channel_app.command()
@with_runtime
async def create(
    runtime: Runtime,
    name: Annotated[str, typer.Argument(metavar="NAME", help="a-z, 0-9 and . _ : -")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Which articles; * is all.")],
    to: Annotated[DestinationKind, typer.Option(help="Where they are sent.")] = DestinationKind.NONE,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the destination; can be repeated.")
    ] = None,
    password_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Has the password of a Redis or NATS server; - reads it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a channel. It gets what arrives or changes from now on.

    Prints the secret that signs the messages of a webhook: it is shown this once.

    Example: headwater channel create articles:crime 'topic:crime' --to webhook --option url=https://hooks.example/in
    """
    fields = ChannelFields(name, query, to, _options(option or []))
    password = _read_password(password_file) if password_file else None
    async with runtime.database.transaction() as conn:
        made = await operate.create(
            conn, fields=fields, query=parse(query, Audience.EVERYONE), limits=destination_limits(runtime.settings),
            actor=COMMAND_LINE, now=runtime.tools.clock(), password=password,
        )  # fmt: skip
    signed = f"\nIts messages are signed with this secret, shown once: {made.secret}" if made.secret else ""
    print_result(
        {"id": made.channel.id, "name": made.channel.name, "secret": made.secret},
        f"Created {made.channel.name}.{signed}",
        as_json=as_json,
    )


@channel_app.command()
@with_runtime
async def pause(runtime: Runtime, name: ChannelName) -> None:
    """Pause a channel. Its articles are queued meanwhile.

    Example: headwater channel pause articles:crime
    """
    await _set_paused(runtime, name, is_paused=True)
    print_text(f"{name} is paused.")


@channel_app.command()
@with_runtime
async def resume(runtime: Runtime, name: ChannelName) -> None:
    """Resume a channel: what waits is sent in order.

    Example: headwater channel resume articles:crime
    """
    await _set_paused(runtime, name, is_paused=False)
    print_text(f"{name} is resumed.")


@channel_app.command()
@with_runtime
async def replay(
    runtime: Runtime,
    name: ChannelName,
    since: Annotated[str, typer.Option(metavar="TIME", help="A time such as 2026-11-15T09:00Z, or how long ago: 2d.")],
    as_json: AsJson = False,
) -> None:
    """Send again what was queued since a time, in order and under the same ids.

    Example: headwater channel replay articles:crime --since 2d
    """
    now = runtime.tools.clock()
    start = _time(since, now)
    async with runtime.database.transaction() as conn:
        channel = await _find(conn, name)
        count = await operate.replay(conn, channel.id, since=start, actor=COMMAND_LINE, now=now)
    _print_queued(count, as_json=as_json)


@channel_app.command()
@with_runtime
async def retry(
    runtime: Runtime,
    name: ChannelName,
    revision: Annotated[int | None, typer.Option(help="Only this dead letter.", min=1, max=10**18)] = None,
    as_json: AsJson = False,
) -> None:
    """Send dead letters again: all, or one.

    Example: headwater channel retry articles:crime --revision 4711
    """
    async with runtime.database.transaction() as conn:
        channel = await _find(conn, name)
        count = await operate.retry(conn, channel.id, actor=COMMAND_LINE, now=runtime.tools.clock(), revision=revision)
    _print_queued(count, as_json=as_json)


@channel_app.command()
@with_runtime
async def delete(runtime: Runtime, name: ChannelName, yes: Yes = False) -> None:
    """Delete a channel with its deliveries. What waits is not sent any more.

    Example: headwater channel delete articles:crime --yes
    """
    async with runtime.database.transaction() as conn:
        channel = await _find(conn, name)
    confirm(f"Delete the channel {name}?", yes=yes)
    async with runtime.database.transaction() as conn:
        await operate.delete(conn, channel.id, actor=COMMAND_LINE, now=runtime.tools.clock())
    print_text(f"Deleted {name}.")


@channel_app.command()
@with_runtime
async def follow(
    runtime: Runtime,
    name: ChannelName,
    after: Annotated[
        int | None,
        typer.Option(
            help="Begin after this revision; 0: with the oldest.", min=0, max=10**18, show_default="from now on"
        ),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait for what is new, until Ctrl-C.")] = True,
) -> None:
    """Print the messages of a channel as lines of JSON, as they come.

    Each line has its `revision`: give the last one as --after to go on.

    Example: headwater channel follow articles:crime --after 0 | jq .title
    """
    with stop_on_signals() as stop:
        await Follower(runtime.database, runtime.tools.clock, name).run(after=after, is_waiting=wait, stop=stop)


async def _set_paused(runtime: Runtime, name: str, *, is_paused: bool) -> None:
    async with runtime.database.transaction() as conn:
        channel = await _find(conn, name)
        await operate.set_paused(conn, channel.id, is_paused=is_paused, actor=COMMAND_LINE, now=runtime.tools.clock())


async def _find(conn: Connection, name: str) -> Channel:
    return await records.find_named(conn, name=name)


def _record(found: ChannelOverview, now: datetime) -> dict[str, Any]:
    channel, counts = found.channel, found.counts
    return {
        "id": channel.id, "name": channel.name, "status": channel.state, "query": channel.query,
        "destination": channel.destination, "options": operate.shown_options(channel.options),
        "waiting": counts.waiting, "lag_seconds": round(found.lag(now).total_seconds(), 1),
        "delivered_last_hour": counts.last_hour, "delivered": channel.delivered, "dead_letters": counts.refused,
        "failures": channel.failures, "failing_since": channel.failed_since, "reason": channel.reason,
        "created_at": channel.created_at, "updated_at": channel.updated_at,
    }  # fmt: skip


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return stamp(value)
        case dict():
            pairs = cast("dict[str, object]", value)
            return ", ".join(f"{name}={each}" for name, each in pairs.items())
        case _:
            return str(value)


def _print_queued(count: int, *, as_json: bool) -> None:
    print_result({"queued": count}, f"{counted(count, 'delivery', 'deliveries')} will be sent again.", as_json=as_json)


def _options(given: list[str]) -> dict[str, bool | int | str]:
    """Raises Invalid."""
    found: dict[str, bool | int | str] = {}
    for one in given:
        name, separator, value = one.partition("=")
        if not separator:
            raise Invalid(f"{one!r} is not NAME=VALUE, such as url=https://hooks.example/in.")
        found[name] = _value(name, value)
    return found


def _value(name: str, value: str) -> bool | int | str:
    if name == "html":
        return value.lower() in {"true", "yes", "1"}
    return int(value) if name in NUMBERS and value.isascii() and value.isdigit() and len(value) < 10 else value


def _read_password(file: str) -> str:
    """Raises Invalid."""
    try:
        text = sys.stdin.readline() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}") from error
    return text.rstrip("\n")


def _time(text: str, now: datetime) -> datetime:
    """Raises Invalid."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        try:
            return now - read_duration(text)
        except (InvalidSettings, OverflowError) as error:
            raise Invalid(f"{text!r} is not a time such as 2026-11-15T09:00Z, nor a duration such as 2d.") from error
    if at.tzinfo is None:
        raise Invalid(f"{text!r} has no time zone; in UTC it ends with Z.")
    return at
