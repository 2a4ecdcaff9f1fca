"""What only private feeds of users list is not in the search index, and no channel sends it. Each way in which an
article becomes visible to everyone, or hidden, reaches the index."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from headwater.accounts.quotas import Quotas
from headwater.articles.store import records, state
from headwater.articles.types import ListedEntry
from headwater.audit.types import COMMAND_LINE
from headwater.channels.route import router_of
from headwater.channels.types import DestinationKind
from headwater.channels.visible import route_deleted, submit_urls
from headwater.db import Database
from headwater.documents import store as documents
from headwater.frontier.keys import locate
from headwater.frontier.store import changes as frontier
from headwater.frontier.store import queue as frontier_queue
from headwater.frontier.types import Origin, Submission
from headwater.library.saved.operate import save_page
from headwater.library.store import marks
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.reading import count_documents, read_feed, read_messages
from headwater.publishing.worker import Indexer
from headwater.removal.worker import Remover
from headwater.sources import operate
from headwater.sources.custom import moderate
from headwater.sources.custom import store as custom
from headwater.sources.custom.types import Proposal, Sample
from headwater.sources.mover import Mover
from headwater.sources.store import sources
from headwater.sources.store.custom import set_moderation
from headwater.sources.subscribe import add_feed
from headwater.sources.types import Changes
from headwater.types import ArticleId, SourceId, UserId
from tests.builders import a_reader, a_source, an_article
from tests.channels.given import a_channel
from tests.clock import START, MovableClock
from tests.headwater_process import PATIENCE_S
from tests.owner import as_owner
from tests.publishing.conftest import OPTIONS
from tests.publishing.stored import extract, extract_text
from tests.publishing.stub_elasticsearch import StubElasticsearch
from tests.removals import remove_all

pytestmark = pytest.mark.database

URL = "https://paid.example/1"
KEYED = "https://paid.example/feed?key=0123456789abcdef"
PLAIN = "https://paid.example/feed"
SAMPLE = Sample("Paid", "RSS 2.0", None, 1, None, ())


class Desk:
    """An index, and a user whose private feed lists an article."""

    def __init__(self, database: Database, indexer: Indexer, stub: StubElasticsearch, clock: MovableClock) -> None:
        self.database, self.indexer, self.stub, self.clock = database, indexer, stub, clock
        self.user_id: UserId
        self.source_id: SourceId
        self.article_id: ArticleId

    async def list_privately(self) -> None:
        self.user_id = await a_reader(self.database)
        async with self.database.as_system() as conn:
            feed = await add_feed(conn, user_id=self.user_id, name="Paid", url=KEYED, category="", now=START)
        self.source_id = feed.source_id
        async with self.database.transaction() as conn:
            self.article_id = await extract(conn, URL)
        await self.settle()

    async def list_in(self, source_id: SourceId) -> None:
        async with self.database.transaction() as conn:
            await records.keep(conn, seen_at=self.clock(), listed=[ListedEntry(source_id, an_article(URL))])

    async def settle(self) -> None:
        """What the stages `removing`, `classifying` and `delivering` do in an hour."""
        self.clock.move(hours=1)
        await remove_all(self.database, self.clock)
        async with self.database.transaction() as conn:
            cur = await conn.execute(
                """
                UPDATE article_state SET classify_at = NULL, classified_at = %(now)s
                WHERE classify_at <= %(now)s RETURNING article_id
                """,
                {"now": self.clock()},
            )
            due = [row[0] for row in await cur.fetchall()]
            await router_of(self.database).route(conn, article_ids=due, now=self.clock())
        while await self.indexer.due():
            for batch in await self.indexer.claim(1):
                await self.indexer.work(batch)

    async def fill(self) -> None:
        """Until the index is filled. That waits for older transactions of the whole server."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for batch in await self.indexer.claim(1):
                    await self.indexer.work(batch)
                async with self.database.transaction() as conn:
                    counts = await documents.count(conn)
                if not (counts.is_filling or counts.waiting):
                    return
                await asyncio.sleep(0.01)

    @property
    def indexed(self) -> set[str]:
        return {document["url"] for document in self.stub.documents("raw_content").values()}

    @property
    def names(self) -> list[str | None]:
        return [document.get("source_name") for document in self.stub.documents("raw_content").values()]


@pytest.fixture
async def desk(database: Database, index: SearchIndex, stub: StubElasticsearch, clock: MovableClock) -> Desk:
    desk = Desk(database, Indexer(database, index, clock, OPTIONS), stub, clock)
    await desk.indexer.claim(1)  # from here on changes are queued
    await desk.list_privately()
    return desk


