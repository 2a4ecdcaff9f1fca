"""Adding by address. The URL of a feed is subscribed to at once. The feeds of a site or page are shown first: nothing
is saved until the user chooses one, which is sent to POST /feeds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from litestar import Response, post
from litestar.di import NamedDependency
from litestar.params import URLEncodedBody
from litestar.response import Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import HostBusy
from headwater.library.decide import check_category, check_feed
from headwater.library.store import subscriptions
from headwater.sources.custom.inspect import Inspector
from headwater.sources.discovery import Discovery, FoundFeed
from headwater.sources.page_links import How
from headwater.sources.subscribe import check_address, name_of
from headwater.web.errors import fragment
from headwater.web.routes.feeds import FeedForm, spend_hourly, subscribe

_SHOWN = {"HX-Retarget": "#feed-found", "HX-Reswap": "innerHTML"}


@dataclass(frozen=True, slots=True)
class Choice:
    feed: FoundFeed
    name: str
    is_followed: bool


@fragment(post, "/feeds/find", "Failed to add feed. Please try again.", place="feed-add-form-errors")
async def find_feeds(
    call: Call, data: URLEncodedBody[FeedForm], inspector: NamedDependency[Inspector | None],
    quotas: NamedDependency[Quotas],
) -> Template | Response[None]:  # fmt: skip
    """Subscribe to the feed at this address, or show the feeds that were found for it."""
    url, form = check_address(data.url), replace(data, name=data.name.strip())
    check_feed(form.name or "-", url)
    check_category(form.category)
    await spend_hourly(call, "lookups", quotas.additions_per_hour)
    if inspector is None:  # this server makes no requests: the poll tells whether it is a feed
        return await subscribe(call, replace(form, name=form.name or name_of("", url), url=url), quotas)
    try:
        discovery = await inspector.discover(data.url)
    except HostBusy as busy:
        return _show(call, form, url, reason=str(busy))
    if (feed := _feed_itself(discovery)) is not None:
        return await subscribe(
            call, replace(form, name=form.name or name_of(feed.title, feed.url), url=feed.url), quotas
        )
    reason = discovery.tried[0].reason if discovery.tried else ""
    return _show(call, form, url, await _choices(call, form, discovery), reason)


def _feed_itself(discovery: Discovery) -> FoundFeed | None:
    return next((feed for feed in discovery.found if feed.how is How.ITSELF), None)


async def _choices(call: CallContext, form: FeedForm, discovery: Discovery) -> list[Choice]:
    async with call.as_user() as conn:
        return [
            Choice(
                feed,
                form.name if form.name and len(discovery.found) == 1 else name_of(feed.title, feed.url),
                await subscriptions.is_followed(conn, url=feed.url),
            )
            for feed in discovery.found
        ]


def _show(
    call: CallContext, form: FeedForm, url: str, choices: Sequence[Choice] = (), reason: str = ""
) -> Template:  # fmt: skip
    name = form.name or name_of("", url)
    page = call.page("feeds/found.html", choices=choices, url=url, name=name, category=form.category, reason=reason)
    page.headers |= _SHOWN
    return page
