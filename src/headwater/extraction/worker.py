"""Extracting: claims fetched pages, reads each in the sandbox, writes articles and their content.

Every exit path writes an outcome and deletes the page. One that cannot be read, or whose processes died, becomes a dead
URL of the frontier with a reason, and is never read again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headwater.articles.store import content, state
from headwater.articles.store import records as records_store
from headwater.articles.types import ContentChange, Extracted, ListedEntry, NewArticle, NewContent
from headwater.bodies import store as bodies
from headwater.bodies.queue import BodyQueue
from headwater.bodies.types import ClaimedBody
from headwater.db import Connection, Database, WriteBatch
from headwater.documents import store as documents
from headwater.documents.types import Action, DocumentEntry
from headwater.errors import HeadwaterError
from headwater.extraction import decide, store
from headwater.extraction.decide import KnownArticle, alias_of, keys_of
from headwater.extraction.extract import extract
from headwater.extraction.types import ClaimedPage, ExtractionOptions, ExtractionReport, Failed, Failure, UnreadablePage
from headwater.frontier.keys import locate
from headwater.frontier.store import changes
from headwater.frontier.store.listing import find_several
from headwater.frontier.types import FrontierOptions
from headwater.images import store as images
from headwater.images.types import URL_MAX, WantedLead
from headwater.observability.log import get_logger
from headwater.reading.links import link_target
from headwater.sandbox import Overrun, Sandbox
from headwater.types import ArticleId, Clock, PageKind
from headwater.urls import url_key

log = get_logger()

WRITTEN_AT_ONCE = 50
# Of one page: then it is not read again. Most are lost for another reason, such as a database that restarts.
MOST_LOST_PROCESSES = 5


@dataclass(frozen=True, slots=True)
class _ReadPage:
    page: ClaimedBody
    found: Extracted | Failed


@dataclass(frozen=True, slots=True)
class _Placed:
    """A record, and its article: a stored one, or a new one under this URL."""

    page: ClaimedBody
    found: Extracted
    url: str
    url_key: bytes
    known: KnownArticle | None


class Extractor:
    name = "extracting"

    def __init__(
        self, database: Database, sandbox: Sandbox, clock: Clock, options: ExtractionOptions, frontier: FrontierOptions
    ) -> None:
        self._database, self._sandbox, self._clock = database, sandbox, clock
        self._frontier_options = frontier
        self._waiting = BodyQueue(database, clock, PageKind.ARTICLE, options.lease)
        self._batch = WriteBatch[_ReadPage, ExtractionReport](self._write, most=WRITTEN_AT_ONCE)
        self.concurrency = options.concurrency

    async def claim(self, limit: int) -> Sequence[ClaimedPage]:
        """Up to `limit` fetched pages, leased. Raises DatabaseUnavailable."""
        claimed = await self._waiting.claim(limit)
        sources = {page.source_id for page in claimed if page.source_id is not None}
        async with self._database.transaction() as conn:
            selectors = await store.find_selectors(conn, source_ids=list(sources)) if sources else {}
        pages = [(page, selectors.get(page.source_id) if page.source_id else None) for page in claimed]
        return [ClaimedPage(page, decide.selectors_for(page.final_url, its)) for page, its in pages]

    async def lag(self) -> timedelta:
        """How long the longest-waiting page has been waiting. Raises DatabaseUnavailable."""
        return await self._waiting.lag()

    async def work(self, claimed: ClaimedPage) -> ExtractionReport:
        """Read one page and write the outcome. Raises DatabaseUnavailable: the lease then frees the page."""
        read = _ReadPage(claimed.page, await self._read(claimed))
        try:
            report = await self._batch.add(read)
        except HeadwaterError:
            raise
        except Exception as error:  # noqa: BLE001  see _broke
            report = await self._batch.add(replace(read, found=_broke(claimed.page, error)))
        _log(report)
        return report

    async def _read(self, claimed: ClaimedPage) -> Extracted | Failed:
        page = claimed.page
        if page.attempts >= MOST_LOST_PROCESSES:
            return Failed(Failure.OVERRUN, f"Its processes died, {page.attempts} in a row.")
        try:
            return await self._sandbox.run(
                extract, page.body, url=page.final_url, content_type=page.content_type, selectors=claimed.selectors
            )
        except UnreadablePage as error:
            return Failed(Failure.UNREADABLE, str(error))
        except Overrun as error:
            return Failed(Failure.OVERRUN, error.reason)
        except Exception as error:  # noqa: BLE001  see _broke
            return _broke(page, error)

    async def _write(self, batch: Sequence[_ReadPage]) -> Sequence[ExtractionReport]:
        now = self._clock()
        async with self._database.transaction() as conn:
            # First: nothing is stored of a page that another worker has claimed since, or whose source was deleted.
            ours = set(await bodies.done(conn, bodies=[read.page for read in batch]))
            mine = [read for read in batch if read.page.id in ours]
            of = [read.page.source_id for read in mine if read.page.source_id is not None]
            kept = await store.hold_sources(conn, source_ids=of)
            mine = [read for read in mine if read.page.source_id is None or read.page.source_id in kept]
            placed = await self._place(conn, mine, now)
            ids = await records_store.keep_pages(conn, seen_at=now, pages=[_listed(one) for one in placed])
            placed = [one for one in placed if one.url_key in ids]  # without those that retention has deleted
            records = [NewContent(ids[one.url_key], one.url, one.url_key, one.found) for one in placed]
            saved = await content.save(conn, records=records, now=now)
            by_page = {one.page.id: outcome for one, outcome in zip(placed, saved, strict=True)}
            settled = [decide.settle(read.page.url, read.found, by_page.get(read.page.id)) for read in mine]
            await changes.settle(conn, contents=settled, now=now, options=self._frontier_options)
            changed = [
                DocumentEntry(record.article_id, record.url_key, one.version, Action.INDEX)
                for record, one in zip(records, saved, strict=True)
                if one.change is not ContentChange.UNCHANGED
            ]
            await images.want_leads(conn, leads=_leads(placed, ids), now=now)
            await documents.enqueue(conn, entries=changed, now=now)
            await state.queue_classifying(conn, ids=[one.article_id for one in changed], at=now)
        return [ExtractionReport(read.page.url, read.found, by_page.get(read.page.id)) for read in batch]

    async def _place(self, conn: Connection, batch: Sequence[_ReadPage], now: datetime) -> list[_Placed]:
        """The article of each record. A page without text creates none; it only adds to a stored one. Nor does one that
        only readers kept, if they removed it since: it has no article of its own, and is not that of its canonical URL,
        which others may read."""
        known = await _known(conn, batch)
        saved = await _find_saved(conn, [read.page.url for read in batch if read.page.source_id is None], now)
        placed: list[_Placed] = []
        for read in batch:
            if isinstance(read.found, Failed):
                continue
            page, found = read.page, read.found
            alias = None if page.url in saved else alias_of(page.final_url, found.canonical_url)
            url, article = decide.choose_article(page.url, page.final_url, alias, found, known)
            if article is None and (found.content_hash is None or page.url in saved):
                continue
            key = article.url_key if article else url_key(url)
            placed.append(_Placed(page, found, url, key, article))
            known.setdefault(key, decide.about_to_be(url, found))
        return placed


async def _find_saved(conn: Connection, urls: Sequence[str], now: datetime) -> set[str]:
    """Those of these URLs that are queued only because readers saved or starred them, or are no longer queued."""
    ids = {locate(url).key.id: url for url in urls}
    found = await find_several(conn, ids=list(ids), now=now) if ids else {}
    return {url for one, url in ids.items() if one not in found or found[one].is_saved}


async def _known(conn: Connection, batch: Sequence[_ReadPage]) -> dict[bytes, KnownArticle]:
    """The stored articles that these pages may be, by every key that may refer to them."""
    of, entries = [read.page.source_id for read in batch], [read.page.url for read in batch]
    listed = await store.find_listed(conn, source_ids=of, entry_ids=entries)
    urls: list[str | None] = []
    for page, found in ((read.page, read.found) for read in batch):
        canonical = None if isinstance(found, Failed) else found.canonical_url
        urls += [page.url, page.final_url, alias_of(page.final_url, canonical)]
    known = await store.find_articles(conn, url_keys=[*keys_of(urls), *listed.values()])
    for (_, entry_id), key in listed.items():
        for alias in keys_of([entry_id]):
            if key in known:
                known.setdefault(alias, known[key])
    return known


def _listed(placed: _Placed) -> ListedEntry:
    """The article as its page describes it; for a stored one only the missing fields, since feeds take precedence."""
    found, known, page = placed.found, placed.known, placed.page
    author = ", ".join(found.authors) or None
    article = NewArticle(
        entry_id=page.url,
        url=placed.url,
        url_key=placed.url_key,
        title=found.title or "" if known is None or not known.title else "",
        author=author if known is None or known.author is None else None,
        summary=found.description if known is None or known.summary is None else None,
        content=None,
        published_at=found.published_at if known is None or known.published_at is None else None,
        is_own=None,
    )
    return ListedEntry(page.source_id, article)


def _leads(placed: Sequence[_Placed], ids: Mapping[bytes, ArticleId]) -> list[WantedLead]:
    """The lead images that pages name."""
    named = [(ids[one.url_key], link_target(one.found.image_url, one.page.final_url)) for one in placed]
    return [WantedLead(article_id, url) for article_id, url in named if url and len(url) <= URL_MAX]


def _log(report: ExtractionReport) -> None:
    if isinstance(report.found, Failed):
        log.warning("page not read", url=report.url, reason=report.found.failure.value, detail=report.found.detail)
        return
    change = report.saved.change.value if report.saved else "nothing kept"
    log.debug("page read", url=report.url, words=report.found.word_count, change=change)


def _broke(page: ClaimedBody, error: Exception) -> Failed:
    """A bug of ours must not leave the page without an outcome."""
    log.error("extraction broke", url=page.url, exc_info=error)
    return Failed(Failure.BROKE, f"Headwater itself failed: {type(error).__name__}.")
