"""Which conditions hold, which incidents they make, and when messages are due. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from headwater.alerts.types import (
    HOST,
    OF_A_FEED,
    Condition,
    Facts,
    FactSample,
    FeedFact,
    HeldCondition,
    Incident,
    IncidentChanges,
    Notice,
    Thresholds,
)

SLICES = 6  # a queue only grows when its lowest size in each part of the window is above that in the part before
LEAST_SHARE_SAMPLED = 0.5  # of a window: a pause of the evaluation itself is not evidence
# Both wait for our own network, so that they are not reported while it is down.
OF_THE_NETWORK = frozenset({"polling", "fetching"})
FIRST_WAIT = timedelta(seconds=30)
MOST_WAIT = timedelta(hours=1)
NAMED = 5


def holding(facts: Facts, past: Sequence[FactSample], limits: Thresholds) -> list[HeldCondition]:
    """Every condition that holds now. `past` are the samples of earlier evaluations, in order of time."""
    past = [sample for sample in past if sample.at < facts.sample.at]  # another machine's clock may be ahead
    return [
        *_whole_system(facts, limits), *_disabled_long(facts, limits), *_critical_failing(facts, limits),
        *_stopped(facts, past, limits), *_growing([*past, facts.sample], limits), *_channels(facts, limits),
    ]  # fmt: skip


def _whole_system(facts: Facts, limits: Thresholds) -> Iterator[HeldCondition]:
    system, disabled = facts.counts.system, facts.counts.system_disabled
    if disabled >= limits.disabled_least and disabled * 100 > limits.disabled_percent * system:
        names = _names([feed.name for feed in facts.disabled], disabled)
        summary = f"{disabled} of {system} system feeds are disabled ({disabled * 100 / system:.0f} %): {names}."
        yield HeldCondition(Condition.SYSTEM_FEEDS_DISABLED, "", summary, facts.sample.at)
    if facts.outages:
        stages = " and ".join(sorted({outage.stage for outage in facts.outages}))
        summary = f"Hardly any host answers {stages}: our own network is down. Failures are not counted."
        yield HeldCondition(Condition.OWN_OUTAGE, "", summary, min(outage.since for outage in facts.outages))
    if facts.clock_problem is not None:
        summary = (
            f"{facts.clock_problem} Nothing is deleted and no polls are counted until it is right; if it is right, run "
            "`headwater retention run --confirm`."
        )
        yield HeldCondition(Condition.CLOCK_PROBLEM, "", summary, facts.sample.at)
    if (reached_at := facts.budget.reached_at) is not None:
        summary = (
            f"Calls to language models are refused since {moment(reached_at)}: ${facts.budget.spent_micros / 1e6:,.2f} "
            "are spent this month. Articles are not tagged, and summaries are made on this machine. Raise the ceiling "
            "at /admin/ai-usage, or wait for the next month."
        )
        yield HeldCondition(Condition.AI_BUDGET_REACHED, "", summary, reached_at)


def _disabled_long(facts: Facts, limits: Thresholds) -> Iterator[HeldCondition]:
    condition, now = Condition.SYSTEM_FEED_DISABLED_LONG, facts.sample.at
    paused: list[FeedFact] = []
    for feed in facts.disabled:
        since, disabled_at = feed.failing_since, feed.disabled_at
        if disabled_at is not None and now - disabled_at > limits.disabled_for:
            summary = f"{feed.name} has been disabled since {moment(disabled_at)}{_why(feed.reason)}."
            yield HeldCondition(condition, str(feed.id), summary, disabled_at)
        elif since is not None and now - since > limits.no_success:
            if feed.is_failing_itself:
                yield _without_success(condition, feed, since)
            elif disabled_at is None:
                paused.append(feed)
    yield from _paused_hosts(condition, paused, now)


def _critical_failing(facts: Facts, limits: Thresholds) -> Iterator[HeldCondition]:
    condition, now = Condition.CRITICAL_FEED_FAILING, facts.sample.at
    for feed in facts.critical:
        since = feed.failing_since
        if feed.errors > limits.critical_errors:
            disabled = f", and is disabled{_why(feed.reason)}" if feed.disabled_at and feed.reason else ""
            summary = f"{feed.name} has failed {feed.errors} times in a row{disabled}."
            yield HeldCondition(condition, str(feed.id), summary, now)
        elif since is not None and feed.is_failing_itself and now - since > limits.no_success:
            yield _without_success(condition, feed, since)
    yield from _paused_hosts(condition, [feed for feed in facts.critical if not feed.disabled_at], now)


def _paused_hosts(condition: Condition, feeds: Sequence[FeedFact], now: datetime) -> Iterator[HeldCondition]:
    """One incident for each host, however many feeds it has: they fail together, and recover together."""
    hosts: dict[str, list[FeedFact]] = {}
    for feed in feeds:
        if feed.host is not None:
            hosts.setdefault(feed.host, []).append(feed)
    for host, members in sorted(hosts.items()):
        since = min((feed.failing_since for feed in members if feed.failing_since), default=now)
        why = _why(next((feed.paused_for for feed in members if feed.paused_for), None))
        names = _names([feed.name for feed in members], len(members))
        failing = f"{host} has been failing since {moment(since)}{why}"
        summary = f"{failing} and is paused; its feeds are not polled: {names}."
        yield HeldCondition(condition, f"{HOST}{host}", summary, since)


def _without_success(condition: Condition, feed: FeedFact, since: datetime) -> HeldCondition:
    disabled = f", and is disabled{_why(feed.reason)}" if feed.disabled_at else ""
    summary = f"{feed.name} has been failing since {moment(since)}, without a success{disabled}."
    return HeldCondition(condition, str(feed.id), summary, since)


def _stopped(facts: Facts, past: Sequence[FactSample], limits: Thresholds) -> Iterator[HeldCondition]:
    now = facts.sample.at
    recent = [*(sample for sample in past if now - sample.at <= limits.stage_stopped), facts.sample]
    # Enough evaluations: from the window's beginning on, and never with a long pause.
    times = [now - limits.stage_stopped, *(sample.at for sample in recent)]
    longest_pause = limits.stage_stopped * (1 - LEAST_SHARE_SAMPLED)
    if any(after - before > longest_pause for before, after in pairwise(times)):
        return
    ignored = OF_THE_NETWORK if facts.outages else frozenset[str]()
    for stage, fact in facts.sample.stages.items():
        due = fact.due_since
        if due is None or stage in ignored or now - due <= limits.stage_stopped:
            continue
        # Work was in progress, or the work that was due then is done: other work is due now.
        before = [sample.stages.get(stage) for sample in recent]
        if not any(one is None or one.is_busy or one.due_since != due for one in before):
            minutes = f"{limits.stage_stopped / timedelta(minutes=1):g}"
            summary = f"{stage}: work has been due since {moment(due)}, and none was done for {minutes} minutes."
            yield HeldCondition(Condition.STAGE_STOPPED, stage, summary, due)


def _growing(samples: Sequence[FactSample], limits: Thresholds) -> Iterator[HeldCondition]:
    now = samples[-1].at
    recent = [sample for sample in samples if now - sample.at <= limits.queue_window]
    for queue, size in samples[-1].queues.items():
        lows = _lows(recent, queue, now, limits.queue_window)
        if size >= limits.queue_least and lows and all(before < after for before, after in pairwise(lows)):
            hours = f"{limits.queue_window / timedelta(hours=1):g}"
            summary = f"{queue}: {size:,} wait, {lows[0]:,} did {hours} hours ago, and it only grew in between."
            yield HeldCondition(Condition.QUEUE_GROWS, queue, summary, now - limits.queue_window)


def _channels(facts: Facts, limits: Thresholds) -> Iterator[HeldCondition]:
    now = facts.sample.at
    for one in facts.channels:
        since = one.failing_since
        if since is not None and not one.is_paused and now - since > limits.channel_failing:
            summary = (
                f"The destination of {one.name} has failed since {moment(since)}{_why(one.reason)}. Nothing is lost."
            )
            yield HeldCondition(Condition.CHANNEL_FAILING, str(one.id), summary, since)
        if one.refused:
            number = "1 message" if one.refused == 1 else f"{one.refused:,} messages"
            summary = f"The destination of {one.name} refused {number}: see /admin/channels/{one.id}."
            yield HeldCondition(Condition.CHANNEL_DEAD_LETTERS, str(one.id), summary, now)


def _lows(samples: Sequence[FactSample], queue: str, now: datetime, window: timedelta) -> list[int]:
    """The lowest size in each slice of the window, in order of time; nothing if a slice has no sample."""
    sizes: dict[int, int] = {}
    for sample in samples:
        part = min(SLICES - 1, int((now - sample.at) / (window / SLICES)))
        if queue in sample.queues:
            sizes[part] = min(sizes.get(part, sample.queues[queue]), sample.queues[queue])
    return [sizes[part] for part in reversed(range(SLICES))] if len(sizes) == SLICES else []


def changes(
    known: Iterable[Incident], holds: Iterable[HeldCondition], now: datetime, settle: timedelta
) -> IncidentChanges:
    """Changes to the open incidents. One that stops holding for a moment goes on, without a second message."""
    left = {(incident.condition, incident.subject): incident for incident in known}
    began: list[HeldCondition] = []
    going_on: list[Incident] = []
    for held in holds:
        incident = left.pop((held.condition, held.subject), None)
        if incident is None:
            began.append(held)
        else:
            going_on.append(replace(incident, summary=held.summary, last_held_at=now))
    ended = [replace(one, ended_at=now) for one in left.values() if now - one.last_held_at >= settle]
    return IncidentChanges(began, going_on, ended)


def due_notices(
    unsent: Iterable[Notice], feeds_sent_at: Mapping[str, datetime], now: datetime, digest: timedelta
) -> dict[str, list[Notice]]:
    """Notices to send now, by channel. Those of single feeds wait while the last such message is recent."""
    found: dict[str, list[Notice]] = {}
    for notice in unsent:
        last = feeds_sent_at.get(notice.channel)
        if notice.incident.condition in OF_A_FEED and last is not None and now - last < digest:
            continue
        found.setdefault(notice.channel, []).append(notice)
    return found


def wait(attempts: int) -> timedelta:
    """The delay before a message is sent again after this many failed attempts. There is no last attempt."""
    return min(MOST_WAIT, FIRST_WAIT * 2 ** min(attempts - 1, 20))


def moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")


def _names(names: Sequence[str], total: int) -> str:
    return ", ".join(names[:NAMED]) + (f" and {total - NAMED} more" if total > NAMED else "")


def _why(reason: str | None) -> str:
    """A class of failure in words, or an operator's text as it is."""
    if not reason:
        return ""
    return f" ({reason.replace('_', ' ') if reason.isidentifier() else reason})"
