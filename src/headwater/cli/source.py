"""`headwater source`: the feeds and sites that are followed."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from typing import Annotated, Any, TypeVar

import typer

from headwater.audit.types import COMMAND_LINE
from headwater.cli.discover import discover
from headwater.cli.import_feeds import catalogue_app, import_feeds
from headwater.cli.options import AsJson, Wanted, Yes, group, with_options
from headwater.cli.output import counted, print_json, print_text, show, stamp
from headwater.cli.running import in_runtime, poll_now, remove_rows, with_runtime
from headwater.cli.terminal import confirm, exit_failed
from headwater.cli.try_source import try_source
from headwater.errors import Invalid
from headwater.polling.policy import POLICIES
from headwater.polling.report import explain, next_try
from headwater.polling.types import Polled, PollFailed, PollReport
from headwater.runtime import Runtime
from headwater.settings import read_duration
from headwater.sources import follow, operate
from headwater.sources.decide import SELECTED
from headwater.sources.store import details
from headwater.sources.store import sources as sources_store
from headwater.sources.store import suggestions as suggestions_store
from headwater.sources.types import NAME_MAX, Changes, Source, SourceDetails, SourceOverrides
from headwater.text import is_blank

T = TypeVar("T")

source_app = group("Follow feeds and sites, and manage them.", "source add https://example.com/feed.xml")
source_app.command()(discover)
source_app.command("test")(try_source)
source_app.command("import")(import_feeds)
source_app.add_typer(catalogue_app, name="catalogue")


def _option(kind: Any, help_text: str, *names: str, **given: Any) -> object:  # noqa: ANN401
    return Annotated[kind | None, typer.Option(*names, help=help_text, **given)]


_SITE_OPTIONS = {
    "site": _option(str, "The site's front page.", metavar="URL"),
    "sitemap": _option(str, "The site's sitemap or index.", metavar="URL"),
    "mode": _option(
        str, "How articles are found: feed (feed and sitemaps), spider (following links), both.",
        show_default="both for a site alone, else feed",
    ),
    "pattern": _option(list[str], "Links that match are articles; may be repeated.", metavar="REGEX"),
    "selector": _option(
        list[str], f"Selector of a part of its pages ({', '.join(SELECTED)}), such as title=h1; may be repeated.",
        metavar="PART=CSS",
    ),
    "max_depth": _option(int, "Maximum depth of links from the front page, 0 to 10."),
    "budget": _option(int, "Maximum new pages a day found by links; 0: the default."),
    "delay": _option(str, "Minimum time between requests, such as 5s; 0: the default."),
    "external_links": _option(bool, "Follow links to other sites.", "--external-links/--no-external-links"),
    "priority": _option(int, "Priority of its pages, 1 to 10, 10 the highest; default 5."),
}  # fmt: skip


def _overrides(
    *, pattern: list[str] | None, selector: list[str] | None, delay: str | None, **given: Any  # noqa: ANN401
) -> SourceOverrides:  # fmt: skip
    wait = read_duration(delay) if delay is not None else None
    return SourceOverrides(patterns=pattern or None, selectors=selector or None, delay=wait, **given)


with_site_options = with_options("overrides", _SITE_OPTIONS, _overrides)


@source_app.command()
@with_site_options
@with_runtime
async def add(
    runtime: Runtime,
    overrides: SourceOverrides,
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]…", help="URLs of feeds.")] = None,
    name: Annotated[str | None, typer.Option(help="Its name.", show_default="its title or host")] = None,
    later: Annotated[bool, typer.Option("--later", help="Do not poll now; a running Headwater does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Follow feeds, and poll each of them at once; or a site without a feed, by its sitemaps and links.

    Example: headwater source add https://example.com/feed.xml --name "Example news"

    Example: headwater source add --site https://example.com/ --pattern '/news/\\d{4}/' --selector body=article
    """
    if len(urls or ()) > 1 and (name, overrides.site, overrides.sitemap) != (None, None, None):
        raise Invalid("--name, --site and --sitemap can be used with one URL only.")
    now = runtime.tools.clock()
    async with runtime.database.as_system() as conn:
        wanted = [Changes(name=name, feed_url=url, overrides=overrides) for url in urls or [None]]
        added = [await operate.create(conn, wanted=one, actor=COMMAND_LINE, now=now) for one in wanted]
    polled = await poll_now(runtime, [source for source in added if source.feed_url and not later])
    reports = {report.source_id: report for report in polled}
    if name is None:
        added = [await _use_feed_title(runtime, source, reports.get(source.id)) for source in added]
    if as_json:
        polls = {report.source_id: _record(report) for report in polled}
        print_json([asdict(source) | {"poll": polls.get(source.id)} for source in added])
        return
    for source in added:
        report = reports.get(source.id)
        print_text(f"Following {source.name} ({source.address}).")
        print_text(_sentence(report) if report else f"It is {_read(source)} when Headwater next runs.")


