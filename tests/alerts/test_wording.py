"""What messages say, and that text of feeds in them is not interpreted."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.alerts.types import Condition, Incident, Message, Notice, NoticeKind
from headwater.alerts.wording import payload_of, subject_of, text_of
from tests.clock import START

SITE = "https://headwater.example"


def a_notice(
    kind: NoticeKind = NoticeKind.BEGAN, summary: str = "BBC has failed 4 times in a row.", number: int = 1
) -> Notice:
    ended_at = START if kind is NoticeKind.ENDED else None
    incident = Incident(
        UUID(int=number), Condition.CRITICAL_FEED_FAILING, "bbc", summary, START, START, START, ended_at
    )
    return Notice(incident, "webhook", kind)


def a_message(*notices: Notice) -> Message:
    return Message(uuid4(), "webhook", START, 1, notices)


@pytest.mark.parametrize(
    ("notices", "subject"),
    [
        ([a_notice()], "[Headwater] A critical feed fails: BBC has failed 4 times in a row."),
        ([a_notice(NoticeKind.ENDED)], "[Headwater] Resolved: A critical feed fails"),
        ([a_notice(), a_notice(number=2)], "[Headwater] 2 incidents began"),
        ([a_notice(), a_notice(NoticeKind.ENDED, number=2)], "[Headwater] 1 incident began, 1 incident resolved"),
        (
            [a_notice(), a_notice(NoticeKind.ENDED)],
            "[Headwater] Resolved: A critical feed fails",
        ),  # before a message was sent
        ([], "[Headwater] This is a test"),
    ],
    ids=["one", "over", "two", "both", "over-at-once", "test"],
)
def test_the_subject_says_it_in_a_line(notices: list[Notice], subject: str) -> None:
    assert subject_of(a_message(*notices)) == subject


def test_a_test_says_where_it_comes_from() -> None:
    assert SITE in text_of(a_message(), site=SITE)
    assert payload_of(a_message(), site=SITE)["incidents"] == []


def test_a_name_cannot_call_everybody_in_a_chat() -> None:
    body = payload_of(a_message(a_notice(summary="<!channel> & <https://evil.example|click>")), site=SITE)

    assert "&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt;" in body["text"]
    assert "<" not in body["text"]
    assert body["incidents"][0]["summary"] == "<!channel> & <https://evil.example|click>"


@given(st.text(max_size=800))
def test_whatever_a_feed_is_called_the_subject_is_one_line(name: str) -> None:
    subject = subject_of(a_message(a_notice(summary=name)))

    assert subject.isprintable()
    assert len(subject) < 600


@given(st.lists(st.sampled_from(list(NoticeKind)), max_size=600))
def test_a_message_is_never_long(kinds: list[NoticeKind]) -> None:
    message = a_message(*(a_notice(kind, "x" * 5000, number) for number, kind in enumerate(kinds)))
    body = payload_of(message, site=SITE)

    assert len(text_of(message, site=SITE)) < 40_000
    assert len(body["incidents"]) <= 200
    assert body["began"] + body["ended"] == len(kinds)
