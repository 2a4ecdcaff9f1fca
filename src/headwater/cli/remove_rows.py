"""Removing what belonged to deleted sources and users, for commands that may run while no worker does."""

import sys

from headwater.cli.terminal import err
from headwater.pipeline import make_remover
from headwater.runtime import Runtime


async def remove_rows(runtime: Runtime) -> None:
    """Remove rows of all that was deleted, until a worker has the rest or nothing is left."""
    remover = make_remover(runtime.tools)
    if not sys.stderr.isatty():
        await remover.remove_all()
        return
    with err.status("Removing …") as shown:
        await remover.remove_all(lambda rows: shown.update(f"Removing: {rows:,} rows"))
