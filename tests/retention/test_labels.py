"""Labels and the state of an article are deleted with the article, and stay with it."""

from datetime import UTC, datetime

import pytest

from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.sources.store.sources import remove as remove_source
from tests.removals import finish_removals
from tests.retention.world import World

pytestmark = pytest.mark.database

IN_JANUARY = datetime(2026, 1, 20, 8, tzinfo=UTC)
MAY = datetime(2026, 5, 2, tzinfo=UTC)
OLD, STARRED = "https://example.com/old", "https://example.com/starred"


async def label(world: World, url: str) -> None:
    """By a model and by a person."""
    given = {await world.id_of(url): [NewLabel(Scheme.TYPE, "job", 0.9, "1")]}
    async with world.database.transaction() as conn:
        for method in (Method.MODEL, Method.PERSON):
            await replace_labels(conn, given=given, method=method, schemes=[Scheme.TYPE], now=IN_JANUARY)


async def left(world: World) -> tuple[set[object], set[object]]:
    """The articles that have labels, and those that have a state."""
    labels = await world.rows("SELECT DISTINCT article_id FROM labels")
    states = await world.rows("SELECT article_id FROM article_state")
    return {row[0] for row in labels}, {row[0] for row in states}


async def test_they_go_with_an_expired_month_except_of_starred_articles(world: World) -> None:
    for url in (OLD, STARRED):
        await world.see(url, IN_JANUARY)
        await label(world, url)
    await world.star(STARRED)
    world.clock.now = MAY

    await world.retain()

    kept = {await world.id_of(STARRED)}
    assert await left(world) == (kept, kept)


async def test_they_go_when_the_last_star_of_an_expired_article_is_removed(world: World) -> None:
    await world.see(STARRED, IN_JANUARY)
    await label(world, STARRED)
    await world.star(STARRED)
    world.clock.now = MAY
    await world.retain()
    assert await left(world) != (set(), set())

    await world.star(STARRED, is_starred=False)
    world.clock.move(days=31)
    await world.retain()

    assert await left(world) == (set(), set())


async def test_they_go_with_the_only_source_of_an_article(world: World) -> None:
    for url in (OLD, STARRED):
        await world.see(url, IN_JANUARY)
        await label(world, url)
    await world.star(STARRED)
    kept = {await world.id_of(STARRED)}

    async with world.database.as_system() as conn:
        await remove_source(conn, source_id=world.source)
        await finish_removals(conn)

    assert await left(world) == (kept, kept)


async def test_they_go_with_a_single_article(world: World) -> None:
    for url in (OLD, STARRED):
        await world.see(url, IN_JANUARY)
        await label(world, url)
    kept = {await world.id_of(STARRED)}

    async with world.database.transaction() as conn:
        await conn.execute("DELETE FROM articles WHERE url = %(url)s", {"url": OLD})

    assert await left(world) == (kept, kept)
