"""A reader who leaves a feed and adds it again lifts nothing that an operator or the site decided."""

from datetime import timedelta

import pytest

from headwater.audit.types import API_TOKEN
from headwater.db import Connection, see_all_users
from headwater.library.types import Subscription
from headwater.polling.store import holds as feed_holds
from headwater.polling.store import schedule as feed_schedule
from headwater.polling.types import Standing
from headwater.sources import operate
from headwater.sources.store import sources
from headwater.sources.subscribe import add_feed, drop_feed, leave_unwanted
from headwater.sources.types import Changes
from headwater.types import UserId
from tests.clock import START
from tests.removal.builders import a_user

pytestmark = pytest.mark.database

FEED = "https://held.example/feed"
LATER = START + timedelta(days=1)


async def follow(conn: Connection, user_id: UserId) -> Subscription:
    subscription = await add_feed(conn, user_id=user_id, name="Held", url=FEED, now=START)
    await see_all_users(conn)
    return subscription


async def leave(conn: Connection, user_id: UserId, followed: Subscription) -> None:
    source_id = await drop_feed(conn, user_id=user_id, subscription_id=followed.id)
    await see_all_users(conn)
    await leave_unwanted(conn, [source_id], START)


async def standing(conn: Connection, followed: Subscription) -> Standing:
    found = await feed_schedule.find_standing(conn, source_id=followed.source_id)
    assert found is not None
    return found


async def next_poll_at(conn: Connection, followed: Subscription) -> object:
    cur = await conn.execute(
        "SELECT next_poll_at > %(now)s FROM feed_state WHERE source_id = %(id)s",
        {"id": followed.source_id, "now": START + timedelta(hours=23)},
    )
    return await cur.fetchone()


async def test_a_feed_that_an_operator_disabled_is_disabled_when_it_is_left_and_added_again(conn: Connection) -> None:
    user_id = await a_user(conn)
    followed = await follow(conn, user_id)
    source = await sources.find_by_id(conn, source_id=followed.source_id)
    await operate.disable(conn, source, reason="a court says so", actor=API_TOKEN, now=START)

    for _ in range(2):
        await leave(conn, user_id, followed)
        followed = await follow(conn, user_id)

    found = await standing(conn, followed)
    assert (found.disabled_at, found.disable_reason, found.disabled_by_operator) == (START, "a court says so", True)
    assert await next_poll_at(conn, followed) == (True,)


async def test_a_source_that_an_operator_switched_off_is_off_when_it_is_left_and_added_again(conn: Connection) -> None:
    user_id = await a_user(conn)
    followed = await follow(conn, user_id)
    source = await sources.find_by_id(conn, source_id=followed.source_id)
    await operate.change(conn, source, wanted=Changes(enabled=False), actor=API_TOKEN, now=START)

    await leave(conn, user_id, followed)
    followed = await follow(conn, user_id)

    assert not (await sources.find_by_id(conn, source_id=followed.source_id)).enabled


async def test_a_site_that_asked_us_to_wait_is_not_asked_by_a_feed_that_is_left_and_added_again(
    conn: Connection,
) -> None:
    user_id = await a_user(conn)
    followed = await follow(conn, user_id)
    await feed_schedule.delay_until(conn, source_id=followed.source_id, until=LATER)

    await leave(conn, user_id, followed)
    followed = await follow(conn, user_id)

    assert (await standing(conn, followed)).asked_until == LATER
    assert await next_poll_at(conn, followed) == (True,)


async def test_an_operator_who_adds_the_feed_themselves_lifts_what_was_decided(conn: Connection) -> None:
    user_id = await a_user(conn)
    followed = await follow(conn, user_id)
    source = await sources.find_by_id(conn, source_id=followed.source_id)
    await operate.disable(conn, source, reason="a court says so", actor=API_TOKEN, now=START)
    await leave(conn, user_id, followed)

    made = await operate.create(conn, wanted=Changes(feed_url=FEED), actor=API_TOKEN, now=START)

    found = await feed_schedule.find_standing(conn, source_id=made.id)
    assert found is not None
    assert found.disabled_at is None