async def test_what_only_private_feeds_list_is_never_sent_to_the_index(desk: Desk) -> None:
    assert desk.indexed == set()
    assert "Some words" not in "".join(str(call.operations) for call in desk.stub.calls)


async def test_filling_an_index_again_deletes_what_it_must_not_have(database: Database, desk: Desk) -> None:
    """As one that was filled before private articles were left out: its document is newer than its content."""
    await _make_public(desk)
    await desk.settle()
    was_indexed = desk.indexed
    async with database.transaction() as conn:
        await conn.execute("UPDATE sources SET is_system = false")
        await documents.refill(conn)
    await desk.fill()
    assert (was_indexed, desk.indexed) == ({URL}, set())


async def _make_public(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=desk.source_id)
        await operate.change(conn, source, wanted=Changes(is_system=True), actor=COMMAND_LINE, now=desk.clock())


async def _list_in_public(desk: Desk) -> None:
    async with desk.database.transaction() as conn:
        public = await a_source(conn, url="https://open.example/feed", name="Open")
    await desk.list_in(public.id)


async def _suggest(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        await set_moderation(conn, source_id=desk.source_id, status="pending")
        proposal = Proposal("Paid", KEYED, None, None)
        await custom.add(
            conn, source_id=desk.source_id, user_id=desk.user_id, proposal=proposal, host="paid.example", sample=SAMPLE,
            now=desk.clock(),
        )  # fmt: skip


async def _approve(desk: Desk) -> None:
    await _suggest(desk)
    async with desk.database.as_system() as conn:
        await moderate.approve(conn, desk.source_id, moderator=None, actor=COMMAND_LINE, now=desk.clock())


async def _move(desk: Desk, url: str, of: str | None = None) -> None:
    async with desk.database.as_system() as conn:
        source_id = (await sources.find_by_url(conn, url=of)).id if of else desk.source_id
        values = {"url": url, "id": source_id}
        await conn.execute("UPDATE feed_state SET adopt_url = %(url)s WHERE source_id = %(id)s", values)
    mover = Mover(desk.database, desk.clock)
    for moved in await mover.claim(10):
        await mover.work(moved)


async def _edit(desk: Desk, url: str) -> None:
    async with desk.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=desk.source_id)
        await operate.change(conn, source, wanted=Changes(feed_url=url), actor=COMMAND_LINE, now=desk.clock())


async def _drop_system(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=desk.source_id)
        await operate.change(conn, source, wanted=Changes(is_system=False), actor=COMMAND_LINE, now=desk.clock())


async def _block(desk: Desk) -> None:
    """Its domain is blocked: that rejects the suggestion, and the user keeps the feed."""
    async with desk.database.as_system() as conn:
        await moderate.block(
            conn, domain="paid.example", reason="Spam", reject_waiting=True, actor=COMMAND_LINE, now=desk.clock()
        )


