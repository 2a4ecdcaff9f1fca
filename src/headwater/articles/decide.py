"""Who may write the shared record of an article, and what becomes of its content when its page is read again. Pure.

Pages come back poorer: behind a paywall, as a stub, without their script's data. So no field that was once found is
lost, and a text is replaced only by one that is not much shorter: an editor shortens, a paywall removes most of it.
"""

from dataclasses import replace

from headwater.articles.types import Extracted, Fate, Finder, Plan, Stored
from headwater.errors import InvalidUrl
from headwater.urls import site_of, url_key

STILL_AS_RICH = 0.8  # of the words that are stored
FIELD_WORTH = 20  # words

_FIELDS = (
    "title",
    "description",
    "keywords",
    "authors",
    "published_at",
    "canonical_url",
    "section",
    "language",
    "image_url",
    "open_graph",
    "linked_data",
)


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


def richness(record: Extracted) -> int:
    """How much a record tells: its words, and something for every field."""
    return record.word_count + FIELD_WORTH * sum(bool(getattr(record, name)) for name in _FIELDS)


def plan_content(stored: Stored | None, new: Extracted) -> Plan:
    """Take what is new and as rich, keep what is richer."""
    if stored is None:
        return Plan(Fate.NEW, new, takes_text=True, richness=richness(new))
    takes_text = _takes_text(stored, new)
    merged = _merged(stored, new, takes_text=takes_text)
    unchanged = not takes_text and _tells_the_same(stored, merged)
    fate = Fate.UNCHANGED if unchanged else Fate.RENEWED if takes_text else Fate.ENRICHED
    return Plan(fate, merged, takes_text, richness(merged))


def _takes_text(stored: Stored, new: Extracted) -> bool:
    if new.content_hash is None or new.content_hash == stored.content_hash:
        return False
    return new.word_count >= STILL_AS_RICH * stored.word_count


def _merged(stored: Stored, new: Extracted, *, takes_text: bool) -> Extracted:
    """Every field from the reading that tells more: the new one where its text is taken or the same, else the old."""
    prefers_new = takes_text or new.content_hash == stored.content_hash
    fields: dict[str, object] = {}
    origins: dict[str, Finder] = {}
    for name in _FIELDS:
        from_new = bool(getattr(new, name)) and (prefers_new or not getattr(stored, name))
        fields[name] = getattr(new if from_new else stored, name)
        if origin := new.origins.get(name) if from_new else stored.origins.get(name):
            origins[name] = Finder(origin)
    if origin := new.origins.get("text") if takes_text else stored.origins.get("text"):
        origins["text"] = Finder(origin)
    text = new if takes_text else stored
    return replace(
        new,
        **fields,  # pyright: ignore[reportArgumentType]  of either record, each under its own name
        origins=origins,
        word_count=text.word_count,
        content_hash=text.content_hash,
        simhash=text.simhash,
    )


def _tells_the_same(stored: Stored, merged: Extracted) -> bool:
    return all(_plain(getattr(stored, name)) == _plain(getattr(merged, name)) for name in _FIELDS)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple | list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
