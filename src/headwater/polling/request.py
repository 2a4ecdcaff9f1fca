"""One request for a feed, and what its response means, outside any transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile

from headwater.articles.decide import is_private_feed
from headwater.feeds.types import UnreadableBody
from headwater.hosts.turns import Turn
from headwater.net import Client, FetchError, Response
from headwater.net.responses import names_challenge, retry_after
from headwater.polling.classify import classify_body, classify_fetch_error, classify_status, classify_type, fresh_for
from headwater.polling.policy import Policy
from headwater.polling.read import read_feed
from headwater.polling.rhythm import needs_full_response
from headwater.polling.types import (
    ClaimedFeed,
    NotModified,
    Polled,
    PollFailed,
    PollingOptions,
    PollOutcome,
    Validators,
)
from headwater.sandbox import Overrun, Sandbox
from headwater.types import Clock
from headwater.urls import host_of, site_of

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5"
)
PERMANENT_REDIRECTS = frozenset({301, 308})


@dataclass(frozen=True, slots=True)
class Asked:
    """The outcome of a request, its size, the host that answered, and its Retry-After."""

    outcome: PollOutcome
    size: int
    host: str | None = None
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class FeedRequests:
    client: Client
    sandbox: Sandbox
    clock: Clock
    options: PollingOptions

    async def ask(self, feed: ClaimedFeed, policy: Policy, turn: Turn | None = None) -> Asked:
        """Request the feed and parse the response; failures are values. Each redirect waits for the `turn` at its host,
        which raises HostBusy and DatabaseUnavailable."""
        within, max_bytes, headers = self.options.timeout, self.options.max_bytes, request_headers(feed, self.clock())
        hop = turn.hop if turn else None
        try:
            response = await self.client.get(
                feed.feed_url, within=within, max_bytes=max_bytes, headers=headers, turn=hop
            )
        except FetchError as error:
            return Asked(classify_fetch_error(error), 0)
        if turn:
            turn.note(response)
            await turn.end()
        wait = retry_after(response.headers, self.clock())
        outcome = await self._read(feed, response, policy)
        if isinstance(outcome, PollFailed):
            outcome = replace(outcome, url=response.url, retry_after=wait)
        return Asked(outcome, len(response.body), host_of(response.url), wait)

    async def _read(self, asked: ClaimedFeed, response: Response, policy: Policy) -> PollOutcome:
        status, headers, now = response.status, response.headers, self.clock()
        if names_challenge(headers):
            return classify_status(status, headers, response.body, now)
        validators = Validators(_storable(headers.get("ETag")), _storable(headers.get("Last-Modified")))
        if status == 304:
            return NotModified(validators, fresh_for(headers, now), moved_to(response))
        if status not in {200, 226}:  # 226: only what is new, as A-IM offered
            return classify_status(status, headers, response.body, now)
        content_type = headers.get("Content-Type")
        if policy.strict_content_type and "xml" not in (content_type or "").lower():
            return classify_type(content_type, status)
        feed_url, most = asked.feed_url, self.options.max_entries
        # A user's feed with a key in its URL may say what only its subscribers may read.
        is_private = is_private_feed(feed_url, is_public=asked.is_system)
        try:
            feed = await self.sandbox.run(
                read_feed, response.body, url=response.url, feed_url=feed_url, content_type=content_type,
                max_entries=most, is_private=is_private,
            )  # fmt: skip
        except (UnreadableBody, Overrun) as error:
            return classify_body(error, status)
        return Polled(feed, validators, fresh_for(headers, now), moved_to(response), status=status)


def request_headers(feed: ClaimedFeed, now: datetime) -> Mapping[str, str]:
    """Accept and validators, unless it is time for a full response. A-IM needs a validator."""
    headers = {"Accept": ACCEPT}
    if needs_full_response(feed.state, now):
        return headers
    if feed.validators.etag or feed.validators.last_modified:
        headers["A-IM"] = "feed"
    if feed.validators.etag:
        headers["If-None-Match"] = feed.validators.etag
    if feed.validators.last_modified:
        headers["If-Modified-Since"] = feed.validators.last_modified
    return headers


def moved_to(response: Response) -> str | None:
    """The new URL of the feed: the target of the permanent redirects that come first. None if they lead back to its
    site from another one: by an open redirect, that one could list articles in the name of the site."""
    first = list(takewhile(lambda hop: hop.status in PERMANENT_REDIRECTS, response.hops))
    if not first:
        return None
    urls = [*(hop.url for hop in response.hops), response.url][: len(first) + 1]
    sites = [site_of(url) for url in urls]
    is_detour = sites[0] == sites[-1] and len(set(sites)) > 1
    return None if is_detour else urls[-1]


def _storable(header: str | None) -> str | None:
    """A header that can be stored word for word."""
    return header if header is not None and header.isprintable() else None
