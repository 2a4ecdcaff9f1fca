"""Which feeds and categories are valid, and the number of pages of a list. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headwater.errors import Invalid, InvalidFeed, InvalidUrl, TooManyTags
from headwater.library.types import CategoryNode, UnreadFeed
from headwater.text import composed, is_blank, one_line
from headwater.urls import parse_url

NAME_MAX = 255
CATEGORY_MAX = 100
TAG_MAX = 50

_WEB = re.compile(r"https?://", re.IGNORECASE)


def check_feed(name: str, url: str) -> tuple[str, str]:
    """The name and URL of a feed, trimmed. Raises InvalidFeed, with seed 002's words for each field."""
    name, url = composed(name.strip()), url.strip()
    name_problem, url_problem = "", _url_problem(url)
    if is_blank(name):
        name_problem = "Feed name is required"
    elif len(name) > NAME_MAX:
        name_problem = "Feed name must be less than 255 characters"
    if name_problem or url_problem:
        raise InvalidFeed(name=name_problem, url=url_problem)
    return name, parse_url(url)


def check_category(category: str) -> str | None:
    """The name of a category, trimmed; None if it is empty. Raises InvalidFeed."""
    category = nested(category)
    if len(category) > CATEGORY_MAX:
        raise InvalidFeed(name=f"A category has at most {CATEGORY_MAX} characters")
    return category or None


def check_tag(tag: str) -> str:
    """A tag as it is stored: in lower case, without `#` in front. Raises Invalid."""
    tag = one_line(tag.replace('"', " ")).lstrip("# ").lower()
    if is_blank(tag):
        raise Invalid("A tag needs a letter or digit.")
    if len(tag) > TAG_MAX:
        raise Invalid(f"A tag has at most {TAG_MAX} characters.")
    return tag


def check_tags(text: str, *, most: int) -> list[str]:
    """Tags that are separated by commas, each once. Raises Invalid, TooManyTags."""
    tags = list(dict.fromkeys(check_tag(tag) for tag in text.split(",") if not is_blank(tag)))
    if len(tags) > most:
        raise TooManyTags(most)
    return tags


def nest_feeds(feeds: Sequence[UnreadFeed], *, most: int) -> list[CategoryNode]:
    """The feeds that have a category, as a tree, by name. Unread articles of a feed are counted up to `most`."""
    root = _Branch("", "", [], {})
    for feed in feeds:
        place = root
        for part in feed.category.split("/") if feed.category else ():
            path = f"{place.path}/{part}" if place.path else part
            place = place.nested.setdefault(part.lower(), _Branch(part, path, [], {}))
        place.feeds.append(feed)
    return _nodes(root.nested, most)


class _Branch(NamedTuple):
    name: str
    path: str
    feeds: list[UnreadFeed]
    nested: "dict[str, _Branch]"


def _nodes(branches: Mapping[str, _Branch], most: int) -> list[CategoryNode]:
    found: list[CategoryNode] = []
    for _, one in sorted(branches.items()):
        nodes = _nodes(one.nested, most)
        unread = sum(feed.unread for feed in one.feeds) + sum(node.unread for node in nodes)
        is_least = any(feed.unread >= most for feed in one.feeds) or any(node.is_least for node in nodes)
        found.append(CategoryNode(one.name, one.path, one.feeds, nodes, unread, is_least))
    return found


def nested(category: str) -> str:
    """A category as it is stored. `/` nests: `World / News` is `World/News`."""
    parts = (" ".join(part.split()) for part in composed(category).split("/"))
    return "/".join(part for part in parts if part)


def page_count(total: int, size: int) -> int:
    """How many pages so many lines make; an empty list has one page."""
    return max(1, -(-total // size))


def _url_problem(url: str) -> str:
    if not url:
        return "Feed URL is required"
    problem = "Invalid URL format. Must start with http:// or https://"
    if not _WEB.match(url):
        return problem
    try:
        parse_url(url)
    except InvalidUrl as error:
        is_explained = "longer" in error.reason or "password" in error.reason
        return f"Invalid URL format: {error.reason}" if is_explained else problem
    return ""
