"""The rules that hold whatever the policy, and what must hold for any history."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.polling.decide import BY_HAND_ONLY, decide, decide_host, decide_outage, decide_paused
from headwater.polling.policy import POLICIES, Counts, policy_named, policy_of
from headwater.polling.types import (
    Disabled,
    FailureClass,
    Happening,
    HostState,
    NotModified,
    Polled,
    PollFailed,
    PollHints,
)
from tests.builders import a_read_feed
from tests.clock import START
from tests.polling.histories import GOOD, HOUR, NONE, OPTIONS, SAME, Step, a_new_feed, a_state, outcome, play

DAY = timedelta(days=1)
CLEAN = (
    "consecutive_errors",
    "streak",
    "streak_class",
    "permanent_errors",
    "failing_since",
    "disabled",
    "last_error",
    "last_error_type",
)


@pytest.mark.parametrize("success", [GOOD, SAME])
def test_a_success_clears_everything_and_304_is_one(success: Polled | NotModified) -> None:
    steps = play("default", [*["not_found"] * 7, success])

    assert steps[-2].state.disabled is not None
    assert all(not getattr(steps[-1].state, name) for name in CLEAN)
    assert steps[-1].happened == (Happening.ENABLED,)


def test_what_never_was_a_feed_is_looked_for_at_once_and_what_was_one_only_when_it_is_given_up() -> None:
    never = play("default", ["not_a_feed"] * 2, state=a_new_feed())
    once = play("default", [GOOD, *["not_a_feed"] * 2])

    assert [step.happened for step in never] == [(Happening.LOST,), ()]
    assert not any(Happening.LOST in step.happened for step in once)


def test_a_disabled_feed_is_rediscovered_once_when_a_probe_finds_no_feed() -> None:
    steps = play("default", [GOOD, "gone", "not_a_feed", "not_a_feed"])

    assert [step.happened for step in steps[1:]] == [(Happening.DISABLED,), (Happening.LOST,), ()]


def test_a_streak_counts_one_class() -> None:
    steps = play("cooldown", [*["upstream_failure"] * 9, "forbidden", "upstream_failure"])

    assert [step.state.streak for step in steps][-3:] == [9, 1, 1]
    assert all(step.state.disabled is None for step in steps)


def test_backoff_counts_all_permanent_classes_together_and_every_failure_in_its_exponent() -> None:
    steps = play("backoff", ["not_found", "upstream_failure", "forbidden", "dns", "gone", "unauthorized"])

    assert [step.wait / HOUR for step in steps[:5]] == [2, 4, 8, 16, 24]
    assert steps[4].state.disabled is None
    assert steps[5].state.disabled == Disabled(steps[5].now, FailureClass.UNAUTHORIZED, None)


def test_five_counts_every_failure() -> None:
    steps = play("five", ["network", "not_found", "parse_error", "upstream_failure", "rate_limited"])

    assert steps[-1].happened == (Happening.DISABLED,)


def test_a_fast_schedule_cannot_kill_a_feed_in_minutes() -> None:
    state = replace(a_state(), own_interval=timedelta(minutes=15))

    steps = play("default", ["not_found"] * 12, state=state)

    went_off = next(step for step in steps if step.state.disabled)
    assert went_off.now - START >= DAY


def test_gone_is_believed_at_once() -> None:
    (step,) = play("default", ["gone"])

    assert step.state.disabled == Disabled(START, FailureClass.GONE, START + 3 * DAY)
    assert step.decision.next_poll_at == START + 3 * DAY


def test_a_feed_is_disabled_once_per_disabling() -> None:
    steps = play("default", ["not_found"] * 20)

    assert sum(step.happened.count(Happening.DISABLED) for step in steps) == 1


def test_after_a_cooldown_a_permanent_failure_puts_it_off_twice_as_long_seven_days_at_most() -> None:
    steps = play("default", ["gone"] * 5)

    assert [step.wait / DAY for step in steps] == [3, 6, 7, 7, 7]
    assert [step.state.disabled.times for step in steps if step.state.disabled] == [1, 2, 3, 4, 5]


def test_after_a_cooldown_another_failure_puts_it_off_as_long_as_that_one_asks_for() -> None:
    steps = play("default", ["gone", "upstream_failure", "upstream_failure", "rate_limited"])

    assert [step.wait / HOUR for step in steps[1:3]] == [6, 6]
    assert steps[-1].state.disabled is not None
    assert steps[-1].wait < DAY


@pytest.mark.parametrize("given_outcome", ["gone", "not_found", "upstream_failure", "rate_limited", "unexpected"])
def test_a_failure_before_the_cooldown_is_over_leaves_it_as_it_was(given_outcome: str) -> None:
    (gone,) = play("default", ["gone"])

    (by_hand,) = play("default", [given_outcome], state=gone.state, start=START + HOUR)

    assert by_hand.state.disabled == gone.state.disabled
    assert by_hand.decision.next_poll_at == START + 3 * DAY
    assert by_hand.state.consecutive_errors == 2


def test_what_only_a_person_may_enable_is_scheduled_for_the_end_of_time() -> None:
    (step,) = play("once", ["not_found"])

    assert step.decision.next_poll_at == BY_HAND_ONLY
    assert step.state.disabled is not None
    assert step.state.disabled.until is None


@pytest.mark.parametrize("kind", ["rate_limited", "upstream_failure", "forbidden"])
def test_a_site_may_ask_for_a_longer_wait_on_any_status_but_not_for_ever(kind: str) -> None:
    asked = [PollFailed(FailureClass(kind), "x", retry_after=wait) for wait in (5 * HOUR, 400 * DAY)]

    assert [play("default", [failed])[0].wait for failed in asked] == [5 * HOUR, DAY]


def test_a_site_may_ask_for_a_shorter_wait_only_when_we_come_too_often() -> None:
    asked = [PollFailed(kind, "x", retry_after=HOUR / 3) for kind in FailureClass]

    waits = {failed.kind: play("default", ["network"] * 5 + [failed])[5].wait for failed in asked}

    assert {kind for kind, wait in waits.items() if wait < HOUR} == {FailureClass.RATE_LIMITED}


def test_a_feed_that_goes_or_stays_off_is_not_probed_sooner_than_its_site_asks_for() -> None:
    asked = PollFailed(FailureClass.UPSTREAM_FAILURE, "x", 503, retry_after=20 * HOUR)

    steps = play("cooldown", [asked] * 12)

    disabled = [step for step in steps if step.state.disabled]
    assert len(disabled) == 3
    assert {step.wait for step in disabled} == {20 * HOUR}
    assert [step.state.disabled.until for step in disabled if step.state.disabled] == [
        step.decision.next_poll_at for step in disabled
    ]


@pytest.mark.parametrize("policy", ["default", "once"])
def test_no_site_may_ask_to_be_hammered(policy: str) -> None:
    busy = PollFailed(FailureClass.RATE_LIMITED, "x", 429, retry_after=timedelta(seconds=1))

    assert {step.wait for step in play(policy, [busy] * 5)} == {OPTIONS.interval_min}


def test_a_permanent_redirect_is_adopted_after_several_polls_over_a_day() -> None:
    moved = Polled(GOOD.feed, NONE, moved_to="https://new.example/feed")

    steps = play("default", [moved] * 60)

    adopted = next(step for step in steps if Happening.MOVED in step.happened)
    assert adopted.now - START >= DAY
    assert steps[steps.index(adopted) - 1].now - START < DAY


@pytest.mark.parametrize(
    ("hours", "is_adopted"), [((0, 12, 24), True), ((0, 12, 23), False), ((0, 25), False), ((0, 25, 26), True)]
)
def test_a_permanent_redirect_needs_three_polls_and_a_day(hours: tuple[int, ...], is_adopted: bool) -> None:
    moved, state = Polled(GOOD.feed, NONE, moved_to="https://new.example/feed"), a_state()
    happened: list[bool] = []
    for hour in hours:
        decision = decide(state, moved, policy_named("default"), OPTIONS, START + hour * HOUR)
        happened.append(Happening.MOVED in decision.happenings)
        state = decision.state

    assert happened == [*[False] * (len(hours) - 1), is_adopted]


@pytest.mark.parametrize(("reason", "kind", "lost"), [("gone", "not_found", False), ("gone", "not_a_feed", True)])
def test_a_probe_looks_for_a_lost_feed_only_where_there_is_a_page_now(reason: str, kind: str, lost: bool) -> None:
    disabled = Disabled(START - DAY, FailureClass(reason), START)

    (step,) = play("default", [kind], state=replace(a_state(), disabled=disabled))

    assert (Happening.LOST in step.happened) is lost


def test_a_probe_at_the_very_end_of_a_cooldown_is_a_probe() -> None:
    disabled = Disabled(START - DAY, FailureClass.GONE, START)

    (step,) = play("default", ["gone"], state=replace(a_state(), disabled=disabled))

    assert step.state.disabled is not None
    assert step.state.disabled.times == 2


def test_a_feed_that_is_off_on_a_paused_host_waits_for_the_later_of_both() -> None:
    failed = PollFailed(FailureClass.NETWORK, "Nobody.")
    disabled = Disabled(START, FailureClass.GONE, START + 5 * HOUR)
    feed = replace(a_state(), disabled=disabled)

    later, sooner = (decide_paused(feed, failed, START + wait * HOUR, START).next_poll_at for wait in (9, 1))

    assert (later, sooner) == (START + 9 * HOUR, START + 5 * HOUR)


def test_a_redirect_whose_target_changes_is_not_adopted() -> None:
    there = Polled(GOOD.feed, NONE, moved_to="https://new.example/feed")
    elsewhere = replace(there, moved_to="https://other.example/feed")

    steps = play("default", [there, elsewhere, GOOD] * 30)

    assert not any(Happening.MOVED in step.happened for step in steps)


def test_what_a_feed_asks_for_holds_until_it_says_otherwise_though_a_304_does_not_repeat_it() -> None:
    slow = replace(GOOD, feed=replace(GOOD.feed, hints=PollHints(6 * HOUR)))

    steps = play("default", [slow, SAME, "upstream_failure", SAME, GOOD, SAME])

    assert [steps[number].wait for number in (0, 1, 3)] == [6 * HOUR] * 3
    assert all(step.wait < 2 * HOUR for step in steps[4:])


def test_a_publisher_rests_after_a_304_too() -> None:
    resting = replace(
        GOOD, feed=replace(GOOD.feed, hints=PollHints(skip_hours=frozenset({13, 14, 15}), skip_days=frozenset({0})))
    )

    polls = [step.decision.next_poll_at for step in play("default", [resting, *[SAME] * 30])]

    assert not any(at.hour in {13, 14, 15} or at.weekday() == 0 for at in polls)


def test_only_a_full_answer_is_the_full_answer_of_the_week() -> None:
    delta = Polled(a_read_feed(START), NONE, status=226)

    full, *others = play("default", [GOOD, delta, SAME, delta])
    (never,) = play("default", [delta], state=a_new_feed())

    assert {step.state.last_full_at for step in others} == {full.now}
    assert never.state.last_full_at is None


def test_a_delta_does_not_tell_how_many_entries_a_feed_lists() -> None:
    full = Polled(a_read_feed(START, START - HOUR), NONE)

    assert full.item_count == 2
    assert replace(full, status=226).item_count is None


def test_a_failure_of_the_host_is_shown_but_not_counted() -> None:
    failed = PollFailed(FailureClass.NOT_FOUND, "It failed.")

    decision = decide_paused(a_state(), failed, START + HOUR, START)

    assert (decision.state.last_error, decision.state.consecutive_errors) == ("It failed.", 0)
    assert (decision.next_poll_at, decision.level) == (START + HOUR, None)
    assert decision.state.failing_since == START
    assert decide_paused(decision.state, failed, START + DAY, START + HOUR).state.failing_since == START


def test_our_own_outage_changes_no_state() -> None:
    state = a_state()

    assert decide_outage(state, START).state == state
    assert decide_outage(state, START).next_poll_at == START + timedelta(minutes=5)
    assert decide_outage(state, START).is_outage
    assert not play("default", [GOOD])[0].decision.is_outage


@pytest.mark.parametrize(
    ("until", "next_poll_at"),
    [
        (START + 3 * DAY, START + 3 * DAY),
        (START, START + timedelta(minutes=5)),  # this was the probe
        (None, BY_HAND_ONLY),
    ],
)
def test_in_our_own_outage_a_disabled_feed_keeps_the_time_of_its_probe(
    until: datetime | None, next_poll_at: datetime
) -> None:
    state = replace(a_state(), disabled=Disabled(START - DAY, FailureClass.GONE, until))

    decision = decide_outage(state, START)

    assert (decision.state, decision.next_poll_at) == (state, next_poll_at)


TOLD = st.one_of(
    st.sampled_from(["good", "same"]),
    st.builds(
        PollFailed,
        st.sampled_from(FailureClass),
        st.just("It failed."),
        st.sampled_from([None, 200, 400, 404, 418, 500]),
        st.none() | st.timedeltas(min_value=timedelta(0), max_value=400 * DAY),
    ),
)
HISTORY = st.lists(TOLD, min_size=1, max_size=60)
ANY_POLICY = st.sampled_from(sorted(POLICIES))


def is_failure(given_outcome: object) -> bool:
    return isinstance(outcome(given_outcome), PollFailed)  # type: ignore[arg-type]


@given(ANY_POLICY, HISTORY)
@settings(max_examples=150)
def test_a_schedule_is_never_in_the_past_and_never_missing(policy: str, history: list[object]) -> None:
    for step in play(policy, history):  # type: ignore[arg-type]
        assert step.decision.next_poll_at > step.now


@given(ANY_POLICY, HISTORY)
@settings(max_examples=150)
def test_a_success_clears_all(policy: str, history: list[object]) -> None:
    steps = play(policy, history)  # type: ignore[arg-type]

    for given_outcome, step in zip(history, steps, strict=False):
        if not is_failure(given_outcome):
            assert all(not getattr(step.state, name) for name in CLEAN)


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("kind", list(FailureClass))
def test_a_feed_may_fail_for_years(policy: str, kind: FailureClass) -> None:
    state = replace(a_state(), consecutive_errors=100_000, own_interval=DAY)

    (step,) = play(policy, [kind.value], state=state)

    assert step.wait > timedelta(0)


ASKED = st.none() | st.timedeltas(min_value=timedelta(seconds=1), max_value=400 * DAY)
ALIKE = st.builds(
    lambda kind, asked: [PollFailed(kind, "It failed.", retry_after=wait) for wait in asked],
    st.sampled_from(FailureClass),
    st.lists(ASKED, min_size=2, max_size=40),
)


@given(ANY_POLICY, ALIKE)
def test_waits_of_our_own_choice_never_shorten_while_a_feed_keeps_failing_alike(
    policy: str, alike: list[PollFailed]
) -> None:
    steps = play(policy, alike)
    ours = [step for step, failed in zip(steps, alike, strict=False) if failed.retry_after is None]
    on = [step.wait for step in ours if step.state.disabled is None]
    disabled = [step.wait for step in ours if step.state.disabled is not None]

    assert on == sorted(on)
    assert disabled == sorted(disabled)


@given(ANY_POLICY, ALIKE)
def test_no_feed_on_or_off_is_asked_sooner_than_its_site_asks_for(policy: str, alike: list[PollFailed]) -> None:
    for step, failed in zip(play(policy, alike), alike, strict=False):
        asked = min(failed.retry_after or timedelta(0), OPTIONS.interval_max)
        assert step.wait >= asked
        assert step.wait <= OPTIONS.interval_max or step.state.disabled is not None


@given(ANY_POLICY, HISTORY)
@settings(max_examples=150)
def test_nothing_goes_off_before_its_time(policy: str, history: list[object]) -> None:
    steps = play(policy, history)  # type: ignore[arg-type]

    for number, step in enumerate(steps):
        if Happening.DISABLED in step.happened:
            failed = outcome(history[number])  # type: ignore[arg-type]
            assert isinstance(failed, PollFailed)
            rule = policy_named(policy).rule(failed.kind, failed.status)
            assert rule.threshold is not None
            assert counted(steps[: number + 1], history, rule.counts, policy) >= rule.threshold
            assert step.state.failing_since is not None
            assert step.now - step.state.failing_since >= rule.failing_for


def counted(steps: list[Step], history: list[object], counts: Counts, policy: str) -> int:
    """Counts again, by looking back, what the state has counted forward."""
    failures: list[PollFailed] = []
    for given_outcome in reversed(history[: len(steps)]):
        failed = outcome(given_outcome)  # type: ignore[arg-type]
        if not isinstance(failed, PollFailed):
            break
        failures.append(failed)
    if counts is Counts.ALL:
        return len(failures)
    if counts is Counts.PERMANENT:
        return sum(policy_named(policy).rule(failed.kind, failed.status).permanent for failed in failures)
    alike = [failed.kind is failures[0].kind for failed in failures]
    return alike.index(False) if False in alike else len(alike)


@given(st.sampled_from(["default", "cooldown"]), HISTORY)
@settings(max_examples=150)
def test_a_cooldown_always_ends_unless_it_is_by_hand(policy: str, history: list[object]) -> None:
    for step in play(policy, history):  # type: ignore[arg-type]
        if step.state.disabled is not None and step.state.disabled.reason is not FailureClass.SSRF_BLOCKED:
            assert step.state.disabled.until is not None
            assert step.wait <= timedelta(days=7)


@given(ANY_POLICY, HISTORY)
@settings(max_examples=50)
def test_the_same_history_is_decided_the_same_way(policy: str, history: list[object]) -> None:
    state = a_state()

    assert play(policy, history, state=state) == play(policy, history, state=state)  # type: ignore[arg-type]


def test_decide_does_not_change_what_it_is_given() -> None:
    state = a_state()

    decide(state, outcome("gone"), policy_named("default"), OPTIONS, START)

    assert state == replace(state, consecutive_errors=0, disabled=None)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_feed_that_was_never_read_is_tried_again_within_minutes(policy: str) -> None:
    steps = play(policy, ["network"] * 4, state=a_new_feed())
    minutes = [step.wait / timedelta(minutes=1) for step in steps[:3]]

    assert all(wait <= most for wait, most in zip(minutes, [5, 15, 60], strict=True))
    assert steps[3].wait >= HOUR  # as the policy says


def test_a_new_feed_waits_as_long_as_its_site_asks_for() -> None:
    busy = PollFailed(FailureClass.UPSTREAM_FAILURE, "Busy.", 503, retry_after=3 * HOUR)

    (step,) = play("default", [busy], state=a_new_feed())

    assert step.wait == 3 * HOUR


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("bad_request", 400, "Invalid request"),
        ("unauthorized", 401, "Authentication required"),
        ("forbidden", 403, "Authentication required"),
        ("not_found", 404, "Feed no longer available"),
        ("gone", 410, "Feed no longer available"),
        ("rate_limited", 429, "Rate limited"),
        ("upstream_failure", 500, "It failed."),
        ("bad_request", 418, "It failed."),
    ],
)
def test_under_once_errors_have_the_words_of_seed_002(kind: str, status: int, words: str) -> None:
    (once,) = play("once", [(kind, status)])
    (default,) = play("default", [(kind, status)])

    assert (once.state.last_error, default.state.last_error) == (words, "It failed.")


@pytest.mark.parametrize("reason", [FailureClass.RATE_LIMITED, FailureClass.UNEXPECTED, "Noise"])
def test_what_an_operator_disabled_without_an_end_is_not_enabled_by_a_good_poll(reason: FailureClass | str) -> None:
    disabled = Disabled(START - DAY, reason, None, by_operator=True)

    (step,) = play("default", [GOOD], state=replace(a_state(), disabled=disabled))

    assert (step.state.disabled, step.happened) == (disabled, ())


def test_what_an_operator_disabled_for_a_while_is_enabled_by_a_good_probe() -> None:
    disabled = Disabled(START - DAY, FailureClass.GONE, START, by_operator=True)

    (step,) = play("default", [GOOD], state=replace(a_state(), disabled=disabled))

    assert (step.state.disabled, step.happened) == (None, (Happening.ENABLED,))


def test_what_an_operator_disabled_for_a_while_is_disabled_automatically_after_a_bad_probe() -> None:
    disabled = Disabled(START - DAY, FailureClass.GONE, START, by_operator=True)

    (step,) = play("default", ["gone"], state=replace(a_state(), disabled=disabled))

    assert step.state.disabled == Disabled(START - DAY, FailureClass.GONE, START + 6 * DAY, 2)


@pytest.mark.parametrize(("kind", "counts"), [("unauthorized", True), ("not_found", False)])
def test_a_failure_that_an_operator_must_see_counts_for_the_feed_though_others_fail_alike(
    kind: str, counts: bool
) -> None:
    failed = outcome(kind)
    assert isinstance(failed, PollFailed)
    host = HostState("example.com", (a_state(3).source_id, a_state(4).source_id), failed.kind)

    decided = decide_host(host, a_state().source_id, failed, policy_named("cooldown"), START)

    assert (decided.counts, decided.paused) == (counts, not counts)


def test_the_steps_of_a_policy_are_waited_in_their_order() -> None:
    waits = [step.wait for step in play("once", ["upstream_failure"] * 7)]

    assert [wait / HOUR for wait in waits] == [5 / 60, 15 / 60, 1, 6, 24, 24, 24]


def test_backoff_can_be_set_as_seed_001_says() -> None:
    options = replace(OPTIONS, max_failures=3, max_backoff=6 * HOUR)
    state, waits = a_state(), list[timedelta]()
    for _ in range(3):
        decision = decide(state, outcome(("not_found", 404)), policy_of("backoff", options), options, START)
        waits.append(decision.next_poll_at - START)
        state = decision.state
    transient = replace(a_state(), consecutive_errors=9)
    busy = decide(transient, outcome("network"), policy_of("backoff", options), options, START)

    assert waits[:2] == [2 * HOUR, 4 * HOUR]
    assert state.disabled is not None
    assert busy.next_poll_at == START + 6 * HOUR
    assert policy_of("backoff", OPTIONS) == POLICIES["backoff"]


def test_the_wait_that_a_site_asks_for_is_kept_for_those_who_want_to_retry() -> None:
    (step,) = play("default", [PollFailed(FailureClass.UPSTREAM_FAILURE, "Busy.", 503, retry_after=3 * HOUR)])
    (other,) = play("default", ["upstream_failure"])

    assert (step.decision.asked_until, other.decision.asked_until) == (START + 3 * HOUR, None)
