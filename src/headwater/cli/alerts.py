"""`headwater alerts`: incidents that are open, and whether word of them arrives."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer

from headwater.alerts.store import incidents
from headwater.alerts.types import Board, Message, Shown
from headwater.alerts.worker import send
from headwater.cli.exit_codes import ExitCode
from headwater.cli.terminal import AsJson, complain, load_quietly, print_json, print_table, run, say
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.runtime import alert_options, mailer_of, open_runtime, utc_now
from headwater.settings import Settings

alerts_app = typer.Typer(
    help="See which incidents are open, and try whether word of them arrives.\n\nExample: headwater alerts list",
    no_args_is_help=True,
)

Past = Annotated[int, typer.Option("--past", help="How many incidents that are over to show, too.", min=0, max=10_000)]


@alerts_app.command("list")
def list_incidents(past: Past = 0, as_json: AsJson = False) -> None:
    """Show open incidents. Exits with 1 when there are any, for cron and its like.

    Example: headwater alerts list --past 20
    """
    board = run(_read(load_quietly(), past))
    if as_json:
        print_json(_plain(board))
    else:
        _print(board)
    if board.open:
        raise typer.Exit(ExitCode.FAILED)


@alerts_app.command()
def test() -> None:
    """Send a test message to the webhook and to every address that is set. Exits with 1 when one does not take it.

    Example: headwater alerts test
    """
    told = run(_send_tests(load_quietly()))
    for channel, error in told.items():
        if error is None:
            say(f"{channel}: sent.")
        else:
            complain(f"{channel}: {error}")
    if any(error for error in told.values()):
        raise typer.Exit(ExitCode.FAILED)


async def _read(settings: Settings, past: int) -> Board:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        return await incidents.read_board(conn, past=past)


async def _send_tests(settings: Settings) -> dict[str, str | None]:
    options, mailer = alert_options(settings), mailer_of(settings)
    if not options.channels:
        raise Invalid("Nobody is told of incidents: set HEADWATER_ALERT_WEBHOOK_URL or HEADWATER_ALERT_EMAIL.")
    return {
        channel: await send(Message(new_id(), channel, utc_now(), 1), mailer, options) for channel in options.channels
    }


def _print(board: Board) -> None:
    if board.evaluated_at is None:
        say("Nobody has looked yet: the stage `alerting` does, where it runs.")
    else:
        say(f"Last looked at {_moment(board.evaluated_at)}.")
    say("" if board.open else "No incident is open.")
    shown = [*board.open, *board.past]
    if shown:
        print_table(["began", "over", "severity", "condition", "what", "told"], [_row(one) for one in shown])


def _row(shown: Shown) -> tuple[str, ...]:
    one = shown.incident
    over = _moment(one.ended_at) if one.ended_at else "open"
    return _moment(one.began_at), over, one.severity, one.condition.value, one.summary, _told(shown)


def _told(shown: Shown) -> str:
    late = sorted({told.name for told in shown.late})
    return ", ".join([*shown.told_to, *(f"{name} (not yet)" for name in late)]) or "nobody"


def _plain(board: Board) -> dict[str, Any]:
    def one(shown: Shown) -> dict[str, Any]:
        return asdict(shown.incident) | {"severity": shown.incident.severity, "told": [asdict(t) for t in shown.told]}

    return {
        "evaluated_at": board.evaluated_at,
        "open": [one(shown) for shown in board.open],
        "past": [one(shown) for shown in board.past],
    }


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")
