"""Which conditions hold, which incidents that makes, and when messages are due. Pure."""

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
    StageFact,
    Thresholds,
)

SLICES = 6  # a queue only grows when its least size in each part of the window is above that in the part before
LEAST_SHARE_SAMPLED = 0.5  # of a window, so that a pause of the evaluation itself proves nothing
# Both wait for our own network, so that they are not reported while it is down.
OF_THE_NETWORK = frozenset({"polling", "fetching"})
FIRST_WAIT = timedelta(seconds=30)
MOST_WAIT = timedelta(hours=1)
NAMED = 5


def holding(facts: Facts, past: Sequence[FactSample], limits: Thresholds) -> list[HeldCondition]:
    """Every condition that holds now. `past` are the samples of earlier evaluations, in order of time."""
    past = [sample for sample in past if sample.at < facts.sample.at]  # whose clock is ahead proves nothing
    return [
        *_many_disabled(facts, limits),
        *_disabled_long(facts, limits),
        *_critical_failing(facts, limits),
        *_own_outage(facts),
        *_clock_problem(facts),
        *_stopped(facts, past, limits),
        *_growing([*past, facts.sample], limits),
    ]


def _many_disabled(facts: Facts, limits: Thresholds) -> Iterator[HeldCondition]:
    counts, now = facts.counts, facts.sample.at
    if counts.system_disabled < max(1, limits.disabled_least):
        return
    if counts.system_disabled * 100 > limits.disabled_percent * counts.system:
        share = counts.system_disabled * 100 / counts.system
        names = _names([feed.name for feed in facts.disabled], counts.system_disabled)
        summary = f"{counts.system_disabled} of {counts.system} system feeds are disabled ({share:.0f} %): {names}."
        yield HeldCondition(Condition.SYSTEM_FEEDS_DISABLED, "", summary, now)


def _disabled_long(facts: Facts, limits: Thresholds) -> Iterator[HeldCondition]:
    condition, now = Condition.SYSTEM_FEED_DISABLED_LONG, facts.sample.at
    paused: list[FeedFact] = []
    for feed in facts.disabled:
        if feed.disabled_at is not None:
            if now - feed.disabled_at > limits.disabled_for:
                why = f" ({_words(feed.reason)})" if feed.reason else ""
                summary = f"{feed.name} has been off since {_moment(feed.disabled_at)}{why}."
                yield HeldCondition(condition, str(feed.id), summary, feed.disabled_at)
        elif feed.failing_since is not None and now - feed.failing_since > limits.no_success:
            if feed.host is not None:
                paused.append(feed)
            else:
                yield HeldCondition(
                    condition, str(feed.id), _without_success(feed, feed.failing_since), feed.failing_since
                )
    yield from _paused_hosts(condition, paused, now)


def _critical_failing(facts: Facts, limits: Thresholds) -> Iterator[HeldCondition]:
    condition, now = Condition.CRITICAL_FEED_FAILING, facts.sample.at
    for feed in facts.critical:
        since = feed.failing_since
        if feed.errors > limits.critical_errors:
            yield HeldCondition(condition, str(feed.id), _failing(feed), now)
        elif since is not None and feed.host is None and now - since > limits.no_success:
            yield HeldCondition(condition, str(feed.id), _without_success(feed, since), since)
    yield from _paused_hosts(condition, [feed for feed in facts.critical if feed.host and not feed.disabled_at], now)


def _paused_hosts(condition: Condition, feeds: Sequence[FeedFact], now: datetime) -> Iterator[HeldCondition]:
    """One incident for each host, however many feeds it has: they fail together, and come back together."""
    hosts: dict[str, list[FeedFact]] = {}
    for feed in feeds:
        if feed.host is not None:
            hosts.setdefault(feed.host, []).append(feed)
    for host, members in sorted(hosts.items()):
        since = min((feed.failing_since for feed in members if feed.failing_since), default=now)
        reason = next((feed.paused_for for feed in members if feed.paused_for), None)
        why = f" ({_words(reason)})" if reason else ""
        names = _names([feed.name for feed in members], len(members))
        summary = (
            f"{host} has been failing since {_moment(since)}{why} and is paused; none of its feeds is read: {names}."
        )
        yield HeldCondition(condition, f"{HOST}{host}", summary, since)


def _failing(feed: FeedFact) -> str:
    off = f", and is off ({_words(feed.reason)})" if feed.disabled_at and feed.reason else ""
    return f"{feed.name} has failed {feed.errors} times in a row{off}."


def _without_success(feed: FeedFact, since: datetime) -> str:
    return f"{feed.name} has been failing since {_moment(since)}, without a success."


