"""Content in PostgreSQL: never poorer, each text once, near-duplicates linked, found by its words."""

import asyncio
import random

import pytest

from headwater.articles.store.content import save, search
from headwater.articles.store.links import list_linked
from headwater.articles.store.records import remove_unlisted
from headwater.articles.types import ContentChange, Extracted, NewContent, Saved
from headwater.db import Connection, Database
from headwater.sources.types import Source
from headwater.types import ArticleId
from tests.articles.builders import WORDS, a_content, a_record, an_article_id, find
from tests.builders import a_source
from tests.clock import START

pytestmark = pytest.mark.database

LONG = " ".join(f"word{number}" for number in random.Random(2).sample(range(10_000), 400))
NEARLY = LONG.replace("word", "Different ", 1)


@pytest.fixture
async def source(conn: Connection) -> Source:
    return await a_source(conn)


async def put(conn: Connection, source: Source, url: str, record: Extracted) -> Saved:
    (saved,) = await save(conn, records=[await a_content(conn, source.id, url, record)], now=START)
    return saved


async def text_rows(conn: Connection) -> int:
    cur = await conn.execute("SELECT count(*) FROM content WHERE text IS NOT NULL")
    row = await cur.fetchone()
    assert row is not None
    return row[0]


async def test_a_record_comes_back_as_it_was_saved(conn: Connection, source: Source) -> None:
    record = a_record(
        description="In short",
        keywords=("water", "river"),
        authors=("Ann",),
        published_at=START,
        canonical_url="https://example.com/1",
        section="News",
        image_url="https://example.com/1.jpg",
        open_graph={"type": "article"},
        linked_data=[{"@type": "NewsArticle", "nested": [1, None, {"a": True}]}],
    )

    saved = await put(conn, source, "https://example.com/1", record)

    found = await find(conn, article_id=saved.article_id)
    assert found is not None
    assert (saved.change, saved.version, found.text, found.html) == (ContentChange.NEW, 1, record.text, record.html)
    assert (found.keywords, found.authors, found.published_at) == (["water", "river"], ["Ann"], START)
    assert (found.open_graph, found.linked_data) == ({"type": "article"}, record.linked_data)
    assert found.origins == {"title": "html", "text": "trafilatura"}


async def test_saving_the_same_again_writes_nothing(conn: Connection, source: Source) -> None:
    await put(conn, source, "https://example.com/1", a_record())

    saved = await put(conn, source, "https://example.com/1", a_record())

    assert (saved.change, saved.version, saved.text_changed) == (ContentChange.UNCHANGED, 1, False)


async def test_a_poorer_text_does_not_overwrite_a_richer_one(conn: Connection, source: Source) -> None:
    await put(conn, source, "https://example.com/1", a_record(LONG))

    saved = await put(conn, source, "https://example.com/1", a_record("Subscribe to read on", section="News"))

    found = await find(conn, article_id=saved.article_id)
    assert found is not None
    assert (saved.change, found.text, found.section, found.version) == (ContentChange.ENRICHED, LONG, "News", 2)


async def test_a_changed_text_is_renewed(conn: Connection, source: Source) -> None:
    await put(conn, source, "https://example.com/1", a_record())

    saved = await put(conn, source, "https://example.com/1", a_record(f"{WORDS} today"))

    found = await find(conn, article_id=saved.article_id)
    assert found is not None
    assert (saved.change, saved.version, saved.text_changed) == (ContentChange.RENEWED, 2, True)
    assert found.text == f"{WORDS} today"


async def test_the_same_text_under_another_url_is_linked_and_stored_once(conn: Connection, source: Source) -> None:
    first = await put(conn, source, "https://example.com/1", a_record(LONG))

    second = await put(conn, source, "https://news.example.com/2", a_record(LONG, title="Taken over"))

    found = await find(conn, article_id=second.article_id)
    assert found is not None
    assert second.duplicate_of == first.article_id
    assert (found.title, found.text, await text_rows(conn)) == ("Taken over", LONG, 1)


