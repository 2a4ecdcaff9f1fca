"""`headwater source`: what we follow."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated

import typer

from headwater.audit.types import COMMAND_LINE
from headwater.cli.discover import discover
from headwater.cli.exit_codes import ExitCode
from headwater.cli.import_feeds import catalogue_app, import_feeds
from headwater.cli.poll_now import poll_now
from headwater.cli.remove_rows import remove_rows
from headwater.cli.switch_source import disable, refresh, reset
from headwater.cli.terminal import AsJson, confirm, counted, load_quietly, print_json, print_table, run, say
from headwater.cli.try_source import try_source
from headwater.errors import Invalid
from headwater.polling.explain import explain, next_try
from headwater.polling.policy import POLICIES
from headwater.polling.types import Polled, PollFailed, PollReport
from headwater.runtime import Runtime, open_runtime
from headwater.settings import Settings, read_duration
from headwater.sources import follow, operate
from headwater.sources.decide import SELECTED
from headwater.sources.operate import Changes
from headwater.sources.store import details
from headwater.sources.store import sources as sources_store
from headwater.sources.store import suggestions as suggestions_store
from headwater.sources.types import Source, SourceHealth, Suggestion, Wishes
from headwater.text import is_blank

source_app = typer.Typer(
    help="Follow feeds and sites, see how they do, leave them.\n\n"
    "Example: headwater source add https://example.com/feed.xml",
    no_args_is_help=True,
)

source_app.command()(discover)
source_app.command("test")(try_source)
source_app.command("import")(import_feeds)
source_app.add_typer(catalogue_app, name="catalogue")
for _command in (disable, refresh, reset):
    source_app.command()(_command)

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Wanted = Annotated[str, typer.Argument(metavar="ID|URL", help="A source, by id or by the URL of its feed or site.")]
Site = Annotated[str | None, typer.Option("--site", metavar="URL", help="The site's front page.")]
Sitemap = Annotated[
    str | None, typer.Option("--sitemap", metavar="URL", help="Where the site lists its pages: sitemap or index.")
]
Mode = Annotated[
    str | None,
    typer.Option(
        help="How articles are found: feed (feed and sitemaps), spider (following links), both.",
        show_default="both for a site alone, else feed",
    ),
]
Patterns = Annotated[
    list[str] | None,
    typer.Option("--pattern", metavar="REGEX", help="Which links lead to articles; may be repeated."),
]
Selectors = Annotated[
    list[str] | None,
    typer.Option(
        "--selector",
        metavar="PART=CSS",
        help=f"Where on its pages a part stands ({', '.join(SELECTED)}), such as title=h1; may be repeated.",
    ),
]
MaxDepth = Annotated[int | None, typer.Option(help="How many links deep to go from the front page, 0 to 10.")]
Budget = Annotated[int | None, typer.Option(help="New pages a day that following links may find; 0: the general one.")]
Delay = Annotated[str | None, typer.Option(help="Least time between two requests, such as 5s; 0: the general one.")]
External = Annotated[bool | None, typer.Option("--external-links/--no-external-links", help="Follow to other sites.")]
Priority = Annotated[int | None, typer.Option(help="How urgent its pages are, 1 to 10; 5 unless said.")]


@source_app.command()
def add(
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]…", help="Addresses of feeds.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call it.", show_default="its host")] = None,
    site: Site = None,
    sitemap: Sitemap = None,
    mode: Mode = None,
    pattern: Patterns = None,
    selector: Selectors = None,
    max_depth: MaxDepth = None,
    budget: Budget = None,
    delay: Delay = None,
    external_links: External = None,
    priority: Priority = None,
    later: Annotated[bool, typer.Option("--later", help="Leave the first poll to a Headwater that runs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Follow feeds, and poll each of them at once; or a site without a feed, by its sitemaps and links.

    Example: headwater source add https://example.com/feed.xml --name "Example news"

    Example: headwater source add --site https://example.com/ --pattern '/news/\\d{4}/' --selector body=article
    """
    if len(urls or ()) > 1 and (name, site, sitemap) != (None, None, None):
        raise Invalid("--name, --site and --sitemap go with one URL, not with several.")
    wishes = _wishes(site, sitemap, mode, pattern, selector, external_links, max_depth, budget, delay, priority)
    added = run(_add(load_quietly(), urls or [None], name, wishes, later=later))
    if as_json:
        print_json([asdict(source) | {"poll": _record(report) if report else None} for source, report in added])
        return
    for source, report in added:
        say(f"Following {source.name} ({source.address}).")
        say(_first_words(source, report))


