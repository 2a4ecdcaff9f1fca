"""What a destination's answers mean for each message: always the first ones are settled, and the rest is sent again."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from headwater.publishing.delivery.decide import (
    ATTEMPTS_MOST,
    SUSPECTS_MOST,
    both,
    decided,
    first_pack,
    signature,
    wait,
    with_gone,
)
from headwater.publishing.delivery.types import BatchResult, DeliveringOptions, DestinationFailed

DOWN = DestinationFailed("down")
OPTIONS = DeliveringOptions()


def test_a_suspect_is_refused_once_another_message_was_accepted() -> None:
    found = decided(BatchResult([2], suspects=[(1, "no")]), {}, has_accepted=False)
    assert found == BatchResult([2], [(1, "no")])
    found = decided(BatchResult(suspects=[(1, "no")]), {}, has_accepted=True)
    assert found == BatchResult((), [(1, "no")])


def test_a_suspect_alone_makes_the_destination_fail_until_it_was_tried_often_enough() -> None:
    suspects = BatchResult(suspects=[(1, "no")])
    for attempts in range(ATTEMPTS_MOST - 1):
        found = decided(suspects, {1: attempts}, has_accepted=False)
        assert (found.refused, found.failure) == ((), DestinationFailed("no"))
    assert decided(suspects, {1: ATTEMPTS_MOST - 1}, has_accepted=False) == BatchResult((), [(1, "no")])


@given(
    outcomes=st.lists(st.sampled_from(["accepted", "named", "suspect", "gone"]), min_size=1, max_size=12),
    fails_at=st.none() | st.integers(0, 11),
    attempts=st.integers(0, ATTEMPTS_MOST),
    has_accepted=st.booleans(),
)
def test_what_is_settled_is_always_the_beginning(
    outcomes: list[str], fails_at: int | None, attempts: int, has_accepted: bool
) -> None:
    """Else a message would be skipped: the position of a channel goes to the last that is settled."""
    sent, failed, in_a_row = BatchResult(), False, 0
    for revision, outcome in enumerate(outcomes, 1):
        if outcome == "gone" or failed:
            continue
        if fails_at is not None and revision > fails_at:
            sent, failed = both(sent, BatchResult(failure=DOWN)), True
        elif outcome == "accepted":
            sent, in_a_row = both(sent, BatchResult([revision])), 0
        elif outcome == "named":
            sent, in_a_row = both(sent, BatchResult((), [(revision, "named")])), 0
        else:
            in_a_row += 1
            failed = in_a_row >= SUSPECTS_MOST
            sent = both(sent, BatchResult(suspects=[(revision, "no")], failure=DOWN if failed else None))
    revisions = list(range(1, len(outcomes) + 1))
    gone = [(revision, "gone") for revision, outcome in enumerate(outcomes, 1) if outcome == "gone"]
    found = decided(sent, dict.fromkeys(revisions, attempts), has_accepted=has_accepted)
    found = with_gone(found, gone, revisions)

    settled = sorted([*found.delivered, *(revision for revision, _ in found.refused)])
    assert settled == revisions[: len(settled)]
    assert found.failure is not None or settled == revisions


def test_a_request_has_at_least_one_message_and_not_too_many_bytes() -> None:
    assert [first_pack(sizes, 10) for sizes in ([], [99], [4, 4], [4, 4, 4], [99, 1])] == [0, 1, 2, 2, 1]


def test_waits_grow_to_a_limit_and_respect_what_is_asked_for() -> None:
    waits = [wait(failures, OPTIONS, chance=1) for failures in range(1, 12)]
    assert waits[:3] == [timedelta(seconds=5), timedelta(seconds=10), timedelta(seconds=20)]
    assert waits[-1] == timedelta(minutes=10)
    assert wait(10**6, OPTIONS, chance=0) == timedelta(minutes=5)
    assert wait(1, OPTIONS, chance=0, asked=timedelta(days=9)) == timedelta(hours=1)


def test_a_signature_is_that_of_standard_webhooks() -> None:
    """The example of its specification."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    assert signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
