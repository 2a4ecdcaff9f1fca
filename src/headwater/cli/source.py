"""`headwater source`: what we follow."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.discover import discover
from headwater.cli.exit_codes import ExitCode
from headwater.cli.explain import explain, next_try
from headwater.cli.poll_now import poll_now
from headwater.cli.terminal import AsJson, confirm, load_quietly, print_json, print_table, run, say
from headwater.errors import Invalid
from headwater.polling.policy import POLICIES
from headwater.polling.types import Polled, PollFailed, PollReport
from headwater.runtime import Runtime, open_runtime
from headwater.settings import Settings, read_duration
from headwater.sources import follow, store
from headwater.sources.types import Source, SourceHealth, Suggestion

source_app = typer.Typer(
    help="Follow feeds, see how they do, leave them.\n\nExample: headwater source add https://example.com/feed.xml",
    no_args_is_help=True,
)

source_app.command()(discover)

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@source_app.command()
def add(
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="Addresses of feeds.")],
    name: Annotated[str | None, typer.Option(help="What to call it.", show_default="its host")] = None,
    later: Annotated[bool, typer.Option("--later", help="Leave the first poll to a Headwater that runs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Follow feeds, and poll each of them at once.

    Example: headwater source add https://example.com/feed.xml --name "Example news"
    """
    if name is not None and len(urls) > 1:
        raise Invalid("--name goes with one URL, not with several.")
    added = run(_add(load_quietly(), urls, name, later=later))
    if as_json:
        print_json([asdict(source) | {"poll": _story(report) if report else None} for source, report in added])
        return
    for source, report in added:
        say(f"Following {source.name} ({source.feed_url}).")
        say(_sentence(report) if report else "It is polled by the next Headwater that runs.")


@source_app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """Show every source and how it does.

    Example: headwater source list
    """
    found = run(_health(load_quietly()))
    if as_json:
        print_json([asdict(source) | {"status": source.status} for source in found])
    elif found:
        print_table(["status", "name", "articles", "next try", "feed", "why"], [_row(source) for source in found])
    else:
        say("No sources yet. `headwater source add URL` follows a feed.")


@source_app.command()
def poll(
    wanted: Annotated[list[str] | None, typer.Argument(metavar="[ID|URL]…", help="Sources, by id or feed URL.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every source.")] = False,
    story: Annotated[bool, typer.Option("--explain", help="Tell each poll as a story.")] = False,
    as_json: AsJson = False,
) -> None:
    """Poll sources now, due or not. Exits with 1 when a poll failed.

    Example: headwater source poll https://example.com/feed.xml
    """
    if bool(wanted) == every:
        raise Invalid("Name the sources to poll, or pass --all.")
    reports = run(_poll(load_quietly(), wanted))
    if as_json:
        print_json([_story(report) for report in reports])
    else:
        for report in reports:
            say("\n".join([*explain(report), ""]) if story else f"{report.feed_url}: {_sentence(report)}")
    if any(isinstance(report.outcome, PollFailed) for report in reports):
        raise typer.Exit(ExitCode.FAILED)


@source_app.command()
def edit(
    wanted: Annotated[str, typer.Argument(metavar="ID|URL", help="A source, by id or feed URL.")],
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    url: Annotated[str | None, typer.Option(help="Where its feed is; it is polled at once.")] = None,
    policy: Annotated[str | None, typer.Option(help=f"What failures lead to: {', '.join(POLICIES)}.")] = None,
    interval: Annotated[str | None, typer.Option(help="How often to poll it, such as 30m; 0 leaves it to us.")] = None,
) -> None:
    """Change how a source is called, where its feed is, and how it is polled. An empty policy is the general one.

    Example: headwater source edit https://example.com/feed.xml --policy once --interval 30m
    """
    wait = read_duration(interval) if interval is not None else None
    source = run(_edit(load_quietly(), wanted, name=name, url=url, policy=policy, interval=wait))
    say(f"{source.name} is changed.")


@source_app.command()
def suggestions(as_json: AsJson = False) -> None:
    """Show where feeds may have gone that are none any more. `source edit --url` takes one.

    Example: headwater source suggestions
    """
    found = run(_suggestions(load_quietly()))
    if as_json:
        print_json(found)
    elif found:
        rows = [(one.source_name, one.title, str(one.entry_count), one.feed_url) for one in found]
        print_table(["source", "title", "entries", "feed"], rows)
        say(f"\nTake one with: headwater source edit {found[0].source_id} --url {found[0].feed_url}")
    else:
        say("No feed is lost, or none was found again.")


