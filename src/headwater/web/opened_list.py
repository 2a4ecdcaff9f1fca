"""The list that a request is about: its search box, its view, what it finds and in which order."""

from dataclasses import dataclass, replace
from uuid import UUID

from headwater.accounts.preferences.types import SortOrder
from headwater.asgi.handlers import CallContext
from headwater.db import Connection
from headwater.library import browse
from headwater.library.types import ArticlesQuery, StoryPage
from headwater.library.views.decide import listed_by
from headwater.library.views.operate import require_view
from headwater.library.views.types import SavedView
from headwater.query.types import Node
from headwater.web.query import parse_id
from headwater.web.search_box import SearchBox, read_box


@dataclass(frozen=True, slots=True)
class OpenedList:
    box: SearchBox
    view: SavedView | None
    query: ArticlesQuery
    tree: Node | None

    @property
    def view_id(self) -> UUID | None:
        return self.view.id if self.view else None


async def open_list(conn: Connection, call: CallContext, wanted: ArticlesQuery, view: str) -> OpenedList:
    """Raises Invalid, NotFound."""
    box, view_id = read_box(call.request.query_params), parse_id(view)
    opened = await require_view(conn, view_id) if view_id else None
    query, tree = listed_by(wanted, box.tree, view=opened.query if opened else "")
    is_oldest_first = call.preferences.sort_order is SortOrder.OLDEST
    return OpenedList(box, opened, replace(query, is_oldest_first=is_oldest_first), tree)


async def read_page(conn: Connection, call: CallContext, opened: OpenedList, *, groups_stories: bool) -> StoryPage:
    """A page of it; an empty one where its search box cannot be read."""
    if opened.box.misread is not None:
        return StoryPage([], None)
    return await browse.browse(conn, query=opened.query, tree=opened.tree, now=call.now, groups_stories=groups_stories)
