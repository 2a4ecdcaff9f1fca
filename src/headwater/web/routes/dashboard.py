"""The dashboard: the page into which the list of feeds and the summary are loaded, and the daily summary.

The response to generating a summary is the summary itself, as in seed 002, and takes as long as the model. Other
requests in the meantime show that it is in progress.
"""

from litestar import get, post
from litestar.di import NamedDependency
from litestar.exceptions import ValidationException
from litestar.params import FromQuery
from litestar.response import Template
from markupsafe import Markup

from headwater.analytics import store as analytics
from headwater.asgi.errors import AnyResponse, respond
from headwater.asgi.handlers import AnyRequest, Call, CallContext
from headwater.errors import Unavailable
from headwater.library.summaries.decide import to_html
from headwater.library.summaries.types import ShownSummary
from headwater.library.summaries.writer import SummaryWriter
from headwater.library.types import FeedsQuery
from headwater.observability.log import get_logger
from headwater.web.errors import fragment
from headwater.web.query import opts_out
from headwater.web.routes.feeds import read_query

log = get_logger()

BROKEN = "Failed to load dashboard. Please refresh the page."  # seed 002


def dashboard_error(request: AnyRequest, error: Exception) -> AnyResponse:
    """The error message of seed 002."""
    if not isinstance(error, Unavailable):
        log.error("request broke", path=request.url.path, exc_info=error)
    return respond(request, 500, BROKEN)


@get("/dashboard", exception_handlers={Unavailable: dashboard_error, Exception: dashboard_error})
async def dashboard(
    call: Call, search: FromQuery[str] = "", status: FromQuery[str] = "all", page: FromQuery[str] = "1"
) -> Template:
    """The page; its parts are loaded by htmx."""
    asks_consent = False
    if not opts_out(call.request):
        async with call.as_user() as conn:
            asks_consent = await analytics.find_answer(conn) is None
    try:
        query = read_query(search, status, page)
    except ValidationException:
        wrong = "Invalid filter parameters"
        return call.page("dashboard.html", asks_consent=asks_consent, query=FeedsQuery(), error=wrong, status_code=400)
    return call.page("dashboard.html", asks_consent=asks_consent, query=query)


@fragment(get, "/summaries/latest", "Failed to load summary")
async def latest(call: Call, summary_writer: NamedDependency[SummaryWriter]) -> Template:
    return _summary(call, await summary_writer.latest(call.user.id))


@fragment(post, "/summaries", "Failed to generate summary. Please try again later.", place="summary-errors")
async def generate(call: Call, summary_writer: NamedDependency[SummaryWriter]) -> Template:
    return _summary(call, await summary_writer.make(call.user.id))


def _summary(call: CallContext, shown: ShownSummary) -> Template:
    html = Markup(to_html(shown.summary.content)) if shown.summary else ""  # noqa: S704  sanitised by to_html
    return call.page("summaries/display.html", shown=shown, html=html)
