"""The sentences about a poll say what was decided, and nothing else."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.polling.decide import decide_host, decide_outage, decide_paused
from headwater.polling.policy import policy_named
from headwater.polling.report import explain
from headwater.polling.types import (
    Decision,
    Disabled,
    FailureClass,
    HostDecision,
    HostState,
    Polled,
    PollFailed,
    PollOutcome,
    PollReport,
)
from tests.clock import START
from tests.polling.histories import GOOD, HOUR, NONE, Given, a_claimed_feed, a_state, outcome, play

DAY = timedelta(days=1)
HOST = HostState("feeds.example")
LOST = PollFailed(FailureClass.NETWORK, "No answer came.")


def story(polled: PollOutcome, decision: Decision, host: HostDecision | None = None) -> str:
    """The sentence about the decision."""
    report = PollReport(
        a_claimed_feed(state=decision.state),
        polled,
        decision,
        host or HostDecision(HOST),
        took=timedelta(milliseconds=40),
        at=START,
    )
    return explain(report)[2]


def last_of(policy: str, *history: Given) -> str:
    return story(outcome(history[-1]), play(policy, history)[-1].decision)


@pytest.mark.parametrize(
    ("policy", "history", "sentence"),
    [
        ("default", ["good"], "The feed works; it has no errors."),
        ("default", ["network", "not_found", "not_found"], "It is failure 2 of this class in a row."),
        ("cooldown", ["unexpected"], "It is failure 1 of this class in a row."),
        ("default", ["gone"], "That is failure 1 in a row: the feed is disabled, reason gone."),
        ("default", ["gone", "gone"], "It was a probe: the feed stays disabled, for the 2. time."),
        ("default", ["gone", "good"], "It was disabled, and is enabled again."),
    ],
)
def test_the_sentences_say_what_was_decided(policy: str, history: list[Given], sentence: str) -> None:
    assert last_of(policy, *history) == sentence


@pytest.mark.parametrize("host", [HOST, replace(HOST, paused_until=START + HOUR)])
@pytest.mark.parametrize("disabled", [None, Disabled(START, FailureClass.GONE, START + DAY)])
def test_our_own_outage_is_named_and_not_counted(host: HostState, disabled: Disabled | None) -> None:
    sentence = story(LOST, decide_outage(replace(a_state(), disabled=disabled), START), HostDecision(host))

    assert sentence == "Hardly any host can be reached: our own network is down, and the failure does not count."


def test_a_paused_host_is_named_when_the_failure_was_not_counted() -> None:
    challenge = PollFailed(FailureClass.BOT_CHALLENGE, "Are you a person?", 403)
    state = a_state()
    host = decide_host(HOST, state.source_id, challenge, policy_named("default"), START)

    assert "feeds.example" in story(challenge, decide_paused(state, challenge, START + DAY, START), host)


def test_an_earlier_pause_of_the_host_is_not_named_after_a_success() -> None:
    was_paused = HostDecision(replace(HOST, paused_until=START + HOUR))

    assert story(GOOD, play("default", [GOOD])[0].decision, was_paused).startswith("The feed works")


def test_a_poll_of_a_feed_disabled_by_an_operator_is_not_a_probe() -> None:
    state = replace(a_state(), disabled=Disabled(START, "too noisy", None))

    (step,) = play("default", [GOOD], state=state)

    assert story(GOOD, step.decision) == "An operator disabled it (too noisy), and it stays disabled."


def test_a_move_is_named_before_and_when_it_is_adopted() -> None:
    moved = Polled(GOOD.feed, NONE, moved_to="https://new.example/feed")

    first, *_, last = [story(moved, step.decision) for step in play("default", [moved] * 30)]

    assert first == "It has moved to https://new.example/feed; its URL is changed after three polls over a day."
    assert last == "Three polls over a day found that it has moved to https://new.example/feed: its URL is changed."
