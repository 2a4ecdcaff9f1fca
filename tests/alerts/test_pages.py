"""Incidents on the health page, on their own page and as metrics, for operators only."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import psycopg
import pytest
from litestar import Litestar
from prometheus_client import REGISTRY

from headwater.alerts.types import AlertOptions, Condition
from headwater.alerts.worker import Alerter
from headwater.db import Database
from headwater.net.mail import Mailer
from headwater.server import create_health_app
from headwater.types import UserId
from headwater.web import WebOptions
from tests.ai.spending import spend
from tests.alerts.receiver import Receiver
from tests.alerts.world import OWN_CLOCK, a_system_feed, mend
from tests.app import create_app
from tests.browser import visit
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

MAILER = Mailer(None, "headwater@localhost")


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def operator(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()  # the first account is the administrator's
        yield person


async def evaluate(database: Database, clock: MovableClock, webhook: str | None = None) -> None:
    alerter = Alerter(database, MAILER, clock, AlertOptions(webhook_url=webhook, clock=OWN_CLOCK))
    while items := await alerter.claim(2):
        for item in items:
            await alerter.work(item)


async def test_the_page_says_where_alerts_are_sent_and_sends_a_test(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    secret = f"{receiver.url}?key=opensesame"
    web = WebOptions(alerts=AlertOptions(webhook_url=secret, recipients=("ops@example.com",)), mailer=MAILER)
    async with a_person(create_app(database, clock, web=web)) as operator:
        await operator.register()
        page = await operator.open("/admin/alerts")
        sent = await operator.send("POST", "/admin/alerts/test")

    assert "http://127.0.0.1</dd>" in page.text
    assert "ops@example.com" in page.text
    assert "opensesame" not in page.text
    assert "webhook: test alert sent." in sent.text
    assert "ops@example.com: The mail server did not accept it; see the log." in sent.text
    assert len(receiver.bodies) == 1


async def test_without_a_destination_the_page_says_so(operator: Person) -> None:
    page = await operator.open("/admin/alerts")
    refused = await operator.send("POST", "/admin/alerts/test")

    assert "Alerts are shown here only." in page.text
    assert "Send test alert" not in page.text
    assert (refused.status_code, "No destination is set." in refused.text) == (400, True)


@pytest.mark.parametrize("path", ["/admin", "/admin/alerts", "/admin/alerts/open"])
async def test_before_the_first_evaluation_the_pages_say_so(operator: Person, path: str) -> None:
    page = await operator.open(path)

    assert page.status_code == 200
    assert "No active alerts" in page.text
    assert "Not checked yet" in page.text


@pytest.mark.parametrize("path", ["/admin", "/admin/alerts", "/admin/alerts/open"])
async def test_what_is_open_is_shown_with_where_it_leads(
    operator: Person, database: Database, clock: MovableClock, path: str
) -> None:
    async with database.as_system() as conn:
        source = await a_system_feed(conn, errors=4, is_critical=True)
        await conn.execute("UPDATE sources SET name = '<b>Feed</b> & co'")
    await evaluate(database, clock)
    clock.move(minutes=3)
    page = await operator.open(path)

    assert "1 active alert" in page.text
    assert f'href="/admin/sources/{source.id}"' in page.text
    assert "&lt;b&gt;Feed&lt;/b&gt; &amp; co has failed 4 times in a row." in page.text
    assert "3 minutes ago" in page.text
    assert "HEADWATER_ALERT_WEBHOOK_URL" in page.text  # no channel is set: the page says how to set one


async def test_resolved_incidents_are_shown_with_their_recipients(
    operator: Person, database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.as_system() as conn:
        source = await a_system_feed(conn, errors=4, is_critical=True)
    before = await operator.open("/admin/alerts")
    await evaluate(database, clock, receiver.url)
    await mend(database, source)
    clock.move(minutes=90)
    await evaluate(database, clock, receiver.url)
    page = await operator.open("/admin/alerts")

    assert "No resolved alerts." in before.text
    assert "No active alerts" in page.text
    assert "Sent to webhook." in page.text
    assert "A critical feed fails" in page.text


async def test_a_failed_delivery_is_shown_without_the_webhook_url(
    operator: Person, database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    receiver.status, receiver.answer = 403, b"<script>no</script>"
    async with database.as_system() as conn:
        await a_system_feed(conn, errors=4, is_critical=True)
    await evaluate(database, clock, receiver.url)
    page = await operator.open("/admin/alerts")

    assert "Not yet sent to webhook after 1 attempt: It answered with 403: &lt;script&gt;no&lt;/script&gt;" in page.text
    assert receiver.url not in page.text


async def test_a_stage_that_looks_no_more_is_missed(operator: Person, database: Database, clock: MovableClock) -> None:
    await evaluate(database, clock)
    soon = await operator.part("/admin/alerts/open")
    clock.move(minutes=11)
    late = await operator.part("/admin/alerts/open")

    assert "Is the stage" not in soon.text
    assert "Is the stage <code>alerting</code> running?" in late.text


async def test_five_hundred_incidents_fill_no_page(operator: Person, database: Database, clock: MovableClock) -> None:
    async with database.as_system() as conn:
        for number in range(60):
            await a_system_feed(conn, number, disabled_at=START - timedelta(days=3))
    await evaluate(database, clock)
    page = await operator.part("/admin/alerts/open")

    assert "61 active alerts" in page.text
    assert page.text.count('<li class="incident') == 20
    assert "41 more" in page.text
    assert page.text.index('class="incident critical"') < page.text.index('class="incident warning"')


@pytest.mark.parametrize(
    "table",
    ["incidents", "incident_messages", "incident_notices", "alert_samples", "alert_state", "own_outages"],
)
async def test_no_reader_sees_any_of_it(operator: Person, database: Database, clock: MovableClock, table: str) -> None:
    await evaluate(database, clock)
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT id FROM users")
        row = await cur.fetchone()
    assert row is not None

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with database.as_user(UserId(row[0])) as conn:
            await conn.execute(f"SELECT FROM {table}".encode())


# Metrics


def value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


@pytest.mark.parametrize(
    "make", [create_health_app, lambda database: create_app(database, MovableClock())], ids=["work", "serve"]
)
async def test_every_process_shows_what_the_last_evaluation_saw(
    database: Database, clock: MovableClock, make: Callable[[Database], Litestar]
) -> None:
    async with database.as_system() as conn:
        source = await a_system_feed(conn, 1, errors=4, is_critical=True)
        dead = await a_system_feed(conn, 2, disabled_at=START - timedelta(days=3))
    await spend(database, "2026-03-01", 2_500_000, reached=True)
    await evaluate(database, clock)
    async with visit(make(database)) as client:
        answer = await client.get("/metrics")
        seen = {
            "evaluated": value("headwater_alerts_evaluated_timestamp_seconds"),
            "open": value("headwater_incidents_open", condition=Condition.CRITICAL_FEED_FAILING.value),
            "none": value("headwater_incidents_open", condition=Condition.OWN_OUTAGE.value),
            "system": value("headwater_system_feeds"),
            "disabled": value("headwater_system_feeds_disabled"),
            "failing": value("headwater_sources", state="failing"),
            "errors": value("headwater_critical_feed_errors", source_id=str(source.id), source="Feed 1"),
            "queue": value("headwater_queue_size", queue="frontier"),
            "due": value("headwater_stage_due_since_timestamp_seconds", stage="fetching"),
            "cost": value("headwater_ai_month_cost_dollars"),
            "reached": value("headwater_ai_budget_reached"),
        }
        since = value("headwater_system_feed_disabled_since_timestamp_seconds", source_id=str(dead.id), source="Feed 2")
        await mend(database, dead)
        clock.move(minutes=1)
        await evaluate(database, clock)
        await client.get("/metrics")

    assert answer.status_code == 200
    assert seen == {
        "evaluated": START.timestamp(),
        "open": 1,
        "none": 0,
        "system": 2,
        "disabled": 1,
        "failing": 1,
        "errors": 4,
        "queue": 0,
        "due": 0,
        "cost": 2.5,
        "reached": 1,
    }
    assert since == (START - timedelta(days=3)).timestamp()
    assert (
        value("headwater_system_feed_disabled_since_timestamp_seconds", source_id=str(dead.id), source="Feed 2") is None
    )


async def test_without_a_database_metrics_are_shown_and_say_what_is_not_known(clock: MovableClock) -> None:
    gone = Database("host=127.0.0.1 port=1 dbname=nothing", pool_size=1, wait=timedelta(milliseconds=200))
    async with gone, visit(create_health_app(gone)) as client:
        answer = await client.get("/metrics")

    assert answer.status_code == 200
    assert value("headwater_alerts_evaluated_timestamp_seconds") == 0
    assert "headwater_build_info" in answer.text
    assert "headwater_queue_size{" not in answer.text
