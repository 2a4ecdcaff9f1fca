"""The last day, in short: the latest summary, and the button that makes a new one.

Making one takes as long as the model does, and the answer is the summary itself, as seed 002 has it; whoever looks
meanwhile, in another tab or by a second click, sees that it is being made, until it is there.
"""

from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency, Provide
from litestar.response import Template
from markupsafe import Markup

from headwater.db import Database
from headwater.library.summaries.render import to_html
from headwater.library.summaries.types import Shown, SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.types import Clock
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]


@get("/summaries/latest", exception_handlers=refusals("Failed to load summary"))
async def latest(
    request: AnyRequest, summary_writer: NamedDependency[SummaryWriter], clock: NamedDependency[Clock]
) -> Template:
    """What is there; nothing changes."""
    return _display(await summary_writer.latest(request.user.id), clock)


@post(
    "/summaries",
    status_code=200,
    exception_handlers=refusals("Failed to generate summary. Please try again later.", place="summary-errors"),
)
async def generate(
    request: AnyRequest, summary_writer: NamedDependency[SummaryWriter], clock: NamedDependency[Clock]
) -> Template:
    """A new one. Raises NoArticles, SummaryFailed, AiUnavailable."""
    return _display(await summary_writer.make(request.user.id), clock)


def _display(shown: Shown, clock: Clock) -> Template:
    html = Markup(to_html(shown.summary.content)) if shown.summary else ""  # noqa: S704  sanitised there
    return Template("summaries/display.html", context={"shown": shown, "html": html, "now": clock()})


def summary_dependencies(database: Database, clock: Clock, options: SummaryOptions) -> dict[str, Provide]:
    """What these pages take."""
    writer = SummaryWriter(database, clock, options)
    return {"summary_writer": Provide(lambda: writer, sync_to_thread=False)}


summary_pages = [latest, generate]
