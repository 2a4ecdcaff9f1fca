"""Answers as the poller writes them: the feeds first, then their hosts are given back."""

from datetime import timedelta

from headwater.db import Connection
from headwater.hosts.keys import host_id_of
from headwater.hosts.store import feeds as feed_hosts
from headwater.hosts.store.due import lock
from headwater.hosts.types import FeedRelease, HostState, Pace, Release
from headwater.polling.store import results as feed_results
from headwater.polling.types import PollReport
from headwater.types import SourceId


async def write(
    conn: Connection, *answers: PollReport, delay: timedelta = timedelta(0), host: HostState | None = None
) -> set[SourceId]:
    overtaken = await feed_results.write_results(conn, reports=answers)
    await lock(conn, host_ids=[host_id_of(one.feed.host) for one in answers])
    await feed_hosts.release(conn, releases=[a_release(one, delay, host) for one in answers])
    return overtaken


def a_release(answer: PollReport, delay: timedelta, host: HostState | None) -> FeedRelease:
    feed = answer.feed
    release = Release(feed.host, feed.lease, answer.at + delay, Pace(), answer.at)
    return FeedRelease(release, host or feed.host_state, feed.source_id)