def _own_outage(facts: Facts) -> Iterator[HeldCondition]:
    if facts.outages:
        stages = " and ".join(sorted({outage.stage for outage in facts.outages}))
        since = min(outage.since for outage in facts.outages)
        summary = f"Hardly any host answers {stages}: it must be our own network. No feed is blamed for it."
        yield HeldCondition(Condition.OWN_OUTAGE, "", summary, since)


def _clock_problem(facts: Facts) -> Iterator[HeldCondition]:
    if facts.clock_problem is not None:
        summary = (
            f"{facts.clock_problem} Nothing is deleted and no polls are counted until it is right; if it is right, run "
            "`headwater retention run --confirm`."
        )
        yield HeldCondition(Condition.CLOCK_PROBLEM, "", summary, facts.sample.at)


def _stopped(facts: Facts, past: Sequence[FactSample], limits: Thresholds) -> Iterator[HeldCondition]:
    now = facts.sample.at
    recent = [sample for sample in past if now - sample.at <= limits.stage_stopped]
    if not _is_covered([*recent, facts.sample], limits.stage_stopped, now):
        return
    silenced = OF_THE_NETWORK if facts.outages else frozenset[str]()
    for stage, fact in facts.sample.stages.items():
        due = fact.due_since
        if due is None or stage in silenced or now - due <= limits.stage_stopped:
            continue
        if not any(_is_sign_of_life(sample.stages.get(stage), fact) for sample in [*recent, facts.sample]):
            minutes = f"{limits.stage_stopped / timedelta(minutes=1):g}"
            summary = f"{stage}: work has been due since {_moment(due)}, and none was done for {minutes} minutes."
            yield HeldCondition(Condition.STAGE_STOPPED, stage, summary, due)


def _is_sign_of_life(before: StageFact | None, now: StageFact) -> bool:
    """Somebody had work in hand, or what is due now was not what was due then: so that was done."""
    return before is None or before.is_busy or before.due_since != now.due_since


def _growing(samples: Sequence[FactSample], limits: Thresholds) -> Iterator[HeldCondition]:
    now = samples[-1].at
    recent = [sample for sample in samples if now - sample.at <= limits.queue_window]
    for queue, size in samples[-1].queues.items():
        lows = _lows(recent, queue, now, limits.queue_window)
        if size >= limits.queue_least and lows and all(before < after for before, after in pairwise(lows)):
            hours = f"{limits.queue_window / timedelta(hours=1):g}"
            summary = f"{queue}: {size:,} wait, {lows[0]:,} did {hours} hours ago, and it only grew in between."
            yield HeldCondition(Condition.QUEUE_GROWS, queue, summary, now - limits.queue_window)


def _lows(samples: Sequence[FactSample], queue: str, now: datetime, window: timedelta) -> list[int]:
    """The least size in each slice of the window, in order of time; nothing if a slice has no sample."""
    sizes: dict[int, int] = {}
    for sample in samples:
        part = min(SLICES - 1, int((now - sample.at) / (window / SLICES)))
        if queue in sample.queues:
            sizes[part] = min(sizes.get(part, sample.queues[queue]), sample.queues[queue])
    return [sizes[part] for part in reversed(range(SLICES))] if len(sizes) == SLICES else []


def _is_covered(samples: Sequence[FactSample], window: timedelta, now: datetime) -> bool:
    """Whether it was looked often enough: from the window's beginning on, and never with a long pause."""
    pause = window * (1 - LEAST_SHARE_SAMPLED)
    times = [now - window, *(sample.at for sample in samples)]
    return len(samples) > 1 and all(after - before <= pause for before, after in pairwise(times))


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
    untold: Iterable[Notice], told_feeds_at: Mapping[str, datetime], now: datetime, digest: timedelta
) -> dict[str, list[Notice]]:
    """What goes into a message now, by channel. News of single feeds wait while the last such message is fresh."""
    found: dict[str, list[Notice]] = {}
    for notice in untold:
        last = told_feeds_at.get(notice.channel)
        if notice.incident.condition in OF_A_FEED and last is not None and now - last < digest:
            continue
        found.setdefault(notice.channel, []).append(notice)
    return found


def wait(attempts: int) -> timedelta:
    """How long after the given number of failed tries a message is sent again: for ever, at last once an hour."""
    return min(MOST_WAIT, FIRST_WAIT * 2 ** min(attempts - 1, 20))


def _names(names: Sequence[str], total: int) -> str:
    more = f" and {total - NAMED} more" if total > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _words(reason: str) -> str:
    """A class of failure, or what a person wrote, which stays as it is."""
    return reason.replace("_", " ") if reason.isidentifier() else reason


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
