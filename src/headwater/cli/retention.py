"""`headwater retention`: what is past its time, and letting it go now."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from typing import Annotated

import typer

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, Deed
from headwater.cli.terminal import AsJson, counted, load_quietly, print_json, print_table, run, say
from headwater.errors import Conflict
from headwater.ids import new_id
from headwater.pipeline import make_retainer
from headwater.retention import store
from headwater.retention.types import Month, Planned, Report, State, Turn
from headwater.retention.worker import MARGIN
from headwater.runtime import Runtime, open_runtime
from headwater.settings import Settings
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import clock_problem
from headwater.timekeeping.types import DEFAULT_CLOCK_OPTIONS

retention_app = typer.Typer(
    help="See what is past its time, and let it go.\n\nExample: headwater retention run --dry-run",
    no_args_is_help=True,
)


@retention_app.command("run")
def run_now(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and change nothing.")] = False,
    minutes: Annotated[
        float, typer.Option("--minutes", help="Stop after so long; the next run goes on.", min=0.01, max=1440)
    ] = 60,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Say that this machine's clock is right, though it is far from the last run."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let go what is past its time: months of articles, events, polls, clicks. Headwater does it daily by itself.

    Example: headwater retention run --dry-run
    """
    settings = load_quietly()
    if dry_run and confirm:
        raise typer.BadParameter("--dry-run changes nothing, so there is nothing to confirm.")
    if dry_run:
        planned = run(_plan(settings))
        print_json(asdict(planned)) if as_json else say(_planned(planned))
        return
    report = run(_run(settings, timedelta(minutes=minutes), is_quiet=as_json, is_confirmed=confirm))
    print_json(asdict(report)) if as_json else say(_done(report))


@retention_app.command()
def show(as_json: AsJson = False) -> None:
    """Show the months of articles there are, how many are starred in each, and when retention runs next.

    Example: headwater retention show
    """
    state, months = run(_show(load_quietly()))
    if as_json:
        print_json({"state": asdict(state), "months": [asdict(one) for one in months]})
        return
    print_table(
        ["month", "articles", "starred"], [[_name(one.month), str(one.articles), str(one.starred)] for one in months]
    )
    say(_standing(state))


async def _plan(settings: Settings) -> Planned:
    async with open_runtime(settings) as runtime:
        return await make_retainer(runtime.tools).plan()


async def _run(settings: Settings, most: timedelta, *, is_quiet: bool, is_confirmed: bool) -> Report:
    async with open_runtime(settings) as runtime:
        now = runtime.tools.clock()
        await _check_clock(runtime, is_confirmed=is_confirmed)
        turn = Turn(new_id(), now + most)
        async with runtime.database.transaction() as conn:
            if not await store.claim_early(conn, lease=turn.lease, now=now, ends_at=turn.ends_at + MARGIN):
                state = await store.find_state(conn)
                raise Conflict(f"Retention is running; it ends by {state.due_at:%H:%M} UTC. Try again then.")
        report = await make_retainer(runtime.tools).run(turn, (lambda _: None) if is_quiet else say)
        async with runtime.database.transaction() as conn:
            await audit.record(
                conn,
                actor=COMMAND_LINE,
                deed=Deed.RETENTION_RUN,
                subject_name=_span(report.months),
                now=runtime.tools.clock(),
                detail={"done": report.is_done, **{kind.value: count for kind, count in report.rows.items() if count}},
            )
        return report


async def _check_clock(runtime: Runtime, *, is_confirmed: bool) -> None:
    """Raises Conflict while the clock cannot be trusted."""
    now = runtime.tools.clock()
    async with runtime.database.transaction() as conn:
        state = await clocks.read(conn)
        if is_confirmed and abs(now - state.database_now) <= DEFAULT_CLOCK_OPTIONS.apart:
            await clocks.confirm(conn, now=now)
            await audit.record(
                conn,
                actor=COMMAND_LINE,
                deed=Deed.RETENTION_RUN,
                subject_name="clock confirmed",
                now=now,
                detail={"last_run": state.trusted_at.isoformat() if state.trusted_at else None},
            )
            return
    if problem := clock_problem(now, state):
        hint = (
            "Set the clock right" if is_confirmed else "Set the clock right, or if it is right, repeat with --confirm"
        )
        raise Conflict(f"{problem} Nothing was deleted. {hint}.")


async def _show(settings: Settings) -> tuple[State, list[Month]]:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        months = await store.list_months(conn)
        return await store.find_state(conn), [await store.count_month(conn, month=month) for month in months]


def _planned(planned: Planned) -> str:
    lines = [f"{_name(one.month)} would go: {_share(one)}" for one in planned.months]
    lines += [f"{count} {kind.value} would go." for kind, count in planned.rows.items() if count]
    return "\n".join([*(lines or ["Nothing is past its time."]), "Nothing was changed."])


def _done(report: Report) -> str:
    lines = [f"{_name(one.month)} is gone: {_share(one)}" for one in report.months]
    lines += [f"{count} {kind.value} are gone." for kind, count in report.rows.items() if count]
    if not report.is_done:
        lines.append(f"More is left, since {report.left}; the next run goes on with it.")
    return "\n".join(lines or ["Nothing is past its time."])


def _share(month: Month) -> str:
    going = counted(month.articles - month.starred, "article", "articles")
    return f"{going}; {counted(month.starred, 'is starred and stays', 'are starred and stay')}."


def _standing(state: State) -> str:
    if state.is_running:
        return f"Retention is running; it ends by {state.due_at:%Y-%m-%d %H:%M} UTC."
    return f"Retention runs next at {state.due_at:%Y-%m-%d %H:%M} UTC, where Headwater's stages run."


def _span(months: Sequence[Month]) -> str:
    if not months:
        return "no month"
    first, last = _name(months[0].month), _name(months[-1].month)
    return first if first == last else f"{first} to {last}"


def _name(month: date) -> str:
    return f"{month:%Y-%m}"
