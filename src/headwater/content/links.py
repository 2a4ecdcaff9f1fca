"""Which stored text a record's is the same as, or nearly. Pure; told of each record in turn, as they are stored."""

from dataclasses import dataclass, field

from headwater.content.fingerprint import NEAR_BITS, distance
from headwater.content.types import Fate, NewContent, Plan, Saved, Stored
from headwater.types import ArticleId


@dataclass(slots=True)
class Links:
    """Who has which text, in the database and then in the records that were linked before."""

    originals: dict[bytes, ArticleId]
    alike: dict[ArticleId, ArticleId]  # the nearest stored text of a record
    fresh: list[tuple[int, ArticleId]] = field(default_factory=list[tuple[int, ArticleId]])

    def near(self, record: NewContent) -> ArticleId | None:
        """The text that this one is nearly, stored or of this batch."""
        if found := self.alike.get(record.article_id):
            return found
        simhash = record.extracted.simhash
        if simhash is None:
            return None
        close = (
            other for seen, other in self.fresh if other != record.article_id and distance(seen, simhash) <= NEAR_BITS
        )
        return next(close, None)


def link(record: NewContent, before: Stored | None, plan: Plan, links: Links) -> Saved:
    """What is stored of a record, and whose text it shares."""
    version = 1 if before is None else before.version + (plan.fate is not Fate.UNCHANGED)
    if not plan.takes_text and before is not None:
        changed = record.extracted.content_hash not in {None, before.content_hash}
        return Saved(record.article_id, plan.fate, version, changed, before.duplicate_of, before.near_duplicate_of)
    content_hash = plan.merged.content_hash
    original = links.originals.get(content_hash) if content_hash else None
    if original is not None and original != record.article_id:
        return Saved(
            record.article_id, plan.fate, version, text_changed=True, duplicate_of=original, near_duplicate_of=None
        )
    near = links.near(record)
    if content_hash:
        _forget(links, record.article_id)
        links.originals[content_hash] = record.article_id
    if plan.merged.simhash is not None and near is None:
        links.fresh.append((plan.merged.simhash, record.article_id))
    return Saved(record.article_id, plan.fate, version, text_changed=True, duplicate_of=None, near_duplicate_of=near)


def _forget(links: Links, article_id: ArticleId) -> None:
    """The text it had before is no longer to be found there."""
    for content_hash in [key for key, owner in links.originals.items() if owner == article_id]:
        del links.originals[content_hash]