async def test_the_same_text_and_markup_on_another_site_is_stored_once(conn: Connection, source: Source) -> None:
    first = await put(conn, source, "https://example.com/1", a_record(LONG))

    second = await put(conn, source, "https://example.org/2", a_record(LONG))

    assert (second.duplicate_of, await text_rows(conn)) == (first.article_id, 1)


@pytest.mark.parametrize("url", ["https://evil.example/copy", "https://example.com/members/1"])
async def test_a_page_with_the_same_words_does_not_give_an_article_its_links(
    conn: Connection, source: Source, url: str
) -> None:
    """Also not on its own site: the other page may be one that only a private feed lists."""
    other = await put(conn, source, url, a_record(LONG, html=f'<p><a href="{url}/secret.mp3">{LONG}</a></p>'))

    article = await put(conn, source, "https://example.com/1", a_record(LONG))

    found = await find(conn, article_id=article.article_id)
    assert found is not None
    assert found.html == f"<p>{LONG}</p>"
    assert (article.duplicate_of, article.near_duplicate_of) == (None, other.article_id)


async def test_a_page_with_the_same_words_and_html_keeps_its_own_letters(conn: Connection, source: Source) -> None:
    await put(conn, source, "https://example.com/1", a_record(LONG.upper(), html=""))

    article = await put(conn, source, "https://example.com/2", a_record(LONG, html=""))

    found = await find(conn, article_id=article.article_id)
    assert found is not None
    assert found.text == LONG


async def test_a_duplicate_that_gets_other_links_gets_a_text_of_its_own(conn: Connection, source: Source) -> None:
    first = await put(conn, source, "https://example.com/1", a_record(LONG))
    second = await put(conn, source, "https://example.com/2", a_record(LONG))
    html = f'<p><a href="https://example.com/3">{LONG}</a></p>'

    again = await put(conn, source, "https://example.com/2", a_record(LONG, html=html))

    found = await find(conn, article_id=second.article_id)
    assert found is not None
    assert (second.duplicate_of, again.duplicate_of) == (first.article_id, None)
    assert (again.change, found.html, await text_rows(conn)) == (ContentChange.RENEWED, html, 2)
    same = await put(conn, source, "https://example.com/2", a_record(LONG, html=html))
    assert same.change is ContentChange.UNCHANGED


async def test_the_same_text_twice_in_one_batch_is_stored_once(conn: Connection, source: Source) -> None:
    records = [await a_content(conn, source.id, f"https://example.com/{n}", a_record(LONG)) for n in range(3)]

    saved = await save(conn, records=records, now=START)

    assert [one.duplicate_of for one in saved] == [None, saved[0].article_id, saved[0].article_id]
    assert await text_rows(conn) == 1


async def test_one_article_twice_in_a_batch_keeps_the_richer(conn: Connection, source: Source) -> None:
    rich = await a_content(conn, source.id, "https://example.com/1", a_record(LONG))
    poor = NewContent(rich.article_id, rich.url, rich.url_key, a_record("a stub"))

    saved = await save(conn, records=[rich, poor], now=START)

    found = await find(conn, article_id=rich.article_id)
    assert found is not None
    assert (found.text, [one.change for one in saved]) == (LONG, [ContentChange.NEW, ContentChange.UNCHANGED])


async def test_texts_without_words_are_duplicates_of_nothing(conn: Connection, source: Source) -> None:
    saved = [await put(conn, source, f"https://example.com/{n}", Extracted(title="Empty")) for n in range(2)]

    assert [one.duplicate_of for one in saved] == [None, None]


