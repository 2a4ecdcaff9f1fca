"""`headwater source test`: what a source's selectors and extraction find on a page, side by side. Keeps nothing."""

from dataclasses import fields
from typing import Annotated, Any

import typer

from headwater.articles.types import Extracted
from headwater.cli.documents import Failed
from headwater.cli.exit_codes import ExitCode
from headwater.cli.extract import (
    AuthorSelector,
    BodySelector,
    DateSelector,
    Reader,
    Reading,
    RemoveSelector,
    TitleSelector,
    selectors_of,
    shortened,
)
from headwater.cli.terminal import AsJson, complain, err, load_quietly, print_json, print_table, run, say
from headwater.extraction import store
from headwater.extraction.compare import Comparison, field_rows
from headwater.extraction.types import NO_SELECTORS, Selectors
from headwater.runtime import open_client, open_page_sandbox, open_runtime
from headwater.settings import Settings
from headwater.urls import complete_url, host_of


def try_source(
    url: Annotated[str, typer.Argument(metavar="URL", help="A page of the source.")],
    title: TitleSelector = None,
    body: BodySelector = None,
    author: AuthorSelector = None,
    date: DateSelector = None,
    remove: RemoveSelector = None,
    as_json: AsJson = False,
) -> None:
    """Show what a source's CSS selectors find on a page beside what extraction finds by itself.

    The selectors are those of the source that is followed on the page's host, or those given here, which are tried
    without being stored. Exits with 1 when the page cannot be read or a selector finds nothing.

    Example: headwater source test https://example.com/story --body .article-text --remove .advert
    """
    given = selectors_of(title, body, author, date, remove)
    with err.status("Reading the page…"):
        compared = run(_compare(load_quietly(), complete_url(url), given))
    if isinstance(compared, Failed):
        complain(f"{url}: {compared.reason} [{compared.error}]")
        raise typer.Exit(ExitCode.FAILED)
    if as_json:
        print_json(_plain(compared))
    else:
        _show(compared)
    if compared.in_vain or compared.with_selectors.problems:
        raise typer.Exit(ExitCode.FAILED)


async def _compare(settings: Settings, url: str, given: Selectors) -> Comparison | Failed:
    source, selectors = (None, given) if given != NO_SELECTORS else await _stored(settings, url)
    async with open_client(settings) as client, open_page_sandbox(settings) as sandbox:
        reader = Reader(client, sandbox, settings, Reading())
        document = await reader.document(url)
        if isinstance(document, Failed):
            return document
        chosen = await reader.found(document, selectors)
        plain = await reader.found(document, NO_SELECTORS)
    if isinstance(chosen, Failed):
        return chosen
    return plain if isinstance(plain, Failed) else Comparison(url, source, selectors, chosen, plain)


async def _stored(settings: Settings, url: str) -> tuple[str | None, Selectors]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        found = await store.find_selectors_of_host(conn, host=host_of(url))
    return found or (None, NO_SELECTORS)


def _show(compared: Comparison) -> None:
    if compared.selectors == NO_SELECTORS:
        of = f"{compared.source} has no selectors" if compared.source else "No source is followed on this host"
        say(f"{of}: this is what extraction finds by itself.\n")
        print_table(["field", "from", "value"], field_rows(compared.without))
    else:
        say(f"With the selectors of {compared.source}:\n" if compared.source else "With the selectors given:\n")
        print_table(["field", "with selectors", "from", "without", "from"], compared.rows)
    say(f"\n{shortened(compared.with_selectors.text) or 'No text was found.'}")
    for problem in compared.with_selectors.problems:
        complain(problem)
    for part in compared.in_vain:
        complain(f"The selector for {part} found nothing: {', '.join(getattr(compared.selectors, part))}")


def _plain(compared: Comparison) -> dict[str, Any]:
    def record(found: Extracted) -> dict[str, Any]:
        plain = {field.name: getattr(found, field.name) for field in fields(found)}
        return plain | {"content_hash": found.content_hash.hex() if found.content_hash else None}

    return {
        "url": compared.url,
        "source": compared.source,
        "selectors": compared.selectors,
        "in_vain": compared.in_vain,
        "with_selectors": record(compared.with_selectors),
        "without": record(compared.without),
    }
