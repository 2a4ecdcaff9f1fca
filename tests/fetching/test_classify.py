"""What each answer means for the URL and for its host."""

from datetime import timedelta

import pytest

from headwater.fetching.classify import classify, classify_error
from headwater.fetching.types import Verdict
from headwater.frontier.types import Fetched, FetchFailed, GivenUp, Unchanged
from headwater.net import FetchError, FetchFailure, Response
from headwater.types import PageKind
from tests.clock import START
from tests.fetching.claims import a_host, a_url

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
PAGE = b"<!doctype html><title>A page</title>"


def verdict_of(status: int, body: bytes = PAGE, *, slowed: int = 0, etag: str | None = None, **headers: str) -> Verdict:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = Response("https://example.com/a", status, named, body)
    return classify(a_url(etag=etag), a_host(slowed=slowed), response, START)


def reason_of(verdict: Verdict) -> tuple[str, str]:
    assert isinstance(verdict.answer, FetchFailed | GivenUp)
    return type(verdict.answer).__name__, verdict.answer.reason


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (204, ("FetchFailed", "unexpected")),
        (206, ("FetchFailed", "unexpected")),
        (300, ("FetchFailed", "unexpected")),
        (302, ("FetchFailed", "unexpected")),  # without a Location, or it would not be here
        (304, ("FetchFailed", "unexpected")),  # though we sent nothing to compare with
        (400, ("FetchFailed", "bad_request")),
        (401, ("FetchFailed", "unauthorized")),
        (403, ("FetchFailed", "forbidden")),
        (404, ("GivenUp", "not_found")),
        (408, ("FetchFailed", "timeout")),
        (410, ("GivenUp", "gone")),
        (418, ("FetchFailed", "bad_request")),
        (425, ("FetchFailed", "upstream_failure")),
        (426, ("FetchFailed", "bad_request")),
        (429, ("FetchFailed", "rate_limited")),
        (451, ("FetchFailed", "bad_request")),
        (500, ("FetchFailed", "upstream_failure")),
        (503, ("FetchFailed", "upstream_failure")),
        (599, ("FetchFailed", "upstream_failure")),
        (999, ("FetchFailed", "unexpected")),
    ],
)
def test_every_status_has_its_answer(status: int, reason: tuple[str, str]) -> None:
    verdict = verdict_of(status)

    assert reason_of(verdict) == reason
    assert verdict.ends_turn is (status == 429)


def test_a_page_is_fetched_with_its_validators_word_for_word() -> None:
    verdict = verdict_of(200, ETag='W/"x"', Last_Modified="yesterday")

    assert verdict == Verdict(Fetched('W/"x"', "yesterday"))


def test_a_validator_that_cannot_be_kept_is_none() -> None:
    assert verdict_of(200, ETag="\udcff", Last_Modified="x" * 1001).answer == Fetched(None, None)
    assert verdict_of(200, ETag="", Last_Modified="x" * 1000).answer == Fetched(None, "x" * 1000)


def test_304_is_unchanged_where_we_had_something_to_compare_with() -> None:
    assert verdict_of(304, b"", etag='"1"', ETag='"2"').answer == Unchanged('"2"', None)


@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_bot_challenge_pauses_the_pages_of_its_host_for_a_day(status: int) -> None:
    verdict = verdict_of(status, b"<title>Just a moment...</title>")

    assert reason_of(verdict) == ("FetchFailed", "bot_challenge")
    assert (verdict.ends_turn, verdict.pages_pause) == (True, 24 * HOUR)
    assert verdict.pause == (timedelta(minutes=5) if status == 429 else None)


def test_retry_after_of_a_success_pauses_the_host() -> None:
    verdict = verdict_of(200, Retry_After="600")

    assert isinstance(verdict.answer, Fetched)
    assert (verdict.ends_turn, verdict.pause) == (True, timedelta(minutes=10))


@pytest.mark.parametrize("status", [200, 202, 405])
def test_a_challenge_that_headers_name_is_one_whatever_its_status(status: int) -> None:
    verdict = verdict_of(status, b"<html><title>News</title></html>", cf_mitigated="challenge")

    assert reason_of(verdict) == ("FetchFailed", "bot_challenge")