@pytest.mark.parametrize("in_one_batch", [True, False])
async def test_a_nearly_equal_text_is_linked_and_kept(conn: Connection, source: Source, in_one_batch: bool) -> None:
    one = await a_content(conn, source.id, "https://example.com/1", a_record(LONG))
    other = await a_content(conn, source.id, "https://example.com/2", a_record(NEARLY))

    if in_one_batch:
        _, saved = await save(conn, records=[one, other], now=START)
    else:
        await save(conn, records=[one], now=START)
        (saved,) = await save(conn, records=[other], now=START)

    assert (saved.duplicate_of, saved.near_duplicate_of) == (None, one.article_id)
    assert await text_rows(conn) == 2


async def test_near_duplicates_are_linked_to_the_first(conn: Connection, source: Source) -> None:
    first = await put(conn, source, "https://example.com/1", a_record(LONG))
    await put(conn, source, "https://example.com/2", a_record(NEARLY))

    third = await put(conn, source, "https://example.com/3", a_record(NEARLY + " more"))

    assert third.near_duplicate_of == first.article_id


@pytest.mark.parametrize("bits", [(), (0,), (63,), (1, 17, 40), (16, 32, 48), (5, 6, 7, 8), (0, 16, 32, 48)])
async def test_near_is_three_bits_apart_at_most_wherever_they_lie(
    conn: Connection, source: Source, bits: tuple[int, ...]
) -> None:
    simhash = 0x0123_4567_89AB_CDEF
    other = simhash ^ sum(1 << bit for bit in bits)
    other = other - 2**64 if other >> 63 else other
    first = await put(conn, source, "https://example.com/1", a_record("one text", simhash=simhash))

    saved = await put(conn, source, "https://example.com/2", a_record("another text", simhash=other))

    assert saved.near_duplicate_of == (first.article_id if len(bits) <= 3 else None)


async def test_a_shared_text_stays_when_its_first_article_is_deleted(conn: Connection, source: Source) -> None:
    other = await a_source(conn, url="https://example.org/feed.xml")
    first = await put(conn, source, "https://example.com/1", a_record(LONG))
    second = await put(conn, other, "https://example.org/2", a_record(LONG))
    third = await put(conn, other, "https://example.org/3", a_record(LONG))

    await remove_unlisted(conn, ids=await list_linked(conn, source_id=source.id, limit=10), except_for=source.id)

    heir = await find(conn, article_id=second.article_id)
    last = await find(conn, article_id=third.article_id)
    assert await find(conn, article_id=first.article_id) is None
    assert heir is not None
    assert last is not None
    assert (heir.text, heir.duplicate_of) == (LONG, None)
    assert (last.text, last.duplicate_of) == (LONG, second.article_id)
    assert await text_rows(conn) == 1
    assert [hit.article_id for hit in await search(conn, words="word" + LONG.split("word")[1].strip())] == [
        second.article_id
    ]


async def test_a_replaced_text_is_reassigned_to_its_duplicate(conn: Connection, source: Source) -> None:
    first = await put(conn, source, "https://example.com/1", a_record(LONG))
    second = await put(conn, source, "https://example.com/2", a_record(LONG))

    await put(conn, source, "https://example.com/1", a_record(f"{LONG} and much more"))

    heir = await find(conn, article_id=second.article_id)
    assert heir is not None
    assert (heir.text, heir.duplicate_of) == (LONG, None)
    again = await put(conn, source, "https://example.com/1", a_record(LONG))
    assert again.duplicate_of == second.article_id
    assert first.article_id == again.article_id


async def test_deleting_all_articles_of_a_text_deletes_the_text(database: Database) -> None:
    async with database.transaction() as conn:
        source = await a_source(conn)
        for number in range(4):
            await put(conn, source, f"https://example.com/{number}", a_record(LONG))

    async with database.as_system() as conn:
        ids = await list_linked(conn, source_id=source.id, limit=10)
        await remove_unlisted(conn, ids=ids, except_for=source.id)

    async with database.transaction() as conn:
        cur = await conn.execute("SELECT count(*) FROM content")
        assert await cur.fetchone() == (0,)


