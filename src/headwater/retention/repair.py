"""Repairs schedules that a clock which was ahead has written: waits longer than allowed become due."""

from datetime import datetime, timedelta

from headwater.alerts.store import facts
from headwater.bodies import store as bodies
from headwater.db import Database
from headwater.frontier.store import changes
from headwater.hosts.store.repair import repair_schedules as repair_hosts
from headwater.observability.log import get_logger
from headwater.outbox import store as outbox
from headwater.polling.store import upkeep as feed_upkeep
from headwater.retention import store
from headwater.retention.types import RetentionOptions

log = get_logger()

LONGEST_FETCH_WAIT = timedelta(days=32)
LONGEST_RUN = timedelta(days=2)


async def repair_schedules(
    database: Database, options: RetentionOptions, now: datetime, *, thoroughly: bool = False
) -> None:
    """Repair all schedules, table by table. Raises DatabaseUnavailable."""
    async with database.transaction() as conn:
        feeds = await feed_upkeep.repair_schedules(conn, now=now, latest=now + options.longest_poll_wait)
    async with database.transaction() as conn:
        latest = now + LONGEST_FETCH_WAIT
        await changes.repair_schedules(conn, now=now, latest=latest, thoroughly=thoroughly)
        hosts = await repair_hosts(conn, now=now, latest=latest, thoroughly=thoroughly)
    async with database.transaction() as conn:
        waiting = await bodies.repair_schedules(conn, now=now) + await outbox.repair_schedules(conn, now=now)
        await facts.repair_schedules(conn, now=now)
        await store.repair_schedule(conn, now=now, latest=now + options.every + LONGEST_RUN)
    if feeds or hosts or waiting:
        log.warning("schedules repaired", feeds=feeds, hosts=hosts, waiting=waiting)
