"""`headwater migrate`: the database's schema, up, down and as it is."""

from typing import Annotated

import typer

from headwater.cli.terminal import AsJson, confirm, load_quietly, print_json, print_table, run, say
from headwater.db.migrate import Migration, known_migrations, migrate_down, migration_states
from headwater.runtime import database_server

migrate_app = typer.Typer(
    help="Bring the database's schema up to date, or take it back.\n\nExample: headwater migrate up",
    no_args_is_help=True,
)

To = Annotated[int | None, typer.Option("--to", help="Stop at this number.", min=0)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@migrate_app.command()
def up(to: To = None) -> None:
    """Apply what is missing.

    Example: headwater migrate up
    """
    with database_server(load_quietly()) as server:
        done = run(server.migrate(to=to, progress=lambda step: say(f"applied {step.name}")))
    if not done:
        say("Nothing to do: the schema is up to date.")


@migrate_app.command()
def down(to: To = None, yes: Yes = False) -> None:
    """Undo the last step, or every step after a number. What its tables held is lost.

    Example: headwater migrate down --to 0 --yes
    """
    settings = load_quietly()
    with database_server(settings) as server:
        applied = [state.version for state in run(migration_states(server.owner)) if state.applied_at]
        target = to if to is not None else max([*applied[:-1], 0])
        if not [version for version in applied if version > target]:
            say("Nothing to do.")
            return
        confirm(f"Undo every migration after {target}? What their tables hold is lost.", yes=yes)
        run(migrate_down(server.owner, to=target, progress=_undone))


@migrate_app.command()
def status(as_json: AsJson = False) -> None:
    """Show each step, and when it was applied.

    Example: headwater migrate status --json
    """
    with database_server(load_quietly()) as server:
        states = run(migration_states(server.owner))
    if as_json:
        print_json(states)
        return
    known = {step.version for step in known_migrations()}
    rows = [
        (
            state.name,
            state.applied_at.strftime("%Y-%m-%d %H:%M") if state.applied_at else "not applied",
            "" if state.version in known else "made by a newer Headwater",
        )
        for state in states
    ]
    print_table(["migration", "applied", ""], rows)


def _undone(step: Migration) -> None:
    say(f"undone {step.name}")
