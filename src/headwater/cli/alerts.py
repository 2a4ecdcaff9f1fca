"""`headwater alerts`: open incidents, and a test of the channels."""

from dataclasses import asdict
from typing import Annotated

import typer

from headwater.alerts.store import incidents
from headwater.alerts.types import Incident, Message
from headwater.alerts.worker import send
from headwater.cli.options import AsJson, group
from headwater.cli.output import print_error, print_json, print_table, print_text, stamp
from headwater.cli.running import with_runtime
from headwater.cli.terminal import exit_failed, load_quietly, run
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.runtime import Runtime, alert_options, mailer_of, utc_now

alerts_app = group("List open incidents, and test that alerts arrive.", "alerts list")

Past = Annotated[int, typer.Option("--past", help="Also list this many resolved incidents.", min=0, max=10_000)]


@alerts_app.command("list")
@with_runtime
async def list_incidents(runtime: Runtime, past: Past = 0, as_json: AsJson = False) -> None:
    """List open incidents. Exits with 1 when there are any, for cron.

    Example: headwater alerts list --past 20
    """
    async with runtime.database.transaction() as conn:
        board = await incidents.read_board(conn, past=past)
    if as_json:
        lists = {"open": board.open, "past": board.past}
        records = {name: [asdict(one) | {"severity": one.severity} for one in found] for name, found in lists.items()}
        print_json({"evaluated_at": board.evaluated_at} | records)
        exit_failed(board.open)
        return
    at = f"Last evaluated at {stamp(board.evaluated_at)}."
    print_text(at if board.evaluated_at else "Not evaluated yet. The stage `alerting` evaluates conditions.")
    print_text("" if board.open else "No active alerts.")
    if shown := [*board.open, *board.past]:
        print_table(["began", "ended", "severity", "condition", "summary", "reported to"], map(_row, shown))
    exit_failed(board.open)


@alerts_app.command()
def test() -> None:
    """Send a test message to the webhook and every email address set. Exits with 1 when one cannot be sent.

    Example: headwater alerts test
    """
    settings = load_quietly()
    options, mailer = alert_options(settings), mailer_of(settings)
    if not options.channels:
        raise Invalid("No channel for alerts is set: set HEADWATER_ALERT_WEBHOOK_URL or HEADWATER_ALERT_EMAIL.")
    failed = False
    for channel in options.channels:
        error = run(send(Message(new_id(), channel, utc_now(), 1), mailer, options))
        print_error(f"{channel}: {error}") if error else print_text(f"{channel}: sent.")
        failed = failed or error is not None
    exit_failed(failed)


def _row(one: Incident) -> tuple[str, ...]:
    late = sorted({delivery.name for delivery in one.late})
    reported = ", ".join([*one.sent_to, *(f"{name} (not yet)" for name in late)]) or "none"
    times = stamp(one.began_at), stamp(one.ended_at, "open")
    return *times, one.severity, one.condition.value, one.summary, reported
