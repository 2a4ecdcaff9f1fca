"""/admin/palette: what the command palette offers for a text: pages, sources and actions."""

from collections.abc import Sequence
from dataclasses import dataclass

from litestar import get
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call
from headwater.sources.store.sources import search_labels
from headwater.sources.types import Label
from headwater.web.errors import fragment
from headwater.web.query import search_text

TEXT_MAX = 100
SOURCES_MOST = 6
ITEMS_MOST = 12


@dataclass(frozen=True, slots=True)
class PaletteItem:
    """One thing to open, or to do: an action is sent by POST."""

    name: str
    path: str
    kind: str = "Page"
    role: Role = Role.SUPER_ADMIN
    is_action: bool = False


PAGES = (
    PaletteItem("Health", "/admin"), PaletteItem("Sources", "/admin/sources"),
    PaletteItem("Crawl queue", "/admin/frontier"), PaletteItem("Moderation", "/admin/moderation", role=Role.MODERATOR),
    PaletteItem("Blocked domains", "/admin/moderation/domains", role=Role.MODERATOR),
    PaletteItem("Labels", "/admin/labels", role=Role.MODERATOR),
    PaletteItem("Review labels", "/admin/labels/review", role=Role.MODERATOR),
    PaletteItem("Rules", "/admin/rules", role=Role.MODERATOR),
    PaletteItem("Stories", "/admin/stories", role=Role.MODERATOR),
    PaletteItem("Channels", "/admin/channels", role=Role.MODERATOR), PaletteItem("Popularity", "/admin/popularity"),
    PaletteItem("AI usage", "/admin/ai-usage"), PaletteItem("Users", "/admin/people"),
    PaletteItem("Audit log", "/admin/audit"), PaletteItem("Settings", "/admin/settings"),
    PaletteItem("Alerts", "/admin/alerts"), PaletteItem("Design", "/admin/design"),
    PaletteItem("Sources that need you", "/admin/sources?attention=yes", "List"),
    PaletteItem("Failing sources", "/admin/sources?status=failing", "List"),
    PaletteItem("Auto-disabled sources", "/admin/sources?status=auto_disabled", "List"),
    PaletteItem("Noisiest sources", "/admin/sources?sort=-articles", "List"),
    PaletteItem("Given-up URLs", "/admin/frontier?status=dead", "List"),
    PaletteItem("Add a source", "/admin/sources#add", "Action"),
    PaletteItem("Export sources as CSV", "/admin/sources.csv", "Action"),
)  # fmt: skip


@fragment(get, "/admin/palette", "Failed to search", role=Role.MODERATOR)
async def palette(call: Call, q: FromQuery[str] = "") -> Template:
    [text] = search_text(q, most=TEXT_MAX)
    found: Sequence[Label] = ()
    if text and call.user.role is Role.SUPER_ADMIN:
        async with call.database.transaction() as conn:
            found = await search_labels(conn, text=text, limit=SOURCES_MOST)
    return call.page("admin/palette_items.html", items=items_for(text, call.user.role, found))


def items_for(text: str, role: Role, sources: Sequence[Label]) -> list[PaletteItem]:
    """What fits a text, best first: names that begin with it, then sources, then actions on the first source. Pure."""
    folded = text.casefold()
    pages = [one for one in PAGES if role.includes(one.role) and folded in one.name.casefold()]
    pages.sort(key=lambda one: not one.name.casefold().startswith(folded))
    offered = [PaletteItem(one.name, f"/admin/sources/{one.id}", "Source") for one in sources]
    if len(sources) == 1:
        (only,) = sources
        actions = (("refresh", f"Poll {only.name} now"), ("enable", f"Enable {only.name}"))
        path = f"/admin/sources/{only.id}"
        offered += [PaletteItem(name, f"{path}/{action}", "Action", is_action=True) for action, name in actions]
    room = ITEMS_MOST - len(offered)
    return [*pages[:room], *offered]
