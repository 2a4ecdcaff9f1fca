import pytest

from headwater.feeds.types import FeedParseError, NotAFeed, UnreadableBody
from headwater.net import FetchError, FetchFailure
from headwater.polling.classify import classify_body, classify_fetch_error, classify_status, classify_type
from headwater.polling.types import FailureClass, PollFailed
from headwater.sandbox import Overrun
from tests.clock import START


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"), (401, "unauthorized"), (403, "forbidden"), (404, "not_found"), (405, "bad_request"),
        (410, "gone"), (418, "bad_request"), (429, "rate_limited"), (451, "bad_request"), (500, "upstream_failure"),
        (502, "upstream_failure"), (503, "upstream_failure"), (504, "upstream_failure"), (599, "upstream_failure"),
        (302, "unexpected"), (204, "unexpected"), (206, "unexpected"), (600, "unexpected"),
    ],
)  # fmt: skip
def test_a_status_has_its_class(status: int, kind: str) -> None:
    failed = classify_status(status, {}, b"", START)

    assert failed.kind == kind
    assert failed.status == status
    assert failed.detail.endswith(f"(HTTP {status})")


@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_page_that_tests_for_a_browser_is_a_bot_challenge(status: int) -> None:
    by_header = classify_status(status, {"cf-mitigated": "challenge"}, b"", START)
    by_body = classify_status(status, {}, b"<html><TITLE>Just a moment...</title>", START)

    assert {by_header.kind, by_body.kind} == {FailureClass.BOT_CHALLENGE}


@pytest.mark.parametrize("status", [200, 202, 401, 403, 404, 405, 429, 500, 503])
@pytest.mark.parametrize(
    "headers",
    [{"cf-mitigated": "challenge"}, {"x-amzn-waf-action": "challenge"}, {"x-amzn-waf-action": "CAPTCHA"}],
    ids=lambda headers: " ".join(*headers.items()),
)
def test_headers_that_name_a_challenge_are_believed_whatever_the_status(status: int, headers: dict[str, str]) -> None:
    assert classify_status(status, headers, b"", START).kind is FailureClass.BOT_CHALLENGE


@pytest.mark.parametrize(
    "headers", [{"cf-mitigated": "block"}, {"x-amzn-waf-action": "count"}, {"Server": "cloudflare"}], ids=str
)
def test_headers_of_the_same_makers_that_name_none_are_no_challenge(headers: dict[str, str]) -> None:
    assert classify_status(403, headers, b"", START).kind is FailureClass.FORBIDDEN


def test_a_refusal_of_ddos_guard_is_a_challenge_and_what_it_passes_on_is_none() -> None:
    kinds = {status: classify_status(status, {"Server": "ddos-guard"}, b"", START).kind for status in (403, 404, 429)}
    page = b"<title>DDoS-Guard</title><script src=/.well-known/ddos-guard/js-challenge/index.js>"

    assert kinds == {403: FailureClass.BOT_CHALLENGE, 404: FailureClass.NOT_FOUND, 429: FailureClass.RATE_LIMITED}
    assert classify_status(503, {"Server": "ddos-guard"}, page, START).kind is FailureClass.BOT_CHALLENGE


def test_a_page_that_is_not_there_is_no_challenge_whatever_it_shows() -> None:
    assert classify_status(404, {}, b"<title>Just a moment...</title>", START).kind is FailureClass.NOT_FOUND


NO_ANSWER = {
    FetchFailure.TIMEOUT: FailureClass.NETWORK,
    FetchFailure.NETWORK: FailureClass.NETWORK,
    FetchFailure.DNS: FailureClass.DNS,
    FetchFailure.TOO_LARGE: FailureClass.TOO_LARGE,
    FetchFailure.REDIRECT_LOOP: FailureClass.REDIRECT_LOOP,
    FetchFailure.BAD_ENCODING: FailureClass.PARSE_ERROR,
    FetchFailure.BLOCKED: FailureClass.SSRF_BLOCKED,
}


@pytest.mark.parametrize("kind", list(FetchFailure))
def test_every_way_to_get_no_answer_has_its_class_and_a_sentence(kind: FetchFailure) -> None:
    failed = classify_fetch_error(FetchError("https://example.com/", kind, "it did not work"))

    assert failed.kind is NO_ANSWER[kind]
    assert failed.detail == "It did not work."


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (399, FailureClass.UNEXPECTED),
        (400, FailureClass.BAD_REQUEST),
        (499, FailureClass.BAD_REQUEST),
        (500, FailureClass.UPSTREAM_FAILURE),
        (599, FailureClass.UPSTREAM_FAILURE),
        (600, FailureClass.UNEXPECTED),
    ],
)
def test_a_status_without_a_class_of_its_own_counts_by_its_hundred(status: int, kind: FailureClass) -> None:
    assert classify_status(status, {}, b"", START).kind is kind


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        (NotAFeed("it is a web page"), FailureClass.NOT_A_FEED, "It is a web page."),
        (FeedParseError("the body is empty"), FailureClass.PARSE_ERROR, "The body is empty."),
        (Overrun("time", "10 s"), FailureClass.PARSE_ERROR, "It exceeds our limits: 10 s."),
    ],
)
def test_a_body_without_a_feed_differs_from_a_feed_that_cannot_be_parsed(
    error: UnreadableBody | Overrun, kind: FailureClass, detail: str
) -> None:
    assert classify_body(error, 200) == PollFailed(kind, detail, 200)


@pytest.mark.parametrize(
    ("content_type", "detail"),
    [
        ("text/html", "Its Content-Type is text/html, not XML."),
        (None, "It has no Content-Type."),
        ("x" * 201, f"Its Content-Type is {'x' * 200}, not XML."),
    ],
)
def test_a_content_type_other_than_xml_is_quoted(content_type: str | None, detail: str) -> None:
    failed = classify_type(content_type, 200)

    assert (failed.kind, failed.detail, failed.status) == (FailureClass.NOT_A_FEED, detail, 200)


@pytest.mark.parametrize("words", ["text/\udcff\udcfehtml", "a\0b", 10_000 * "a"])
def test_whatever_a_server_says_the_sentence_about_it_can_be_stored(words: str) -> None:
    error = FetchError("https://example.com/", FetchFailure.NETWORK, words)

    for failed in (classify_type(words, 200), classify_body(NotAFeed(words), 200), classify_fetch_error(error)):
        assert failed.detail.encode()
        assert "\0" not in failed.detail
    assert len(classify_type(words, 200).detail) < 300
