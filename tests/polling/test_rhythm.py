from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.polling.rhythm import Rhythm, needs_full_response, next_after_success, rhythm_of
from headwater.polling.types import FeedState, Polled, PollHints, ReadFeed
from tests.builders import a_read_feed, an_article
from tests.clock import START
from tests.polling.histories import HOUR, NONE, OPTIONS, SAME, a_state

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


def polled(*ago: timedelta, fresh_for: timedelta = timedelta(0), missed: bool = False) -> Polled:
    return Polled(a_read_feed(*(START - age for age in ago)), NONE, fresh_for, missed=missed)


def wait_with(hints: PollHints, fresh_for: timedelta = timedelta(0)) -> timedelta:
    return wait_after(polled(fresh_for=fresh_for), replace(a_state(), hints=hints))


def wait_after(outcome: Polled, state: FeedState | None = None, now: datetime = START) -> timedelta:
    state = state or a_state()
    rhythm = rhythm_of(state, outcome, now)
    learned = replace(state, mean_gap=rhythm.mean_gap, last_new_at=rhythm.last_new_at)
    return next_after_success(learned, outcome, OPTIONS, now) - now


def about(wait: timedelta, expected: timedelta) -> bool:
    return abs(wait - expected) <= expected * 0.05


def wait_for_gap(gap: timedelta) -> timedelta:
    return wait_after(polled(*(gap * number for number in range(5))))


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (3 * HOUR, HOUR),
        (HOUR, 34.6 * MINUTE),
        (45 * MINUTE, 30 * MINUTE),
        (10 * MINUTE, 15 * MINUTE),
        (MINUTE, 15 * MINUTE),
    ],
)
def test_of_a_feed_that_publishes_often_the_wait_grows_with_the_root_of_the_gap(
    gap: timedelta, expected: timedelta
) -> None:
    assert about(wait_for_gap(gap), expected)


@pytest.mark.parametrize("gap", [3 * HOUR, 9 * HOUR, DAY, 7 * DAY])
def test_a_feed_that_publishes_every_day_or_every_week_is_asked_at_the_interval(gap: timedelta) -> None:
    assert about(wait_for_gap(gap), HOUR)


@pytest.mark.parametrize(("gap", "expected"), [(14 * DAY, 2 * HOUR), (70 * DAY, 10 * HOUR), (700 * DAY, DAY)])
def test_of_a_feed_that_publishes_seldom_the_wait_grows_with_the_gap(gap: timedelta, expected: timedelta) -> None:
    assert about(wait_for_gap(gap), expected)


def test_a_feed_of_whose_rhythm_nothing_is_known_is_asked_at_the_interval() -> None:
    assert about(wait_after(polled()), HOUR)


def test_a_feed_that_has_fallen_silent_is_as_slow_as_its_silence() -> None:
    outcome = polled(*(28 * DAY + number * HOUR for number in range(5)))

    assert about(wait_after(outcome), 2 * HOUR)


def test_a_feed_of_one_entry_is_as_slow_as_its_silence() -> None:
    assert about(wait_after(polled(MINUTE)), HOUR)
    assert about(wait_after(polled(140 * DAY)), 10 * HOUR)


def test_a_feed_that_may_have_been_missed_is_asked_twice_as_often() -> None:
    gaps = [4 * HOUR * number for number in range(5)]

    assert about(wait_after(polled(*gaps, missed=True)), 30 * MINUTE)


def test_a_source_with_an_interval_of_its_own_keeps_it() -> None:
    own = replace(a_state(), own_interval=6 * HOUR)

    wait = wait_after(polled(*(number * MINUTE for number in range(5))), own)

    assert 6 * HOUR <= wait <= 6.6 * HOUR


def test_the_longest_of_what_is_asked_for_counts_within_bounds() -> None:
    assert wait_after(polled(fresh_for=3 * HOUR)) == 3 * HOUR
    assert wait_after(polled(fresh_for=40 * DAY)) == DAY
    assert wait_with(PollHints(2 * HOUR), fresh_for=3 * HOUR) == 3 * HOUR
    assert wait_with(PollHints(4 * HOUR), fresh_for=3 * HOUR) == 4 * HOUR
    assert wait_with(PollHints(40 * DAY)) == DAY


def test_entries_of_the_future_say_nothing() -> None:
    rhythm = rhythm_of(a_state(), polled(-DAY, HOUR, 2 * HOUR), START)

    assert (rhythm.last_new_at, rhythm.mean_gap) == (START - HOUR, HOUR)


