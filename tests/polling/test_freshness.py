from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.net.responses import retry_after
from headwater.polling.classify import fresh_for
from tests.clock import START

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("headers", "lasts"),
    [
        ({}, timedelta(0)),
        ({"Cache-Control": "max-age=3600"}, HOUR),
        ({"Cache-Control": "public, MAX-AGE = 3600"}, HOUR),
        ({"Cache-Control": "max-age=60, s-maxage=3600"}, HOUR),
        ({"Cache-Control": "max-age=3600", "Age": "600"}, HOUR - timedelta(minutes=10)),
        ({"Cache-Control": "no-cache, max-age=3600"}, timedelta(0)),
        ({"Cache-Control": "no-store"}, timedelta(0)),
        ({"Expires": "Sun, 01 Mar 2026 13:00:00 GMT"}, HOUR),
        ({"Expires": "Sun, 01 Mar 2026 14:00:00 GMT", "Date": "Sun, 01 Mar 2026 13:00:00 GMT"}, HOUR),
        (
            {"Expires": "Sun, 01 Mar 2026 13:00:00 GMT", "Date": "Sun, 01 Mar 2026 12:00:00 GMT", "Age": "600"},
            HOUR - timedelta(minutes=10),
        ),
        ({"Cache-Control": "max-age=60", "Expires": "Sun, 01 Mar 2026 13:00:00 GMT"}, timedelta(minutes=1)),
        ({"Expires": "0"}, timedelta(0)),
        ({"Expires": "0", "Date": "Sat, 28 Feb 2026 12:00:00 GMT"}, timedelta(0)),
        ({"Expires": "-1", "Date": "Sat, 28 Feb 2026 12:00:00 GMT"}, timedelta(0)),
        ({"Expires": "tomorrow", "Date": "Sat, 28 Feb 2026 12:00:00 GMT"}, timedelta(0)),
        ({"Expires": "", "Date": "Sat, 28 Feb 2026 12:00:00 GMT"}, timedelta(0)),
        ({"Expires": "Sun, 01 Mar 2026 13:00:00 GMT", "Date": "today"}, HOUR),
        ({"Expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, timedelta(0)),
        ({"Cache-Control": "max-age=never"}, timedelta(0)),
        ({"Cache-Control": "max-age=9999999999", "Age": "999999999"}, timedelta(seconds=9_000_000_000)),
        ({"Cache-Control": "max-age=9999999999", "Age": "9999999999"}, timedelta(seconds=9_999_999_999)),
        ({"Expires": "Sun, 01 Mar 2026 13:00:00"}, HOUR),
        ({"Cache-Control": "max-age=60", "Retry-After": "3600"}, HOUR),
    ],
)
def test_an_answer_says_how_long_it_stays_good(headers: dict[str, str], lasts: timedelta) -> None:
    assert fresh_for(headers, START) == lasts


@given(st.text(), st.text(), st.text(), st.text())
def test_invalid_headers_are_never_an_error(cache_control: str, expires: str, age: str, date: str) -> None:
    headers = {"Cache-Control": cache_control, "Expires": expires, "Age": age, "Date": date}

    assert isinstance(fresh_for(headers, START), timedelta)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", timedelta(minutes=2)),
        (" 120 ", timedelta(minutes=2)),
        ("Sun, 01 Mar 2026 12:05:00 GMT", timedelta(minutes=5)),
        ("Sunday, 01-Mar-26 12:05:00 GMT", timedelta(minutes=5)),
        ("Sun, 01 Mar 2026 11:00:00 GMT", None),
        ("0", None), ("-5", None), ("soon", None), ("", None), ("1.5", None), ("²", None), ("9" * 400, None),
    ],
)  # fmt: skip
def test_retry_after_is_read_in_seconds_or_as_a_date(value: str, expected: timedelta | None) -> None:
    assert retry_after({"Retry-After": value}, START) == expected
