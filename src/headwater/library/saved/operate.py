"""Saving pages for later, and removing them.

The page of a URL is an article without a source: fetched by way of the frontier as any page, and visible to the readers
who saved it. Articles are written before URLs, as everywhere that writes both.
"""

from datetime import datetime

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import DAY, Quotas, spend
from headwater.articles.store import content, records
from headwater.articles.types import ListedEntry, NewArticle
from headwater.db import Connection, Database, set_user
from headwater.errors import Invalid, InvalidUrl, NotFound, TooManySaved
from headwater.frontier.keys import locate
from headwater.frontier.store import changes, listing, queue
from headwater.frontier.types import Origin, Submission, SubmitOutcome
from headwater.library.saved.decide import check_page, missing_text, needs_fetch
from headwater.library.saved.types import UNDONE_WITHIN, MissingText, SavedPage
from headwater.library.store import marks, subscriptions
from headwater.types import ArticleId, UserId
from headwater.urls import url_key


async def save_page(database: Database, *, user_id: UserId, address: str, quotas: Quotas, now: datetime) -> SavedPage:
    """Put a page into Read later, within the quota of a day. Raises Invalid, QuotaReached, TooManySaved."""
    url = check_page(address)
    await spend(database, user_id=user_id, what="saved pages", limit=Limit(quotas.saved_per_day, DAY), now=now)
    async with database.transaction() as conn:
        return await _save(conn, user_id=user_id, url=url, most=quotas.saved, now=now)


async def _save(conn: Connection, *, user_id: UserId, url: str, most: int, now: datetime) -> SavedPage:
    """The text of the page is fetched unless it is stored."""
    url = await queue.find_target(conn, url=url, now=now)
    known = await listing.find(conn, id=locate(url).key.id, now=now)
    article_id = await _article_of(conn, url, now)
    if not await content.has_text(conn, article_id=article_id):
        if known and needs_fetch(known, now):
            await changes.retry(conn, ids=[known.id], now=now, is_unread=True)
        else:
            await _queue(conn, url, now)
    await set_user(conn, user_id)
    return SavedPage(article_id, url, await keep(conn, user_id=user_id, article_id=article_id, most=most, now=now))


async def keep(conn: Connection, *, user_id: UserId, article_id: ArticleId, most: int, now: datetime) -> bool:
    """Put an article into Read later. False: it was there. Run under `Database.as_user`. Raises TooManySaved."""
    await subscriptions.lock(conn, user_id=user_id)
    if await marks.is_saved(conn, article_id=article_id):
        return False
    if await marks.count_saved(conn) >= most:
        raise TooManySaved(most)
    await marks.mark(conn, user_id=user_id, article_id=article_id, now=now, is_saved=True)
    return True


async def restore(conn: Connection, *, user_id: UserId, article_id: ArticleId, most: int, now: datetime) -> None:
    """Put back what was removed within the last day. Run under `Database.as_user`. Raises NotFound, TooManySaved."""
    await subscriptions.lock(conn, user_id=user_id)
    if await marks.count_saved(conn) >= most:
        raise TooManySaved(most)
    if not await marks.restore_saved(conn, article_id=article_id, since=now - UNDONE_WITHIN, now=now):
        raise NotFound("This can no longer be undone.")


async def explain_missing(conn: Connection, url: str, now: datetime) -> MissingText:
    """Why an article without text has none."""
    return missing_text(await listing.find(conn, id=locate(url).key.id, now=now), now)


async def follow_redirect(conn: Connection, *, from_url: str, to_url: str) -> None:
    """A page that readers saved redirects to another: that is the one they saved. Run under `Database.as_system`."""
    from_id = await records.find_by_url(conn, url_key=url_key(from_url))
    if from_id is None or await records.is_listed(conn, article_id=from_id):
        return
    try:
        to_key = url_key(to_url)
    except InvalidUrl:
        return
    await records.forget_expired(conn, url_key=to_key)
    if not await records.lock(conn, ids=[from_id]):
        return
    if await records.rename(conn, article_id=from_id, url=to_url, url_key=to_key):
        return
    to_id = await records.find_by_url(conn, url_key=to_key)
    if to_id is not None and to_id != from_id:
        await marks.move_saved(conn, from_id=from_id, to_id=to_id)
        await records.remove_unlisted(conn, ids=[from_id])


async def _article_of(conn: Connection, url: str, now: datetime) -> ArticleId:
    """The article of a URL; added if there is none, with nothing but the URL."""
    key = url_key(url)
    await records.forget_expired(conn, url_key=key)
    article = NewArticle(
        entry_id=url, url=url, url_key=key, title="", author=None, summary=None, content=None, published_at=None,
        is_own=False,
    )  # fmt: skip
    found = await records.keep_pages(conn, seen_at=now, pages=[ListedEntry(None, article)])
    return found[key]


async def _queue(conn: Connection, url: str, now: datetime) -> None:
    (result,) = await queue.submit(conn, submissions=[Submission(url, Origin.SAVED)], now=now)
    if result.result is SubmitOutcome.INVALID:
        raise Invalid(f"This page cannot be fetched: {result.reason}.")
