"""Values of query strings and forms, as sent by a browser."""

from typing import Any

from litestar import Request

from headwater.errors import Invalid


def is_htmx(request: Request[Any, Any, Any]) -> bool:
    """Whether htmx sent the request, and takes a fragment."""
    return "hx-request" in request.headers


def parse_number(text: str, *, digits: int = 6) -> int | None:
    """A whole number of ASCII digits; None if it is not one or too long."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def search_text(*texts: str, most: int) -> list[str]:
    """Search texts without surrounding whitespace. Raises Invalid."""
    if any(len(text) > most or "\0" in text for text in texts):
        raise Invalid(f"A search text has at most {most} characters.")
    return [text.strip() for text in texts]
