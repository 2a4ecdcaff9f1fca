"""Which address is saved, and what is said of a page without text. Pure."""

import re
from datetime import datetime, timedelta

from headwater.errors import Invalid, InvalidUrl
from headwater.frontier.decide import POISON
from headwater.frontier.types import FrontierUrl, Status
from headwater.library.saved.types import MissingText, TextState
from headwater.urls import complete_url

READ_WITHIN = timedelta(minutes=5)  # a fetched page
_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_REASONS = {
    "robots_blocked": "The site does not allow programs to fetch it.",
    "not_found": "The site says that it does not exist.",
    "gone": "The site says that it no longer exists.",
    "forbidden": "The site does not let Headwater read it.",
    "not_html": "It is not a web page.",
    "too_large": "It is too large.",
    "ssrf_blocked": "Its address is not public.",
    "no_text": "No text was found on it.",
}


def address_of(url: str, *texts: str) -> str:
    """The address that was shared: many apps send it in the text or the title. Empty: there is none."""
    if url.strip():
        return url.strip()
    return next((found.group().rstrip(".,;:!?)]}'") for text in texts if (found := _URL.search(text))), "")


def check_page(address: str) -> str:
    """An address that a reader typed or shared, as a URL. Raises Invalid."""
    if not address.strip():
        raise Invalid("Enter the address of a page.")
    try:
        return complete_url(address)
    except InvalidUrl as error:
        raise Invalid(f"This is not the address of a web page: {error.reason}.") from error


def needs_fetch(url: FrontierUrl, now: datetime) -> bool:
    """Whether a known URL without a text is fetched again, now that a reader saved it."""
    if url.status in {Status.FAILED, Status.DEAD}:
        return url.last_error != POISON
    return url.status is Status.FETCHED and not _is_recent(url, now)


def missing_text(url: FrontierUrl | None, now: datetime) -> MissingText:
    """Why an article whose URL has this state has no text."""
    if url is None:
        return MissingText(TextState.EMPTY)
    if url.status is Status.FAILED:
        return MissingText(TextState.FAILED, _reason(url))
    if url.status is Status.DEAD:
        return MissingText(TextState.REFUSED, _reason(url))
    if url.status is Status.FETCHED and not _is_recent(url, now):
        return MissingText(TextState.EMPTY)
    return MissingText(TextState.WAITING)


def _is_recent(url: FrontierUrl, now: datetime) -> bool:
    return url.last_fetched_at is not None and now - url.last_fetched_at < READ_WITHIN


def _reason(url: FrontierUrl) -> str:
    return _REASONS.get((url.last_error or "").partition(":")[0], "The site did not respond as expected.")