@source_app.command()
def enable(
    wanted: Annotated[str, typer.Argument(metavar="ID|URL", help="A source, by id or feed URL.")],
) -> None:
    """Poll a source again that was switched off: what was held against it is forgotten, and it is due at once.

    Example: headwater source enable https://example.com/feed.xml
    """
    source = run(_enable(load_quietly(), wanted))
    say(f"{source.name} is on, and polled by the next Headwater that runs.")


@source_app.command()
def remove(
    wanted: Annotated[str, typer.Argument(metavar="ID|URL", help="A source, by id or feed URL.")], yes: Yes = False
) -> None:
    """Stop following a source. Articles that no other source lists go with it.

    Example: headwater source remove https://example.com/feed.xml --yes
    """
    source = run(_find(load_quietly(), wanted))
    confirm(f"Stop following {source.name} ({source.feed_url}), and forget the articles only it lists?", yes=yes)
    run(_remove(load_quietly(), source))
    say(f"{source.name} is not followed any more.")


async def _add(
    settings: Settings, urls: Sequence[str], name: str | None, *, later: bool
) -> list[tuple[Source, PollReport | None]]:
    async with open_runtime(settings) as runtime:
        async with runtime.database.transaction() as conn:
            added = [await follow.follow(conn, url=url, name=name, now=runtime.tools.clock()) for url in urls]
        told = {} if later else {report.source_id: report for report in await poll_now(runtime, added)}
        if name is None:
            added = [await _named_by_itself(runtime, source, told.get(source.id)) for source in added]
    return [(source, told.get(source.id)) for source in added]


async def _named_by_itself(runtime: Runtime, source: Source, report: PollReport | None) -> Source:
    """A source that nobody named is called as its feed calls itself."""
    if report is None or not isinstance(report.outcome, Polled) or not report.outcome.feed.title.strip():
        return source
    named = replace(source, name=report.outcome.feed.title.strip()[: follow.NAME_MAX])
    async with runtime.database.transaction() as conn:
        await follow.change(conn, source, name=named.name, policy=None, interval=None)
    return named


async def _health(settings: Settings) -> list[SourceHealth]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        return await store.list_health(conn)


async def _poll(settings: Settings, wanted: Sequence[str] | None) -> list[PollReport]:
    async with open_runtime(settings) as runtime:
        async with runtime.database.transaction() as conn:
            sources = [await follow.find(conn, one) for one in wanted] if wanted else await store.list_all(conn)
        return await poll_now(runtime, sources)


async def _find(settings: Settings, wanted: str) -> Source:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        return await follow.find(conn, wanted)


async def _edit(
    settings: Settings,
    wanted: str,
    *,
    name: str | None,
    url: str | None,
    policy: str | None,
    interval: timedelta | None,
) -> Source:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        source = await follow.find(conn, wanted)
        await follow.change(conn, source, name=name, policy=policy, interval=interval)
        if url is not None:
            source = await follow.move(conn, source, url=url, now=runtime.tools.clock())
        return source


async def _suggestions(settings: Settings) -> list[Suggestion]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        return await store.list_suggestions(conn)


async def _enable(settings: Settings, wanted: str) -> Source:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        source = await follow.find(conn, wanted)
        await follow.enable(conn, source, runtime.tools.clock())
        return source


async def _remove(settings: Settings, source: Source) -> None:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        await follow.leave(conn, source)


def _sentence(report: PollReport) -> str:
    if isinstance(report.outcome, PollFailed):
        return f"{report.outcome.detail} [{report.outcome_name}] {next_try(report.next_poll_at)}"
    return f"{report.outcome_name.replace('_', ' ')}, {report.new_articles} new articles."


def _story(report: PollReport) -> dict[str, object]:
    return {
        "source_id": report.source_id,
        "feed_url": report.feed_url,
        "outcome": report.outcome_name,
        "detail": report.outcome.detail if isinstance(report.outcome, PollFailed) else None,
        "status": report.outcome.status if isinstance(report.outcome, PollFailed) else None,
        "new_articles": report.new_articles,
        "next_poll_at": report.next_poll_at,
    }


def _row(source: SourceHealth) -> tuple[str, ...]:
    due = "never" if source.is_off_for_good else f"{source.next_poll_at:%m-%d %H:%M}"
    status = "off" if source.feed_disabled_at else source.status
    return status, source.name, str(source.article_count), due, source.feed_url, source.last_error or ""