@pytest.mark.parametrize(
    ("retry_after", "slowed", "pause"),
    [
        ("120", 0, 2 * MINUTE),
        ("Sun, 01 Mar 2026 13:00:00 GMT", 0, HOUR),
        ("9999999", 0, 24 * HOUR),
        ("", 0, 5 * MINUTE),
        ("soon", 1, 10 * MINUTE),
        ("", 30, 8 * HOUR),
    ],
)
def test_429_blocks_the_host_as_long_as_it_asks_or_twice_as_long_each_time(
    retry_after: str, slowed: int, pause: timedelta
) -> None:
    verdict = verdict_of(429, slowed=slowed, Retry_After=retry_after)

    assert (verdict.pause, verdict.ends_turn, verdict.was_rate_limited) == (pause, True, True)


def test_retry_after_of_a_503_pauses_the_host() -> None:
    verdict = verdict_of(503, Retry_After="300")

    assert (verdict.pause, verdict.ends_turn, verdict.was_rate_limited) == (5 * MINUTE, True, False)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"%PDF-1.4", ("GivenUp", "not_html")),
        (b"PK\x03\x04", ("GivenUp", "not_html")),
        (b"\x89PNG\r\n\x1a\n", ("GivenUp", "not_html")),
        (b"MZ\x90\x00", ("GivenUp", "not_html")),
        (b"<rss>", ("GivenUp", "not_html")),
        (b"", ("FetchFailed", "empty")),
    ],
)
def test_an_unreadable_body_has_a_reason(body: bytes, reason: tuple[str, str]) -> None:
    assert reason_of(verdict_of(200, body)) == reason


HTML, XML, TEXT, GZIP = PAGE, b"<?xml version='1.0'?><urlset/>", b"https://example.com/a\n", b"\x1f\x8b\x08\x00"


@pytest.mark.parametrize(
    ("kind", "readable"),
    [(PageKind.ARTICLE, [HTML, TEXT]), (PageKind.LIST, [HTML, TEXT]), (PageKind.SITEMAP, [HTML, XML, TEXT, GZIP])],
)
def test_a_body_is_kept_if_the_readers_of_its_kind_can_read_it(kind: PageKind, readable: list[bytes]) -> None:
    responses = [Response("https://example.com/a", 200, {}, body) for body in (HTML, XML, TEXT, GZIP)]

    answers = [classify(a_url(kind=kind), a_host(), response, START).answer for response in responses]

    assert [one.body for one, answer in zip(responses, answers, strict=True) if isinstance(answer, Fetched)] == readable


def test_203_is_a_page() -> None:
    assert isinstance(verdict_of(203).answer, Fetched)


def test_a_picture_in_place_of_a_sitemap_is_called_so() -> None:
    response = Response("https://example.com/s.xml", 200, {}, b"GIF89a\x00")

    verdict = classify(a_url(kind=PageKind.SITEMAP), a_host(), response, START)

    assert reason_of(verdict) == ("GivenUp", "not_a_sitemap")


@pytest.mark.parametrize(
    ("kind", "reason", "pause"),
    [
        (FetchFailure.TIMEOUT, ("FetchFailed", "timeout"), MINUTE),
        (FetchFailure.NETWORK, ("FetchFailed", "network"), MINUTE),
        (FetchFailure.DNS, ("FetchFailed", "dns"), MINUTE),
        (FetchFailure.TOO_LARGE, ("GivenUp", "too_large"), None),
        (FetchFailure.REDIRECT_LOOP, ("FetchFailed", "redirect_loop"), None),
        (FetchFailure.BAD_ENCODING, ("FetchFailed", "bad_encoding"), None),
        (FetchFailure.BLOCKED, ("GivenUp", "ssrf_blocked"), None),
    ],
)
def test_every_failure_has_its_answer(kind: FetchFailure, reason: tuple[str, str], pause: timedelta | None) -> None:
    error = FetchError("https://example.com/", kind, "it \x00 broke \udcff")

    verdict, of_the_page = classify_error(error, host_answers=False), classify_error(error, host_answers=True)

    assert reason_of(verdict) == reason_of(of_the_page) == reason
    assert (of_the_page.pause, of_the_page.ends_turn) == (None, False)
    assert (verdict.pause, verdict.ends_turn) == (pause, pause is not None)
    assert isinstance(verdict.answer, FetchFailed | GivenUp)
    assert verdict.answer.detail == "It  broke ?."