@source_app.command("list")
@with_runtime
async def list_sources(runtime: Runtime, as_json: AsJson = False) -> None:
    """List every source with its state.

    Example: headwater source list
    """
    async with runtime.database.as_system() as conn:
        found = await details.list_health(conn)
    columns = ["state", "name", "by", "articles", "next try", "feed or site", "reason"]
    none = "No sources yet. `headwater source add URL` follows a feed, `--site URL` a site without one."
    records = [asdict(one) | {"badge": one.badge, "reason": one.reason} for one in found]
    show(records, columns, map(_row, found), as_json=as_json, empty=none)


@source_app.command()
@with_runtime
async def poll(
    runtime: Runtime,
    wanted: Annotated[list[str] | None, typer.Argument(metavar="[ID|URL]…", help="Sources, by id or feed URL.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every source.")] = False,
    story: Annotated[bool, typer.Option("--explain", help="Explain each poll, step by step.")] = False,
    as_json: AsJson = False,
) -> None:
    """Poll sources now, due or not. Exits with 1 when a poll failed.

    With --json, `status` is the HTTP status of the response, if any; --explain adds `story`, one sentence a step.

    Example: headwater source poll https://example.com/feed.xml
    """
    if bool(wanted) == every:
        raise Invalid("Name the sources to poll, or pass --all.")
    async with runtime.database.as_system() as conn:
        sources = [await follow.find(conn, one) for one in wanted] if wanted else await sources_store.list_all(conn)
    for source in sources if wanted else ():
        if source.feed_url is None:
            raise Invalid(f"{source.name} has no feed to poll; a running Headwater fetches its pages.")
        if not source.enabled:
            raise Invalid(f"{source.name} is disabled; `headwater source enable {source.id}` enables it.")
    reports = await poll_now(runtime, [source for source in sources if source.feed_url and source.enabled])
    if as_json:
        print_json([_record(report) | ({"story": explain(report)} if story else {}) for report in reports])
    else:
        for report in reports:
            print_text("\n".join([*explain(report), ""]) if story else f"{report.feed_url}: {_sentence(report)}")
    exit_failed(any(isinstance(report.outcome, PollFailed) for report in reports))


@source_app.command()
@with_site_options
@with_runtime
async def edit(
    runtime: Runtime,
    wanted: Wanted,
    overrides: SourceOverrides,
    name: Annotated[str | None, typer.Option(help="Its name.")] = None,
    url: Annotated[str | None, typer.Option(help="The URL of its feed; it is polled at once.")] = None,
    policy: Annotated[str | None, typer.Option(help=f"What failures lead to: {', '.join(POLICIES)}.")] = None,
    interval: Annotated[str | None, typer.Option(help="How often to poll it, such as 30m; 0: automatic.")] = None,
    category: Annotated[str | None, typer.Option(help="Its category.")] = None,
    critical: Annotated[bool | None, typer.Option("--critical/--not-critical", help="Alert when it fails.")] = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Enable or disable the whole source.")] = None,
) -> None:
    """Change a source's name, URLs and options. An empty value resets an option.

    Patterns and selectors replace all previous ones.

    Example: headwater source edit https://example.com/feed.xml --policy once --interval 30m
    """
    every = read_duration(interval) if interval is not None else None
    changes = Changes(
        name=name, feed_url=url, category=category, policy=policy, interval=every, is_critical=critical, enabled=on,
        overrides=overrides,
    )  # fmt: skip
    _, changed = await _operate(runtime, wanted, operate.change, wanted=changes)
    state = "" if on is None else " It is enabled." if changed.enabled else " It is disabled."
    print_text(f"{changed.name} is changed.{state}")


@source_app.command()
@with_runtime
async def suggestions(runtime: Runtime, as_json: AsJson = False) -> None:
    """List feeds found for sources whose URL is not a feed any more. `source edit --url` accepts one.

    Example: headwater source suggestions
    """
    async with runtime.database.as_system() as conn:
        found = await suggestions_store.list_all(conn)
    rows = [(one.source_name, one.title, str(one.entry_count), one.feed_url) for one in found]
    show(found, ["source", "title", "entries", "feed"], rows, as_json=as_json, empty="No suggestions.")
    if found and not as_json:
        print_text(f"\nAccept one with: headwater source edit {found[0].source_id} --url {found[0].feed_url}")