async def test_holds_that_are_over_are_forgotten(conn: Connection) -> None:
    user_id = await a_user(conn)
    followed = await follow(conn, user_id)
    await feed_schedule.delay_until(conn, source_id=followed.source_id, until=LATER)
    await leave(conn, user_id, followed)

    await feed_holds.delete_ended_holds(conn, now=LATER)

    cur = await conn.execute("SELECT count(*) FROM feed_holds")
    assert await cur.fetchone() == (0,)


async def test_a_feed_without_a_hold_is_polled_at_once_when_added_again(conn: Connection) -> None:
    user_id = await a_user(conn)
    await leave(conn, user_id, await follow(conn, user_id))

    followed = await follow(conn, user_id)

    assert await next_poll_at(conn, followed) == (False,)
    cur = await conn.execute("SELECT count(*) FROM feed_holds")
    assert await cur.fetchone() == (0,)


NEW = "https://moved.example/feed"


async def follow_new(conn: Connection, user_id: UserId, url: str) -> Subscription:
    subscription = await add_feed(conn, user_id=user_id, name="New", url=url, now=START)
    await see_all_users(conn)
    return subscription


async def disable_moved(conn: Connection, followed: Subscription, *, whole: bool) -> None:
    """The feed has moved to another site, and keeps the key of its first URL; then an operator disables it."""
    values = {"id": followed.source_id, "url": NEW}
    await conn.execute("UPDATE sources SET feed_url = %(url)s WHERE id = %(id)s", values)
    await conn.execute("UPDATE feed_state SET feed_url = %(url)s WHERE source_id = %(id)s", values)
    source = await sources.find_by_id(conn, source_id=followed.source_id)
    if whole:
        await operate.change(conn, source, wanted=Changes(enabled=False), actor=API_TOKEN, now=START)
    else:
        await operate.disable(conn, source, reason="a court says so", actor=API_TOKEN, now=START)


@pytest.mark.parametrize("url", [NEW, f"{NEW}?utm_source=x", NEW.replace("https", "http")])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("is_left", [True, False])
async def test_a_moved_feed_that_an_operator_disabled_is_disabled_when_it_is_added_by_its_new_url(
    conn: Connection, url: str, whole: bool, is_left: bool
) -> None:
    ada, bob = await a_user(conn), await a_user(conn, "bob@example.com")
    followed = await follow(conn, ada)
    await disable_moved(conn, followed, whole=whole)
    if is_left:
        await leave(conn, ada, followed)

    added = await follow_new(conn, bob, url)

    assert added.source_id != followed.source_id
    assert await next_poll_at(conn, added) == (True,)
    source = await sources.find_by_id(conn, source_id=added.source_id)
    assert source.enabled is not whole
    assert (await standing(conn, added)).disabled_by_operator is not whole


async def test_a_feed_with_a_source_of_its_own_is_not_disabled_by_one_that_moved_there(conn: Connection) -> None:
    ada, bob = await a_user(conn), await a_user(conn, "bob@example.com")
    followed = await follow(conn, ada)
    await follow_new(conn, bob, NEW)
    await disable_moved(conn, followed, whole=True)

    assert await feed_holds.find_disable(conn, url=NEW, now=START) is None
    assert await feed_holds.find_disable(conn, url=FEED, now=START) is not None


async def test_a_hold_is_not_weakened_by_a_source_that_moved_to_its_url(conn: Connection) -> None:
    ada, bob = await a_user(conn), await a_user(conn, "bob@example.com")
    first = await follow_new(conn, ada, NEW)
    source = await sources.find_by_id(conn, source_id=first.source_id)
    await operate.change(conn, source, wanted=Changes(enabled=False), actor=API_TOKEN, now=START)
    await leave(conn, ada, first)
    other = await follow(conn, bob)
    values = {"id": other.source_id, "url": NEW}
    await conn.execute("UPDATE sources SET feed_url = %(url)s WHERE id = %(id)s", values)
    await feed_schedule.delay_until(conn, source_id=other.source_id, until=LATER)

    await leave(conn, bob, other)

    again = await follow_new(conn, ada, NEW)
    assert not (await sources.find_by_id(conn, source_id=again.source_id)).enabled
