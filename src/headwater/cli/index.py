"""`headwater index`: the search index, and what it has yet to be told."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.exit_codes import ExitCode
from headwater.cli.terminal import AsJson, confirm, counted, load_quietly, print_json, print_table, run, say
from headwater.errors import Invalid
from headwater.outbox import store as outbox
from headwater.outbox.types import Counts, Dead
from headwater.publishing import store
from headwater.publishing.decide import faults
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.types import IndexLook
from headwater.runtime import Runtime, open_runtime
from headwater.settings import Settings

index_app = typer.Typer(
    help="See how the search index does, and tell it everything again.\n\nExample: headwater index check",
    no_args_is_help=True,
)

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many refused documents to show.", min=0, max=10_000)]


@index_app.command()
def status(limit: Limit = 20, as_json: AsJson = False) -> None:
    """Show what waits to be told to the index, since when, and which documents it refused.

    Example: headwater index status --json
    """
    counts, behind, dead = run(_status(load_quietly(), limit))
    if as_json:
        refused = [asdict(one) | {"url_key": one.url_key.hex()} for one in dead]
        print_json(asdict(counts) | {"lag_seconds": behind.total_seconds(), "refused": refused})
        return
    say(_standing(counts, behind))
    if dead:
        print_table(["since", "article", "why"], [_row(one) for one in dead])
        say("\nTry them again with: headwater index rebuild --refused")


@index_app.command()
def rebuild(
    refused: Annotated[bool, typer.Option("--refused", help="Only the documents that were refused.")] = False,
) -> None:
    """Tell the index everything again, into a new index where this version needs one. What it has already stays.

    Example: headwater index rebuild
    """
    say(run(_retry(load_quietly()) if refused else _rebuild(load_quietly())))


@index_app.command()
def check(as_json: AsJson = False) -> None:
    """Look whether the index is there, is ours, and has what it should. Exits with 1 when something is not well.

    Example: headwater index check
    """
    look, counts, stored = run(_check(load_quietly()))
    wrong = faults(look, counts, stored)
    if as_json:
        print_json(asdict(look) | {"stored": stored, "waiting": counts.waiting, "faults": wrong})
    else:
        say(f"{look.server}, health {look.health}: {look.index} has {look.documents or 0} of {stored} documents.")
        say("\n".join(wrong) or "All is well.")
    if wrong:
        raise typer.Exit(ExitCode.FAILED)


@index_app.command()
def stop(yes: Yes = False) -> None:
    """Queue nothing more, for an index that is gone for good. A Headwater that runs with an index starts it again.

    Example: headwater index stop --yes
    """
    confirm("Forget what the index has yet to be told, and queue nothing more?", yes=yes)
    dropped = counted(run(_stop(load_quietly())), "entry was", "entries were")
    say(f"{dropped} dropped, and nothing more is queued.")


async def _status(settings: Settings, limit: int) -> tuple[Counts, timedelta, list[Dead]]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        counts = await outbox.count(conn)
        behind = runtime.tools.clock() - counts.oldest_at if counts.oldest_at else timedelta(0)
        return counts, max(behind, timedelta(0)), await outbox.list_dead(conn, limit=limit)


async def _rebuild(settings: Settings) -> str:
    async with open_runtime(settings) as runtime:
        index = _index(runtime)
        left = await index.move_alias()
        target = await index.ensure()
        async with runtime.database.transaction() as conn:
            await outbox.listen(conn, target=target)
            await outbox.refill(conn)
            stored = await store.count_content(conn)
    documents = counted(stored, "document is", "documents are")
    told = f"{documents} told to {index.index}, by the stage `indexing` where it runs."
    return f"{told} The alias has left {', '.join(left)}, which can be deleted." if left else told


async def _retry(settings: Settings) -> str:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        revived = await outbox.revive(conn, now=runtime.tools.clock())
    return f"{counted(revived, 'document is', 'documents are')} tried again, by the stage `indexing` where it runs."


async def _check(settings: Settings) -> tuple[IndexLook, Counts, int]:
    async with open_runtime(settings) as runtime:
        look = await _index(runtime).look()
        async with runtime.database.transaction() as conn:
            return look, await outbox.count(conn), await store.count_content(conn)


async def _stop(settings: Settings) -> int:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        return await outbox.stop_listening(conn)


def _index(runtime: Runtime) -> SearchIndex:
    if runtime.tools.index is None:
        raise Invalid("There is no search index: ELASTICSEARCH_URL is not set.")
    return runtime.tools.index


def _standing(counts: Counts, behind: timedelta) -> str:
    if not counts.is_listening:
        return "No search index listens: nothing is queued. It does as soon as a Headwater runs with ELASTICSEARCH_URL."
    filling = " What was there before the index is still being queued." if counts.is_filling else ""
    refused = f"{counted(counts.dead, 'document was', 'documents were')} refused.{filling}"
    if not counts.waiting:
        return f"Nothing waits, {refused}"
    since = timedelta(seconds=round(behind.total_seconds()))
    return f"{counted(counts.waiting, 'change waits', 'changes wait')}, the oldest for {since}; {refused}"


def _row(one: Dead) -> tuple[str, ...]:
    return f"{one.queued_at:%m-%d %H:%M}", str(one.article_id), one.reason
