"""Views of a user: each in their own order, with a name of its own, and a secret that is stored as a digest only."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from headwater.accounts.secrets import digest
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, Database, see_all_users, set_user
from headwater.errors import NotFound, TooManyViews, ViewNameTaken
from headwater.library.views import operate, store
from headwater.library.views.counts import count_unread
from headwater.library.views.types import RESTORABLE, SavedView
from headwater.types import UserId
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.library.rules.reader import a_rule_reader

pytestmark = pytest.mark.database

ADA, BOB = UserId(UUID(int=1)), UserId(UUID(int=2))


@pytest.fixture
async def ada(conn: Connection) -> Connection:
    """A transaction of Ada's."""
    await see_all_users(conn)
    for user in (ADA, BOB):
        values = {"id": user, "email": str(user)}
        await conn.execute("INSERT INTO users (id, email, email_key) VALUES (%(id)s, %(email)s, %(email)s)", values)
    await set_user(conn, ADA)
    return conn


async def save(conn: Connection, name: str, *, user_id: UserId = ADA, most: int = 10) -> UUID:
    return await operate.save_view(conn, user_id=user_id, name=name, icon="star", query="rust", most=most, now=START)


async def names(conn: Connection) -> list[str]:
    return [view.name for view in await store.list_views(conn)]


async def test_new_views_are_last_and_can_be_moved(ada: Connection) -> None:
    first, _, third = [await save(ada, name) for name in ("One", "Two", "Three")]
    assert await names(ada) == ["One", "Two", "Three"]

    await operate.move_view(ada, third, by=-1)
    await operate.move_view(ada, first, by=1)

    assert await names(ada) == ["Three", "One", "Two"]


async def test_a_name_is_used_once_by_a_user(ada: Connection) -> None:
    await save(ada, "Rust")
    with pytest.raises(ViewNameTaken):
        async with ada.transaction():
            await save(ada, "RUST")

    await set_user(ada, BOB)
    await save(ada, "Rust", user_id=BOB)

    assert await names(ada) == ["Rust"]


async def test_a_user_has_only_so_many_views(ada: Connection) -> None:
    one = await save(ada, "One", most=1)
    with pytest.raises(TooManyViews, match="1 views, the maximum"):
        await save(ada, "Two", most=1)

    await operate.delete_view(ada, one, START)
    await save(ada, "Two", most=1)

    with pytest.raises(TooManyViews):
        await operate.restore_view(ada, one, user_id=ADA, most=1, now=START)


async def test_a_deleted_view_can_be_restored_for_a_day_at_its_place(ada: Connection) -> None:
    one = await save(ada, "One")
    await save(ada, "Two")
    secret = await operate.open_feed(ada, one)

    assert await operate.delete_view(ada, one, START) == "One"
    assert await names(ada) == ["Two"]
    assert await found(ada, secret) is None
    with pytest.raises(NotFound):
        await operate.require_view(ada, one)

    await operate.restore_view(ada, one, user_id=ADA, most=10, now=START + RESTORABLE)
    assert await names(ada) == ["One", "Two"]
    assert await found(ada, secret) == "One"


async def test_a_view_that_was_deleted_long_ago_is_gone(ada: Connection) -> None:
    one, two = await save(ada, "One"), await save(ada, "Two")
    await operate.delete_view(ada, one, START)
    later = START + RESTORABLE + timedelta(seconds=1)

    with pytest.raises(NotFound, match="no longer be restored"):
        await operate.restore_view(ada, one, user_id=ADA, most=10, now=later)
    await operate.delete_view(ada, two, later)

    row = await (await ada.execute("SELECT count(*) FROM views")).fetchone()
    assert row == (1,)


async def test_only_a_digest_of_the_secret_is_stored_and_a_new_one_ends_the_old(ada: Connection) -> None:
    view = await save(ada, "One")
    first = await operate.open_feed(ada, view)
    second = await operate.open_feed(ada, view)
    row = await (await ada.execute("SELECT feed_key FROM views")).fetchone()

    assert row == (digest(second),)
    assert await found(ada, first) is None
    assert await found(ada, second) == "One"

    await operate.close_feed(ada, view)
    assert await found(ada, second) is None


async def test_a_view_of_another_user_does_not_exist(ada: Connection) -> None:
    view = await save(ada, "One")
    await set_user(ada, BOB)

    with pytest.raises(NotFound):
        await operate.change_view(ada, view, name="Mine", icon="star", query="x")
    with pytest.raises(NotFound):
        await operate.open_feed(ada, view)
    with pytest.raises(NotFound):
        await operate.move_view(ada, view, by=1)
    with pytest.raises(NotFound):
        await operate.delete_view(ada, view, START)

    await set_user(ada, ADA)
    assert await names(ada) == ["One"]


async def found(conn: Connection, secret: str) -> str | None:
    """The name of the view whose feed has this secret; then back to Ada's rows."""
    await see_all_users(conn)
    shared = await store.find_by_feed_key(conn, feed_key=digest(secret))
    await set_user(conn, ADA)
    return shared.name if shared else None


async def test_numbers_take_a_limited_time_however_many_views_there_are(
    database: Database, clock: MovableClock
) -> None:
    """A user may have 100 views of 64 words, each of which takes seconds."""
    reader = await a_rule_reader(database, clock)
    listed = [
        ListedEntry(
            reader.sources["Daily"].id,
            an_article(f"https://x.example/{n}", title=f"River {n} " * 20, published_at=clock() - timedelta(minutes=n)),
        )
        for n in range(1, 300)
    ]  # fmt: skip
    async with database.as_system() as conn:
        await records.keep(conn, seen_at=clock(), listed=listed)
    slow = " or ".join(f"word{n}" for n in range(64))
    views = [SavedView(UUID(int=n), str(n), "star", slow, has_feed=False) for n in range(100)]
    async with database.as_user(reader.user_id) as conn:
        counts, _ = await count_unread(conn, views=views, now=clock(), time=timedelta(milliseconds=1))
        whole, _ = await count_unread(conn, views=[replace(views[0], query="river")], now=clock())

    assert counts == {}
    assert str(whole[UUID(int=0)]) == "299"