async def test_two_transactions_with_the_same_text_store_it_once(database: Database) -> None:
    async with database.transaction() as conn:
        source = await a_source(conn)
        records = [await a_content(conn, source.id, f"https://example.com/{n}", a_record(LONG)) for n in range(10)]

    async def bring(record: NewContent) -> None:
        async with database.transaction() as conn:
            await save(conn, records=[record], now=START)

    await asyncio.gather(*(bring(record) for record in records))

    async with database.transaction() as conn:
        assert await text_rows(conn) == 1


async def test_a_search_finds_words_in_the_language_of_the_article(conn: Connection, source: Source) -> None:
    records = {
        "https://example.com/en": a_record("The boats were drifting past the mill", language="en-GB", title="Drift"),
        "https://example.com/de": a_record("Die Häuser standen unter Wasser", language="de", title="Flut"),
        "https://example.com/ru": a_record("Река вышла из берегов", language="ru", title="Река"),
        "https://example.com/xx": a_record("boats drifting everywhere", language=None, title="Unsaid"),
    }
    for url, record in records.items():
        await put(conn, source, url, record)

    async def urls(words: str) -> set[str]:
        return {hit.url.rpartition("/")[2] for hit in await search(conn, words=words)}

    assert await urls("boat drifts") == {"en"}
    assert await urls("boats drifting") == {"en", "xx"}
    assert await urls("haus") == {"de"}
    assert await urls("реки") == {"ru"}
    assert await urls("drifting -mill") == {"xx"}
    assert await urls('"past the mill"') == {"en"}
    assert await urls("") == set()
    assert await urls("'); DROP TABLE content; --") == set()


async def test_a_hit_shows_where_the_words_stand_and_titles_count_more(conn: Connection, source: Source) -> None:
    await put(conn, source, "https://example.com/1", a_record(f"{WORDS} with a heron", title="High water"))
    await put(conn, source, "https://example.com/2", a_record(f"{WORDS} at noon", title="The heron"))

    first, second = await search(conn, words="heron")

    assert (first.title, second.title) == ("The heron", "High water")
    assert "«heron»" in second.snippet
    assert first.rank > second.rank


async def test_a_duplicate_is_counted_and_not_found_twice(conn: Connection, source: Source) -> None:
    for number in range(3):
        await put(conn, source, f"https://example.com/{number}", a_record())

    (hit,) = await search(conn, words="river")

    assert (hit.url, hit.duplicates) == ("https://example.com/0", 2)


async def test_a_limit_and_an_offset_walk_through_the_hits(conn: Connection, source: Source) -> None:
    for number in range(5):
        await put(conn, source, f"https://example.com/{number}", a_record(f"{WORDS} {number}"))

    pages = [await search(conn, words="river", limit=2, offset=offset) for offset in (0, 2, 4)]

    assert [len(page) for page in pages] == [2, 2, 1]
    assert len({hit.article_id for page in pages for hit in page}) == 5


HOSTILE = {
    "many long words": " ".join(chr(0x20000 + n % 40_000) * 3 + "-" + chr(0x20000 + n // 7) * 5 for n in range(50_000)),
    "addresses": " ".join(f"http://{n}.example.com/{n}/{n}" for n in range(15_000)),
    "one word": "x" * 500_000,
    "quotes": "don't " * 80_000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_any_text_can_be_stored_and_searched(conn: Connection, source: Source, name: str) -> None:
    saved = await put(conn, source, "https://example.com/1", a_record(HOSTILE[name], title=HOSTILE[name][:1000]))

    found = await find(conn, article_id=saved.article_id)
    assert found is not None
    assert found.text == HOSTILE[name]


async def test_saving_no_records_does_nothing(conn: Connection) -> None:
    assert await save(conn, records=[], now=START) == []


async def test_an_article_without_content_has_none(conn: Connection, source: Source) -> None:
    article_id: ArticleId = await an_article_id(conn, source.id, "https://example.com/1")

    assert await find(conn, article_id=article_id) is None