@pytest.mark.parametrize(
    ("ago", "rhythm"),
    [
        ([timedelta(0), HOUR], Rhythm(HOUR, START)),
        ([HOUR * number for number in range(20)], Rhythm(HOUR, START)),
        ([*(HOUR * number for number in range(20)), 900 * DAY], Rhythm(HOUR, START)),
        ([3 * HOUR, HOUR, 9 * HOUR], Rhythm(4 * HOUR, START - HOUR)),
        ([DAY], Rhythm(None, START - DAY)),
        ([], Rhythm(None, None)),
    ],
    ids=["now", "twenty", "the 21st", "in any order", "one", "none"],
)
def test_the_rhythm_is_that_of_the_20_newest_entries(ago: list[timedelta], rhythm: Rhythm) -> None:
    assert rhythm_of(a_state(), polled(*ago), START) == rhythm


@pytest.mark.parametrize(
    ("mean_gap", "last_new", "new", "rhythm"),
    [
        (None, None, 3, Rhythm(None, START)),
        (None, START - 8 * HOUR, 2, Rhythm(4 * HOUR, START)),
        (4 * HOUR, START - 8 * HOUR, 1, Rhythm(5 * HOUR, START)),
        (4 * HOUR, START - 8 * HOUR, 0, Rhythm(4 * HOUR, START - 8 * HOUR)),
    ],
    ids=["first", "second", "later", "nothing new"],
)
def test_the_rhythm_of_entries_without_dates_is_learned_from_poll_to_poll(
    mean_gap: timedelta | None, last_new: datetime | None, new: int, rhythm: Rhythm
) -> None:
    state = replace(a_state(), mean_gap=mean_gap, last_new_at=last_new)

    assert rhythm_of(state, replace(UNDATED, new=new), START) == rhythm


@pytest.mark.parametrize(
    ("hints", "fresh_for", "hours"),
    [
        (PollHints(2 * HOUR), 3 * HOUR, 3),
        (PollHints(3 * HOUR), 2 * HOUR, 3),
        (PollHints(2 * HOUR, frozenset({14})), HOUR, 3),
        (PollHints(2 * HOUR, frozenset({14, 15})), HOUR, 4),
        (PollHints(2 * HOUR, skip_days=frozenset({6})), HOUR, 12),
        (PollHints(2 * HOUR, skip_days=frozenset({6, 0})), HOUR, 36),
    ],
    ids=["longer", "shorter", "an hour", "two hours", "a day", "two days"],
)
def test_what_the_feed_and_the_response_ask_for_counts_together(
    hints: PollHints, fresh_for: timedelta, hours: int
) -> None:
    options = replace(OPTIONS, interval_max=7 * DAY)
    state = replace(a_state(), hints=hints)

    due = next_after_success(state, polled(fresh_for=fresh_for), options, START)

    assert due == START + hours * HOUR


def test_after_a_skipped_hour_the_next_is_not_skipped() -> None:
    hints = PollHints(HOUR + timedelta(minutes=10, seconds=30, microseconds=5), frozenset({13}))

    assert START + wait_with(hints) == START + 2 * HOUR + 10 * MINUTE


def test_an_unchanged_feed_keeps_its_rhythm() -> None:
    state = replace(a_state(), mean_gap=HOUR, last_new_at=START)

    assert rhythm_of(state, SAME, START).mean_gap == HOUR


def test_a_publisher_may_rest() -> None:
    at_13 = PollHints(gap=HOUR, skip_hours=frozenset({13, 14}))
    on_sundays = PollHints(skip_days=frozenset({6}))  # the clock starts on a Sunday

    assert (START + wait_with(at_13)).hour == 15
    assert (START + wait_with(on_sundays)).weekday() == 0


def test_a_delta_without_known_entries_does_not_mean_that_entries_were_missed() -> None:
    delta = replace(polled(HOUR, missed=True), status=226)

    assert about(wait_after(delta, replace(a_state(), mean_gap=4 * HOUR)), HOUR)


def test_a_delta_changes_the_newest_entry_but_not_the_mean_gap() -> None:
    state = replace(a_state(), mean_gap=DAY, last_new_at=START - DAY)
    two_at_once, an_old_one = (replace(polled(*ago), status=226) for ago in ((HOUR, HOUR + MINUTE), (9 * DAY,)))

    assert rhythm_of(state, two_at_once, START) == Rhythm(DAY, START - HOUR)
    assert rhythm_of(state, an_old_one, START) == Rhythm(DAY, START - DAY)


def polls_between(start: datetime, end: datetime, hints: PollHints) -> list[datetime]:
    """When a feed is polled, poll after poll, from `start` on."""
    polls = [start]
    while (now := polls[-1]) < end:
        polls.append(next_after_success(replace(a_state(), hints=hints), Polled(a_read_feed(), NONE), OPTIONS, now))
    return polls[1:-1]


