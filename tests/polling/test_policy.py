"""The policies against the documents they come from, row by row."""

from datetime import timedelta

import pytest

from headwater.errors import Invalid
from headwater.polling.policy import POLICIES, policy_named
from headwater.polling.types import FailureClass, Level, PollFailed
from tests.builders import a_parsed_feed
from tests.clock import START
from tests.polling.histories import HOUR, OPTIONS, play

M, H, D = timedelta(minutes=1), HOUR, timedelta(days=1)
HAND = None
DOUBLING = (2 * H, 4 * H, 8 * H, 16 * H, 24 * H, 24 * H)
STEPS = (5 * M, 15 * M, H, 6 * H, D, D)
STEADY = (H, H, H, H, H, H)
BUSY = tuple(min(5 * M * 2**n, 8 * H) for n in range(1, 7))
NEVER_OFF = (None, None)

# policy, class, status: log level, (off after n, for how long), the waits before that
TABLE = {
    "default": {
        ("rate_limited", 429): ("warning", NEVER_OFF, BUSY),
        ("unauthorized", 401): ("warning", (5, D), DOUBLING),
        ("forbidden", 403): ("warning", (5, D), DOUBLING),
        ("not_found", 404): ("warning", (3, 2 * D), DOUBLING),
        ("gone", 410): ("warning", (1, 3 * D), DOUBLING),
        ("bad_request", 400): ("warning", (5, D), DOUBLING),
        ("bad_request", 418): ("warning", (5, D), DOUBLING),
        ("upstream_failure", 500): ("warning", (10, 6 * H), DOUBLING),
        ("network", None): ("warning", (10, 12 * H), DOUBLING),
        ("dns", None): ("warning", (10, 12 * H), DOUBLING),
        ("parse_error", 200): ("warning", (5, D), DOUBLING),
        ("not_a_feed", 200): ("warning", (3, D), DOUBLING),
        ("too_large", None): ("warning", (5, D), DOUBLING),
        ("redirect_loop", None): ("warning", (5, D), DOUBLING),
        ("bot_challenge", 403): ("warning", NEVER_OFF, (D, D, D)),
        ("ssrf_blocked", None): ("warning", (1, HAND), DOUBLING),
        ("unexpected", 302): ("error", NEVER_OFF, STEADY),
    },
    "cooldown": {
        ("rate_limited", 429): ("warning", NEVER_OFF, DOUBLING),
        ("unauthorized", 401): ("error", NEVER_OFF, STEADY),
        ("forbidden", 403): ("warning", (5, D), STEADY),
        ("not_found", 404): ("warning", (3, 2 * D), STEADY),
        ("gone", 410): ("warning", (1, 3 * D), STEADY),
        ("bad_request", 400): ("error", NEVER_OFF, STEADY),
        ("upstream_failure", 500): ("warning", (10, 6 * H), STEADY),
        ("network", None): ("warning", (10, 12 * H), STEADY),
        ("dns", None): ("warning", (10, 12 * H), STEADY),
        ("parse_error", 200): ("warning", (5, D), STEADY),
        ("not_a_feed", 200): ("warning", (5, D), STEADY),
        ("too_large", None): ("warning", (5, D), STEADY),
        ("redirect_loop", None): ("warning", (5, D), STEADY),
        ("bot_challenge", 403): ("warning", (5, D), STEADY),
        ("ssrf_blocked", None): ("warning", (1, HAND), STEADY),
        ("unexpected", 302): ("error", NEVER_OFF, STEADY),
    },
    "backoff": {
        ("rate_limited", 429): ("warning", NEVER_OFF, DOUBLING),
        ("unauthorized", 401): ("warning", (5, HAND), DOUBLING),
        ("forbidden", 403): ("warning", (5, HAND), DOUBLING),
        ("not_found", 404): ("warning", (5, HAND), DOUBLING),
        ("gone", 410): ("warning", (5, HAND), DOUBLING),
        ("bad_request", 400): ("warning", NEVER_OFF, DOUBLING),
        ("upstream_failure", 500): ("warning", NEVER_OFF, DOUBLING),
        ("network", None): ("warning", NEVER_OFF, DOUBLING),
        ("dns", None): ("warning", (5, HAND), DOUBLING),
        ("parse_error", 200): ("warning", NEVER_OFF, DOUBLING),
        ("not_a_feed", 200): ("warning", NEVER_OFF, DOUBLING),
        ("too_large", None): ("warning", NEVER_OFF, DOUBLING),
        ("redirect_loop", None): ("warning", NEVER_OFF, DOUBLING),
        ("bot_challenge", 403): ("warning", (5, HAND), DOUBLING),
        ("ssrf_blocked", None): ("warning", (1, HAND), DOUBLING),
        ("unexpected", 302): ("error", NEVER_OFF, DOUBLING),
    },
    "once": {
        ("rate_limited", 429): ("warning", NEVER_OFF, STEPS),
        ("unauthorized", 401): ("warning", (1, HAND), STEPS),
        ("forbidden", 403): ("warning", (1, HAND), STEPS),
        ("not_found", 404): ("warning", (1, HAND), STEPS),
        ("gone", 410): ("warning", (1, HAND), STEPS),
        ("bad_request", 400): ("warning", (1, HAND), STEPS),
        ("bad_request", 418): ("warning", NEVER_OFF, STEPS),
        ("upstream_failure", 500): ("warning", NEVER_OFF, STEPS),
        ("network", None): ("warning", NEVER_OFF, STEPS),
        ("dns", None): ("warning", NEVER_OFF, STEPS),
        ("parse_error", 200): ("warning", (1, HAND), STEPS),
        ("not_a_feed", 200): ("warning", (1, HAND), STEPS),
        ("too_large", None): ("warning", (1, HAND), STEPS),
        ("redirect_loop", None): ("warning", (1, HAND), STEPS),
        ("bot_challenge", 403): ("warning", (1, HAND), STEPS),
        ("ssrf_blocked", None): ("warning", (1, HAND), STEPS),
        ("unexpected", 302): ("error", NEVER_OFF, STEADY),
    },
    "five": {
        **{(kind.value, None): ("warning", (5, HAND), STEADY) for kind in FailureClass},
        ("rate_limited", None): ("warning", (5, HAND), DOUBLING),
        ("ssrf_blocked", None): ("warning", (1, HAND), STEADY),
        ("unexpected", None): ("error", NEVER_OFF, STEADY),
    },
}
ROWS = [(policy, *key, *row) for policy, rows in TABLE.items() for key, row in rows.items()]


