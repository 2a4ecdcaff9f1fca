"""Which stored text equals that of a record, or nearly. Pure; records are linked in the order they are stored."""

from dataclasses import dataclass, field
from hashlib import sha256

from headwater.articles.fingerprint import NEAR_BITS, distance
from headwater.articles.types import ContentChange, Extracted, NewContent, Plan, Saved, Stored
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
    nearest: dict[ArticleId, ArticleId]  # the nearest stored text of a record
    fresh: list[tuple[int, ArticleId]] = field(default_factory=list[tuple[int, ArticleId]])

    def equal(self, record: NewContent, merged: Extracted) -> ArticleId | None:
        """Another article whose text and HTML may be shown for this one: of the same site, or with the same HTML.

        The hash covers the words alone. A copy on another site may have the same words and other links.
        """
        originals = self.originals.get(merged.content_hash or b"", [])
        if any(one.article_id == record.article_id for one in originals):
            return None
        html = html_hash(merged.html) if originals else b""
        return next((one.article_id for one in originals if one.html_hash == html or _is_same_site(one, record)), None)

    def near(self, record: NewContent) -> ArticleId | None:
        """A near-duplicate of this text, stored or of this batch."""
        if found := self.nearest.get(record.article_id):
            return found
        simhash = record.extracted.simhash
        if simhash is None:
            return None
        others = ((seen, other) for seen, other in self.fresh if other != record.article_id)
        return next((other for seen, other in others if distance(seen, simhash) <= NEAR_BITS), None)

    def add(self, record: NewContent, merged: Extracted, *, is_near: bool) -> None:
        """The article has this text from now on, and no longer the one it had before."""
        article_id = record.article_id
        if merged.content_hash:
            for content_hash, originals in self.originals.items():
                self.originals[content_hash] = [one for one in originals if one.article_id != article_id]
            added = Original(article_id, record.url, html_hash(merged.html))
            self.originals.setdefault(merged.content_hash, []).append(added)
        if merged.simhash is not None and not is_near:
            self.fresh.append((merged.simhash, article_id))


def link(record: NewContent, before: Stored | None, plan: Plan, known: KnownTexts) -> Saved:
    """What is stored, and which article has the same text."""
    version = 1 if before is None else before.version + (plan.change is not ContentChange.UNCHANGED)
    if not plan.takes_text and before is not None:
        changed = record.extracted.content_hash not in {None, before.record.content_hash}
        return Saved(record.article_id, plan.change, version, changed, before.duplicate_of, before.near_duplicate_of)
    original, near = known.equal(record, plan.merged), None
    if original is None:
        near = known.near(record)
        known.add(record, plan.merged, is_near=near is not None)
    return Saved(
        record.article_id, plan.change, version, text_changed=True, duplicate_of=original, near_duplicate_of=near
    )


def html_hash(html: str) -> bytes:
    """SHA-256, as PostgreSQL computes it."""
    return sha256(html.encode("utf-8", "surrogatepass")).digest()


def _is_same_site(original: Original, record: NewContent) -> bool:
    try:
        return site_of(original.url) == site_of(record.url)
    except InvalidUrl:
        return False
