"""/admin/design: every component of the pages on one page, to look at them together."""

from litestar import get
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call
from headwater.types import SourceState
from headwater.web.tables import Sort

COLOURS = (
    *("paper", "raised", "sunk", "shallow", "blush", "ink", "quiet", "line", "edge", "water", "on-water"),
    *("star", "good", "wait", "bad"),
)


@get("/admin/design", role=Role.SUPER_ADMIN, sync_to_thread=False)
def design(call: Call) -> Template:
    return call.page("admin/design.html", colours=COLOURS, states=list(SourceState), sort=Sort("name"))
