"""Alerting on a real database, with a mail server and a webhook on loopback: once per incident, and once its end."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from headwater.alerts.show import show_facts
from headwater.alerts.store import facts as facts_store
from headwater.alerts.store import incidents, messages
from headwater.alerts.types import AlertOptions, Condition, Evaluation, Facts, Message, StageFact, Thresholds
from headwater.alerts.worker import LEASE, Alerter
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.db import Database
from headwater.frontier.store import claims, queue
from headwater.frontier.types import FrontierOptions, Origin, Submission
from headwater.hosts.store.outages import report_outage
from headwater.ids import new_id
from headwater.net.mail import Mailer, SmtpServer
from headwater.observability.metrics import render_metrics
from headwater.timekeeping import store as clocks
from headwater.understanding import store as classifying
from tests.ai.spending import spend
from tests.alerts.receiver import Receiver
from tests.alerts.world import OWN_CLOCK, a_system_feed, mend
from tests.builders import a_source, an_article
from tests.channels.given import a_channel
from tests.channels.given import queue as queue_deliveries
from tests.clock import START, MovableClock
from tests.net.post_box import PostBox

pytestmark = pytest.mark.database

SITE = "https://headwater.example"
LETTERS = Mailer(None, "Headwater <headwater@example.com>")


def an_alerter(
    database: Database, clock: MovableClock, receiver: Receiver | None = None, box: PostBox | None = None
) -> Alerter:
    mailer = (
        Mailer(SmtpServer.parse(f"smtp://127.0.0.1:{box.port}"), "Headwater <headwater@example.com>")
        if box
        else LETTERS
    )
    options = AlertOptions(
        webhook_url=receiver.url if receiver else None,
        recipients=("ann@example.com", "bob@example.com") if box else (),
        site=SITE,
        clock=OWN_CLOCK,
    )
    return Alerter(database, mailer, clock, options)


async def work(alerter: Alerter) -> list[object]:
    """All that is due, to its end. Returns what it was."""
    done: list[object] = []
    while items := await alerter.claim(alerter.concurrency):
        for item in items:
            await alerter.work(item)
        done += items
    return done


async def later(alerter: Alerter, clock: MovableClock, **by: float) -> list[object]:
    clock.move(**by)
    return await work(alerter)


async def test_a_fresh_install_sends_no_alerts(
    database: Database, clock: MovableClock, receiver: Receiver, box: PostBox
) -> None:
    alerter = an_alerter(database, clock, receiver, box)
    for _ in range(20):
        await later(alerter, clock, minutes=1)
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=10)

    assert (list(board.open), list(board.past), board.evaluated_at) == ([], [], clock())
    assert (receiver.bodies, box.emails) == ([], [])


async def test_an_incident_is_sent_once_and_its_end_once(
    database: Database, clock: MovableClock, receiver: Receiver, box: PostBox
) -> None:
    async with database.transaction() as conn:
        source = await a_system_feed(conn, errors=4, is_critical=True)
    alerter = an_alerter(database, clock, receiver, box)
    with capture_logs() as logs:
        for _ in range(3):
            await later(alerter, clock, minutes=1)
        begun = len(receiver.bodies), len(box.emails)
        await mend(database, source)
        for _ in range(12):
            await later(alerter, clock, minutes=10)

    assert begun == (1, 2)
    assert len(receiver.bodies) == 2
    assert [(body["began"], body["ended"]) for body in receiver.bodies] == [(1, 0), (0, 1)]
    began, ended = (body["incidents"][0] for body in receiver.bodies)
    assert (began["status"], ended["status"]) == ("firing", "resolved")
    assert began["condition"] == ended["condition"] == Condition.CRITICAL_FEED_FAILING.value
    assert began["id"] == ended["id"]
    assert began["summary"] == "Feed 1 has failed 4 times in a row."
    assert "Feed 1 has failed 4 times" in receiver.bodies[0]["text"]
    assert sorted(str(email["To"]) for email in box.emails) == ["ann@example.com"] * 2 + ["bob@example.com"] * 2
    assert {str(email["Subject"]).strip() for email in box.emails} == {
        "[Headwater] A critical feed fails: Feed 1 has failed 4 times in a row.",
        "[Headwater] Resolved: A critical feed fails",
    }
    assert len({email["Message-ID"] for email in box.emails}) == 4
    assert [log["log_level"] for log in logs if log["event"].startswith("incident")] == ["error", "info"]


async def test_a_clock_that_jumps_is_an_incident_that_ends_when_it_is_right_again(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.transaction() as conn:
        await clocks.note(conn, now=clock(), is_trusted=True)
    alerter = an_alerter(database, clock, receiver)
    await later(alerter, clock, days=200)
    clock.move(days=-200)
    async with database.transaction() as conn:
        await facts_store.repair_schedules(conn, now=clock())
    for _ in range(12):
        await later(alerter, clock, minutes=1)

    sent = [one for body in receiver.bodies for one in body["incidents"] if one["condition"] == "HeadwaterClockProblem"]
    assert [one["status"] for one in sent] == ["firing", "resolved"]
    assert "200 days ahead of the last run" in sent[0]["summary"]
    assert "headwater retention run --confirm" in sent[0]["summary"]


async def test_a_reached_budget_is_an_incident_that_ends_with_the_month(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    await spend(database, "2026-03-01", 499_999_999, reached=True)
    clock.now = datetime(2026, 3, 31, 23, 50, tzinfo=UTC)
    alerter = an_alerter(database, clock, receiver)
    for _ in range(25):
        await later(alerter, clock, minutes=1)

    sent = [one for body in receiver.bodies for one in body["incidents"]]
    assert [(one["condition"], one["severity"], one["status"]) for one in sent] == [
        ("HeadwaterAiBudgetReached", "warning", "firing"),
        ("HeadwaterAiBudgetReached", "warning", "resolved"),
    ]


async def test_a_clock_that_was_ahead_neither_keeps_incidents_open_nor_silences_news_of_feeds(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.transaction() as conn:
        first = await a_system_feed(conn, 1, errors=4, is_critical=True)
    alerter = an_alerter(database, clock, receiver)
    await later(alerter, clock, days=200)
    clock.move(days=-200)
    async with database.transaction() as conn:
        await facts_store.repair_schedules(conn, now=clock())
        second = await a_system_feed(conn, 2, errors=4, is_critical=True)
    await mend(database, first)
    for _ in range(12):
        await later(alerter, clock, minutes=10)
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=10)

    assert [shown.subject for shown in board.open] == [str(second.id)]
    assert str(first.id) in {shown.subject for shown in board.past}
    assert str(second.id) in {one["subject"] for body in receiver.bodies for one in body["incidents"]}


async def test_a_clock_that_cannot_be_trusted_deletes_no_incident(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await clocks.note(conn, now=clock(), is_trusted=True)
        source = await a_system_feed(conn, errors=4, is_critical=True)
    alerter = an_alerter(database, clock)
    await later(alerter, clock, minutes=1)
    await mend(database, source)
    for _ in range(3):
        await later(alerter, clock, minutes=10)
    await later(alerter, clock, days=700)
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=10)

    assert [shown.subject for shown in board.past] == [str(source.id)]


async def test_sent_messages_are_stored_with_their_incident(
    database: Database, clock: MovableClock, receiver: Receiver, box: PostBox
) -> None:
    async with database.transaction() as conn:
        await a_system_feed(conn, errors=4, is_critical=True)
    await work(an_alerter(database, clock, receiver, box))
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=10)

    (shown,) = board.open
    assert [(one.channel, one.kind.value, one.sent_at) for one in shown.notices] == [
        ("mail:ann@example.com", "began", START),
        ("mail:bob@example.com", "began", START),
        ("webhook", "began", START),
    ]


async def test_five_hundred_dead_feeds_are_one_message(
    database: Database, clock: MovableClock, receiver: Receiver, box: PostBox
) -> None:
    async with database.transaction() as conn:
        for number in range(500):
            await a_system_feed(conn, number, disabled_at=START - timedelta(days=2))
    alerter = an_alerter(database, clock, receiver, box)
    for _ in range(5):
        await later(alerter, clock, minutes=1)
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=0)

    assert len(board.open) == 501  # each feed, and that they are so many
    assert len(receiver.bodies) == 1
    assert len(box.emails) == 2
    assert receiver.bodies[0]["began"] == 501
    assert len(receiver.bodies[0]["text"]) < 10_000
    assert "and 481 more" in receiver.bodies[0]["text"]


async def test_feeds_that_fail_one_after_another_are_reported_together_each_hour(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    alerter = an_alerter(database, clock, receiver)
    for number in range(24):
        async with database.transaction() as conn:
            await a_system_feed(conn, number, errors=9, is_critical=True)
        await later(alerter, clock, minutes=5)
    await later(alerter, clock, minutes=61)

    assert [body["began"] for body in receiver.bodies] == [1, 12, 11]


async def test_a_condition_that_comes_and_goes_is_one_incident(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    worker, alerter = new_id(), an_alerter(database, clock, receiver)
    for minute in range(60):
        async with database.transaction() as conn:
            await report_outage(conn, worker=worker, stage="polling", now=clock(), is_outage=minute % 8 == 0)
        await later(alerter, clock, minutes=1)

    assert [body["incidents"][0]["condition"] for body in receiver.bodies] == ["HeadwaterOwnOutage"]


async def test_an_outage_seen_by_another_process_is_reported(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    poller, alerter = new_id(), an_alerter(database, clock, receiver)
    async with database.transaction() as conn:
        await report_outage(conn, worker=poller, stage="polling", now=clock(), is_outage=True)
    await work(alerter)
    async with database.transaction() as conn:
        await report_outage(conn, worker=poller, stage="polling", now=clock(), is_outage=False)
    for _ in range(12):
        await later(alerter, clock, minutes=1)

    assert [(body["began"], body["ended"]) for body in receiver.bodies] == [(1, 0), (0, 1)]


async def test_a_poller_that_died_in_its_outage_is_forgotten(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await report_outage(conn, worker=new_id(), stage="polling", now=clock(), is_outage=True)
        during = await facts_store.read_facts(conn, now=clock.move(minutes=4), limits=Thresholds())
        after = await facts_store.read_facts(conn, now=clock.move(minutes=2), limits=Thresholds())

    assert [outage.stage for outage in during.outages] == ["polling"]
    assert list(after.outages) == []


async def test_articles_that_are_not_classified_mean_the_stage_stopped(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        listed = [ListedEntry((await a_source(conn)).id, an_article(), "example.com")]
        await records.keep(conn, seen_at=START, listed=listed)
        due_at = START + records.AFTER_LISTING
        facts = [
            await facts_store.read_facts(conn, now=now, limits=Thresholds()) for now in (START, due_at)
        ]  # fmt: skip
        await classifying.claim(conn, lease=new_id(), now=due_at, leased_until=due_at + timedelta(minutes=1), limit=1)
        claimed = await facts_store.read_facts(conn, now=due_at, limits=Thresholds())

    waiting, due = (one.sample.stages["classifying"] for one in facts)
    assert (waiting.due_since, waiting.is_busy) == (None, False)
    assert (due.due_since, due.is_busy) == (due_at, False)
    busy = claimed.sample.stages["classifying"]
    assert (busy.due_since, busy.is_busy) == (None, True)


async def test_a_frontier_without_fetches_means_the_stage_stopped(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.transaction() as conn:
        pages = [Submission(f"https://site-{number}.example/1", Origin.MANUAL) for number in range(3)]
        await queue.submit(conn, submissions=pages, now=START, options=FrontierOptions())
    alerter = an_alerter(database, clock, receiver)
    for _ in range(15):
        await later(alerter, clock, minutes=1)
    before = list(receiver.bodies)
    await later(alerter, clock, minutes=2)

    assert before == []
    assert [one["subject"] for body in receiver.bodies for one in body["incidents"]] == ["fetching"]


async def test_a_fetcher_that_is_slow_has_not_stopped(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.transaction() as conn:
        pages = [Submission(f"https://site-{number}.example/1", Origin.MANUAL) for number in range(40)]
        await queue.submit(conn, submissions=pages, now=START, options=FrontierOptions())
    alerter = an_alerter(database, clock, receiver)
    for _ in range(20):
        async with database.transaction() as conn:
            await claims.claim(
                conn,
                lease=new_id(),
                now=clock(),
                leased_until=clock() + timedelta(minutes=1, seconds=30),
                hosts=1,
                urls_per_host=1,
                options=FrontierOptions(),
            )
        await later(alerter, clock, minutes=1)

    assert receiver.bodies == []


async def test_feeds_without_polls_mean_the_stage_stopped_even_when_feeds_are_added(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    alerter = an_alerter(database, clock, receiver)
    for number in range(20):
        async with database.transaction() as conn:
            source = await a_system_feed(conn, number)
            await conn.execute(
                "UPDATE feed_state SET next_poll_at = %(now)s WHERE source_id = %(id)s",
                {"now": clock(), "id": source.id},
            )
        await later(alerter, clock, minutes=1)

    assert [one["subject"] for body in receiver.bodies for one in body["incidents"]] == ["polling"]


async def test_a_frontier_that_only_grows_is_reported(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    alerter = an_alerter(database, clock, receiver)
    fetching = new_id()
    for hour in range(8 * 6):
        async with database.transaction() as conn:
            host = f"https://site-{hour}.example"
            pages = [Submission(f"{host}/{number}", Origin.MANUAL) for number in range(50)]
            await queue.submit(conn, submissions=pages, now=clock(), options=FrontierOptions())
            # Somebody is at it, and far too slow: that it stopped would be another incident.
            await conn.execute(
                "UPDATE hosts SET lease = %(lease)s, claimed = 1, free_at = %(until)s",
                {"lease": fetching, "until": clock() + timedelta(minutes=30)},
            )
        await later(alerter, clock, minutes=10)

    assert [(one["condition"], one["subject"]) for body in receiver.bodies for one in body["incidents"]] == [
        ("HeadwaterQueueGrows", "frontier")
    ]


# What goes wrong on the way


@pytest.mark.parametrize("status", [302, 404, 429, 500])
async def test_a_webhook_that_refuses_is_tried_again_until_it_takes_it_under_the_same_id(
    database: Database, clock: MovableClock, receiver: Receiver, status: int
) -> None:
    async with database.transaction() as conn:
        await a_system_feed(conn, errors=4, is_critical=True)
    receiver.status, receiver.answer = status, b"not\0 now"
    alerter = an_alerter(database, clock, receiver)
    await work(alerter)
    async with database.transaction() as conn:
        (shown,) = (await incidents.read_board(conn, past=0)).open
    at_once = len(receiver.bodies)
    await later(alerter, clock, seconds=31)
    receiver.status = 200
    for _ in range(10):
        await later(alerter, clock, seconds=61)

    assert at_once == 1
    assert shown.notices[0].error == f"It answered with {status}: not now"
    assert shown.notices[0].sent_at is None
    assert len(receiver.bodies) == 3
    assert len(set(receiver.ids)) == 1
    assert {headers["Idempotency-Key"] for headers in receiver.headers} == set(receiver.ids)


async def test_what_happens_while_the_webhook_is_away_goes_into_one_message(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    receiver.status = 503
    alerter = an_alerter(database, clock, receiver)
    sources = []
    for number in range(10):
        async with database.transaction() as conn:
            sources.append(await a_system_feed(conn, number, errors=9, is_critical=True))
        await later(alerter, clock, minutes=1)
    for source in sources[1:6]:
        await mend(database, source)
    for _ in range(15):
        await later(alerter, clock, minutes=1)
    receiver.status = 200
    receiver.bodies.clear()
    await later(alerter, clock, hours=2)
    await later(alerter, clock, hours=2)
    await later(alerter, clock, hours=2)

    assert [(body["began"], body["ended"]) for body in receiver.bodies] == [(1, 0), (4, 5)]


async def test_a_mail_server_that_is_away_loses_nothing(database: Database, clock: MovableClock, box: PostBox) -> None:
    async with database.transaction() as conn:
        await a_system_feed(conn, errors=4, is_critical=True)
    box.refuses = "MAIL"
    alerter = an_alerter(database, clock, box=box)
    await work(alerter)
    box.refuses = ""
    before = list(box.emails)
    await later(alerter, clock, minutes=2)
    await later(alerter, clock, minutes=2)

    assert before == []
    assert sorted(str(email["To"]) for email in box.emails) == ["ann@example.com", "bob@example.com"]


async def test_who_dies_between_deciding_and_sending_leaves_it_to_the_next(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.transaction() as conn:
        await a_system_feed(conn, errors=4, is_critical=True)
    died = an_alerter(database, clock, receiver)
    await died.evaluate()

    assert receiver.bodies == []
    await work(an_alerter(database, clock, receiver))
    assert len(receiver.bodies) == 1


async def test_who_dies_between_sending_and_writing_that_down_makes_it_come_twice_under_one_id(
    database: Database, clock: MovableClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.transaction() as conn:
        await a_system_feed(conn, errors=4, is_critical=True)
    died = an_alerter(database, clock, receiver)
    await died.evaluate()
    (message,) = [item for item in await died.claim(2) if isinstance(item, Message)]
    with monkeypatch.context() as patch, pytest.raises(asyncio.CancelledError):
        patch.setattr(messages, "set_sent", _dies)
        await died.work(message)
    other = an_alerter(database, clock, receiver)
    within = await later(other, clock, seconds=30)
    after = await later(other, clock, seconds=LEASE.total_seconds())

    assert [item for item in within if isinstance(item, Message)] == []
    assert [item.id for item in after if isinstance(item, Message)] == [message.id]
    assert receiver.ids == [str(message.id)] * 2
    assert [body["attempt"] for body in receiver.bodies] == [1, 2]


async def _dies(*_: object, **__: object) -> None:
    raise asyncio.CancelledError


async def test_only_one_of_many_evaluates(database: Database, clock: MovableClock, receiver: Receiver) -> None:
    async with database.transaction() as conn:
        await a_system_feed(conn, errors=4, is_critical=True)
    alerters = [an_alerter(database, clock, receiver) for _ in range(4)]
    claimed = [await alerter.claim(2) for alerter in alerters]
    decided = await asyncio.gather(*(alerter.evaluate() for alerter in alerters))

    assert [list(items) for items in claimed] == [[Evaluation()]] * 4  # all of them see that it is due
    assert len([one for one in decided if one is not None]) == 1


async def test_one_whose_clock_is_ahead_does_not_keep_the_others_from_looking(
    database: Database, clock: MovableClock
) -> None:
    await work(an_alerter(database, MovableClock(START + timedelta(days=1))))

    assert await work(an_alerter(database, clock)) == [Evaluation()]


async def test_a_channel_added_later_gets_open_incidents_and_no_resolved_ones(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.transaction() as conn:
        over = await a_system_feed(conn, 1, errors=4, is_critical=True)
        await a_system_feed(conn, 2, errors=5, is_critical=True)
    silent = an_alerter(database, clock)
    await work(silent)
    await mend(database, over)
    await later(silent, clock, minutes=11)
    await later(an_alerter(database, clock, receiver), clock, minutes=1)

    assert [one["summary"] for body in receiver.bodies for one in body["incidents"]] == [
        "Feed 2 has failed 5 times in a row."
    ]


async def test_what_is_long_over_is_forgotten(database: Database, clock: MovableClock, receiver: Receiver) -> None:
    async with database.transaction() as conn:
        source = await a_system_feed(conn, errors=4, is_critical=True)
    alerter = an_alerter(database, clock, receiver)
    await work(alerter)
    await mend(database, source)
    for days in (0.1, 0.1, 366, 1):
        await later(alerter, clock, days=days)
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=10)
        cur = await conn.execute(
            "SELECT (SELECT count(*) FROM incident_messages), (SELECT count(*) FROM alert_samples)"
        )
        left = await cur.fetchone()

    assert (list(board.open), list(board.past)) == ([], [])
    assert left == (0, 1)


async def test_an_inactive_source_counts_as_off_and_a_readers_own_feed_does_not(
    database: Database, clock: MovableClock
) -> None:
    async with database.transaction() as conn:
        inactive = await a_system_feed(conn, 1, enabled=False, is_critical=True, errors=9)
        await a_system_feed(conn, 2, disabled_at=START - timedelta(days=9), is_system=False)
        await a_system_feed(conn, 3)
        facts = await facts_store.read_facts(conn, now=clock(), limits=Thresholds())

    assert (facts.counts.system, facts.counts.system_disabled) == (2, 1)
    assert dict(facts.counts.states) == {"disabled": 1, "auto_disabled": 1, "working": 1}
    assert [feed.id for feed in facts.disabled] == [inactive.id]
    assert list(facts.critical) == []  # it is not polled, so it does not fail


async def test_what_an_evaluation_saw_is_read_back_as_it_was(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await a_system_feed(conn, 1, disabled_at=START - timedelta(days=9), errors=2)
        await a_system_feed(conn, 2, errors=4, is_critical=True)
        await report_outage(conn, worker=new_id(), stage="polling", now=clock(), is_outage=True)
        pages = [Submission("https://site.example/1", Origin.MANUAL)]
        await queue.submit(conn, submissions=pages, now=START, options=FrontierOptions())
        facts = await facts_store.read_facts(conn, now=clock(), limits=Thresholds())
        nothing, _ = await facts_store.find_last(conn)
        await facts_store.save(conn, facts=facts)
        kept, _ = await facts_store.find_last(conn)
        (sample,) = await facts_store.list_samples(conn, after=START)

    assert nothing is None
    assert kept == facts
    assert sample == facts.sample
    assert facts.sample.queues["frontier"] == 1


async def test_a_channel_with_dead_letters_is_an_incident_until_they_are_retried(
    database: Database, clock: MovableClock, receiver: Receiver
) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn, "articles:crime")
        await queue_deliveries(conn, channel.id, [1, 2])
        await conn.execute("UPDATE deliveries SET reason = 'HTTP 422' WHERE revision = 1")
        await conn.execute("UPDATE channels SET failures = 1, failed_since = %s, reason = 'gone'", (START,))
    alerter = an_alerter(database, clock, receiver)
    await later(alerter, clock, minutes=1)
    shown = shown_metrics(*await last_facts(database))
    await later(alerter, clock, minutes=31)
    async with database.transaction() as conn:
        await operate.retry(conn, channel.id, actor=COMMAND_LINE, now=clock())
        await conn.execute("UPDATE channels SET failures = 0, failed_since = NULL")
    for _ in range(12):
        await later(alerter, clock, minutes=1)

    sent = [(one["condition"], one["status"]) for body in receiver.bodies for one in body["incidents"]]
    assert sent[:2] == [("HeadwaterChannelDeadLetters", "firing"), ("HeadwaterChannelFailing", "firing")]
    assert sorted(sent[2:]) == [("HeadwaterChannelDeadLetters", "resolved"), ("HeadwaterChannelFailing", "resolved")]
    assert 'headwater_channel_dead_letters{channel="articles:crime"} 1.0' in shown
    assert 'headwater_channel_waiting{channel="articles:crime"} 1.0' in shown
    assert 'headwater_channel_failing_since_timestamp_seconds{channel="articles:crime"} 1.7723664e+09' in shown


async def last_facts(database: Database) -> tuple[Facts | None, Mapping[str, int]]:
    async with database.transaction() as conn:
        return await facts_store.find_last(conn)


def shown_metrics(facts: Facts | None, incidents: Mapping[str, int]) -> str:
    show_facts(facts, incidents)
    return render_metrics().decode()


@pytest.mark.parametrize(
    ("change", "is_due"),
    [("failures = 0", True), ("failures = 3", False), ("is_paused = true", False), ("settled_to = 1", False)],
)
async def test_delivering_is_due_while_a_working_channel_has_something_to_send(
    database: Database, clock: MovableClock, change: str, is_due: bool
) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn)
        await queue_deliveries(conn, channel.id, [1])
        await conn.execute(f"UPDATE channels SET {change}".encode())
        facts = await facts_store.read_facts(conn, now=clock(), limits=Thresholds())

    assert facts.sample.stages["delivering"] == StageFact(START if is_due else None)


async def test_the_interval_of_evaluation_is_an_option(database: Database, clock: MovableClock) -> None:
    alerter = an_alerter(database, clock)
    alerter._options = replace(alerter._options, every=timedelta(seconds=1))
    done = [len(await later(alerter, clock, seconds=1)) for _ in range(5)]

    assert done == [1] * 5
    assert await alerter.lag() == timedelta(0)