@source_app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """List every source with its state.

    Example: headwater source list
    """
    found = run(_health(load_quietly()))
    if as_json:
        print_json([asdict(source) | {"badge": source.badge} for source in found])
    elif found:
        columns = ["state", "name", "by", "articles", "next try", "feed or site", "reason"]
        print_table(columns, [_row(source) for source in found])
    else:
        say("No sources yet. `headwater source add URL` follows a feed, `--site URL` a site without one.")


@source_app.command()
def poll(
    wanted: Annotated[list[str] | None, typer.Argument(metavar="[ID|URL]…", help="Sources, by id or feed URL.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every source.")] = False,
    story: Annotated[bool, typer.Option("--explain", help="Tell each poll as a story.")] = False,
    as_json: AsJson = False,
) -> None:
    """Poll sources now, due or not. Exits with 1 when a poll failed.

    With --json, `status` is that of the answer, where there was one; --explain adds `story`, one sentence a step.

    Example: headwater source poll https://example.com/feed.xml
    """
    if bool(wanted) == every:
        raise Invalid("Name the sources to poll, or pass --all.")
    reports = run(_poll(load_quietly(), wanted))
    if as_json:
        print_json([_record(report) | ({"story": explain(report)} if story else {}) for report in reports])
    else:
        for report in reports:
            say("\n".join([*explain(report), ""]) if story else f"{report.feed_url}: {_sentence(report)}")
    if any(isinstance(report.outcome, PollFailed) for report in reports):
        raise typer.Exit(ExitCode.FAILED)


@source_app.command()
def edit(
    wanted: Wanted,
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    url: Annotated[str | None, typer.Option(help="Where its feed is; it is polled at once.")] = None,
    policy: Annotated[str | None, typer.Option(help=f"What failures lead to: {', '.join(POLICIES)}.")] = None,
    interval: Annotated[str | None, typer.Option(help="How often to poll it, such as 30m; 0 leaves it to us.")] = None,
    category: Annotated[str | None, typer.Option(help="What to file it under.")] = None,
    critical: Annotated[bool | None, typer.Option("--critical/--not-critical", help="Alert when it fails.")] = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Follow it, or leave all of it alone.")] = None,
    site: Site = None,
    sitemap: Sitemap = None,
    mode: Mode = None,
    pattern: Patterns = None,
    selector: Selectors = None,
    max_depth: MaxDepth = None,
    budget: Budget = None,
    delay: Delay = None,
    external_links: External = None,
    priority: Priority = None,
) -> None:
    """Change how a source is called, where it is, and how it is read. What is given empty is taken back.

    Patterns and selectors take the place of all there were.

    Example: headwater source edit https://example.com/feed.xml --policy once --interval 30m
    """
    wait = read_duration(interval) if interval is not None else None
    wishes = _wishes(site, sitemap, mode, pattern, selector, external_links, max_depth, budget, delay, priority)
    changes = Changes(
        name=name,
        feed_url=url,
        category=category,
        policy=policy,
        interval=wait,
        is_critical=critical,
        enabled=on,
        wishes=wishes,
    )
    source = run(_edit(load_quietly(), wanted, changes))
    state = "" if on is None else " It is enabled." if source.enabled else " It is disabled."
    say(f"{source.name} is changed.{state}")


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
    wanted: Wanted,
) -> None:
    """Enable a disabled source and its feed. Its failures are forgotten, and it is due at once.

    Example: headwater source enable https://example.com/feed.xml
    """
    source = run(_enable(load_quietly(), wanted))
    say(f"{source.name} is enabled, and {_read(source)} by the next Headwater that runs.")


@source_app.command()
def remove(wanted: Wanted, yes: Yes = False) -> None:
    """Stop following a source. Articles that no other source lists go with it.

    Example: headwater source remove https://example.com/feed.xml --yes
    """
    source = run(_find(load_quietly(), wanted))
    confirm(f"Stop following {source.name} ({source.address}), and forget the articles only it lists?", yes=yes)
    run(_remove(load_quietly(), source))
    say(f"{source.name} is not followed any more.")


def _wishes(
    site: str | None,
    sitemap: str | None,
    mode: str | None,
    patterns: Sequence[str] | None,
    selectors: Sequence[str] | None,
    external_links: bool | None,
    max_depth: int | None,
    budget: int | None,
    delay: str | None,
    priority: int | None,
) -> Wishes:
    return Wishes(
        site=site,
        sitemap=sitemap,
        mode=mode,
        patterns=patterns or None,
        selectors=selectors or None,
        external_links=external_links,
        max_depth=max_depth,
        budget=budget,
        delay=read_duration(delay) if delay is not None else None,
        priority=priority,
    )


