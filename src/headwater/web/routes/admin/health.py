"""/admin: the health of all sources, and alerts. Each number links to its list.

The current state is loaded again every ten seconds, the statistics of a period every minute.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.alerts.store import incidents
from headwater.alerts.types import MAIL, AlertOptions, Message
from headwater.alerts.worker import send
from headwater.asgi.handlers import Call
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.net.mail import Mailer
from headwater.polling.store import claims as feed_claims
from headwater.sources.health.store import counts
from headwater.sources.health.store import state as state_store
from headwater.sources.health.types import Bar, FailureGroup, Period, Tally
from headwater.sources.store import attention
from headwater.types import SourceState
from headwater.web.errors import fragment
from headwater.web.plots import failures_over_time, start_of, uptime_over_time, whole_period

SHOWN = 8
PAST_ALERTS = 50
COUNTED_TO = 10_000
TAIL_MOST = timedelta(hours=6)  # of polls that are not counted yet: more would be slow


@dataclass(frozen=True, slots=True)
class Census:
    """Number of sources by state: total, by error type and by category."""

    states: Mapping[SourceState, int]
    reasons: Sequence[tuple[str, Mapping[SourceState, int]]]
    categories: Sequence[tuple[str, Mapping[SourceState, int]]]

    @property
    def shown(self) -> Sequence[SourceState]:
        """The states to show; those of moderation only if there are such sources."""
        moderated = {SourceState.IN_REVIEW, SourceState.REJECTED}
        return [state for state, count in self.states.items() if count or state not in moderated]

    @property
    def failing(self) -> int:
        return self.states[SourceState.FAILING] + self.states[SourceState.AUTO_DISABLED]

    @property
    def total(self) -> int:
        return sum(self.states.values())


@get("/admin", role=Role.SUPER_ADMIN)
async def health(call: Call, period: FromQuery[str] = "24h") -> Template:
    async with call.database.transaction() as conn:
        parts = {**await _now(conn, call.now), **await _past(conn, read_period(period), call.now)}
        return call.page("admin/health.html", **parts)


@fragment(get, "/admin/health/now", "Failed to load statistics", role=Role.SUPER_ADMIN)
async def now(call: Call) -> Template:
    async with call.database.transaction() as conn:
        return call.page("admin/health_now.html", **await _now(conn, call.now))


@fragment(get, "/admin/health/past", "Failed to load plots", role=Role.SUPER_ADMIN)
async def past(call: Call, period: FromQuery[str] = "24h") -> Template:
    async with call.database.transaction() as conn:
        return call.page("admin/health_past.html", **await _past(conn, read_period(period), call.now))


@get("/admin/alerts", role=Role.SUPER_ADMIN)
async def alerts(call: Call, alert_options: NamedDependency[AlertOptions]) -> Template:
    """All alerts, and where they are sent. A webhook's path may be a secret: only its host is shown."""
    async with call.database.transaction() as conn:
        board = await incidents.read_board(conn, past=PAST_ALERTS)
    webhook = urlsplit(alert_options.webhook_url or "")
    return call.page(
        "admin/alerts_page.html", alerts=board, recipients=alert_options.recipients,
        webhook=f"{webhook.scheme}://{webhook.hostname}" if webhook.hostname else "",
    )  # fmt: skip


@fragment(post, "/admin/alerts/test", "The test alert could not be sent", place="said", role=Role.SUPER_ADMIN)
async def test_alert(
    call: Call, alert_options: NamedDependency[AlertOptions], mailer: NamedDependency[Mailer | None]
) -> Template:
    """Send a message to each destination now, as the stage `alerting` would. Raises Invalid."""
    if not alert_options.channels:
        raise Invalid("No destination is set.")
    results: list[tuple[str, str | None]] = []
    for channel in alert_options.channels:
        message = Message(new_id(), channel, call.now, 1)
        error = await send(message, mailer or Mailer(None, ""), alert_options)
        results.append((channel.removeprefix(MAIL), error))
    return call.page("admin/alert_test.html", results=results)


@fragment(get, "/admin/alerts/open", "Failed to load alerts", role=Role.SUPER_ADMIN)
async def active_alerts(call: Call) -> Template:
    """The active alerts; the health page includes them."""
    async with call.database.transaction() as conn:
        return call.page("admin/alerts.html", alerts=await incidents.read_board(conn, past=0))


def read_period(text: str) -> Period:
    """A period by its name; a day by default."""
    return Period(text) if text in set(Period) else Period.DAY


def census_of(tallies: Sequence[Tally]) -> Census:
    """The counts by state, by error type and by category."""
    states: dict[SourceState, int] = dict.fromkeys(SourceState, 0)
    reasons: dict[str, dict[SourceState, int]] = defaultdict(lambda: dict.fromkeys(SourceState, 0))
    categories: dict[str, dict[SourceState, int]] = defaultdict(lambda: dict.fromkeys(SourceState, 0))
    for one in tallies:
        states[SourceState(one.state)] += one.sources
        categories[one.category or ""][SourceState(one.state)] += one.sources
        if one.reason:
            reasons[one.reason][SourceState(one.state)] += one.sources
    largest_first = sorted(reasons.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return Census(states, largest_first, sorted(categories.items(), key=lambda item: item[0].lower() or "~"))


async def _now(conn: Connection, at: datetime) -> dict[str, Any]:
    """What needs a person, and the state of all sources. One request loads it again, also the alerts."""
    oldest = await feed_claims.oldest_due_at(conn, now=at)
    return {
        "alerts": await incidents.read_board(conn, past=0),
        "needs_person": await attention.count_all(conn),
        "stopped": await attention.list_stopped(conn, limit=SHOWN),
        "found_feeds": await attention.list_found(conn, limit=SHOWN),
        "census": census_of(await state_store.tally(conn)),
        "paused": await state_store.list_paused(conn, now=at, limit=SHOWN),
        "coming_back": await state_store.list_coming_back(conn, limit=SHOWN),
        "queues": await state_store.find_queues(conn, now=at, most=COUNTED_TO),
        "poll_lag": max(at - oldest, timedelta(0)) if oldest else timedelta(0),
        "counted_to": COUNTED_TO,
    }


async def _past(conn: Connection, period: Period, at: datetime) -> dict[str, Any]:
    since = start_of(period, at)
    found = await counts.trend(conn, since=since, step=period.step, tail_most=TAIL_MOST, now=at)
    bars = whole_period(found, period, at)
    counting = await counts.find_counting(conn)
    is_behind = counting.counted_until is not None and counting.counted_until + TAIL_MOST < at
    return {
        "period": period, "periods": list(Period), "bars": bars,
        "whole": Bar(bars[0].at, sum((Counter(bar.outcomes) for bar in bars), Counter[str]())),
        "failure_groups": list(FailureGroup), "columns": failures_over_time(bars, period.step),
        "curve": uptime_over_time(bars), "ranked_at": counting.ranked_at,
        "leaders": await counts.list_leaders(conn, period=period),
        "behind": counting.counted_until if is_behind else None,
    }  # fmt: skip
