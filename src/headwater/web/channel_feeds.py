"""Feeds of channels: read without a login, by the secret in the address. Wrong secrets are limited per network."""

from asyncio import to_thread
from datetime import timedelta

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from headwater.accounts.decide import Limit, network_of
from headwater.accounts.quotas import count_attempt
from headwater.asgi.feed_response import respond_with_feed
from headwater.asgi.handlers import Call, CallContext
from headwater.asgi.session import PUBLIC, visitor_of
from headwater.channels.operate import feed_digest
from headwater.channels.store import records
from headwater.errors import NotFound
from headwater.feeds.write import ATOM_TYPE, JSON_TYPE, WrittenFeed, write_atom, write_json_feed
from headwater.publishing.reading import feed_addresses, read_feed

PATH = "/channel-feeds/{secret:str}"
READS = Limit(240, timedelta(hours=1))  # of one address
MISSES = Limit(60, timedelta(hours=1))  # of one network
GONE = "This feed does not exist, or was revoked."


@get(f"{PATH}/atom.xml", role=PUBLIC)
async def channel_atom(call: Call, secret: FromPath[str], site: NamedDependency[str]) -> Response[bytes]:
    """Raises NotFound, TooManyAttempts."""
    feed = await _read(call, secret, feed_addresses(site, secret)[0])
    return respond_with_feed(call.request, await to_thread(write_atom, feed), media_type=ATOM_TYPE)


@get(f"{PATH}/feed.json", role=PUBLIC)
async def channel_json_feed(call: Call, secret: FromPath[str], site: NamedDependency[str]) -> Response[bytes]:
    """Raises NotFound, TooManyAttempts."""
    feed = await _read(call, secret, feed_addresses(site, secret)[1])
    return respond_with_feed(call.request, await to_thread(write_json_feed, feed), media_type=JSON_TYPE)


async def _read(call: CallContext, secret: str, url: str) -> WrittenFeed:
    async with call.database.transaction() as conn:
        channel = await records.find_by_feed_key(conn, feed_key=feed_digest(secret))
    if channel is None:
        bucket = f"channel-feed-misses:{network_of(visitor_of(call.request).address)}"
        await count_attempt(call.database, bucket=bucket, limit=MISSES, now=call.now)
        raise NotFound(GONE)
    await count_attempt(call.database, bucket=f"channel-feed:{channel.id}", limit=READS, now=call.now)
    async with call.database.transaction() as conn:
        return await read_feed(conn, channel, url=url, now=call.now)
