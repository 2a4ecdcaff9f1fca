"""Which views are valid, and their order. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from headwater.errors import InvalidView, QueryInvalid
from headwater.library.plan import shelf_of
from headwater.library.types import ArticlesQuery
from headwater.query.grammar import parse
from headwater.query.show import show
from headwater.query.tree import all_of, leaves_of, wants_hidden
from headwater.query.types import Audience, InState, Node, OfCategory, OfSource, Query, StateField
from headwater.text import is_blank, one_line

NAME_MAX = 100
ICONS = (
    "view", "star", "flag", "bell", "bookmark", "bolt", "book", "chart", "code", "globe", "heart", "home", "leaf",
    "music", "news", "play",
)  # fmt: skip


def check_view(name: str, icon: str, query: str) -> tuple[str, str, Query]:
    """The name, icon and query of a view. An unknown icon becomes the plain one. Raises InvalidView."""
    name = one_line(name)
    name_problem, query_problem, parsed = "", None, None
    if is_blank(name):
        name_problem = "A view needs a name."
    elif len(name) > NAME_MAX:
        name_problem = f"A name has at most {NAME_MAX} characters."
    try:
        parsed = parse(query.strip(), Audience.READER)
    except QueryInvalid as error:
        query_problem = error
    if name_problem or parsed is None:
        raise InvalidView(name=name_problem, query=query_problem)
    return name, icon if icon in ICONS else ICONS[0], parsed


def listed_by(wanted: ArticlesQuery, tree: Node | None, *, view: str = "") -> tuple[ArticlesQuery, Node | None]:
    """The list that a page shows, and its query: that of the search, and of the view in which it searches. A view keeps
    to the list that is open, unless its query says `is:`. Raises QueryInvalid."""
    whole = tree
    shelf = shelf_of(wanted.shelf, tree)
    if view:
        saved = parse(view, Audience.READER).tree
        whole = all_of([saved, tree]) if tree else saved
        if any(isinstance(leaf, InState) for leaf in leaves_of(saved)):
            shelf = shelf_of(wanted.shelf, whole)
    return replace(wanted, shelf=shelf, with_hidden=whole is not None and wants_hidden(whole)), whole


def query_of_list(query: str, *, source_id: UUID | None, category: str, is_starred: bool) -> str:
    """The query of a list that a view is made from: what is searched, its feed or category, and stars."""
    try:
        parts = [parse(query, Audience.READER).tree] if query else []
    except QueryInvalid:
        return query
    if source_id:
        parts.append(OfSource(source_id))
    if category:
        parts.append(OfCategory(category))
    if is_starred and InState(StateField.STARRED) not in parts:
        parts.append(InState(StateField.STARRED))
    if parts[1:] or not query:
        return show(all_of(parts)) if parts else ""
    return query


def moved(ids: Sequence[UUID], moving: UUID, *, by: int) -> list[UUID]:
    """The order after one of these moves by so many places, as far as there are any."""
    left = [one for one in ids if one != moving]
    if len(left) == len(ids):
        return left
    at = min(max(0, list(ids).index(moving) + by), len(left))
    return [*left[:at], moving, *left[at:]]
