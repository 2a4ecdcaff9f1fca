"""Who may write the shared record of an article, and how its content changes when its page is read again. Pure.

Pages may be poorer the next time: behind a paywall, as a stub, without the data of a script. So no field is lost, and a
text is replaced only by one that is not much shorter: an editor shortens, a paywall removes most of it.
"""

from collections.abc import Sequence
from dataclasses import replace

from headwater.articles.types import ContentChange, Extracted, Finder, ListingFeed, Plan, Stored
from headwater.errors import InvalidUrl
from headwater.urls import masked, site_of, url_key

STILL_AS_RICH = 0.8  # of the words that are stored
FIELD_WORTH = 20  # words

_FIELDS = (
    "title", "description", "keywords", "authors", "published_at", "canonical_url", "section", "language", "image_url",
    "open_graph", "linked_data",
)  # fmt: skip


def is_private_feed(feed_url: str | None, *, is_public: bool) -> bool:
    """Whether a feed is a user's with a key in its URL: what it says, and what it lists, is for its subscribers."""
    return not is_public and feed_url is not None and masked(feed_url) != feed_url


def is_private(feeds: Sequence[ListingFeed]) -> bool:
    """Whether only private feeds list an article: users' feeds with a key in their URL. Its page may be private too."""
    return bool(feeds) and all(
        is_private_feed(one.feed_url, is_public=one.is_public) or (one.was_private and not one.is_public)
        for one in feeds
    )


def is_of_site(url: str, key: bytes, site: str) -> bool:
    """Whether a feed that was served from `site` may write the shared record of the article under this URL and key.

    An entry without a page of its own borrows the URL of its site; its key is made of the feed's URL and the entry's
    id, so that only that feed lists it. A private feed speaks for no site: `site` is empty.
    """
    try:
        return bool(site) and (_is_borrowed(url, key) or site_of(url) == site)
    except InvalidUrl:
        return False


def _is_borrowed(url: str, key: bytes) -> bool:
    try:
        return url_key(url) != key
    except InvalidUrl:  # longer, as it is stored, than a URL may be that is given
        return False


def richness(record: Extracted) -> int:
    """The value of a record: its words, and a bonus for every field."""
    return record.word_count + FIELD_WORTH * sum(bool(getattr(record, name)) for name in _FIELDS)


def plan_content(stored: Stored | None, new: Extracted) -> Plan:
    """Take the new record where it is as rich, keep the stored one where it is richer."""
    if stored is None:
        return Plan(ContentChange.NEW, new, takes_text=True)
    old = stored.record
    is_new_text = new.content_hash is not None and new.content_hash != old.content_hash
    takes_text = is_new_text and new.word_count >= STILL_AS_RICH * old.word_count
    merged = _merged(old, new, takes_text=takes_text)
    unchanged = not takes_text and all(_plain(getattr(old, name)) == _plain(getattr(merged, name)) for name in _FIELDS)
    change = ContentChange.UNCHANGED if unchanged else ContentChange.RENEWED if takes_text else ContentChange.ENRICHED
    return Plan(change, merged, takes_text)


def _merged(stored: Extracted, new: Extracted, *, takes_text: bool) -> Extracted:
    """Each field from the new record if its text is taken or the same, else from the stored one, unless it is empty."""
    prefers_new = takes_text or new.content_hash == stored.content_hash
    origin = {
        name: new if getattr(new, name) and (prefers_new or not getattr(stored, name)) else stored for name in _FIELDS
    }
    text = new if takes_text else stored
    found = {name: one.origins.get(name) for name, one in {**origin, "text": text}.items()}
    return replace(
        new,
        **{name: getattr(one, name) for name, one in origin.items()},
        origins={name: Finder(finder) for name, finder in found.items() if finder},
        word_count=text.word_count,
        content_hash=text.content_hash,
        simhash=text.simhash,
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple | list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
