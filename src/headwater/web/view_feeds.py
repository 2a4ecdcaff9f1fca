"""Feeds of views: read without a login, by the secret in the address.

As we ask of others: with validators and caching, and not more often than is useful. Wrong secrets are limited per
network.
"""

from asyncio import to_thread
from datetime import timedelta

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from headwater.accounts.decide import Limit, network_of
from headwater.accounts.quotas import count_attempt
from headwater.accounts.secrets import digest
from headwater.asgi.feed_response import respond_with_feed
from headwater.asgi.handlers import Call, CallContext
from headwater.asgi.session import PUBLIC, visitor_of
from headwater.errors import NotFound, QueryInvalid
from headwater.feeds.write import ATOM_TYPE, JSON_TYPE, WrittenFeed, write_atom, write_json_feed
from headwater.library.views import store
from headwater.library.views.feed import read_view

PATH = "/view-feeds/{secret:str}"
READS = Limit(120, timedelta(hours=1))  # of one address; one poll in 30 seconds
MISSES = Limit(60, timedelta(hours=1))  # of one network
GONE = "This feed does not exist, or was revoked."


@get(f"{PATH}/atom.xml", role=PUBLIC)
async def atom(call: Call, secret: FromPath[str], site: NamedDependency[str]) -> Response[bytes]:
    """Raises NotFound, TooManyAttempts."""
    feed = await _read(call, secret, f"{site.rstrip('/')}/view-feeds/{secret}/atom.xml")
    return respond_with_feed(call.request, await to_thread(write_atom, feed), media_type=ATOM_TYPE)


@get(f"{PATH}/feed.json", role=PUBLIC)
async def json_feed(call: Call, secret: FromPath[str], site: NamedDependency[str]) -> Response[bytes]:
    """Raises NotFound, TooManyAttempts."""
    feed = await _read(call, secret, f"{site.rstrip('/')}/view-feeds/{secret}/feed.json")
    return respond_with_feed(call.request, await to_thread(write_json_feed, feed), media_type=JSON_TYPE)


async def _read(call: CallContext, secret: str, url: str) -> WrittenFeed:
    key = digest(secret)
    async with call.database.as_system() as conn:
        view = await store.find_by_feed_key(conn, feed_key=key)
    if view is None:
        client = network_of(visitor_of(call.request).address)
        await count_attempt(call.database, bucket=f"view-feed-misses:{client}", limit=MISSES, now=call.now)
        raise NotFound(GONE)
    await count_attempt(call.database, bucket=f"view-feed:{view.id}", limit=READS, now=call.now)
    async with call.database.as_user(view.user_id) as conn:
        try:
            return await read_view(conn, view, url=url, now=call.now)
        except QueryInvalid as error:
            raise NotFound(f"The query of this view is no longer valid. {error}") from error


ROUTES = [atom, json_feed]
