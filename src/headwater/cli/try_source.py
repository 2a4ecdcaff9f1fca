"""`headwater source test`: what a source's selectors and extraction find on a page, side by side. Stores nothing."""

from typing import Annotated

import typer

from headwater.cli.documents import LoadedDocument, ReadFailure, open_loader
from headwater.cli.extract import extract_document, load_options, shortened
from headwater.cli.options import AsJson, with_selectors
from headwater.cli.output import err, plain, print_error, print_json, print_table, print_text
from headwater.cli.terminal import exit_failed, load_quietly, run
from headwater.extraction import store
from headwater.extraction.selector_trial import Comparison, field_rows
from headwater.extraction.types import NO_SELECTORS, Selectors
from headwater.pipeline import make_trials
from headwater.runtime import open_page_sandbox, open_runtime
from headwater.sandbox import Sandbox
from headwater.settings import Settings
from headwater.sources.trial import Unread
from headwater.urls import complete_url, host_of


@with_selectors
def try_source(
    url: Annotated[str, typer.Argument(metavar="URL", help="A page of the source.")],
    selectors: Selectors,
    as_json: AsJson = False,
) -> None:
    """Show what a source's CSS selectors find on a page beside what extraction finds without them.

    The selectors are those of the source that is followed on the page's host, or those given here, which are not
    stored. Exits with 1 when the page cannot be read or a selector finds nothing.

    Example: headwater source test https://example.com/story --body .article-text --remove .advert
    """
    with err.status("Reading the page…"):
        compared = run(_compare(load_quietly(), complete_url(url), selectors))
    if isinstance(compared, ReadFailure):
        print_error(f"{url}: {compared.reason} [{compared.error}]")
    elif as_json:
        print_json(plain(compared) | {"in_vain": compared.in_vain})
    else:
        _print(compared)
    exit_failed(isinstance(compared, ReadFailure) or compared.in_vain or compared.with_selectors.problems)


async def _compare(settings: Settings, url: str, given: Selectors) -> Comparison | ReadFailure:
    """Given selectors need no database."""
    if given == NO_SELECTORS:
        return await _compare_stored(settings, url)
    async with (
        open_page_sandbox(settings) as sandbox,
        open_loader(settings, load_options(settings), uses_web=True) as load,
    ):
        return await _compared(sandbox, await load(url), url, None, given)


async def _compare_stored(settings: Settings, url: str) -> Comparison | ReadFailure:
    async with open_runtime(settings) as runtime:
        async with runtime.database.transaction() as conn:
            source, selectors = await store.find_selectors_of_host(conn, host=host_of(url)) or (None, NO_SELECTORS)
        page = await make_trials(runtime.tools).fetch(url)
        if isinstance(page, Unread):
            return ReadFailure("unread", page.reason)
        document = LoadedDocument(page.body, page.url, page.headers.get("Content-Type"))
        return await _compared(runtime.tools.page_sandbox, document, url, source, selectors)


async def _compared(
    sandbox: Sandbox, page: LoadedDocument | ReadFailure, url: str, source: str | None, selectors: Selectors
) -> Comparison | ReadFailure:
    if isinstance(page, ReadFailure):
        return page
    with_selectors = await extract_document(sandbox, page, selectors)
    without = await extract_document(sandbox, page, NO_SELECTORS)
    if isinstance(with_selectors, ReadFailure):
        return with_selectors
    return without if isinstance(without, ReadFailure) else Comparison(url, source, selectors, with_selectors, without)


def _print(compared: Comparison) -> None:
    if compared.selectors == NO_SELECTORS:
        of = f"{compared.source} has no selectors" if compared.source else "No source is followed on this host"
        print_text(f"{of}: extraction without selectors finds this.\n")
        print_table(["field", "from", "value"], field_rows(compared.without))
    else:
        print_text(f"With the selectors of {compared.source}:\n" if compared.source else "With the selectors given:\n")
        print_table(["field", "with selectors", "from", "without", "from"], compared.rows)
    print_text(f"\n{shortened(compared.with_selectors.text) or 'No text was found.'}")
    for problem in compared.with_selectors.problems:
        print_error(problem)
    for part in compared.in_vain:
        print_error(f"The selector for {part} found nothing: {', '.join(getattr(compared.selectors, part))}")
