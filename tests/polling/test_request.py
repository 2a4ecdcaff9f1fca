"""One request for a feed on a real client, and what its answer comes to."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.net import Client, Response
from headwater.net.types import Hop
from headwater.polling.policy import policy_named
from headwater.polling.request import FeedRequests, moved_to
from headwater.polling.types import Polled, PollFailed, PollOutcome
from headwater.sandbox import Sandbox
from tests.clock import MovableClock
from tests.net.raw_site import a_raw_site, answer
from tests.polling.histories import OPTIONS, a_claimed_feed

FEED = b"<rss version='2.0'><channel><title>Zoo</title><item><guid>1</guid><title>One</title></item></channel></rss>"


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(processes=1, time_limit=timedelta(seconds=10), memory_limit=1_000_000_000) as sandbox:
        yield sandbox


async def outcome_of(said: bytes, sandbox: Sandbox, *, policy: str = "default") -> PollOutcome:
    """The outcome of this response, for a feed with a validator."""
    async with a_raw_site({"/feed": said}) as site, Client(user_agent="Test/1", allow_loopback=True) as client:
        requests = FeedRequests(client, sandbox, MovableClock(), OPTIONS)
        asked = await requests.ask(a_claimed_feed(f"{site}/feed"), policy_named(policy))
        return asked.outcome


async def test_a_feed_is_read(sandbox: Sandbox) -> None:
    outcome = await outcome_of(answer("200 OK", 'ETag: "2"', body=FEED), sandbox)

    assert isinstance(outcome, Polled)
    assert outcome.validators.etag == '"2"'


@pytest.mark.parametrize(
    ("path", "is_system", "speaks"),
    [("/feed", True, True), ("/feed", False, True), ("/feed?key=1", True, True), ("/feed?key=1", False, False)],
)
async def test_only_a_users_feed_with_a_key_in_its_url_speaks_for_no_site(
    path: str, is_system: bool, speaks: bool, sandbox: Sandbox
) -> None:
    async with (
        a_raw_site({path: answer("200 OK", body=FEED)}) as site,
        Client(user_agent="Test/1", allow_loopback=True) as client,
    ):
        feed = replace(a_claimed_feed(f"{site}{path}"), is_system=is_system)
        asked = await FeedRequests(client, sandbox, MovableClock(), OPTIONS).ask(feed, policy_named("default"))

    assert isinstance(asked.outcome, Polled)
    assert bool(asked.outcome.feed.site) is speaks


@pytest.mark.parametrize("status", ["200 OK", "202 Accepted", "226 IM Used", "304 Not Modified", "405 No"])
@pytest.mark.parametrize("header", ["cf-mitigated: challenge", "X-Amzn-Waf-Action: captcha"])
async def test_a_challenge_is_one_whatever_its_status_and_body(status: str, header: str, sandbox: Sandbox) -> None:
    outcome = await outcome_of(answer(status, header, body=b"" if status.startswith("304") else FEED), sandbox)

    assert isinstance(outcome, PollFailed)
    assert (outcome.kind, outcome.status) == ("bot_challenge", int(status[:3]))


async def test_an_invalid_content_type_fails_only_where_xml_is_required(sandbox: Sandbox) -> None:
    said = answer("200 OK", b"Content-Type: text/\xff\xfehtml", body=FEED)

    strict, lenient = await outcome_of(said, sandbox, policy="once"), await outcome_of(said, sandbox)

    assert isinstance(strict, PollFailed)
    assert (strict.kind, strict.detail) == ("not_a_feed", "Its Content-Type is text/??html, not XML.")
    assert isinstance(lenient, Polled)


@pytest.mark.parametrize(
    ("hops", "expected"),
    [
        ([], None),
        ([(301, "https://a.example/feed")], "https://a.example/end"),
        ([(302, "https://a.example/feed")], None),
        ([(308, "https://b.example/feed")], "https://a.example/end"),
        ([(301, "https://a.example/feed"), (302, "https://b.example/feed")], "https://b.example/feed"),
        ([(301, "https://b.example/feed"), (301, "https://c.example/feed")], "https://a.example/end"),
        ([(301, "https://a.example/feed"), (301, "https://www.a.example/feed")], "https://a.example/end"),
        # An open redirect of a.example, and a feed of b.example that redirects back.
        ([(301, "https://a.example/go?to=b.example"), (301, "https://b.example/feed")], None),
        ([(308, "https://www.a.example//b.example/feed"), (301, "https://b.example/feed")], None),
    ],
)
def test_a_permanent_redirect_is_a_move_unless_it_comes_back_from_another_site(
    hops: list[tuple[int, str]], expected: str | None
) -> None:
    response = Response("https://a.example/end", 200, {}, b"", tuple(Hop(*hop) for hop in hops))

    assert moved_to(response) == expected
