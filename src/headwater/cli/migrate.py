"""`headwater migrate`: migrations of the database's schema."""

from typing import Annotated

import typer

from headwater.cli.options import AsJson, Yes, group
from headwater.cli.output import print_text, show, stamp
from headwater.cli.terminal import confirm, load_quietly, run
from headwater.db.migrate import known_migrations, migrate_down, migration_states
from headwater.runtime import database_server

migrate_app = group("Migrate the database's schema.", "migrate up")

To = Annotated[int | None, typer.Option("--to", help="Stop at this migration.", min=0)]


@migrate_app.command()
def up(to: To = None) -> None:
    """Apply the migrations that are missing.

    Example: headwater migrate up
    """
    with database_server(load_quietly()) as server:
        done = run(server.migrate(to=to, progress=lambda step: print_text(f"applied {step.name}")))
    if not done:
        print_text("No migration to apply; roles, grants and policies are complete.")


@migrate_app.command()
def down(to: To = None, yes: Yes = False) -> None:
    """Undo the last migration, or all after a number. The data in their tables is lost.

    Example: headwater migrate down --to 0 --yes
    """
    with database_server(load_quietly()) as server:
        applied = [state.version for state in run(migration_states(server.owner)) if state.applied_at]
        target = to if to is not None else max([*applied[:-1], 0])
        if not [version for version in applied if version > target]:
            print_text("Nothing to do.")
            return
        confirm(f"Undo every migration after {target}? The data in their tables is lost.", yes=yes)
        run(migrate_down(server.owner, to=target, progress=lambda step: print_text(f"undone {step.name}")))


@migrate_app.command()
def status(as_json: AsJson = False) -> None:
    """List the migrations, and when each was applied.

    Example: headwater migrate status --json
    """
    with database_server(load_quietly()) as server:
        states = run(migration_states(server.owner))
    known = {step.version for step in known_migrations()}
    newer = {True: "", False: "from a newer version of Headwater"}
    rows = [(one.name, stamp(one.applied_at, "not applied"), newer[one.version in known]) for one in states]
    show(states, ["migration", "applied", ""], rows, as_json=as_json, empty="There are no migrations.")
