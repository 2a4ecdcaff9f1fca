"""The daily summary: the latest one, and generating a new one.

The response to generating is the summary itself, as in seed 002, and takes as long as the model. Other requests in the
meantime show that it is in progress.
"""

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.response import Template
from markupsafe import Markup

from headwater.asgi.handlers import AnyRequest, Now
from headwater.db import Database
from headwater.library.summaries.render import to_html
from headwater.library.summaries.types import ShownSummary, SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.types import Clock
from headwater.web.errors import error_handlers


@get("/summaries/latest", exception_handlers=error_handlers("Failed to load summary"))
async def latest(request: AnyRequest, summary_writer: NamedDependency[SummaryWriter], clock: Now) -> Template:
    """Show the latest summary."""
    return _display(await summary_writer.latest(request.user.id), clock)


@post(
    "/summaries",
    status_code=200,
    exception_handlers=error_handlers("Failed to generate summary. Please try again later.", place="summary-errors"),
)
async def generate(request: AnyRequest, summary_writer: NamedDependency[SummaryWriter], clock: Now) -> Template:
    """Generate a summary. Raises NoArticles, SummaryFailed, AiUnavailable."""
    return _display(await summary_writer.make(request.user.id), clock)


def _display(shown: ShownSummary, clock: Clock) -> Template:
    html = Markup(to_html(shown.summary.content)) if shown.summary else ""  # noqa: S704  sanitised by to_html
    return Template("summaries/display.html", context={"shown": shown, "html": html, "now": clock()})


def summary_dependencies(database: Database, clock: Clock, options: SummaryOptions) -> dict[str, Provide]:
    """Dependencies of these routes."""
    writer = SummaryWriter(database, clock, options)
    return {"summary_writer": Provide(lambda: writer, sync_to_thread=False)}


summary_pages = [latest, generate]
