"""Which stored text equals that of a record, or nearly. Pure; records are linked in the order they are stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from headwater.articles.fingerprint import NEAR_BITS, distance
from headwater.articles.types import ContentChange, NewContent, Plan, Saved, Stored
from headwater.errors import InvalidUrl
from headwater.types import ArticleId
from headwater.urls import site_of


@dataclass(frozen=True, slots=True)
class Original:
    """A stored text: of which article, under which URL, and the SHA-256 of its HTML."""

    article_id: ArticleId
    url: str
    html_hash: bytes


@dataclass(slots=True)
class KnownTexts:
    """The articles of known texts, in the database and in the records linked before."""

    originals: dict[bytes, list[Original]]  # by the hash of the text
    alike: dict[ArticleId, ArticleId]  # the nearest stored text of a record
    fresh: list[tuple[int, ArticleId]] = field(default_factory=list[tuple[int, ArticleId]])

    def near(self, record: NewContent) -> ArticleId | None:
        """A near-duplicate of this text, stored or of this batch."""
        if found := self.alike.get(record.article_id):
            return found
        simhash = record.extracted.simhash
        if simhash is None:
            return None
        close = (
            other for seen, other in self.fresh if other != record.article_id and distance(seen, simhash) <= NEAR_BITS
        )
        return next(close, None)


def link(record: NewContent, before: Stored | None, plan: Plan, known: KnownTexts) -> Saved:
    """What is stored, and which article has the same text."""
    version = 1 if before is None else before.version + (plan.fate is not ContentChange.UNCHANGED)
    if not plan.takes_text and before is not None:
        changed = record.extracted.content_hash not in {None, before.record.content_hash}
        return Saved(record.article_id, plan.fate, version, changed, before.duplicate_of, before.near_duplicate_of)
    content_hash = plan.merged.content_hash
    originals = known.originals.get(content_hash, []) if content_hash else []
    original = _shared_original(record, plan, originals)
    if original is not None and original != record.article_id:
        return Saved(
            record.article_id, plan.fate, version, text_changed=True, duplicate_of=original, near_duplicate_of=None
        )
    near = known.near(record)
    if content_hash:
        _forget(known, record.article_id)
        kept = Original(record.article_id, record.url, html_hash(plan.merged.html))
        known.originals.setdefault(content_hash, []).append(kept)
    if plan.merged.simhash is not None and near is None:
        known.fresh.append((plan.merged.simhash, record.article_id))
    return Saved(record.article_id, plan.fate, version, text_changed=True, duplicate_of=None, near_duplicate_of=near)


def html_hash(html: str) -> bytes:
    """SHA-256, as PostgreSQL computes it."""
    return sha256(html.encode("utf-8", "surrogatepass")).digest()


def _shared_original(record: NewContent, plan: Plan, originals: Sequence[Original]) -> ArticleId | None:
    """The article whose stored text and HTML may be shown for this one: itself, one of its site, or an equal one.

    The hash covers the words alone. A copy on another site may have the same words and other links.
    """
    if not originals:
        return None
    for one in originals:
        if one.article_id == record.article_id:
            return one.article_id
    html = html_hash(plan.merged.html)
    return next((one.article_id for one in originals if one.html_hash == html or _is_same_site(one, record)), None)


def _is_same_site(original: Original, record: NewContent) -> bool:
    try:
        return site_of(original.url) == site_of(record.url)
    except InvalidUrl:
        return False


def _forget(known: KnownTexts, article_id: ArticleId) -> None:
    """The article no longer has the text it had before."""
    for content_hash, originals in known.originals.items():
        known.originals[content_hash] = [one for one in originals if one.article_id != article_id]
