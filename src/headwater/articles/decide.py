"""Who may write the shared record of an article. Pure."""

from headwater.errors import InvalidUrl
from headwater.urls import site_of, url_key


def is_of_site(url: str, key: bytes, site: str) -> bool:
    """Whether a feed that was served from `site` may write the shared record of the article under this URL and key.

    An entry without a page of its own borrows the URL of its site; its key is made of the feed's URL and the entry's
    id, so that only that feed lists it.
    """
    try:
        return _is_borrowed(url, key) or site_of(url) == site
    except InvalidUrl:
        return False


def _is_borrowed(url: str, key: bytes) -> bool:
    try:
        return url_key(url) != key
    except InvalidUrl:  # longer, as it is stored, than a URL may be that is given
        return False