@pytest.mark.parametrize(("policy", "kind", "status", "level", "off", "waits"), ROWS)
def test_a_class_leads_to_what_its_document_says(
    policy: str,
    kind: str,
    status: int | None,
    level: str,
    off: tuple[int | None, timedelta | None],
    waits: tuple[timedelta, ...],
) -> None:
    threshold, cooldown = off
    at_least = D if policy == "default" and kind not in {"gone", "ssrf_blocked"} else timedelta(0)

    decided = play(policy, [(kind, status)] * 25)

    assert {step.level for step in decided} == {Level(level)}
    went_off = next((n for n, step in enumerate(decided, 1) if step.state.disabled), None)
    assert [step.wait for step in decided[: (went_off or 99) - 1]][: len(waits)] == list(waits)[: (went_off or 99) - 1]
    if threshold is None:
        assert went_off is None
        return
    assert went_off is not None
    failing_for = decided[went_off - 1].now - START
    assert went_off >= threshold
    assert failing_for >= at_least
    earlier = decided[went_off - 2] if went_off > 1 else None
    assert earlier is None or went_off == threshold or earlier.now - START < at_least
    ends = decided[went_off - 1].state.disabled
    assert ends is not None
    assert (ends.until - ends.at if ends.until else None) == cooldown


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        ("default", [20 * M] * 6),
        ("once", [20 * M] * 6),
        ("cooldown", list(DOUBLING)),
        ("backoff", list(DOUBLING)),
        ("five", list(DOUBLING[:4])),
    ],
)
def test_the_wait_after_a_429_is_its_retry_after_where_the_document_says_so(
    policy: str, waits: list[timedelta]
) -> None:
    busy = PollFailed(FailureClass.RATE_LIMITED, "It failed.", 429, retry_after=20 * M)

    decided = play(policy, [busy] * 6)

    assert [step.wait for step in decided if step.state.disabled is None] == waits


def test_every_policy_has_a_rule_for_every_class() -> None:
    assert all(set(policy.rules) == set(FailureClass) for policy in POLICIES.values())
    assert all({kind for kind, _ in rows} == set(FailureClass) for rows in TABLE.values())


def test_an_unknown_policy_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Invalid, match="There are: default, cooldown, backoff, once, five"):
        policy_named("perhaps")


def test_the_options_of_these_tests_have_an_interval_of_an_hour() -> None:
    assert OPTIONS.interval == HOUR
    assert a_parsed_feed().entries == ()
