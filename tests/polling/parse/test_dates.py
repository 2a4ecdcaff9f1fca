from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.polling.parse.dates import MAX_LENGTH, parse_date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # RFC 822, and what people make of it
        ("Thu, 01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21"),
        ("Thu, 01 Jan 2004 19:48:21 +0100", "2004-01-01T18:48:21"),
        ("Thu, 01 Jan 2004 19:48:21 -0330", "2004-01-01T23:18:21"),
        ("1 Jan 2004 19:48 EST", "2004-01-02T00:48:00"),
        ("01 Jan 04 19:48:21 PDT", "2004-01-02T02:48:21"),
        ("31 Dec 99 23:59:59 UT", "1999-12-31T23:59:59"),
        ("Thu, 01 Jan 2004", "2004-01-01T00:00:00"),
        ("Thu, 01 Jan 2004 19:48:21 GMT-05:00", "2004-01-02T00:48:21"),
        ("Thu, 01 Jan 2004 19:48:21 Etc/GMT", "2004-01-01T19:48:21"),
        ("Thu,01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21"),
        ("Thursday, 01 January 2004 19:48:21 GMT", "2004-01-01T19:48:21"),
        ("Thu, Jan 01 2004 19:48:21 GMT", "2004-01-01T19:48:21"),
        ("Thu, 01 Jan 2004 24:00:00 GMT", "2004-01-02T00:00:00"),
        ("Thu, 01 Jan 2004 23:59:60 GMT", "2004-01-01T23:59:59"),
        ("Thu, 01 Jan 2004 19:48:21", "2004-01-01T19:48:21"),
        ("  Thu, 01 Jan 2004\n 19:48:21 GMT ", "2004-01-01T19:48:21"),
        ("January 2, 2006 3:04 PM EST", "2006-01-02T20:04:00"),
        ("2 de enero de 2006", "2006-01-02T00:00:00"),
        ("Do, 02 März 2006 10:00:00 +0100", "2006-03-02T09:00:00"),
        # asctime
        ("Sun Jan  4 16:29:06 2004", "2004-01-04T16:29:06"),
        ("Sun Jan 04 16:29:06 +0100 2004", "2004-01-04T15:29:06"),
        # W3CDTF and ISO 8601
        ("2003-12-31T10:14:55Z", "2003-12-31T10:14:55"),
        ("2003-12-31T10:14:55.123-08:00", "2003-12-31T18:14:55.123"),
        ("2003-12-31T10:14+08", "2003-12-31T02:14:00"),
        ("2003-12-31 10:14:55", "2003-12-31T10:14:55"),
        ("2003-12-31", "2003-12-31T00:00:00"),
        ("20031231T101455Z", "2003-12-31T10:14:55"),
        ("20031231", "2003-12-31T00:00:00"),
        ("2003-12", "2003-12-01T00:00:00"),
        ("2003", "2003-01-01T00:00:00"),
        ("2003-335", "2003-12-01T00:00:00"),
        ("2003335", "2003-12-01T00:00:00"),
        ("2004-W01-4", "2004-01-01T00:00:00"),
        ("2004W014", "2004-01-01T00:00:00"),
        ("2003-12-31T10Z", "2003-12-31T10:00:00"),
        ("2003-12-31T10+02:00", "2003-12-31T08:00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59"),
        ("2016-12-31T24:00:00Z", "2017-01-01T00:00:00"),
        ("20040101194821", "2004-01-01T19:48:21"),
        ("20040101194821 +0100", "2004-01-01T18:48:21"),
        ("2003-12-31T10:14:55.12345678901Z", "2003-12-31T10:14:55"),
        # what stands behind a date
        ("2003-12-31+01:00", "2003-12-30T23:00:00"),
        ("2003-12-31 (UTC)", "2003-12-31T00:00:00"),
        ("2003-12-31 10:14 Europe/Berlin", "2003-12-31T10:14:00"),
        ("2003-12-31T10:14:55Z[Etc/UTC]", "2003-12-31T10:14:55"),
        ("Wed, 31 Dec 2003 10:14:55 -0700 (PDT)", "2003-12-31T17:14:55"),
        ("Wed, 31 Dec 2003 10:14:55 GMT+0200 (Central European Time)", "2003-12-31T08:14:55"),
        ("Wed, 31 Dec 2003 10:14:55 BRT", "2003-12-31T10:14:55"),
        ("Wed, 31 Dec 2003 10:14:55 EST5EDT", "2003-12-31T15:14:55"),
        # others that feeds were seen to write
        ("Fri, 2006/09/15 08:19:53 EDT", "2006-09-15T12:19:53"),
        ("2006/9/5 8:19", "2006-09-05T08:19:00"),
        ("2004-07-13T9:15-03:00", "2004-07-13T12:15:00"),
        ("2004-július-13T9:15-03:00", "2004-07-13T12:15:00"),
        ("2004년 05월 28일 01:31:15", "2004-05-27T16:31:15"),
        ("2004-05-25 오후 11:23:17", "2004-05-25T14:23:17"),
        ("2024-03-05, 10:11", "2024-03-05T10:11:00"),
        ("2024-03-05 3 PM", "2024-03-05T15:00:00"),
        ("March 5, 2024 at 3 p.m.", "2024-03-05T15:00:00"),
        ("2020年5月6日", "2020-05-06T00:00:00"),
        ("2020年05月06日 10:11:12", "2020-05-06T10:11:12"),
        ("2020年5月6日(水) ", "2020-05-06T00:00:00"),
        ("2020年5月6日10時11分", "2020-05-06T10:11:00"),
        ("Κυρ, 11 Ιούλ 2004 12:00:00 EST", "2004-07-11T17:00:00"),
    ],
)
def test_a_date_is_read_in_every_form_that_feeds_use(text: str, expected: str):
    assert parse_date(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        " ",
        "yesterday",
        "32 Jan 2004 10:00:00 GMT",
        "2004-13-01",
        "2004-02-30T00:00:00Z",
        "Thu, 01 Foo 2004",
        "99",
        "Thu, 01 Jan 2004 25:00:00 GMT",
        "0000-00-00T00:00:00Z",
        "9" * 50,
        "1 Jan 0000",
        "9999-12-31T23:59:59-23:59",
        "2024 hello",
        "2024-03 hello",
        "2024-03-05 hello",
        "2024 12 05 77",
        "2024-03-05 10:11 99",
        "2024-03-05 10:11 +0100 7",
        "200413011948",
    ],
)
def test_what_is_no_date_is_none(text: str | None):
    assert parse_date(text) is None


@given(st.one_of(st.text(max_size=MAX_LENGTH), st.from_regex(r"[\dTZWJan :+./,-]{0,60}", fullmatch=True)))
def test_a_date_is_aware_and_in_utc_or_none_and_never_an_error(text: str):
    found = parse_date(text)

    assert found is None or found.tzinfo is UTC


@given(st.integers(0, 4_000_000_000), st.integers(-14 * 60, 14 * 60))
def test_a_date_as_mail_writes_it_is_that_moment(seconds: int, minutes: int):
    moment = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=minutes)))

    assert parse_date(format_datetime(moment)) == moment
    assert parse_date(format_datetime(moment.astimezone(UTC), usegmt=True)) == moment


def test_a_long_string_of_digits_is_not_looked_at():
    assert parse_date("9" * 1_000_000) is None
