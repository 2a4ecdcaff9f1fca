"""Which feeds and categories are valid, and the number of pages of a list. Pure."""

import re

from headwater.errors import InvalidFeed, InvalidUrl
from headwater.text import is_blank
from headwater.urls import parse_url

NAME_MAX = 255
CATEGORY_MAX = 100

_WEB = re.compile(r"https?://", re.IGNORECASE)


def check_feed(name: str, url: str) -> tuple[str, str]:
    """The name and URL of a feed, trimmed. Raises InvalidFeed, with seed 002's words for each field."""
    name, url = name.strip(), url.strip()
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
    category = " ".join(category.split())
    if len(category) > CATEGORY_MAX:
        raise InvalidFeed(name=f"A category has at most {CATEGORY_MAX} characters")
    return category or None


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