async def _delete_public(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        public = await sources.find_by_url(conn, url="https://open.example/feed")
        await operate.delete(conn, public, actor=COMMAND_LINE, now=desk.clock())


Step = Callable[[Desk], Awaitable[None]]


@pytest.mark.parametrize(
    "step",
    [_list_in_public, _approve, _make_public],
    ids=["a public source lists it", "approved", "a system source"],
)
async def test_an_article_that_becomes_visible_is_indexed(desk: Desk, step: Step) -> None:
    await step(desk)
    await desk.settle()
    assert desk.indexed == {URL}


async def test_a_public_source_that_moves_to_the_url_of_a_private_feed_does_not_publish_it(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        await a_source(conn, url="https://www.paid.example/all", name="All")
    await _move(desk, KEYED, of="https://www.paid.example/all")
    await desk.settle()
    assert desk.indexed == set()


@pytest.mark.parametrize(
    ("before", "step"),
    [(_list_in_public, _delete_public), (_approve, _block), (_make_public, _drop_system)],
    ids=["its public source is deleted", "rejected", "a user's source again"],
)
async def test_an_article_that_is_no_longer_visible_is_deleted_from_the_index(
    desk: Desk, before: Step, step: Step
) -> None:
    await before(desk)
    await desk.settle()
    was_indexed = desk.indexed
    await step(desk)
    await desk.settle()
    assert (was_indexed, desk.indexed) == ({URL}, set())


@pytest.mark.parametrize("change", [_move, _edit], ids=["by a redirect", "by an operator"])
async def test_a_feed_whose_url_gets_a_key_is_private_from_then_on(
    database: Database, desk: Desk, change: Callable[[Desk, str], Awaitable[None]]
) -> None:
    async with database.as_system() as conn:
        feed = await add_feed(conn, user_id=desk.user_id, name="Ours", url="https://ours.example/feed", now=START)
    desk.source_id = feed.source_id
    await desk.list_in(feed.source_id)
    await desk.settle()
    was_indexed = desk.indexed
    await change(desk, "https://ours.example/feed?key=0123456789abcdef")
    await desk.settle()
    assert (was_indexed, desk.indexed) == ({URL}, set())


@pytest.mark.parametrize("change", [_move, _edit], ids=["by a redirect", "by an operator"])
async def test_what_a_feed_listed_stays_private_when_its_url_loses_the_key(
    desk: Desk, change: Callable[[Desk, str], Awaitable[None]]
) -> None:
    await change(desk, PLAIN)
    await desk.settle()
    assert desk.indexed == set()
    await _make_public(desk)
    await desk.settle()
    assert desk.indexed == {URL}


async def test_all_documents_of_a_source_are_queued_when_it_becomes_private(
    database: Database, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than get a revision: they are queued a few at a time."""
    monkeypatch.setattr("headwater.sources.follow.ROUTED_AGAIN_MOST", 0)
    monkeypatch.setattr("headwater.publishing.worker.FILLED_AT_ONCE", 2)
    await _make_public(desk)
    more = [f"https://paid.example/more/{number}" for number in range(4)]
    async with database.transaction() as conn:
        for url in more:
            await extract(conn, url)
    await desk.settle()
    was_indexed = desk.indexed
    await _drop_system(desk)
    await desk.settle()
    assert (was_indexed, desk.indexed) == ({URL, *more}, set())
    async with database.transaction() as conn:
        cur = await conn.execute("SELECT count(*) FROM reindexed_sources")
        assert await cur.fetchone() == (0,)


async def test_a_starred_article_is_deleted_from_the_index_with_its_last_feed(desk: Desk) -> None:
    await _make_public(desk)
    await desk.settle()
    was_indexed = desk.indexed
    await _star(desk)
    async with desk.database.as_system() as conn:
        await sources.remove(conn, source_id=desk.source_id)
    await desk.settle()
    assert (was_indexed, desk.indexed) == ({URL}, set())


async def _star(desk: Desk) -> None:
    async with desk.database.as_user(desk.user_id) as conn:
        await marks.mark(conn, user_id=desk.user_id, article_id=desk.article_id, is_starred=True, now=desk.clock())


async def _submit(database: Database, url: str) -> None:
    async with database.transaction() as conn:
        await frontier_queue.submit(conn, submissions=[Submission(url, Origin.MANUAL)], now=START)


async def test_a_page_that_was_submitted_is_visible_whatever_private_feeds_list_it(
    database: Database, desk: Desk
) -> None:
    url = "https://paid.example/submitted"
    await _submit(database, url)
    async with database.transaction() as conn:
        await extract(conn, url)
    await desk.settle()
    was_indexed = desk.indexed
    async with database.transaction() as conn:
        await frontier.delete(conn, ids=[locate(url).key.id])
        await route_deleted(conn, [url], desk.clock())
    await desk.settle()
    assert (was_indexed, desk.indexed) == ({url}, set())


async def test_a_page_that_a_reader_saved_is_in_no_index_until_a_public_feed_lists_it(
    database: Database, desk: Desk
) -> None:
    saved = await save_page(database, user_id=desk.user_id, address=URL + "/saved", quotas=Quotas(), now=START)
    async with database.transaction() as conn:
        await extract_text(conn, saved.article_id, saved.url, text="Of otters.")
    await desk.settle()
    await desk.fill()
    async with database.transaction() as conn:
        counted = await count_documents(conn, now=desk.clock())
    assert (desk.indexed, counted) == (set(), 0)

    async with database.as_system() as conn:
        source = await a_source(conn, name="Open")
        await records.keep(conn, seen_at=desk.clock(), listed=[ListedEntry(source.id, an_article(saved.url))])
    await desk.settle()
    assert desk.indexed == {saved.url}


async def test_an_article_is_deleted_from_the_index_also_if_the_clock_was_ahead_when_it_was_indexed(
    database: Database, desk: Desk
) -> None:
    """The database's clock, which on one machine is ours: here, the version that it gave last."""
    async with database.as_system() as conn:
        source = await a_source(conn, name="Open")
    async with as_owner(database) as owner:
        later = "extract(epoch FROM now() + interval '200 days')::bigint * 1000000"
        await owner.execute(f"SELECT setval('document_versions', {later})".encode())
    await desk.list_in(source.id)
    await desk.settle()
    listed = desk.indexed

    async with database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)
    await desk.settle()
    await desk.settle()

    assert (listed, desk.indexed) == ({URL}, set())


async def test_a_document_names_only_sources_that_everyone_may_see(database: Database, desk: Desk) -> None:
    async with database.as_system() as conn:
        feed = await add_feed(conn, user_id=desk.user_id, name="Ada's", url="https://ours.example/feed", now=START)
    await desk.list_in(feed.source_id)
    await desk.settle()
    unnamed = desk.names
    await _list_in_public(desk)
    await desk.settle()
    assert (unnamed, desk.names) == ([None], ["Open"])


async def test_hidden_articles_do_not_count_as_missing_documents(database: Database, desk: Desk) -> None:
    async with database.transaction() as conn:
        hidden = await count_documents(conn, now=desk.clock())
    await _make_public(desk)
    async with database.transaction() as conn:
        assert (hidden, await count_documents(conn, now=desk.clock())) == (0, 1)


async def test_a_channel_does_not_send_what_became_private_after_it_was_queued(database: Database, desk: Desk) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn, "every", query="*", destination=DestinationKind.NONE, options={})
    await _make_public(desk)
    await desk.settle()

    async def read() -> tuple[int, int]:
        async with database.transaction() as conn:
            messages = await read_messages(conn, channel, after=0, limit=10, now=desk.clock())
            feed = await read_feed(conn, channel, url="https://example.com/feed", now=desk.clock())
        return len(messages.messages), len(feed.entries)

    public = await read()
    await _drop_system(desk)
    assert (public, await read()) == ((1, 1), (0, 0))


async def _save_page(desk: Desk, url: str) -> None:
    saved = await save_page(desk.database, user_id=desk.user_id, address=url, quotas=Quotas(), now=START)
    async with desk.database.transaction() as conn:
        await extract_text(conn, saved.article_id, saved.url, text="Of otters.")
        await state.queue_classifying(conn, ids=[saved.article_id], at=START)
    await desk.settle()


async def test_a_page_that_a_reader_saved_is_indexed_once_an_operator_submits_it(
    database: Database, desk: Desk
) -> None:
    url = "https://open.example/saved"
    await _save_page(desk, url)
    before = desk.indexed

    async with database.transaction() as conn:
        await submit_urls(conn, submissions=[Submission(url, Origin.MANUAL)], now=desk.clock())
    await desk.settle()

    assert (before, desk.indexed) == (set(), {url})


async def test_a_page_of_a_private_feed_is_indexed_once_an_operator_submits_it_and_stays_without_the_feed(
    database: Database, desk: Desk
) -> None:
    async with database.transaction() as conn:
        await frontier_queue.submit(conn, submissions=[Submission(URL, Origin.FEED, desk.source_id)], now=START)
        await submit_urls(conn, submissions=[Submission(URL, Origin.MANUAL)], now=desk.clock())
    await desk.settle()
    submitted = desk.indexed

    async with database.as_system() as conn:
        await sources.remove(conn, source_id=desk.source_id)
    await desk.settle()

    assert (submitted, desk.indexed) == ({URL}, {URL})


async def test_what_a_submitted_sitemap_names_is_indexed_and_a_reader_who_saved_it_cannot_delete_it(
    database: Database, desk: Desk
) -> None:
    url = "https://open.example/named"
    async with database.transaction() as conn:
        await frontier_queue.submit(conn, submissions=[Submission(url, Origin.SITEMAP)], now=START)
        page = replace(an_article(url), is_own=None)
        ids = await records.keep_pages(conn, seen_at=START, pages=[ListedEntry(None, page)])
        await extract_text(conn, ids[page.url_key], url)
    await desk.settle()
    named = desk.indexed

    saved = await save_page(database, user_id=desk.user_id, address=url, quotas=Quotas(), now=desk.clock())
    async with database.as_user(desk.user_id) as conn:
        await marks.mark(conn, user_id=desk.user_id, article_id=saved.article_id, is_saved=False, now=desk.clock())
    desk.clock.move(days=2)
    await Remover(database, desk.clock).sweep()
    await desk.settle()

    assert (named, desk.indexed) == ({url}, {url})
