from datetime import timedelta

import pytest

from headwater.web.format import count, host, moment, since, until
from tests.clock import START


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(0), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=1), "1 second ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=25), "1 day ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_past_times_use_the_largest_unit(ago: timedelta, text: str) -> None:
    assert since(START - ago, START) == text


@pytest.mark.parametrize(("ahead", "text"), [(timedelta(minutes=-1), "any moment"), (timedelta(hours=3), "in 3 hours")])
def test_future_times_use_the_largest_unit(ahead: timedelta, text: str) -> None:
    assert until(START + ahead, START) == text


def test_numbers_and_nouns_agree() -> None:
    assert [count(number, "article") for number in (0, 1, 2000)] == ["0 articles", "1 article", "2,000 articles"]


def test_an_exact_time_and_a_host() -> None:
    assert moment(START) == "2026-03-01 12:00:00 UTC"
    assert host("https://www.example.com/a?b") == "example.com"
