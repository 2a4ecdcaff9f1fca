"""`headwater retention`: what has expired, and deleting it now."""

from datetime import datetime, timedelta
from typing import Annotated

import typer

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, AuditAction
from headwater.cli.options import AsJson, group
from headwater.cli.output import counted, print_json, print_result, print_table, print_text
from headwater.cli.running import with_runtime
from headwater.db import Connection
from headwater.errors import Conflict
from headwater.ids import new_id
from headwater.pipeline import make_retainer
from headwater.retention import store
from headwater.retention.types import Planned, RetentionReport, RetentionTurn
from headwater.retention.worker import MARGIN
from headwater.runtime import Runtime
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import DEFAULT_CLOCK_OPTIONS, clock_problem

retention_app = group("List expired data, and delete it.", "retention run --dry-run")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted, and change nothing.")]
Minutes = Annotated[float, typer.Option(help="Stop after this time; the next run continues.", min=0.01, max=1440)]
Confirm = Annotated[
    bool, typer.Option("--confirm", help="Confirm that this machine's clock is right, though far from the last run.")
]


@retention_app.command("run")
@with_runtime
async def run_now(
    runtime: Runtime, dry_run: DryRun = False, minutes: Minutes = 60, confirm: Confirm = False, as_json: AsJson = False
) -> None:
    """Delete what has expired: months of articles, events, polls, clicks. Headwater does it daily by itself.

    Example: headwater retention run --dry-run
    """
    if dry_run and confirm:
        raise typer.BadParameter("--dry-run changes nothing, so there is nothing to confirm.")
    if dry_run:
        planned = await make_retainer(runtime.tools).plan()
        lines = _deleted(planned, "would be", "would be") or ["Nothing has expired."]
        print_result(planned, "\n".join([*lines, "Nothing was changed."]), as_json=as_json)
        return
    await _check_clock(runtime, is_confirmed=confirm)
    report = await _run(runtime, timedelta(minutes=minutes), is_quiet=as_json)
    lines = _deleted(report, "is", "are")
    if not report.is_done:
        lines.append(f"Not finished: {report.left}. The next run continues.")
    print_result(report, "\n".join(lines or ["Nothing has expired."]), as_json=as_json)


@retention_app.command()
@with_runtime
async def show(runtime: Runtime, as_json: AsJson = False) -> None:
    """List the months of articles, how many are starred in each, and when retention runs next.

    Example: headwater retention show
    """
    async with runtime.database.as_system() as conn:
        months = [await store.count_month(conn, month=month) for month in await store.list_months(conn)]
        state = await store.find_state(conn)
    if as_json:
        print_json({"state": state, "months": months})
        return
    rows = [(f"{one.month:%Y-%m}", str(one.articles), str(one.starred)) for one in months]
    print_table(["month", "articles", "starred"], rows)
    due = f"{state.due_at:%Y-%m-%d %H:%M} UTC"
    later = f"Retention runs next at {due}, where Headwater's stages run."
    print_text(f"Retention is running; it ends by {due}." if state.is_running else later)


async def _run(runtime: Runtime, most: timedelta, *, is_quiet: bool) -> RetentionReport:
    retainer = make_retainer(runtime.tools)
    await retainer.check_clock()  # repairs the lease of a run that was killed while the clock was ahead
    now = runtime.tools.clock()
    turn = RetentionTurn(new_id(), now + most, (lambda _: None) if is_quiet else print_text)
    async with runtime.database.transaction() as conn:
        if not await store.claim(conn, lease=turn.lease, now=now, ends_at=turn.ends_at + MARGIN, is_early=True):
            state = await store.find_state(conn)
            raise Conflict(f"Retention is running; it ends by {state.due_at:%H:%M} UTC. Try again then.")
    report = await retainer.run(turn)
    rows = {kind.value: count for kind, count in report.rows.items() if count}
    async with runtime.database.transaction() as conn:
        ends = sorted({f"{months.month:%Y-%m}" for months in report.months})
        subject = " to ".join(dict.fromkeys([ends[0], ends[-1]])) if ends else "no month"
        await _record(conn, subject, runtime.tools.clock(), {"done": report.is_done, **rows})
    return report


async def _check_clock(runtime: Runtime, *, is_confirmed: bool) -> None:
    """Raises Conflict while the clock cannot be trusted."""
    now = runtime.tools.clock()
    async with runtime.database.transaction() as conn:
        state = await clocks.read(conn)
        if is_confirmed and abs(now - state.database_now) <= DEFAULT_CLOCK_OPTIONS.apart:
            await clocks.confirm(conn, now=now)
            last_run = state.trusted_at.isoformat() if state.trusted_at else None
            await _record(conn, "clock confirmed", now, {"last_run": last_run})
            return
    if problem := clock_problem(now, state):
        raise Conflict(f"{problem} Nothing was deleted. Set the clock; if it is right, repeat with --confirm.")


async def _record(conn: Connection, subject: str, now: datetime, detail: dict[str, object]) -> None:
    await audit.record(conn, COMMAND_LINE, AuditAction.RETENTION_RUN, now, subject=subject, detail=detail)


def _deleted(found: Planned, one: str, many: str) -> list[str]:
    lines: list[str] = []
    for month in found.months:
        expired = counted(month.articles - month.starred, "article", "articles")
        kept = counted(month.starred, "is starred and kept", "are starred and kept")
        lines.append(f"{month.month:%Y-%m} {one} deleted: {expired}; {kept}.")
    return lines + [f"{count} {kind.value} {many} deleted." for kind, count in found.rows.items() if count]
