from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sitemaps.read import read_lastmod
from tests.clock import START


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025", datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("2026-01", datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)),
        ("2026-02-27", datetime(2026, 2, 27, 23, 59, 59, tzinfo=UTC)),
        ("2026-02-27T10:30Z", datetime(2026, 2, 27, 10, 30, tzinfo=UTC)),
        ("2026-02-27T10:30+02:00", datetime(2026, 2, 27, 8, 30, tzinfo=UTC)),
        ("2026-02-27T10:30:20-0500", datetime(2026, 2, 27, 15, 30, 20, tzinfo=UTC)),
        ("2026-02-27T10:30:20.123456789Z", datetime(2026, 2, 27, 10, 30, 20, 123456, tzinfo=UTC)),
        ("  2026-02-27 10:30:20 ", datetime(2026, 2, 27, 10, 30, 20, tzinfo=UTC)),
        ("2026-2-7t1:30z", datetime(2026, 2, 7, 1, 30, tzinfo=UTC)),
        ("Fri, 27 Feb 2026 10:30:00 GMT", datetime(2026, 2, 27, 10, 30, tzinfo=UTC)),
        ("Fri, 27 Feb 2026 10:30:00 +0100", datetime(2026, 2, 27, 9, 30, tzinfo=UTC)),
    ],
)
def test_every_form_of_a_date_is_read(text: str, expected: datetime) -> None:
    assert read_lastmod(text, START) == expected


@pytest.mark.parametrize("text", ["2026", "2026-03", "2026-03-01", "2026-03-01T18:00:00Z"])
def test_what_is_not_over_yet_counts_as_now(text: str) -> None:
    assert read_lastmod(text, START) == START


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-13-01", "2026-02-30", "0000", "2027", "2026-03-09", "2099-01-01T00:00:00Z", "1 2 3", "a, b",
     "2026-02-27T25:00Z", "2026-02-27T10:30+99:99", "9999-12-31T23:59:59-23:59"],
)  # fmt: skip
def test_what_is_no_date_or_lies_ahead_is_none(text: str) -> None:
    assert read_lastmod(text, START) is None


@given(st.text(max_size=100) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?[+-]\d\d:\d\d", fullmatch=True))
def test_no_text_breaks_it(text: str) -> None:
    at = read_lastmod(text, START)

    assert at is None or at <= START
