"""Which stored text equals that of a record, or nearly. Pure; records are linked in the order they are stored."""

from dataclasses import dataclass, field
from hashlib import sha256

from headwater.articles.fingerprint import NEAR_BITS, distance
from headwater.articles.types import ContentChange, Extracted, NewContent, Plan, Saved, Stored
from headwater.types import ArticleId


@dataclass(frozen=True, slots=True)
class Original:
    """A stored text: of which article, and the SHA-256 of its text and HTML."""

    article_id: ArticleId
    body_hash: bytes


@dataclass(slots=True)
class KnownTexts:
    """The articles of known texts, in the database and in the records linked before."""

    originals: dict[bytes, list[Original]]  # by the hash of the text
    nearest: dict[ArticleId, ArticleId]  # the nearest stored text of a record
    fresh: list[tuple[int, ArticleId]] = field(default_factory=list[tuple[int, ArticleId]])

    def equal(self, record: NewContent, merged: Extracted) -> ArticleId | None:
        """Another article with exactly this text and HTML, which is shown for this one.

        The hash covers the words alone. A page with the same words may have other links, and readers of the one may
        not be readers of the other: a page that only a private feed lists may link to what its subscribers paid for.
        """
        originals = self.originals.get(merged.content_hash or b"", [])
        if any(one.article_id == record.article_id for one in originals):
            return None
        body = body_hash(merged) if originals else b""
        return next((one.article_id for one in originals if one.body_hash == body), None)

    def differs(self, record: NewContent, before: Stored) -> bool:
        """Whether a page that shares the text of another has the same words as before, and now its own HTML."""
        found = record.extracted
        if before.duplicate_of is None or not found.content_hash or found.content_hash != before.record.content_hash:
            return False
        return self.equal(record, found) != before.duplicate_of

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
            added = Original(article_id, body_hash(merged))
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


def body_hash(record: Extracted) -> bytes:
    """SHA-256 of text and HTML, as PostgreSQL computes it. Neither contains control characters."""
    return sha256(f"{record.text}\x1f{record.html}".encode("utf-8", "surrogatepass")).digest()
