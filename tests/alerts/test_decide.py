"""Which conditions hold, which incidents they make, and which notices are due: tables and properties."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.alerts.decide import changes, due_notices, holding, wait
from headwater.alerts.types import (
    BudgetFact,
    ChannelFact,
    Condition,
    Facts,
    FactSample,
    FeedCounts,
    FeedFact,
    HeldCondition,
    Incident,
    Notice,
    NoticeKind,
    StageFact,
    Thresholds,
)
from headwater.channels.types import ChannelId
from headwater.hosts.store.outages import Outage
from headwater.types import SourceId
from tests.clock import START

LIMITS = Thresholds()
SETTLE = timedelta(minutes=10)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def a_feed(name: str = "BBC", *, off_for: timedelta | None = None, errors: int = 0, number: int = 1) -> FeedFact:
    disabled_at = START - off_for if off_for is not None else None
    return FeedFact(SourceId(UUID(int=number)), name, disabled_at, "not_found" if off_for is not None else None, errors)


def facts(**more: object) -> Facts:
    return replace(Facts(FactSample(START)), **more)  # pyright: ignore[reportArgumentType]


def held(facts: Facts, past: Sequence[FactSample] = (), limits: Thresholds = LIMITS) -> list[tuple[Condition, str]]:
    return [(one.condition, one.subject) for one in holding(facts, past, limits)]


def test_a_fresh_install_alerts_nothing() -> None:
    assert held(facts()) == []


@pytest.mark.parametrize(
    ("system", "disabled", "alerts"),
    [
        (0, 0, False),
        (1, 1, False),  # one dead feed is not widespread; after a day the other condition tells of it
        (2, 1, False),
        (2, 2, True),
        (4, 1, False),
        (4, 2, True),
        (10, 2, False),  # 20 % is not more than 20 %
        (9, 2, True),
        (100, 20, False),
        (100, 21, True),
    ],
)
def test_more_than_a_fifth_of_the_system_feeds_off(system: int, disabled: int, alerts: bool) -> None:
    now = facts(counts=FeedCounts({}, system, disabled))

    assert held(now) == ([(Condition.SYSTEM_FEEDS_DISABLED, "")] if alerts else [])


@pytest.mark.parametrize(("system", "disabled", "alerts"), [(0, 0, False), (1, 0, False), (1, 1, True), (9, 1, False)])
def test_one_feed_off_is_enough_if_the_setting_says_so(system: int, disabled: int, alerts: bool) -> None:
    now = facts(counts=FeedCounts({}, system, disabled))

    assert held(now, limits=replace(LIMITS, disabled_least=1)) == (
        [(Condition.SYSTEM_FEEDS_DISABLED, "")] if alerts else []
    )


def test_five_feeds_off_are_all_named() -> None:
    off = [a_feed(f"Feed {number}", off_for=HOUR, number=number) for number in range(5)]
    (one,) = holding(facts(counts=FeedCounts({}, 10, 5), disabled=off), [], LIMITS)

    assert one.summary.endswith("(50 %): Feed 0, Feed 1, Feed 2, Feed 3, Feed 4.")


def test_many_feeds_off_are_counted_and_some_of_them_named() -> None:
    off = [a_feed(f"Feed {number}", off_for=HOUR, number=number) for number in range(30)]
    (one,) = holding(facts(counts=FeedCounts({}, 100, 60), disabled=off), [], LIMITS)

    assert one.summary == (
        "60 of 100 system feeds are disabled (60 %): Feed 0, Feed 1, Feed 2, Feed 3, Feed 4 and 55 more."
    )


@pytest.mark.parametrize(
    ("off_for", "alerts"), [(HOUR, False), (24 * HOUR, False), (24 * HOUR + MINUTE, True), (900 * HOUR, True)]
)
def test_a_system_feed_off_for_more_than_a_day(off_for: timedelta, alerts: bool) -> None:
    feed = a_feed(off_for=off_for)

    assert held(facts(disabled=[feed])) == ([(Condition.SYSTEM_FEED_DISABLED_LONG, str(feed.id))] if alerts else [])


@pytest.mark.parametrize(
    ("reason", "said"),
    [("not_found", " (not found)"), ("Ann asked, see case_7", " (Ann asked, see case_7)"), (None, "")],
    ids=["class", "words", "none"],
)
def test_why_a_feed_is_off_is_said(reason: str | None, said: str) -> None:
    feed = replace(a_feed(off_for=48 * HOUR), reason=reason)
    (one,) = holding(facts(disabled=[feed]), [], LIMITS)

    assert one.summary == f"BBC has been disabled since 2026-02-27 12:00 UTC{said}."


@pytest.mark.parametrize(("errors", "alerts"), [(0, False), (3, False), (4, True), (100, True)])
def test_a_critical_feed_that_failed_more_than_three_times(errors: int, alerts: bool) -> None:
    feed = a_feed(errors=errors)

    assert held(facts(critical=[feed])) == ([(Condition.CRITICAL_FEED_FAILING, str(feed.id))] if alerts else [])


def test_an_outage_of_our_own_is_one_incident_however_many_processes_see_it() -> None:
    now = facts(outages=[Outage("polling", START - HOUR), Outage("fetching", START - MINUTE)])
    (one,) = holding(now, [], LIMITS)

    assert (one.condition, one.subject, one.since) == (Condition.OWN_OUTAGE, "", START - HOUR)
    assert "fetching and polling" in one.summary


# Feeds and hosts without a success


def failing(since: timedelta | None, *, number: int = 1, **more: object) -> FeedFact:
    feed = a_feed(f"Feed {number}", number=number)
    started = START - since if since is not None else None
    return replace(feed, failing_since=started, **more)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("since", "alerts"), [(None, False), (HOUR, False), (24 * HOUR, False), (24 * HOUR + MINUTE, True)]
)
@pytest.mark.parametrize(
    ("group", "condition"),
    [("disabled", Condition.SYSTEM_FEED_DISABLED_LONG), ("critical", Condition.CRITICAL_FEED_FAILING)],
)
def test_a_feed_without_a_success_for_more_than_a_day(
    since: timedelta | None, alerts: bool, group: str, condition: Condition
) -> None:
    feed = failing(since)
    found = holding(facts(**{group: [feed]}), [], LIMITS)

    assert [(one.condition, one.subject, one.since) for one in found] == (
        [(condition, str(feed.id), feed.failing_since)] if alerts else []
    )


@pytest.mark.parametrize("host", [None, "a.example"])
@pytest.mark.parametrize(
    ("group", "condition"),
    [("disabled", Condition.SYSTEM_FEED_DISABLED_LONG), ("critical", Condition.CRITICAL_FEED_FAILING)],
)
def test_a_failing_feed_that_is_disabled_has_not_recovered(group: str, condition: Condition, host: str | None) -> None:
    feed = failing(30 * HOUR, errors=3, disabled_at=START - HOUR, reason="not_found", host=host)
    found = holding(facts(**{group: [feed]}), [], LIMITS)

    assert [(one.condition, one.subject, one.since) for one in found] == [(condition, str(feed.id), START - 30 * HOUR)]
    assert found[0].summary == (
        "Feed 1 has been failing since 2026-02-28 06:00 UTC, without a success, and is disabled (not found)."
    )


@pytest.mark.parametrize("group", ["disabled", "critical"])
def test_a_feed_that_was_disabled_while_it_worked_is_not_failing_with_its_paused_host(group: str) -> None:
    feed = failing(30 * HOUR, errors=0, disabled_at=START - HOUR, reason="too long", host="a.example")

    assert holding(facts(**{group: [feed]}), [], LIMITS) == []


def test_the_feeds_of_a_paused_host_are_one_incident() -> None:
    first = failing(30 * HOUR, number=1, host="b.example", paused_for="upstream_failure")
    second = failing(26 * HOUR, number=2, host="b.example")
    other = failing(25 * HOUR, number=3, host="a.example")
    recent = failing(HOUR, number=4, host="b.example")
    one, two = holding(facts(disabled=[first, second, other, recent]), [], LIMITS)

    assert (one.subject, two.subject, two.since) == ("host:a.example", "host:b.example", START - 30 * HOUR)
    assert two.summary == (
        "b.example has been failing since 2026-02-28 06:00 UTC (upstream failure) and is paused; "
        "its feeds are not polled: Feed 1, Feed 2."
    )
    assert "failing since 2026-02-28 11:00 UTC and is paused" in one.summary


def test_the_paused_host_of_a_critical_feed_alerts_at_once_unless_the_feed_is_disabled() -> None:
    paused, disabled = failing(MINUTE, host="a.example"), failing(MINUTE, host="b.example", disabled_at=START)
    unknown = failing(None, host="c.example")
    found = holding(facts(critical=[paused, disabled, unknown]), [], LIMITS)

    assert [(one.subject, one.since) for one in found] == [
        ("host:a.example", START - MINUTE),
        ("host:c.example", START),
    ]


def test_a_critical_feed_on_a_paused_host_is_not_reported_twice() -> None:
    feed = failing(48 * HOUR, host="a.example")

    assert held(facts(critical=[feed])) == [(Condition.CRITICAL_FEED_FAILING, "host:a.example")]


def test_a_critical_feed_that_is_disabled_says_why() -> None:
    feed = replace(a_feed(off_for=HOUR, errors=7), reason="not_found")
    (one,) = holding(facts(critical=[feed]), [], LIMITS)

    assert one.summary == "BBC has failed 7 times in a row, and is disabled (not found)."
    assert holding(facts(critical=[replace(feed, disabled_at=None)]), [], LIMITS)[0].summary == (
        "BBC has failed 7 times in a row."
    )


def test_a_clock_problem_holds_while_there_is_one() -> None:
    (one,) = holding(facts(clock_problem="The clock is a day ahead."), [], LIMITS)

    assert (one.condition, one.since) == (Condition.CLOCK_PROBLEM, START)
    assert one.summary.startswith("The clock is a day ahead. Nothing is deleted")


def test_a_reached_budget_holds_and_says_what_is_spent_and_what_to_do() -> None:
    (one,) = holding(facts(budget=BudgetFact(499_996_000, START - HOUR)), [], LIMITS)

    assert (one.condition, one.subject, one.since) == (Condition.AI_BUDGET_REACHED, "", START - HOUR)
    assert "$500.00 are spent this month" in one.summary
    assert "/admin/ai-usage" in one.summary
    assert held(facts(budget=BudgetFact(600_000_000))) == []


def a_channel(**more: object) -> ChannelFact:
    given = ChannelFact(ChannelId(UUID(int=9)), "crime", is_paused=False, delivered=5, waiting=0, refused=0)
    return replace(given, **more)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("channel", "holds"),
    [
        (a_channel(), []),
        (a_channel(failing_since=START - 30 * MINUTE), []),
        (a_channel(failing_since=START - 31 * MINUTE), [Condition.CHANNEL_FAILING]),
        (a_channel(failing_since=START - 31 * MINUTE, is_paused=True), []),
        (a_channel(refused=1), [Condition.CHANNEL_DEAD_LETTERS]),
        (a_channel(refused=1, failing_since=START - HOUR), [Condition.CHANNEL_FAILING, Condition.CHANNEL_DEAD_LETTERS]),
    ],
    ids=["working", "for a while", "for long", "paused", "dead letters", "both"],
)
def test_a_channel_that_fails_for_long_or_has_dead_letters(channel: ChannelFact, holds: list[Condition]) -> None:
    assert held(facts(channels=[channel])) == [(one, str(UUID(int=9))) for one in holds]


def test_an_incident_of_a_channel_names_it_and_its_reason() -> None:
    failing = a_channel(failing_since=START - HOUR, reason="connection refused")
    (one,) = holding(facts(channels=[failing]), [], LIMITS)
    (letters,) = holding(facts(channels=[a_channel(refused=2)]), [], LIMITS)

    assert one.summary.startswith("The destination of crime has failed since 2026-")
    assert "(connection refused)" in one.summary
    assert "refused 2 messages" in letters.summary
    assert f"/admin/channels/{UUID(int=9)}" in letters.summary


# A stage that stopped


def watched(*facts: StageFact, every: timedelta = MINUTE, stage: str = "fetching") -> tuple[Facts, list[FactSample]]:
    """Samples in order of time, the last of them now."""
    first = START - every * (len(facts) - 1)
    samples = [FactSample(first + every * number, {stage: fact}) for number, fact in enumerate(facts)]
    return Facts(samples[-1]), samples[:-1]


DUE = StageFact(START - 20 * MINUTE)


@pytest.mark.parametrize(
    ("seen", "alerts"),
    [
        ([DUE] * 20, True),
        ([DUE] * 5, False),  # too few samples: Headwater may just have started
        ([StageFact(None)] * 20, False),
        ([StageFact(START - 10 * MINUTE)] * 20, False),  # due, and not for long enough
        ([*[DUE] * 10, StageFact(DUE.due_since, is_busy=True), *[DUE] * 9], False),  # work was in progress
        ([*[StageFact(START - 30 * MINUTE)] * 10, *[DUE] * 10], False),  # behind, but going on
        ([*[StageFact(START - 30 * MINUTE)] * 5, *[DUE] * 16], True),  # until it stopped
        ([StageFact(START - 15 * MINUTE)] * 20, False),
        ([StageFact(DUE.due_since, is_busy=True), *[DUE] * 15], False),
        ([StageFact(DUE.due_since, is_busy=True), *[DUE] * 16], True),
    ],
    ids=[
        "stopped",
        "not-watched-long",
        "idle",
        "just-due",
        "busy",
        "behind",
        "behind-then-stopped",
        "due-15-minutes",
        "busy-15-minutes-ago",
        "busy-16-minutes-ago",
    ],
)
def test_a_stage_stopped_when_due_work_was_not_done(seen: list[StageFact], alerts: bool) -> None:
    now, past = watched(*seen)

    assert held(now, past) == ([(Condition.STAGE_STOPPED, "fetching")] if alerts else [])


def test_a_stage_that_stopped_is_described_with_its_times() -> None:
    (one,) = holding(*watched(*[DUE] * 20), LIMITS)

    assert one.summary == "fetching: work has been due since 2026-03-01 11:40 UTC, and none was done for 15 minutes."


def test_a_pause_of_the_evaluation_proves_nothing_about_a_stage() -> None:
    now, past = watched(*[DUE] * 20)
    gap = [sample for sample in past if not START - 13 * MINUTE < sample.at < START - MINUTE]

    assert held(now, past) == [(Condition.STAGE_STOPPED, "fetching")]
    assert held(now, gap) == []


@pytest.mark.parametrize(
    ("samples", "every", "alerts"), [(3, 7.5, True), (3, 7.6, False), (2, 7.5, True), (1, 1, False)]
)
def test_a_stage_is_watched_when_no_pause_of_the_evaluation_is_longer_than_half_the_time(
    samples: int, every: float, alerts: bool
) -> None:
    now, past = watched(*[DUE] * samples, every=every * MINUTE)

    assert held(now, past) == ([(Condition.STAGE_STOPPED, "fetching")] if alerts else [])


def test_a_sample_of_another_machine_at_the_same_time_is_ignored() -> None:
    now, past = watched(*[DUE] * 20)
    same_time = FactSample(START, {"fetching": replace(DUE, is_busy=True)})

    assert held(now, [*past, same_time]) == [(Condition.STAGE_STOPPED, "fetching")]


@pytest.mark.parametrize(("stage", "alerts"), [("polling", False), ("fetching", False), ("extracting", True)])
def test_while_our_network_is_down_only_stages_that_need_none_can_have_stopped(stage: str, alerts: bool) -> None:
    now, past = watched(*[DUE] * 20, stage=stage)
    found = held(replace(now, outages=[Outage("polling", START)]), past)

    assert ((Condition.STAGE_STOPPED, stage) in found) is alerts


# A queue that only grows


def sized(*sizes: int, every: timedelta = 10 * MINUTE) -> tuple[Facts, list[FactSample]]:
    first = START - every * (len(sizes) - 1)
    samples = [FactSample(first + every * number, {}, {"frontier": size}) for number, size in enumerate(sizes)]
    return Facts(samples[-1]), samples[:-1]


@pytest.mark.parametrize(
    ("sizes", "alerts"),
    [
        (range(1000, 5000, 100), True),
        (range(5000, 1000, -100), False),
        ([2000] * 40, False),  # large, and not growing
        (range(100, 500, 10), False),  # growing, and small
        (range(1000, 2000, 100), False),  # not for long enough
        ([size + (300 if number % 2 else 0) for number, size in enumerate(range(1000, 5000, 100))], True),  # in waves
        ([*range(1000, 4000, 100), 900, *range(4000, 5000, 100)], False),  # it was empty in between
    ],
    ids=["grows", "shrinks", "stays", "small", "new", "waves", "was-emptied"],
)
def test_a_queue_only_grows_when_its_low_tides_rise(sizes: Sequence[int], alerts: bool) -> None:
    now, past = sized(*sizes)

    assert held(now, past) == ([(Condition.QUEUE_GROWS, "frontier")] if alerts else [])


@pytest.mark.parametrize(("size", "alerts"), [(999, False), (1000, True)])
def test_a_queue_alerts_from_a_thousand_on(size: int, alerts: bool) -> None:
    now, past = sized(*range(size - 360, size + 1, 10))
    found = holding(now, past, LIMITS)

    summary = "frontier: 1,000 wait, 640 did 6 hours ago, and it only grew in between."
    assert [(one.subject, one.since, one.summary) for one in found] == (
        [("frontier", START - 6 * HOUR, summary)] if alerts else []
    )


def test_a_sample_from_the_very_beginning_of_the_window_counts() -> None:
    ages = [6, 4.5, 3.5, 2.5, 1.5, 0]
    samples = [FactSample(START - age * HOUR, {}, {"frontier": 1000 + at}) for at, age in enumerate(ages)]

    assert held(Facts(samples[-1]), samples[:-1]) == [(Condition.QUEUE_GROWS, "frontier")]
    assert held(Facts(samples[-1]), [replace(samples[0], at=samples[0].at - MINUTE), *samples[1:-1]]) == []


def test_a_pause_of_the_evaluation_proves_nothing_about_a_queue() -> None:
    now, past = sized(*range(1000, 5000, 100))

    assert held(now, [sample for sample in past if not START - 3 * HOUR < sample.at < START - 90 * MINUTE]) == []


@given(st.lists(st.integers(0, 10**9), max_size=60), st.integers(1, 30), st.integers(0, 10**9))
def test_a_queue_that_was_empty_a_moment_ago_never_alerts(sizes: list[int], minutes: int, size: int) -> None:
    now, past = sized(*sizes, 0, size, every=minutes * MINUTE)

    assert held(now, past) == []


@given(st.lists(st.integers(-3 * 24 * 60, 24 * 60), max_size=40), st.integers(0, 10**6))
def test_clocks_that_disagree_break_nothing(minutes: list[int], size: int) -> None:
    """Samples come from every machine that evaluates, and one may be ahead of ours."""
    past = [
        FactSample(START + minute * MINUTE, {"fetching": DUE}, {"frontier": size + minute})
        for minute in sorted(minutes)
    ]
    now = Facts(FactSample(START, {"fetching": DUE}, {"frontier": size}))

    assert held(now, past) == held(now, [sample for sample in past if sample.at < START])


# Incidents


def an_incident(condition: Condition = Condition.OWN_OUTAGE, subject: str = "", **more: datetime) -> Incident:
    return replace(Incident(uuid4(), condition, subject, "It is so.", START, START, START), **more)


def a_holding(condition: Condition = Condition.OWN_OUTAGE, subject: str = "") -> HeldCondition:
    return HeldCondition(condition, subject, "It is so.", START)


def test_what_holds_for_the_first_time_begins_an_incident() -> None:
    decided = changes([], [a_holding()], START, SETTLE)

    assert (list(decided.began), list(decided.going_on), list(decided.ended)) == ([a_holding()], [], [])


def test_an_incident_that_continues_gets_the_current_summary() -> None:
    decided = changes([an_incident()], [replace(a_holding(), summary="It is worse.")], START + HOUR, SETTLE)

    (one,) = decided.going_on
    assert (one.summary, one.last_held_at, one.began_at) == ("It is worse.", START + HOUR, START)
    assert not decided.began
    assert not decided.ended


@pytest.mark.parametrize(("gone_for", "is_over"), [(MINUTE, False), (9 * MINUTE, False), (10 * MINUTE, True)])
def test_an_incident_is_over_once_it_was_well_for_a_while(gone_for: timedelta, is_over: bool) -> None:
    decided = changes([an_incident()], [], START + gone_for, SETTLE)

    assert [one.ended_at for one in decided.ended] == ([START + gone_for] if is_over else [])


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_a_flapping_condition_makes_no_more_incidents_than_its_settle_time_allows(holds: list[bool]) -> None:
    """However often a condition changes, two incidents are at least the settle time apart."""
    known: list[Incident] = []
    began: list[datetime] = []
    ended: list[datetime] = []
    for minute, is_so in enumerate(holds):
        now = START + minute * MINUTE
        decided = changes(known, [a_holding()] if is_so else [], now, SETTLE)
        began += [now for _ in decided.began]
        ended += [now for _ in decided.ended]
        over = {one.id for one in decided.ended}
        going_on = {one.id: one for one in decided.going_on}
        known = [going_on.get(one.id, one) for one in known if one.id not in over]
        known += [replace(an_incident(), began_at=now, last_held_at=now) for _ in decided.began]

    assert len(known) <= 1
    assert len(began) - len(ended) == len(known)
    assert all(end - start >= SETTLE for start, end in zip(began, ended, strict=False))
    assert all(start > end for end, start in zip(ended, began[1:], strict=False))


# Notice


def a_notice(condition: Condition = Condition.OWN_OUTAGE, channel: str = "webhook") -> Notice:
    return Notice(an_incident(condition), channel, NoticeKind.BEGAN)


def test_news_of_single_feeds_wait_while_the_last_are_fresh_and_nothing_else_does() -> None:
    of_a_feed, outage = a_notice(Condition.SYSTEM_FEED_DISABLED_LONG), a_notice()
    untold, last = [of_a_feed, outage], {"webhook": START}

    assert due_notices(untold, {}, START, HOUR) == {"webhook": [of_a_feed, outage]}
    assert due_notices(untold, last, START + 59 * MINUTE, HOUR) == {"webhook": [outage]}
    assert due_notices(untold, last, START + HOUR, HOUR) == {"webhook": [of_a_feed, outage]}


def test_each_channel_waits_for_itself() -> None:
    ours = a_notice(Condition.CRITICAL_FEED_FAILING)
    theirs = replace(ours, channel="mail:ann@example.com")

    assert due_notices([ours, theirs], {"webhook": START}, START, HOUR) == {"mail:ann@example.com": [theirs]}


def test_a_message_is_tried_for_ever_and_not_more_often_than_once_an_hour() -> None:
    waits = [wait(attempts) for attempts in (1, 2, 3, 8, 1000)]

    assert waits == [timedelta(seconds=30), MINUTE, 2 * MINUTE, HOUR, HOUR]
