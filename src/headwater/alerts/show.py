"""The facts of the last evaluation as Prometheus gauges."""

from collections.abc import Mapping
from datetime import datetime

from headwater.alerts.types import Condition, Facts
from headwater.observability import metrics
from headwater.types import SourceState

PLAIN = (
    metrics.SYSTEM_FEEDS, metrics.SYSTEM_FEEDS_DISABLED, metrics.OWN_OUTAGES, metrics.AI_MONTH_COST,
    metrics.AI_BUDGET_REACHED,
)  # fmt: skip
LABELLED = (
    metrics.INCIDENTS_OPEN, metrics.SOURCES, metrics.SYSTEM_FEED_DISABLED_SINCE, metrics.SYSTEM_FEED_FAILING_SINCE,
    metrics.CRITICAL_FEED_ERRORS, metrics.CRITICAL_FEED_FAILING_SINCE, metrics.CRITICAL_FEED_PAUSED,
    metrics.STAGE_DUE_SINCE, metrics.STAGE_BUSY, metrics.QUEUE_SIZE, metrics.CHANNEL_WAITING,
    metrics.CHANNEL_WAITING_SINCE, metrics.CHANNEL_DEAD_LETTERS, metrics.CHANNEL_DELIVERED,
    metrics.CHANNEL_FAILING_SINCE,
)  # fmt: skip


def show_facts(facts: Facts | None, incidents: Mapping[str, int]) -> None:
    """Set the gauges. Without facts they have no value: an old one would be wrong."""
    for gauge in LABELLED:
        gauge.clear()
    for gauge in PLAIN:
        gauge.set(float("nan"))
    metrics.ALERTS_EVALUATED.set(_seconds(facts.sample.at if facts else None))
    if facts is None:
        return
    _show_feeds(facts)
    _show_channels(facts)
    for condition in Condition:
        metrics.INCIDENTS_OPEN.labels(condition=condition.value).set(incidents.get(condition.value, 0))
    metrics.OWN_OUTAGES.set(len(facts.outages))
    metrics.AI_MONTH_COST.set(facts.budget.spent_micros / 1e6)
    metrics.AI_BUDGET_REACHED.set(facts.budget.reached_at is not None)
    for stage, fact in facts.sample.stages.items():
        metrics.STAGE_DUE_SINCE.labels(stage=stage).set(_seconds(fact.due_since))
        metrics.STAGE_BUSY.labels(stage=stage).set(fact.is_busy)
    for queue, size in facts.sample.queues.items():
        metrics.QUEUE_SIZE.labels(queue=queue).set(size)


def _show_feeds(facts: Facts) -> None:
    for state in SourceState:
        metrics.SOURCES.labels(state=state).set(facts.counts.states.get(state, 0))
    metrics.SYSTEM_FEEDS.set(facts.counts.system)
    metrics.SYSTEM_FEEDS_DISABLED.set(facts.counts.system_disabled)
    for feed in facts.disabled:
        labels = {"source_id": str(feed.id), "source": feed.name}
        if feed.disabled_at is not None:
            metrics.SYSTEM_FEED_DISABLED_SINCE.labels(**labels).set(_seconds(feed.disabled_at))
        if feed.failing_since is not None and (feed.disabled_at is None or feed.is_failing_itself):
            metrics.SYSTEM_FEED_FAILING_SINCE.labels(**labels).set(_seconds(feed.failing_since))
    for feed in facts.critical:
        labels = {"source_id": str(feed.id), "source": feed.name}
        metrics.CRITICAL_FEED_ERRORS.labels(**labels).set(feed.errors)
        if feed.failing_since is not None:
            metrics.CRITICAL_FEED_FAILING_SINCE.labels(**labels).set(_seconds(feed.failing_since))
        if feed.host is not None and feed.disabled_at is None:
            metrics.CRITICAL_FEED_PAUSED.labels(**labels, host=feed.host).set(1)


def _show_channels(facts: Facts) -> None:
    for one in facts.channels:
        metrics.CHANNEL_WAITING.labels(channel=one.name).set(one.waiting)
        metrics.CHANNEL_WAITING_SINCE.labels(channel=one.name).set(_seconds(one.oldest_waiting_at))
        metrics.CHANNEL_DEAD_LETTERS.labels(channel=one.name).set(one.refused)
        metrics.CHANNEL_DELIVERED.labels(channel=one.name).set(one.delivered)
        if one.failing_since is not None and not one.is_paused:
            metrics.CHANNEL_FAILING_SINCE.labels(channel=one.name).set(_seconds(one.failing_since))


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 0
