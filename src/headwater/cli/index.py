"""`headwater index`: the search index and its queue."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.options import AsJson, Yes, group
from headwater.cli.output import counted, print_json, print_result, print_table, print_text
from headwater.cli.running import in_runtime, with_runtime
from headwater.cli.terminal import confirm, exit_failed
from headwater.documents import store as documents
from headwater.documents.types import DocumentCounts
from headwater.errors import Invalid
from headwater.publishing.decide import faults
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.reading import count_documents
from headwater.runtime import Runtime

index_app = group("Check the search index, and fill it again.", "index check")

Refused = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of refused documents.", min=0, max=10_000)]


@index_app.command()
@with_runtime
async def status(runtime: Runtime, limit: Refused = 20, as_json: AsJson = False) -> None:
    """Show how many changes are queued for the index, since when, and which documents it refused.

    Example: headwater index status --json
    """
    async with runtime.database.transaction() as conn:
        counts, dead = await documents.count(conn), await documents.list_refused(conn, limit=limit)
    now = runtime.tools.clock()
    lag = max(now - (counts.oldest_at or now), timedelta(0))
    if as_json:
        print_json(asdict(counts) | {"lag_seconds": lag.total_seconds(), "refused": dead})
        return
    print_text(_status(counts, lag))
    if dead:
        rows = [(f"{one.queued_at:%m-%d %H:%M}", str(one.article_id), one.reason) for one in dead]
        print_table(["since", "article", "reason"], rows)
        print_text("\nRetry them with: headwater index rebuild --refused")


@index_app.command()
@with_runtime
async def rebuild(
    runtime: Runtime,
    refused: Annotated[bool, typer.Option("--refused", help="Only the documents that were refused.")] = False,
) -> None:
    """Queue everything for the index again, into a new index where this version needs one. Its documents stay.

    Example: headwater index rebuild
    """
    if refused:
        async with runtime.database.transaction() as conn:
            revived = await documents.revive(conn, now=runtime.tools.clock())
        print_text(f"{counted(revived, 'document is', 'documents are')} retried by the stage `delivering`.")
        return
    index = _index(runtime)
    left = await index.move_alias()
    target = await index.ensure()
    async with runtime.database.transaction() as conn:
        await documents.listen(conn, target=target)
        await documents.refill(conn)
        stored = await count_documents(conn, now=runtime.tools.clock())
    queued = f"{counted(stored, 'document is', 'documents are')} queued for {index.index}; the stage `delivering` sends"
    moved = f" The alias no longer points to {', '.join(left)}, which can be deleted." if left else ""
    print_text(f"{queued} them.{moved}")


@index_app.command()
@with_runtime
async def check(runtime: Runtime, as_json: AsJson = False) -> None:
    """Check that the index exists, is Headwater's, and is complete. Exits with 1 when it is not.

    Example: headwater index check
    """
    look = await _index(runtime).look()
    async with runtime.database.transaction() as conn:
        counts, stored = await documents.count(conn), await count_documents(conn, now=runtime.tools.clock())
    found = faults(look, counts, stored)
    text = f"{look.server}, health {look.health}: {look.index} has {look.documents or 0} of {stored} documents."
    record = asdict(look) | {"stored": stored, "waiting": counts.waiting, "faults": found}
    print_result(record, "\n".join([text, *(found or ["No problems found."])]), as_json=as_json)
    exit_failed(found)


@index_app.command()
def stop(yes: Yes = False) -> None:
    """Empty the queue and queue nothing more, for an index that is gone. Headwater with an index starts it again.

    Example: headwater index stop --yes
    """
    confirm("Empty the queue of the index and stop queueing?", yes=yes)
    dropped = counted(in_runtime(_stop), "entry was", "entries were")
    print_text(f"{dropped} dropped. Nothing more is queued.")


async def _stop(runtime: Runtime) -> int:
    async with runtime.database.transaction() as conn:
        return await documents.stop_listening(conn)


def _index(runtime: Runtime) -> SearchIndex:
    if runtime.tools.index is None:
        raise Invalid("There is no search index: ELASTICSEARCH_URL is not set.")
    return runtime.tools.index


def _status(counts: DocumentCounts, lag: timedelta) -> str:
    if not counts.is_listening:
        return "No search index: nothing is queued until Headwater runs with ELASTICSEARCH_URL."
    filling = " Articles older than the index are still being queued." if counts.is_filling else ""
    refused = f"{counted(counts.dead, 'document was', 'documents were')} refused.{filling}"
    if not counts.waiting:
        return f"The queue is empty, {refused}"
    since = timedelta(seconds=round(lag.total_seconds()))
    return f"{counted(counts.waiting, 'change waits', 'changes wait')}, the oldest for {since}; {refused}"