NOON_ON_FRIDAY = datetime(2026, 3, 6, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("start", [NOON_ON_FRIDAY, NOON_ON_FRIDAY + 11.5 * HOUR, NOON_ON_FRIDAY - 12.1 * HOUR])
def test_a_rest_of_a_day_is_waited_out(start: datetime) -> None:
    on_saturdays = PollHints(skip_days=frozenset({5}))

    polls = polls_between(start, NOON_ON_FRIDAY + 5 * DAY, on_saturdays)

    assert {at.weekday() for at in polls} >= {6, 0, 1, 2}
    assert not any(at.weekday() == 5 for at in polls)


@pytest.mark.parametrize("start", [NOON_ON_FRIDAY, NOON_ON_FRIDAY + 11.5 * HOUR, NOON_ON_FRIDAY - 12.1 * HOUR])
def test_a_rest_longer_than_the_longest_wait_is_waited_out_in_steps(start: datetime) -> None:
    on_weekends = PollHints(skip_days=frozenset({5, 6}))

    polls = polls_between(start, NOON_ON_FRIDAY + 5 * DAY, on_weekends)

    assert sum(at.weekday() in {5, 6} for at in polls) <= 2
    assert sum(at.weekday() in {0, 1} for at in polls) > 40
    assert max(later - at for at, later in pairwise(polls)) <= OPTIONS.interval_max + 1.1 * HOUR


@pytest.mark.parametrize(
    "always", [PollHints(skip_hours=frozenset(range(24))), PollHints(skip_days=frozenset(range(7)))]
)
def test_skipping_all_hours_is_ignored(always: PollHints) -> None:
    assert about(wait_with(always), HOUR)


def test_of_a_week_with_one_hour_in_it_that_hour_is_found() -> None:
    only_monday_at_11 = PollHints(skip_hours=frozenset(range(24)) - {11}, skip_days=frozenset(range(1, 7)))

    polls = polls_between(NOON_ON_FRIDAY, NOON_ON_FRIDAY + 21 * DAY, only_monday_at_11)

    assert len({at.date() for at in polls if at.weekday() == 0 and at.hour == 11}) == 3
    assert len(polls) <= 21


@pytest.mark.parametrize(
    ("full_ago", "wanted"), [(None, True), (DAY, False), (6 * DAY - MINUTE, False), (6 * DAY, True)]
)
def test_a_full_answer_is_asked_for_once_a_week(full_ago: timedelta | None, wanted: bool) -> None:
    state = replace(a_state(), last_full_at=START - full_ago if full_ago else None)

    assert needs_full_response(state, START) is wanted


@given(st.timedeltas(min_value=OPTIONS.interval_min, max_value=OPTIONS.interval_max))
def test_between_two_full_answers_lies_no_more_than_a_week(wait: timedelta) -> None:
    state, now = replace(a_state(), last_full_at=START), START

    while not needs_full_response(state, now):
        now += wait

    assert now - START <= 7 * DAY


@given(
    st.lists(st.timedeltas(min_value=timedelta(0), max_value=4000 * DAY)),
    st.timedeltas(min_value=timedelta(0), max_value=400 * DAY),
)
def test_the_wait_is_always_within_its_bounds(ago: list[timedelta], lasts: timedelta) -> None:
    wait = wait_after(polled(*ago, fresh_for=lasts))

    assert OPTIONS.interval_min <= wait <= OPTIONS.interval_max


def test_feeds_that_were_added_together_do_not_stay_together() -> None:
    waits = {wait_after(polled(), a_state(number)) for number in range(20)}

    assert len(waits) == 20


UNDATED = Polled(ReadFeed("rss20", entries=(an_article(published_at=None),)), NONE)


def undated(every: timedelta, new: int, times: int) -> timedelta:
    """How long is waited after so many polls of a feed without dates, each with so many new entries."""
    state, now = a_state(), START
    for _ in range(times):
        rhythm = rhythm_of(state, replace(UNDATED, new=new), now)
        state, now = replace(state, mean_gap=rhythm.mean_gap, last_new_at=rhythm.last_new_at), now + every
    return next_after_success(state, UNDATED, OPTIONS, now - every) - (now - every)


def test_a_feed_without_dates_is_asked_as_often_as_new_entries_are_seen() -> None:
    assert about(undated(HOUR, new=12, times=20), 15 * MINUTE)
    assert about(undated(HOUR, new=1, times=20), 34.6 * MINUTE)
    assert about(undated(70 * DAY, new=1, times=20), 10 * HOUR)


def test_a_feed_without_dates_that_never_changes_is_asked_less_and_less_often() -> None:
    first = rhythm_of(a_state(), UNDATED, START)
    state = replace(a_state(), mean_gap=first.mean_gap, last_new_at=first.last_new_at)

    waits = [next_after_success(state, UNDATED, OPTIONS, START + age) - (START + age) for age in (DAY, 140 * DAY)]

    assert about(waits[0], HOUR)
    assert about(waits[1], 10 * HOUR)


def test_a_clock_that_was_set_back_gives_no_gap_below_nothing() -> None:
    state = replace(a_state(), last_new_at=START + MINUTE)

    assert rhythm_of(state, replace(UNDATED, new=1), START).mean_gap == timedelta(0)