@source_app.command()
@with_runtime
async def enable(runtime: Runtime, wanted: Wanted) -> None:
    """Enable a disabled source and its feed. Resets its errors; it is due at once.

    Example: headwater source enable https://example.com/feed.xml
    """
    source, _ = await _operate(runtime, wanted, operate.enable_whole)
    print_text(f"{source.name} is enabled, and {_read(source)} when Headwater next runs.")


@source_app.command()
@with_runtime
async def disable(
    runtime: Runtime,
    wanted: Wanted,
    reason: Annotated[str, typer.Option(help="A class of failure, such as gone, or free text.")],
) -> None:
    """Disable a source's feed, for a reason: until its cooldown ends, or until it is enabled.

    Example: headwater source disable https://example.com/feed.xml --reason "the paper was closed"
    """
    source, until = await _operate(runtime, wanted, operate.disable, reason=reason)
    print_text(f"{source.name} is disabled until {f'{until:%Y-%m-%d %H:%M} UTC' if until else 'it is enabled'}.")


@source_app.command()
@with_runtime
async def refresh(runtime: Runtime, wanted: Wanted) -> None:
    """Make a source due now, for a running Headwater.

    Example: headwater source refresh https://example.com/feed.xml
    """
    source, _ = await _operate(runtime, wanted, operate.refresh)
    print_text(f"{source.name} is due now.")


@source_app.command()
@with_runtime
async def reset(runtime: Runtime, wanted: Wanted) -> None:
    """Reset the error count of a source's feed. It stays enabled or disabled.

    Example: headwater source reset https://example.com/feed.xml
    """
    source, _ = await _operate(runtime, wanted, operate.reset_errors)
    print_text(f"The errors of {source.name} are reset.")


@source_app.command()
def remove(wanted: Wanted, yes: Yes = False) -> None:
    """Delete a source, and the articles that no other source lists.

    Example: headwater source remove https://example.com/feed.xml --yes
    """
    source = in_runtime(lambda runtime: _find(runtime, wanted))
    confirm(f"Delete {source.name} ({source.address}), and the articles only it lists?", yes=yes)
    in_runtime(lambda runtime: _remove(runtime, source))
    print_text(f"{source.name} is deleted.")


async def _use_feed_title(runtime: Runtime, source: Source, report: PollReport | None) -> Source:
    if report is None or not isinstance(report.outcome, Polled) or is_blank(report.outcome.feed.title):
        return source
    named = replace(source, name=report.outcome.feed.title.strip()[:NAME_MAX])
    async with runtime.database.as_system() as conn:
        await follow.change(conn, source, Changes(name=named.name))
    return named


async def _operate(
    runtime: Runtime, name: str, operation: Callable[..., Awaitable[T]], /, **options: object
) -> tuple[Source, T]:
    """The source as found, and the result of an operation on it, both in one transaction."""
    async with runtime.database.as_system() as conn:
        source = await follow.find(conn, name)
        return source, await operation(conn, source, actor=COMMAND_LINE, now=runtime.tools.clock(), **options)


async def _find(runtime: Runtime, wanted: str) -> Source:
    async with runtime.database.as_system() as conn:
        return await follow.find(conn, wanted)


async def _remove(runtime: Runtime, source: Source) -> None:
    async with runtime.database.as_system() as conn:
        await operate.delete(conn, source, actor=COMMAND_LINE, now=runtime.tools.clock())
    await remove_rows(runtime)


def _read(source: Source) -> str:
    return "polled" if source.feed_url else "read"


def _sentence(report: PollReport) -> str:
    if isinstance(report.outcome, PollFailed):
        return f"{report.outcome.detail} [{report.outcome_name}] {next_try(report.next_poll_at)}"
    new = counted(report.new_articles, "new article", "new articles")
    return f"{report.outcome_name.replace('_', ' ')}, {new}."


def _record(report: PollReport) -> dict[str, object]:
    return {
        "source_id": report.source_id, "feed_url": report.feed_url, "outcome": report.outcome_name,
        "detail": report.outcome.detail if isinstance(report.outcome, PollFailed) else None,
        "status": report.outcome.status, "new_articles": report.new_articles, "next_poll_at": report.next_poll_at,
    }  # fmt: skip


def _row(source: SourceDetails) -> tuple[str, ...]:
    due = stamp(source.next_poll_at, "never" if source.feed_url else "", "%m-%d %H:%M")
    why = ": ".join(filter(None, (source.reason, source.last_error)))
    return source.state, source.name, source.badge, str(source.article_count), due, source.address, why
