"""The pages of channels: create, change, pause, replay, dead letters, delete."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.accounts.types import Role
from headwater.channels.store import deliveries, records
from headwater.channels.types import Channel, ChannelId, DeliveryState, DestinationKind, HourCount
from headwater.db import Database
from headwater.labels.vocabulary import CRIME, SPORT
from headwater.web.plots import deliveries_over_time
from tests.app import create_app
from tests.channels.given import a_channel, queue
from tests.channels.test_preview import routed
from tests.channels.test_route import an_article
from tests.clock import START, MovableClock
from tests.labels.given import an_article_of
from tests.web.test_labels import actions
from tests.web.test_moderation import set_role
from tests.web.test_rules import refusal
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database
CHANNELS = "/admin/channels"
HOOK = {
    "name": "articles:crime",
    "query": "topic:crime",
    "destination": "webhook",
    "url": "https://hooks.example.com/in",
}


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def boss(app: Litestar) -> AsyncIterator[Person]:
    """An administrator: the first account."""
    async with a_person(app) as person:
        await person.register("boss@example.com")
        await person.open(CHANNELS)
        yield person


async def only(database: Database) -> Channel:
    async with database.transaction() as conn:
        [channel] = await records.list_channels(conn)
    return channel


async def dead_letters(database: Database, channel: Channel, *, of: int = 2) -> None:
    """Refused deliveries; the article of the first exists."""
    async with database.transaction() as conn:
        article_id = await an_article_of(conn, "<b>Harbour</b> opens", url="https://example.com/1")
        others = [UUID(int=number) for number in range(1, of)]
        await queue(conn, channel.id, range(1, of + 1), article_ids=[article_id, *others])
        await conn.execute("UPDATE deliveries SET reason = 'HTTP 422: <no> title', attempts = 1")


async def refused(database: Database, channel_id: ChannelId) -> list[int]:
    async with database.transaction() as conn:
        found = await deliveries.list_page(
            conn, channel_id=channel_id, state=DeliveryState.REFUSED, before=None, limit=10
        )
    return [one.revision for one in found]


async def test_without_channels_the_page_says_what_to_do(boss: Person) -> None:
    page = (await boss.open(CHANNELS)).text

    assert "No channels yet." in page
    assert "Add one above" in page


async def test_a_channel_is_created_and_its_secret_shown_once(boss: Person, database: Database) -> None:
    made = await boss.send("POST", CHANNELS, **HOOK, batch="50", html="yes")

    assert (made.status_code, "whsec_" in made.text) == (200, True)
    channel = await only(database)
    assert channel.options == {"url": "https://hooks.example.com/in", "batch": 50, "html": True}
    page = (await boss.open(f"{CHANNELS}/{channel.id}")).text
    assert "whsec_" not in page
    assert 'value="https://hooks.example.com/in"' in page
    assert 'name="batch" value="50"' in page
    assert "articles:crime" in (await boss.open(CHANNELS)).text
    assert await actions(database) == [("channel.created", "boss@example.com")]


async def test_the_form_shows_the_fields_of_a_destination(boss: Person) -> None:
    assert 'name="stream"' in (await boss.send("GET", f"{CHANNELS}/options?destination=redis")).text
    assert 'name="url"' not in (await boss.send("GET", f"{CHANNELS}/options?destination=none")).text
    assert (await boss.send("GET", f"{CHANNELS}/options?destination=pigeon")).status_code == 400


async def test_an_error_in_a_query_is_shown_at_its_place(boss: Person) -> None:
    answer = await boss.send("POST", CHANNELS, **(HOOK | {"query": "crime topik:<b>"}))

    assert answer.status_code == 400
    assert answer.headers["hx-retarget"] == "#query-problem"
    assert "crime <mark>topik:" in answer.text
    assert "<b>" not in answer.text
    everything = await boss.send("POST", CHANNELS, **(HOOK | {"query": "crime or -crime"}))
    assert "This query matches every article." in everything.text


async def test_a_query_is_previewed_before_it_is_saved(boss: Person, database: Database) -> None:
    async with database.transaction() as conn:
        await routed(conn, await an_article(conn, 1, CRIME, title="<i>Theft</i>"), await an_article(conn, 2, SPORT))

    shown = (await boss.send("POST", f"{CHANNELS}/preview", **HOOK)).text
    assert "Finds 1 of 2 articles." in shown
    assert "&lt;i&gt;Theft&lt;/i&gt;" in shown
    wrong = await boss.send("POST", f"{CHANNELS}/preview", query="topik:x")
    assert wrong.headers["hx-retarget"] == "#query-problem"
    assert "No channels yet." in (await boss.open(CHANNELS)).text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"name": "Crime & more"}, "A name has 1 to 100 characters"),
        ({"url": ""}, "url is missing"),
        ({"url": "ftp://example.com"}, "The URL of the webhook is invalid"),
        ({"batch": "many"}, "batch is a whole number."),
        ({"batch": "1001"}, "batch is a number from 1 to 1,000."),
        ({"destination": "pigeon"}, "Choose a destination."),
        ({"destination": "redis", "url": "redis://elsewhere:1", "stream": "x"}, "elsewhere is not allowed."),
    ],
)
async def test_an_invalid_channel_is_refused_in_place(boss: Person, more: dict[str, str], message: str) -> None:
    answer = await boss.send("POST", CHANNELS, **(HOOK | more))

    assert refusal(answer)[0] == 400
    assert message in refusal(answer)[1]
    assert answer.headers["hx-retarget"] == "#channel-said"


async def test_a_channel_is_changed_paused_resumed_and_deleted(boss: Person, database: Database) -> None:
    await boss.send("POST", CHANNELS, **HOOK)
    path = f"{CHANNELS}/{(await only(database)).id}"

    assert "Saved." in (await boss.send("PATCH", path, **(HOOK | {"query": "topic:sport"}))).text
    assert "Paused." in (await boss.send("POST", f"{path}/pause")).text
    assert ">Resume<" in (await boss.open(path)).text
    assert "Resumed." in (await boss.send("POST", f"{path}/resume")).text
    assert "whsec_" in (await boss.send("POST", f"{path}/secret")).text
    assert (await only(database)).query == "topic:sport"
    assert (await boss.send("DELETE", path)).headers["hx-redirect"] == CHANNELS
    assert (await boss.open(path)).status_code == 404
    assert len(await actions(database)) == 6


async def test_dead_letters_are_shown_with_their_reason_and_retried(boss: Person, database: Database) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn)
    await dead_letters(database, channel, of=3)
    path = f"{CHANNELS}/{channel.id}"

    page = (await boss.open(path)).text
    assert "HTTP 422: &lt;no&gt; title" in page
    assert "&lt;b&gt;Harbour&lt;/b&gt; opens" in page
    assert "Deleted article" in page
    assert "1 delivery will be sent again." in (await boss.send("POST", f"{path}/retry/2")).text
    assert await refused(database, channel.id) == [3, 1]
    assert "2 deliveries will be sent again." in (await boss.send("POST", f"{path}/retry")).text
    assert "There is no dead letter." in (await boss.send("POST", f"{path}/retry/99")).text
    assert (await boss.send("POST", f"{path}/retry/{10**19}")).status_code == 400


async def test_a_channel_is_replayed(boss: Person, database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn)
        await queue(conn, channel.id, [1, 2, 3])
        await conn.execute("UPDATE deliveries SET delivered_at = queued_at")
    clock.move(minutes=30)
    path = f"{CHANNELS}/{channel.id}"

    assert "3 deliveries will be sent again." in (await boss.send("POST", f"{path}/replay", since="1h")).text
    assert (await boss.send("POST", f"{path}/replay", since="forever")).status_code == 400
    assert "Replaying" in (await boss.open(path)).text


async def test_deliveries_are_listed_by_status_and_in_pages(boss: Person, database: Database) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn)
        await queue(conn, channel.id, range(1, 61))
        await conn.execute("UPDATE deliveries SET delivered_at = queued_at WHERE revision <= 5")
    path = f"{CHANNELS}/{channel.id}"

    assert "before=11#deliveries" in (await boss.open(path)).text
    assert '<td class="number">10</td>' in (await boss.open(f"{path}?before=11")).text
    delivered = (await boss.open(f"{path}?status=delivered")).text
    assert '<td class="number">5</td>' in delivered
    assert '<td class="number">6</td>' not in delivered
    assert (await boss.open(f"{path}?status=odd&before=x")).status_code == 200


async def test_a_failing_destination_is_shown_with_its_reason(boss: Person, database: Database) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn)
        await conn.execute(
            "UPDATE channels SET failures = 3, failed_since = %s, reason = 'connection <refused>'", (START,)
        )

    page = (await boss.open(f"{CHANNELS}/{channel.id}")).text

    assert "The destination has failed 3 times in a row" in page
    assert "connection &lt;refused&gt;" in page
    assert "Failing" in (await boss.open(CHANNELS)).text


async def test_moderators_see_channels_without_secrets_and_buttons(
    app: Litestar, boss: Person, database: Database
) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn, options={"url": "https://hooks.example.com/in?key=hunter2"})
    await dead_letters(database, channel)
    path = f"{CHANNELS}/{channel.id}"
    async with a_person(app) as mo:
        await mo.register("mo@example.com")
        await set_role(database, "mo@example.com", Role.MODERATOR)

        page = (await mo.open(path)).text
        assert "HTTP 422" in page
        assert "hunter2" not in page
        assert "hx-post" not in page
        assert "Add a channel" not in (await mo.open(CHANNELS)).text
        assert (await mo.send("POST", f"{path}/retry")).status_code == 403
        assert (await mo.send("POST", CHANNELS, **HOOK)).status_code == 403


async def test_the_address_of_a_feed_is_shown_once_and_revoked(boss: Person, database: Database) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn)
    path = f"{CHANNELS}/{channel.id}"

    made = (await boss.send("POST", f"{path}/feed")).text
    address = made.partition("Atom: <code>")[2].partition("</code>")[0]
    assert address.startswith("http://127.0.0.1:8000/channel-feeds/")
    page = (await boss.open(path)).text
    assert address not in page
    assert ">Revoke<" in page
    assert "Revoked." in (await boss.send("DELETE", f"{path}/feed")).text
    assert ">Revoke<" not in (await boss.open(path)).text


async def test_a_channel_that_is_only_read_is_not_replayed(boss: Person, database: Database) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn, destination=DestinationKind.NONE, options={})

    assert "/replay" not in (await boss.open(f"{CHANNELS}/{channel.id}")).text


def test_the_plot_has_a_column_for_each_hour() -> None:
    now = START.replace(minute=30)
    hour = now.replace(minute=0, second=0, microsecond=0)

    plot = deliveries_over_time(
        [HourCount(hour - timedelta(hours=2), 4), HourCount(hour, 8)], now - timedelta(hours=24), now
    )

    assert (plot.most, len(plot.targets)) == (8, 24)
    assert [(part.height, part.kind) for part in plot.parts] == [(50, "delivered"), (100, "delivered")]
    assert plot.parts[-1].x + plot.parts[-1].width <= 100
    assert plot.targets[-1].label.endswith("8 delivered")