async def _add(
    settings: Settings, urls: Sequence[str | None], name: str | None, wishes: Wishes, *, later: bool
) -> list[tuple[Source, PollReport | None]]:
    async with open_runtime(settings) as runtime:
        now = runtime.tools.clock()
        async with runtime.database.as_system() as conn:
            wanted = [Changes(name=name, feed_url=url, wishes=wishes) for url in urls]
            added = [await operate.create(conn, wanted=one, actor=COMMAND_LINE, now=now) for one in wanted]
        with_feed = [source for source in added if source.feed_url and not later]
        told = {report.source_id: report for report in await poll_now(runtime, with_feed)}
        if name is None:
            added = [await _named_by_itself(runtime, source, told.get(source.id)) for source in added]
    return [(source, told.get(source.id)) for source in added]


async def _named_by_itself(runtime: Runtime, source: Source, report: PollReport | None) -> Source:
    """A source that nobody named is called as its feed calls itself."""
    if report is None or not isinstance(report.outcome, Polled) or is_blank(report.outcome.feed.title):
        return source
    named = replace(source, name=report.outcome.feed.title.strip()[: follow.NAME_MAX])
    async with runtime.database.as_system() as conn:
        await follow.change(conn, source, name=named.name, policy=None, interval=None)
    return named


async def _health(settings: Settings) -> list[SourceHealth]:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        return await details.list_health(conn)


async def _poll(settings: Settings, wanted: Sequence[str] | None) -> list[PollReport]:
    async with open_runtime(settings) as runtime:
        async with runtime.database.as_system() as conn:
            sources = [await follow.find(conn, one) for one in wanted] if wanted else await sources_store.list_all(conn)
        for source in sources:
            if wanted and source.feed_url is None:
                raise Invalid(f"{source.name} has no feed to poll; a Headwater that runs reads its pages.")
            if wanted and not source.enabled:
                raise Invalid(f"{source.name} is disabled; `headwater source enable {source.id}` enables it.")
        return await poll_now(runtime, [source for source in sources if source.feed_url and source.enabled])


async def _find(settings: Settings, wanted: str) -> Source:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        return await follow.find(conn, wanted)


async def _edit(settings: Settings, wanted: str, changes: Changes) -> Source:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        source = await follow.find(conn, wanted)
        return await operate.change(conn, source, wanted=changes, actor=COMMAND_LINE, now=runtime.tools.clock())


async def _suggestions(settings: Settings) -> list[Suggestion]:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        return await suggestions_store.list_all(conn)


async def _enable(settings: Settings, wanted: str) -> Source:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        source = await follow.find(conn, wanted)
        await operate.enable_whole(conn, source, actor=COMMAND_LINE, now=runtime.tools.clock())
        return source


async def _remove(settings: Settings, source: Source) -> None:
    async with open_runtime(settings) as runtime:
        async with runtime.database.as_system() as conn:
            await operate.delete(conn, source, actor=COMMAND_LINE, now=runtime.tools.clock())
        await remove_rows(runtime)  # no worker may be running


def _first_words(source: Source, report: PollReport | None) -> str:
    return _sentence(report) if report else f"It is {_read(source)} by the next Headwater that runs."


def _read(source: Source) -> str:
    return "polled" if source.feed_url else "read"


def _sentence(report: PollReport) -> str:
    if isinstance(report.outcome, PollFailed):
        return f"{report.outcome.detail} [{report.outcome_name}] {next_try(report.next_poll_at)}"
    new = counted(report.new_articles, "new article", "new articles")
    return f"{report.outcome_name.replace('_', ' ')}, {new}."


def _record(report: PollReport) -> dict[str, object]:
    return {
        "source_id": report.source_id,
        "feed_url": report.feed_url,
        "outcome": report.outcome_name,
        "detail": report.outcome.detail if isinstance(report.outcome, PollFailed) else None,
        "status": report.outcome.status,
        "new_articles": report.new_articles,
        "next_poll_at": report.next_poll_at,
    }


def _row(source: SourceHealth) -> tuple[str, ...]:
    due = f"{source.next_poll_at:%m-%d %H:%M}" if source.next_poll_at else ""
    if source.feed_url and not due:
        due = "never"
    why = ": ".join(filter(None, (source.reason, source.last_error)))
    return source.state, source.name, source.badge, str(source.article_count), due, source.address, why
